//! The pods that wait for a node, each on its likeliest one.
//!
//! kube-scheduler takes them by priority, and those of equal priority in the order in which they
//! came (`PrioritySort`). A replacement that does not exist yet comes later. A pod that no node can
//! run takes no room, and a pod that waits for something else than room does not either. Where that
//! is not certain, as for gangs, devices and volumes that are being provisioned, the pod may take
//! room or not.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::decide::placement::{Landing, Placement};
use crate::model::snapshot::facts::address;
use crate::model::snapshot::{Pod, PodId, Snapshot};

use super::claims::{Hold, hold};
use super::{forecast, is_known};

/// A pod that waits for a node.
#[derive(Clone, Copy, Debug)]
pub struct WaitingPod {
    /// The pod.
    pub pod: PodId,
    /// Whether it may also wait for something else.
    pub doubtful: bool,
}

/// Returns the pods that wait for a node, in the order in which the scheduler takes them. Pods that
/// certainly wait for something else are left out.
pub fn waiting(snapshot: &Snapshot) -> Vec<WaitingPod> {
    let all = snapshot.pod_ids().filter(|id| waits(snapshot.pod(*id)));
    let waiting = all.filter_map(|id| match hold_of(snapshot, snapshot.pod(id)) {
        Hold::Free => Some(WaitingPod { pod: id, doubtful: false }),
        Hold::Doubtful => Some(WaitingPod { pod: id, doubtful: true }),
        Hold::Stuck => None,
    });
    let mut waiting: Vec<WaitingPod> = waiting.collect();
    waiting.sort_by_key(|one| {
        let pod = snapshot.pod(one.pod);
        (Reverse(pod.priority_or_zero()), pod.created, one.pod)
    });
    waiting
}

/// Reserves room for the first of these pods: as many as this work allows, in forecasts times
/// nodes.
pub fn expect_waiting(
    placement: &mut Placement<'_>,
    waiting: impl Iterator<Item = PodId>,
    most_work: usize,
) {
    let snapshot = placement.snapshot;
    // Pods of one controller share these parts in memory, so no node can run the next one either.
    let parts = |pod: &Pod| {
        let first = [address(&pod.spec), address(&pod.sizes)];
        let rest = [address(&pod.labels), address(&pod.volumes)];
        (first, rest)
    };
    let mut infeasible = BTreeSet::new();
    let mut work = 0;
    for id in waiting {
        let like = parts(snapshot.pod(id));
        if infeasible.contains(&like) {
            continue;
        }
        if work >= most_work {
            break;
        }
        work += snapshot.nodes.len();
        let found = forecast(placement, id);
        let Some(likeliest) = found.possible_nodes.first() else {
            infeasible.insert(like);
            continue;
        };
        // Without scores all nodes are equally likely, so only a single one says something.
        if is_known(placement, id) || found.possible_nodes.len() == 1 {
            let on = Some(likeliest.node);
            let possible_nodes = found.possible_nodes.iter().map(|p| p.node).collect();
            placement.expect(id, Landing { on, possible_nodes, starts: found.starts });
        }
    }
}

/// Returns whether something else than room keeps a pod waiting.
fn hold_of(snapshot: &Snapshot, pod: &Pod) -> Hold {
    let own = pod.volumes.ephemeral.iter().map(|own| &own.name);
    // The claim of an ephemeral volume is created soon.
    let own = own.filter(|name| snapshot.claim(pod, name).is_some());
    let claims = pod.volumes.claims.iter().chain(own);
    let claims = claims.map(|name| hold(snapshot, pod, name));
    // Whether a device is free or a group complete is not forecast.
    let other = if pod.resource_claims || pod.gang.is_some() { Hold::Doubtful } else { Hold::Free };
    claims.fold(other, Ord::max)
}

/// Whether the scheduler looks for a node for a pod. It leaves out pods that are gated or are being
/// deleted (`skipPodSchedule` and SchedulingGates in kube-scheduler).
fn waits(pod: &Pod) -> bool {
    // A pod on a node that is not known has the name of one.
    pod.facts().node.is_none() && pod.stays() && !pod.gated
}

#[cfg(test)]
mod tests {
    use super::super::tests::ask;
    use super::*;

    #[test]
    fn the_work_allows_so_many_pods_the_most_important_first() {
        let pods = "
- {kind: Pod, metadata: {name: first, namespace: default}, spec: {priority: 2, containers: [{name: c}]}}
- {kind: Pod, metadata: {name: p, namespace: default}, spec: {priority: 1, containers: [{name: c}]}}
";
        let expected = |most_work: usize| {
            ask(
                pods,
                |_| {},
                |placement, p| {
                    let waiting = waiting(placement.snapshot);
                    let waiting = waiting.into_iter().map(|one| one.pod);
                    expect_waiting(placement, waiting, most_work);
                    let first = placement.snapshot.find_pod("default", "first").unwrap();
                    [placement.expects(first), placement.expects(p)]
                },
            )
        };
        // A forecast for three nodes is a work of three.
        assert_eq!(expected(0), [false, false]);
        assert_eq!(expected(3), [true, false]);
        assert_eq!(expected(4), [true, true]);
    }
}
