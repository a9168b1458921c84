//! The rule of HighNodeUtilization, with the resources of this cluster.

use std::rc::Rc;

use crate::decide::draft::{Candidate, DestinationLimits, Draft};
use crate::decide::gate;
use crate::decide::strategy::listing::not_moved;
use crate::decide::targets::judged;
use crate::model::plan::{NoGain, NotSelected, Reason};
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::{Basis, HighNodeUtilization};
use crate::values::{Ratio, ResourceId};

use super::room::Room;
use super::{goes_with_its_node, requests_nothing};

/// The rule, with the resources of this cluster.
#[derive(Debug)]
pub(super) struct EmptyingRule<'w> {
    thresholds: Vec<(ResourceId, Ratio)>,
    /// No destination may be fuller than this by the rule's basis.
    targets: Rc<[(ResourceId, Ratio)]>,
    room: Room<'w>,
}

impl<'w> EmptyingRule<'w> {
    pub(super) fn new(draft: &Draft<'_>, position: usize, rule: &'w HighNodeUtilization) -> Self {
        let resources = &draft.world.snapshot.resources;
        let thresholds: Vec<_> = resources.known(&rule.thresholds).collect();
        EmptyingRule {
            targets: thresholds.iter().map(|(r, _)| (*r, Ratio::ONE)).collect(),
            thresholds,
            room: Room::new(draft, position, rule),
        }
    }

    pub(super) const fn basis(&self) -> Basis {
        self.room.rule.basis
    }

    pub(super) fn thresholds(&self) -> &[(ResourceId, Ratio)] {
        &self.thresholds
    }

    /// The highest usage of a node.
    pub(super) fn ceilings(&self) -> &[(ResourceId, Ratio)] {
        &self.room.ceilings
    }

    /// Whether a node has any of the resources that have a threshold.
    pub(super) fn judges(&self, draft: &Draft<'_>, node: NodeId) -> bool {
        judged(draft, node, &self.room.rule.thresholds)
    }

    /// The names of the resources that have a threshold.
    pub(super) fn weighs(&self) -> Vec<String> {
        self.room.rule.thresholds.iter().map(|(name, _)| name.to_owned()).collect()
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
        if requests_nothing(self.room.rule, facts) {
            return Err(NotSelected::RequestsNothing);
        }
        not_moved(draft, pod)?;
        match gate::evictable(pod, self.room.position, draft) {
            Err(why) if !why.waits_for_its_turn(draft.world.policy.interval) => {
                Err(NotSelected::MayNotGo(Box::new(why)))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Places a pod on a destination that has room for it; false if none has.
    pub(super) fn reserve(
        &self,
        draft: &mut Draft<'_>,
        pod: PodId,
        destinations: &[NodeId],
    ) -> bool {
        // The fullest sources stay, and come last.
        let fullest_first = destinations.iter().rev().copied();
        self.room.place(draft, pod, fullest_first).is_some()
    }

    /// The limits for replacements that go to these destinations.
    pub(super) fn limits(&self, destinations: &[NodeId]) -> DestinationLimits {
        let mut nodes = destinations.to_vec();
        nodes.sort_unstable();
        DestinationLimits {
            nodes: nodes.into(),
            targets: Rc::clone(&self.targets),
            basis: self.basis(),
            usage_targets: Rc::clone(&self.room.ceilings),
            others: NoGain::Leaving,
        }
    }

    /// A pod that stays.
    pub(super) fn counted(&self, pod: PodId) -> Candidate {
        Candidate::counted(pod, self.room.position)
    }

    /// A pod as a candidate within these limits.
    pub(super) fn candidate(
        &self,
        pod: PodId,
        reason: &Reason,
        limits: &DestinationLimits,
    ) -> Candidate {
        Candidate::new(pod, self.room.position, reason.clone()).within(limits.clone())
    }
}
