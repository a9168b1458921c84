//! Preferences that a move would break. A move that mends one preference and breaks another gains
//! nothing, and a strategy for the other one would move the pod back.
//!
//! Preferences are soft topology spread constraints of the pod itself, preferred node affinity and
//! anti-affinity, and taints with the effect PreferNoSchedule. Each is weighed as kube-scheduler
//! weighs it.

use crate::decide::placement::Placement;
use crate::decide::scheduler;
use crate::model::plan::{BrokenPreference, STEERING_KEY};
use crate::model::snapshot::facts::Effect;
use crate::model::snapshot::{NodeId, Pod, PodId};

/// Returns a preference that a node violates more than the pod's own node; `None` if there is none,
/// or if the move mends a required topology spread constraint.
pub(super) fn broken(
    placement: &Placement<'_>,
    pod: PodId,
    node: NodeId,
) -> Option<BrokenPreference> {
    let snapshot = placement.snapshot;
    let home = placement.place(pod)?;
    let spread = spread(placement, pod, [home, node]);
    let facts = snapshot.pod(pod);
    let weight = |n: NodeId| scheduler::preference(facts, snapshot.node(n));
    let violated = || scheduler::violated_preferences(placement, pod, &[home, node]);
    match spread {
        SpreadChange::Mends => None,
        SpreadChange::Breaks(key) => Some(BrokenPreference::Spread(key)),
        SpreadChange::None if weight(node) < weight(home) => Some(BrokenPreference::NodeAffinity),
        SpreadChange::None if taints(placement, facts, node) > taints(placement, facts, home) => {
            Some(BrokenPreference::Taint)
        }
        SpreadChange::None => {
            let violated = violated();
            (violated.get(1) > violated.first()).then_some(BrokenPreference::AntiAffinity)
        }
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

fn spread(placement: &Placement<'_>, pod: PodId, nodes: [NodeId; 2]) -> SpreadChange {
    let all = scheduler::excess_pods(placement, pod, nodes);
    if all.iter().any(|(spread, [home, node])| spread.hard && *home > 0 && node < home) {
        return SpreadChange::Mends;
    }
    let broken = |hard: bool, [home, node]: &[i64; 2]| !hard && *node > (*home).max(0);
    let found = all.into_iter().find(|(spread, excess)| broken(spread.hard, excess));
    found
        .map_or(SpreadChange::None, |(spread, _)| SpreadChange::Breaks(spread.topology_key.clone()))
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
