//! The pods that wait for a node, each on its likeliest one.
//!
//! kube-scheduler takes them by priority, and those of equal priority in the order in which they
//! came (`PrioritySort`). A replacement that does not exist yet comes later. A pod that no node can
//! run takes no room.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::decide::placement::{Landing, Placement};
use crate::model::snapshot::{Pod, PodId};

use super::{forecast, is_known};

/// Reserves room for the pods that wait.
pub fn expect_waiting(placement: &mut Placement<'_>) {
    let snapshot = placement.snapshot;
    let mut waiting: Vec<PodId> = snapshot.pod_ids().collect();
    waiting.retain(|pod| waits(snapshot.pod(*pod)));
    waiting.sort_by_key(|id| {
        let pod = snapshot.pod(*id);
        (Reverse(pod.priority_or_zero()), pod.created, *id)
    });
    // Pods of one controller share these parts in memory, so no node can run the next one either.
    let parts = |pod: &Pod| {
        let first = [pod.spec.address(), pod.sizes.address()];
        let rest = [pod.labels.address(), pod.volumes.address()];
        (first, rest)
    };
    let mut infeasible = BTreeSet::new();
    for id in waiting {
        let like = parts(snapshot.pod(id));
        if infeasible.contains(&like) {
            continue;
        }
        let found = forecast(placement, id);
        let Some(likeliest) = found.possible_nodes.first() else {
            infeasible.insert(like);
            continue;
        };
        // Without scores all nodes are equally likely, so only a single one says something.
        if is_known(placement, id) || found.possible_nodes.len() == 1 {
            let landing = Landing {
                on: Some(likeliest.node),
                starts: found.starts,
                ..Landing::default()
            };
            placement.expect(id, landing);
        }
    }
}

/// Whether the scheduler looks for a node for a pod. It leaves out pods that are gated or are being
/// deleted (`skipPodSchedule` and SchedulingGates in kube-scheduler).
fn waits(pod: &Pod) -> bool {
    // A pod on a node that is not known has the name of one.
    pod.facts().node.is_none() && pod.stays() && !pod.gated
}
