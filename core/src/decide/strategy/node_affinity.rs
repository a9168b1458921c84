//! RemovePodsViolatingNodeAffinity: evicts pods whose node does not match their node affinity.
//!
//! Required affinity: the pod's own node does not match, and the gates check that another node can
//! take the pod. Preferred affinity: a node with a higher weight exists, and only such a node
//! counts as destination. Without that condition a pod would be evicted again and again in favour
//! of a node that is full (descheduler issue 1707).

use std::rc::Rc;

use crate::decide::draft::Draft;
use crate::decide::scheduler;
use crate::model::plan::{NoGain, NotSelected, Reason};
use crate::model::snapshot::{NodeId, Pod, PodId};
use crate::policy::{AffinityKind, NodeAffinity, Scope};

use super::listing::{only_on, ready_nodes};
use super::per_pod::{JudgePod, Selected};

/// The rule, and the nodes that may be destinations.
#[derive(Debug)]
pub(super) struct NodeAffinityRule<'w> {
    rule: &'w NodeAffinity,
    nodes: Rc<[NodeId]>,
}

impl<'w> NodeAffinityRule<'w> {
    pub(super) fn new(draft: &Draft<'w>, rule: &'w NodeAffinity) -> Self {
        NodeAffinityRule { rule, nodes: ready_nodes(draft).into() }
    }

    /// Why a pod should leave its node because of one kind of affinity; `None` if it may stay.
    fn violated(
        &self,
        draft: &Draft<'_>,
        node: NodeId,
        pod: &Pod,
        kind: AffinityKind,
    ) -> Option<Selected> {
        let (reason, destinations) = match kind {
            AffinityKind::Required => {
                let mismatch = required(draft, node, pod);
                mismatch.then(|| (Reason::WrongNode, Rc::clone(&self.nodes)))
            }
            AffinityKind::Preferred => preferred(draft, node, pod, &self.nodes),
        }?;
        Some(Selected { reason, destinations: Some(only_on(destinations, NoGain::NodeAffinity)) })
    }
}

impl JudgePod for NodeAffinityRule<'_> {
    fn scope(&self) -> &Scope {
        &self.rule.scope
    }

    fn judge(&self, draft: &Draft<'_>, node: NodeId, pod: PodId) -> Result<Selected, NotSelected> {
        let (pod, kinds) = (draft.world.snapshot.pod(pod), &self.rule.kinds);
        if pod.finished() {
            return Err(NotSelected::Finished);
        }
        let mut violated = kinds.iter().filter_map(|kind| self.violated(draft, node, pod, *kind));
        violated.next().ok_or_else(|| {
            if kinds.iter().any(|kind| has_affinity(pod, *kind)) {
                NotSelected::SuitableNode
            } else {
                NotSelected::NoNodeAffinity
            }
        })
    }

    /// All pods of the first kind of affinity that the policy names come before those of the
    /// second.
    fn sort(&self, _draft: &Draft<'_>, selected: &mut Vec<(PodId, Selected)>) {
        let kinds = &self.rule.kinds;
        selected.sort_by_key(|(_, s)| kinds.iter().position(|kind| *kind == kind_of(&s.reason)));
    }
}

fn kind_of(reason: &Reason) -> AffinityKind {
    if *reason == Reason::WrongNode { AffinityKind::Required } else { AffinityKind::Preferred }
}

fn has_affinity(pod: &Pod, kind: AffinityKind) -> bool {
    match kind {
        AffinityKind::Required => pod.required_nodes.is_some(),
        AffinityKind::Preferred => !pod.preferred_nodes.is_empty(),
    }
}

/// Whether the pod's own node does not match. A node selector alone is no affinity, but counts
/// together with one.
fn required(draft: &Draft<'_>, node: NodeId, pod: &Pod) -> bool {
    pod.required_nodes.is_some() && !scheduler::admits(pod, draft.world.snapshot.node(node))
}

/// The nodes that the pod prefers to its own.
fn preferred(
    draft: &Draft<'_>,
    node: NodeId,
    pod: &Pod,
    nodes: &[NodeId],
) -> Option<(Reason, Rc<[NodeId]>)> {
    if pod.preferred_nodes.is_empty() {
        return None;
    }
    let weight_of = |n: NodeId| scheduler::preference(pod, draft.world.snapshot.node(n));
    let weight = weight_of(node);
    let weights = nodes.iter().map(|n| (weight_of(*n), *n));
    let better: Vec<(i64, NodeId)> = weights.filter(|(w, _)| *w > weight).collect();
    let best = better.iter().map(|(w, _)| *w).max()?;
    let destinations = better.into_iter().map(|(_, n)| n).collect();
    Some((Reason::LessPreferred { weight, best }, destinations))
}
