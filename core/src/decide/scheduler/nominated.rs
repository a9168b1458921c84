//! Room that other pods have reserved before they are bound.
//!
//! The filters run for a node with and without the pods that are nominated for it and have at least
//! the priority of the pod; both must succeed (`RunFilterPluginsWithNominatedPods` in
//! kube-scheduler). Their requests, host ports, volumes to attach and required anti-affinity count
//! here. They never make a filter succeed. Topology spread leaves them out.

use crate::model::plan::Misfit;
use crate::model::snapshot::{NodeId, Pod, PodId};
use crate::values::{Amount, ResourceId};

use super::anti_affinity_matches;
use super::question::Question;

/// The nominated pods that count for a pod, by node.
pub(super) struct NominatedPods(Vec<(NodeId, PodId)>);

impl NominatedPods {
    pub(super) fn new(question: &Question<'_, '_>) -> Self {
        let snapshot = question.snapshot;
        let counts = |(_, id): &&(NodeId, PodId)| {
            let bound = || question.placement.place(*id).is_some();
            let is_at_least_as_important =
                snapshot.pod(*id).priority_or_zero() >= question.pod.priority_or_zero();
            *id != question.id && is_at_least_as_important && !bound() && is_known(question, *id)
        };
        let nominated = snapshot.nominated().iter();
        NominatedPods(nominated.filter(counts).copied().collect())
    }

    /// Returns the pods and their nodes.
    pub(super) fn all(&self) -> &[(NodeId, PodId)] {
        &self.0
    }

    /// Returns the requests of one resource of the pods that are nominated for a node.
    pub(super) fn requests(
        &self,
        question: &Question<'_, '_>,
        node: NodeId,
        resource: ResourceId,
    ) -> Amount {
        let snapshot = question.snapshot;
        self.on(node).map(|id| snapshot.pod(id).requests[resource]).sum()
    }

    /// Checks required anti-affinity between the pod and the pods that are nominated for a node.
    pub(super) fn admit(&self, question: &Question<'_, '_>, node: NodeId) -> Result<(), Misfit> {
        let (snapshot, there) = (question.snapshot, question.node(node));
        let apart = |of: &Pod, from: &Pod| {
            let mut here = of
                .required_anti_affinity
                .iter()
                .filter(|term| there.labels.contains_key(&term.topology_key));
            here.any(|term| anti_affinity_matches(snapshot, term, of, from))
        };
        let others = || self.on(node).map(|id| snapshot.pod(id));
        if others().any(|other| apart(question.pod, other)) {
            return Err(Misfit::PodAntiAffinity);
        }
        if others().any(|other| apart(other, question.pod)) {
            return Err(Misfit::AntiAffinityOfOthers);
        }
        Ok(())
    }

    pub(super) fn on(&self, node: NodeId) -> impl Iterator<Item = PodId> {
        let first = self.0.partition_point(|(n, _)| *n < node);
        let here = self.0[first..].iter().take_while(move |(n, _)| *n == node);
        here.map(|(_, id)| *id)
    }
}

/// Returns true if the scheduler of the pod knows a nomination. It knows those of all its own
/// profiles, and ignores those of other schedulers.
fn is_known(question: &Question<'_, '_>, nominated: PodId) -> bool {
    let placement = question.placement;
    let own = question.pod.scheduler.as_deref();
    let other = placement.snapshot.pod(nominated).scheduler.as_deref();
    let policy = placement.policy;
    own == other || (policy.knows_scheduler(own) && policy.knows_scheduler(other))
}
