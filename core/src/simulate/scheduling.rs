//! The scheduler of the simulation: it places one pod after the other, and each placement affects
//! the next.

use crate::decide::placement::Placement;
use crate::decide::scheduler;
use crate::model::search_start::SearchStart;
use crate::model::snapshot::objects::Name;
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::Policy;

use super::cluster::{Life, SimulatedCluster};

/// Binds every pending pod with a feasible node: by priority, then by age (PrioritySort). A pod
/// that was just created is scheduled before the next one is created, so its priority does not
/// matter. There is no preemption.
pub(super) fn schedule(cluster: &mut SimulatedCluster, policy: &Policy) {
    let (begun, now) = (cluster.begun, cluster.now);
    let arrived = |life: &Life| begun && life.facts.created == now;
    let waiting = cluster.lists.waiting();
    let mut waiting: Vec<(i32, u64, Name)> = waiting
        .filter_map(|name| Some((name, cluster.pods.get(name)?)))
        .map(|(name, life)| {
            (
                // Negated, because the sort is ascending and the highest priority goes first.
                if arrived(life) { 0 } else { -life.facts.priority_or_zero() },
                life.serial,
                name.clone(),
            )
        })
        .collect();
    if waiting.is_empty() {
        return;
    }
    waiting.sort();
    let snapshot = cluster.snapshot();
    let unknown = SearchStart::default();
    let mut placement = Placement::new(policy, &snapshot, &unknown);
    for (_, _, name) in waiting {
        let Some(pod) = snapshot.find_pod(&name.0, &name.1) else {
            continue;
        };
        if let Some(node) = choose(cluster, &placement, pod) {
            placement.bind(pod, node);
            // The initial objects were bound when they were created.
            let made = cluster.pods.get(&name).map(|life| life.facts.created);
            let at = made.filter(|_| !cluster.begun).unwrap_or(cluster.now);
            cluster.bind(&name, &snapshot.node(node).name, at);
        }
    }
}

/// Returns one of the nodes with the best score, at random.
fn choose(cluster: &mut SimulatedCluster, placement: &Placement<'_>, pod: PodId) -> Option<NodeId> {
    let (best, next) = scheduler::choose(placement, pod, cluster.next_node);
    cluster.next_node = next;
    let many = u64::try_from(best.len()).ok().filter(|n| *n > 0)?;
    let lot = usize::try_from(cluster.random.next() % many).unwrap_or_default();
    best.get(lot).copied()
}
