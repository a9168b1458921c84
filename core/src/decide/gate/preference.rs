//! Preferences that a move would break. A move that mends one preference and breaks another gains
//! nothing, and a strategy for the other one would move the pod back.
//!
//! Preferences are soft topology spread constraints of the pod itself, preferred node affinity and
//! anti-affinity, and taints with the effect PreferNoSchedule. Each is weighed as kube-scheduler
//! weighs it.

use std::cell::OnceCell;

use crate::decide::placement::Placement;
use crate::decide::scheduler::{self, SpreadExcess, ViolatedPreferences};
use crate::model::plan::{BrokenPreference, STEERING_KEY};
use crate::model::snapshot::facts::Effect;
use crate::model::snapshot::{NodeId, Pod, PodId};

/// The preferences of a pod. The other pods are counted once for all nodes where the pod may land:
/// in a large cluster these are thousands, and counting looks at each node and pod.
pub(super) struct Preferences<'p, 'w> {
    placement: &'p Placement<'w>,
    pod: PodId,
    spread: OnceCell<SpreadExcess<'w>>,
    anti_affinity: OnceCell<ViolatedPreferences<'w>>,
}

impl<'p, 'w> Preferences<'p, 'w> {
    pub(super) const fn of(placement: &'p Placement<'w>, pod: PodId) -> Self {
        Preferences { placement, pod, spread: OnceCell::new(), anti_affinity: OnceCell::new() }
    }

    /// Returns a preference that a node violates more than the pod's own node; `None` if there is
    /// none, or if the move mends a required topology spread constraint.
    pub(super) fn broken(&self, node: NodeId) -> Option<BrokenPreference> {
        let snapshot = self.placement.snapshot;
        let home = self.placement.place(self.pod)?;
        let facts = snapshot.pod(self.pod);
        let weight = |n: NodeId| scheduler::preference(facts, snapshot.node(n));
        let taints = |n: NodeId| taints(self.placement, facts, n);
        match self.spread(home, node) {
            SpreadChange::Mends => None,
            SpreadChange::Breaks(key) => Some(BrokenPreference::Spread(key)),
            SpreadChange::None if weight(node) < weight(home) => {
                Some(BrokenPreference::NodeAffinity)
            }
            SpreadChange::None if taints(node) > taints(home) => Some(BrokenPreference::Taint),
            SpreadChange::None => {
                let violated = self.anti_affinity();
                (violated.at(node) > violated.at(home)).then_some(BrokenPreference::AntiAffinity)
            }
        }
    }

    /// The effect of a move from `home` to a node on the pod's own topology spread constraints.
    fn spread(&self, home: NodeId, node: NodeId) -> SpreadChange {
        let excess = || {
            let all =
                self.spread.get_or_init(|| scheduler::spread_excess(self.placement, self.pod));
            let both = all.at(home).zip(all.at(node));
            both.map(|((spread, home), (_, node))| (spread, home, node))
        };
        if excess().any(|(spread, home, node)| spread.hard && home > 0 && node < home) {
            return SpreadChange::Mends;
        }
        let broken = excess().find(|(spread, home, node)| !spread.hard && *node > (*home).max(0));
        broken.map_or(SpreadChange::None, |(spread, ..)| {
            SpreadChange::Breaks(spread.topology_key.clone())
        })
    }

    fn anti_affinity(&self) -> &ViolatedPreferences<'w> {
        let count = || scheduler::violated_preferences(self.placement, self.pod);
        self.anti_affinity.get_or_init(count)
    }
}

/// The effect of a move on the pod's own topology spread constraints.
enum SpreadChange {
    None,
    /// It mends a required one.
    Mends,
    /// It violates the soft one with this topology key more than before.
    Breaks(String),
}

/// The number of PreferNoSchedule taints of a node that a pod does not tolerate, without the
/// steering taint.
fn taints(placement: &Placement<'_>, pod: &Pod, node: NodeId) -> usize {
    let counts = placement.snapshot.node(node).taints.iter().filter(|taint| {
        taint.effect == Effect::PreferNoSchedule
            && taint.key != STEERING_KEY
            && !scheduler::tolerates(pod, taint)
    });
    counts.count()
}
