//! The rule of HighNodeUtilization, with the resources of this cluster.

use std::rc::Rc;

use crate::decide::draft::{Candidate, DestinationLimits, Draft};
use crate::decide::placement::Landing;
use crate::decide::strategy::listing::not_moved;
use crate::decide::targets::judged;
use crate::decide::{gate, scheduler};
use crate::model::plan::{NoGain, NotSelected, Reason};
use crate::model::snapshot::facts::Role;
use crate::model::snapshot::{NodeId, Pod, PodId};
use crate::policy::{Basis, HighNodeUtilization};
use crate::values::{Ratio, ResourceId};

use super::goes_with_its_node;

/// The rule, with the resources of this cluster.
#[derive(Debug)]
pub struct EmptyingRule<'w> {
    /// The position of the strategy in the policy.
    position: usize,
    rule: &'w HighNodeUtilization,
    thresholds: Vec<(ResourceId, Ratio)>,
    /// No destination may be fuller than this by the rule's basis.
    targets: Rc<[(ResourceId, Ratio)]>,
    /// The highest usage of a node.
    ceilings: Rc<[(ResourceId, Ratio)]>,
}

impl<'w> EmptyingRule<'w> {
    /// Returns a rule without resources that the cluster does not have.
    pub fn new(draft: &Draft<'_>, position: usize, rule: &'w HighNodeUtilization) -> Self {
        let resources = &draft.world.snapshot.resources;
        let thresholds: Vec<_> = resources.known(&rule.thresholds).collect();
        EmptyingRule {
            position,
            rule,
            targets: thresholds.iter().map(|(r, _)| (*r, Ratio::ONE)).collect(),
            thresholds,
            ceilings: resources.known(&rule.ceilings).collect(),
        }
    }

    pub(super) const fn basis(&self) -> Basis {
        self.rule.basis
    }

    pub(super) fn thresholds(&self) -> &[(ResourceId, Ratio)] {
        &self.thresholds
    }

    /// The highest usage of a node.
    pub(super) fn ceilings(&self) -> &[(ResourceId, Ratio)] {
        &self.ceilings
    }

    /// Whether a node has any of the resources that have a threshold.
    pub(super) fn judges(&self, draft: &Draft<'_>, node: NodeId) -> bool {
        judged(draft, node, &self.rule.thresholds)
    }

    /// The names of the resources that have a threshold.
    pub(super) fn weighs(&self) -> Vec<String> {
        self.rule.thresholds.iter().map(|(name, _)| name.to_owned()).collect()
    }

    /// Whether a node is at or below every threshold that it is judged by.
    pub(super) fn is_under(&self, draft: &Draft<'_>, node: NodeId) -> bool {
        let ratio = |r: ResourceId| draft.ratio(node, r, self.basis());
        draft.is_within(node, &self.thresholds, ratio)
    }

    /// Sorts nodes by their largest ratio on a basis. Equal ones keep their order.
    pub(super) fn sort_emptiest_first(
        &self,
        draft: &Draft<'_>,
        nodes: &mut [NodeId],
        basis: Basis,
    ) {
        let fullness = |node: &NodeId| self.fullness(draft, *node, basis);
        nodes.sort_by(|a, b| fullness(a).order(fullness(b)));
    }

    /// The largest ratio of a node. One of unknown usage counts as full, not as empty.
    fn fullness(&self, draft: &Draft<'_>, node: NodeId, basis: Basis) -> Ratio {
        let ratios = self.thresholds.iter().filter_map(|(r, _)| draft.ratio(node, *r, basis));
        ratios.max_by(|a, b| a.order(*b)).unwrap_or(Ratio::ONE)
    }

    /// Decides about a pod on a node that is to be emptied.
    pub(super) fn judge(&self, draft: &Draft<'_>, pod: PodId) -> Result<(), NotSelected> {
        let facts = draft.world.snapshot.pod(pod);
        if goes_with_its_node(facts) {
            return Err(NotSelected::GoesWithNode);
        }
        if self.requests_nothing(facts) {
            return Err(NotSelected::RequestsNothing);
        }
        not_moved(draft, pod)?;
        match gate::evictable(pod, self.position, draft) {
            Err(why) if !why.waits_for_its_turn(draft.world.policy.interval) => {
                Err(NotSelected::MayNotGo(Box::new(why)))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Whether a pod has to leave a node that is emptied.
    pub fn has_to_leave(&self, pod: &Pod) -> bool {
        !goes_with_its_node(pod) && !self.requests_nothing(pod)
    }

    /// Whether a pod stays on an emptied node because it requests none of the resources that have a
    /// threshold.
    fn requests_nothing(&self, pod: &Pod) -> bool {
        let containers = pod.containers.iter().filter(|c| c.role != Role::Ephemeral);
        let mut requested = containers.flat_map(|c| &c.requested);
        let has_threshold = |name| self.rule.thresholds.iter().any(|(known, _)| known == name);
        self.rule.only_thresholding_resources && !requested.any(has_threshold)
    }

    /// Whether no pod has to leave a node before it counts as empty.
    pub fn is_empty(&self, draft: &Draft<'_>, node: NodeId) -> bool {
        let snapshot = draft.world.snapshot;
        !snapshot.node(node).pods.iter().any(|pod| self.has_to_leave(snapshot.pod(*pod)))
    }

    /// Whether the node's usage with the pod is at most its ceilings and the targets of the other
    /// strategies. Unknown usage counts as below.
    pub fn stays_cool(&self, draft: &Draft<'_>, pod: PodId, node: NodeId) -> bool {
        gate::stays_cool(pod, self.position, draft, node, &self.ceilings)
    }

    /// The first of these nodes where a candidate fits and lands well, wherever the scheduler would
    /// place it. Most nodes are full by usage or requests, which is found out fastest.
    pub fn find_room(
        &self,
        candidate: &Candidate,
        draft: &Draft<'_>,
        mut nodes: impl Iterator<Item = NodeId>,
    ) -> Option<NodeId> {
        let fits = scheduler::fitting(draft, candidate.pod);
        let is_full = |node| !self.stays_cool(draft, candidate.pod, node) || fits(node).is_err();
        nodes.find(|node| !is_full(*node) && gate::lands_well(candidate, draft, *node))
    }

    /// Moves a candidate to the first of these nodes with room, in a draft that only counts room.
    /// Returns that node.
    pub fn place(
        &self,
        candidate: &Candidate,
        draft: &mut Draft<'_>,
        destinations: &[NodeId],
    ) -> Option<NodeId> {
        let node = self.find_room(candidate, draft, destinations.iter().copied())?;
        let landing = Landing { on: Some(node), ..Landing::default() };
        draft.accept(self.counted(candidate.pod), landing);
        Some(node)
    }

    /// The limits for replacements that go to these destinations.
    pub fn limits(&self, destinations: &[NodeId]) -> DestinationLimits {
        let mut nodes = destinations.to_vec();
        nodes.sort_unstable();
        DestinationLimits {
            nodes: nodes.into(),
            targets: Rc::clone(&self.targets),
            basis: self.basis(),
            usage_targets: Rc::clone(&self.ceilings),
            others: NoGain::Leaving,
        }
    }

    /// A pod that stays.
    pub(super) fn counted(&self, pod: PodId) -> Candidate {
        Candidate::counted(pod, self.position)
    }

    /// A pod as a candidate within these limits.
    pub fn candidate(&self, pod: PodId, reason: &Reason, limits: &DestinationLimits) -> Candidate {
        Candidate::new(pod, self.position, reason.clone()).within(limits.clone())
    }
}
