//! All filters, in the order of the scheduler. Data about the pod and the other pods is computed
//! once for all nodes.

use crate::model::plan::Misfit;
use crate::model::snapshot::NodeId;
use crate::model::snapshot::facts::NodeClosure;
use crate::policy::FilterPlugin;

use super::nominated::NominatedPods;
use super::question::Question;
use super::topology_spread::SpreadLimits;
use super::volume_limits::WantedVolumes;
use super::{node_affinity, node_ports, node_resources, pod_affinity, taints, volumes};

/// The filters for one pod.
pub(super) struct Filters<'q, 'w> {
    question: Question<'q, 'w>,
    /// The node of a virtual machine that migrates, where it cannot land.
    migrates_from: Option<NodeId>,
    /// The reason that excludes every node, if any.
    barred: Option<Misfit>,
    /// Nodes where a host port of the pod is in use, sorted.
    ports: Vec<NodeId>,
    requests: node_resources::Wanted,
    nominated: NominatedPods,
    wanted_volumes: WantedVolumes<'w>,
    volumes: volumes::VolumeAccess<'w>,
    spread: SpreadLimits,
    neighbours: pod_affinity::AffinityDomains<'w>,
}

impl<'q, 'w> Filters<'q, 'w> {
    pub(super) fn new(question: &Question<'q, 'w>) -> Self {
        let nominated = NominatedPods::new(question);
        Filters {
            migrates_from: question.migrates_from(),
            barred: barred(question),
            ports: node_ports::taken(question, &nominated),
            requests: node_resources::Wanted::new(question),
            wanted_volumes: WantedVolumes::new(question),
            volumes: volumes::VolumeAccess::new(question),
            spread: SpreadLimits::new(question),
            neighbours: pod_affinity::AffinityDomains::new(question),
            nominated,
            question: *question,
        }
    }

    /// Returns an error if a node cannot run the pod.
    pub(super) fn admit(&self, node: NodeId) -> Result<(), Misfit> {
        if let Some(barred) = &self.barred {
            return Err(barred.clone());
        }
        self.check_closure(node)?;
        if self.migrates_from == Some(node) {
            return Err(Misfit::PodAntiAffinity);
        }
        if self.ports.binary_search(&node).is_ok() {
            return Err(Misfit::Port);
        }
        if let Some(resource) = self.requests.lacking(&self.question, &self.nominated, node) {
            let name = self.question.snapshot.resources.name(resource);
            return Err(Misfit::Full(name.to_owned()));
        }
        if let Some(driver) = self.wanted_volumes.exceeded(&self.question, &self.nominated, node) {
            return Err(Misfit::AttachLimit(driver.to_owned()));
        }
        if !self.volumes.reach(self.question.node(node)) {
            return Err(Misfit::Volume);
        }
        if !self.spread.admit(node) {
            return Err(self.spread.misfit());
        }
        self.neighbours.admit(node)?;
        if self.question.runs(FilterPlugin::InterPodAffinity) {
            self.nominated.admit(&self.question, node)?;
        }
        Ok(())
    }

    /// Checks the node itself, regardless of the pods on it.
    fn check_closure(&self, node: NodeId) -> Result<(), Misfit> {
        let (question, there) = (&self.question, self.question.node(node));
        let tolerations = &question.pod.tolerations;
        // The scheduler checks only the taint, which the node controller adds a moment later.
        if !there.ready && !taints::absence_tolerated(&there.taints, tolerations) {
            return Err(Misfit::NotReady);
        }
        // As for the Ready condition. A node that is being deleted gets no taint for it.
        let counts = |closure: &NodeClosure| {
            *closure != NodeClosure::Cordoned || question.runs(FilterPlugin::NodeUnschedulable)
        };
        let mut closures = there.closures.iter().copied().filter(counts);
        if let Some(closure) = closures.find(|c| taints::closes(*c, tolerations)) {
            return Err(Misfit::Closed(closure));
        }
        if question.runs(FilterPlugin::TaintToleration)
            && !question.may_return(node)
            && !taints::tolerated(&there.taints, tolerations)
        {
            return Err(Misfit::Taint);
        }
        if !question.runs(FilterPlugin::NodeAffinity) {
            return Ok(());
        }
        node_affinity::check(question.pod, there)?;
        let added = question.profile.added_affinity.required.as_deref();
        if node_affinity::one_holds(added, there) { Ok(()) } else { Err(Misfit::AddedNodeAffinity) }
    }
}

fn barred(question: &Question<'_, '_>) -> Option<Misfit> {
    if question.pod.gated {
        return Some(Misfit::Gated);
    }
    volumes::in_use(question).then_some(Misfit::Claim)
}
