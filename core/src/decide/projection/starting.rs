//! Nodes that start no pods although they are Ready.
//!
//! The network or the storage of a node may fail while its kubelet goes on: there are no addresses
//! left for pods, or a CSI driver does not respond. New pods wait for their sandbox then (the
//! condition `PodReadyToStartContainers`). The node looks idle, so kube-scheduler prefers it.
//!
//! One workload may wait for a Secret that does not exist. So pods of two must have waited for long
//! since the last start of a container on the node.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::model::snapshot::facts::PodPhase;
use crate::model::snapshot::{NodeId, Pod, WorkloadId};

use super::World;

/// The time after which a start has taken long. Volumes are attached within a few minutes, and most
/// images are pulled.
pub const LONG_START: SignedDuration = SignedDuration::from_mins(10);

/// Returns the nodes that start no pods.
pub(super) fn starting_nothing(world: World<'_>) -> BTreeSet<NodeId> {
    world.snapshot.node_ids().filter(|node| starts_nothing(world, *node)).collect()
}

fn starts_nothing(world: World<'_>, node: NodeId) -> bool {
    let snapshot = world.snapshot;
    let pods = || snapshot.node(node).pods.iter().map(|pod| snapshot.pod(*pod));
    let waits_for_long = |pod: &Pod| {
        let since =
            waits_since(pod).filter(|since| world.now.duration_since(*since) >= LONG_START)?;
        Some((since, pod.workload?))
    };
    let waiting: Vec<(Timestamp, WorkloadId)> = pods().filter_map(waits_for_long).collect();
    if waiting.is_empty() {
        return false;
    }
    let last_start = pods().filter_map(|pod| pod.running_since).max();
    let since_then = waiting.iter().filter(|(since, _)| last_start < Some(*since));
    let workloads: BTreeSet<WorkloadId> = since_then.map(|(_, workload)| *workload).collect();
    workloads.len() > 1
}

/// The time since when a pod waits for its sandbox.
fn waits_since(pod: &Pod) -> Option<Timestamp> {
    if pod.phase != PodPhase::Pending || pod.terminating {
        return None;
    }
    let mut conditions = pod.conditions.iter();
    let sandbox = conditions.find(|condition| condition.is("PodReadyToStartContainers"))?;
    sandbox.since.filter(|_| sandbox.state.status == "False")
}
