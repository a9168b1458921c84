//! Nodes that start no pods although they are Ready.
//!
//! The network or the storage of a node may fail while its kubelet goes on: there are no addresses
//! left for pods, or a CSI driver does not respond. New pods wait for their sandbox then (the
//! condition `PodReadyToStartContainers`). Or the node cannot reach a registry. New pods wait for
//! images then that run on other nodes. The node looks idle, so kube-scheduler prefers it.
//!
//! One workload may wait for a Secret that does not exist. So pods of two must have waited for long
//! since the last start of a container on the node.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::model::snapshot::facts::{Container, PodPhase};
use crate::model::snapshot::{NodeId, Pod, Snapshot, WorkloadId};

use super::World;

/// The time after which a start has taken long. Volumes are attached within a few minutes, and most
/// images are pulled.
pub const LONG_START: SignedDuration = SignedDuration::from_mins(10);

/// The reasons of a container whose image the kubelet does not get
/// (kubernetes/pkg/kubelet/images/types.go).
const NOT_PULLED: [&str; 2] = ["ErrImagePull", "ImagePullBackOff"];

/// Returns the nodes that start no pods.
pub(super) fn starting_nothing(world: World<'_>) -> BTreeSet<NodeId> {
    let images = missed_images(world.snapshot);
    world.snapshot.node_ids().filter(|node| starts_nothing(world, *node, &images)).collect()
}

/// The images that containers wait for, and that Ready pods have. Nearly always there are none.
fn missed_images(snapshot: &Snapshot) -> BTreeSet<&str> {
    let containers = snapshot.pods.iter().flat_map(|pod| pod.containers.iter());
    let missed = containers.filter(|one| is_not_pulled(one)).map(|one| one.image.as_str());
    let missed: BTreeSet<&str> = missed.collect();
    if missed.is_empty() {
        return missed;
    }
    let ready = snapshot.pods.iter().filter(|pod| pod.ready);
    let found = ready.flat_map(|pod| pod.containers.iter()).map(|one| one.image.as_str());
    found.filter(|image| missed.contains(image)).collect()
}

fn is_not_pulled(container: &Container) -> bool {
    container.waiting.as_deref().is_some_and(|reason| NOT_PULLED.contains(&reason))
}

fn starts_nothing(world: World<'_>, node: NodeId, images: &BTreeSet<&str>) -> bool {
    let snapshot = world.snapshot;
    let pods = || snapshot.node(node).pods.iter().map(|pod| snapshot.pod(*pod));
    let waits_for_long = |pod: &Pod| {
        let since = waits_since(pod, images);
        let since = since.filter(|since| world.now.duration_since(*since) >= LONG_START)?;
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

/// The time since when a pod waits for its sandbox, or for one of these images.
fn waits_since(pod: &Pod, images: &BTreeSet<&str>) -> Option<Timestamp> {
    if pod.phase != PodPhase::Pending || pod.terminating {
        return None;
    }
    let mut conditions = pod.conditions.iter();
    let sandbox = conditions.find(|condition| condition.is("PodReadyToStartContainers"))?;
    let mut missing = pod.containers.iter().filter(|container| is_not_pulled(container));
    let waits = sandbox.state.status == "False"
        || missing.any(|container| images.contains(container.image.as_str()));
    sandbox.since.filter(|_| waits)
}
