//! Nodes whose kubelets have refused pods of a workload.
//!
//! The kubelet refuses a pod that it cannot admit (`rejectPod` in
//! kubernetes/pkg/kubelet/kubelet.go): the pod fails, and its controller creates another one.
//! kube-scheduler does not see why, so it may choose the same node again.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::model::snapshot::facts::PodPhase;
use crate::model::snapshot::{NodeId, Pod, WorkloadId};

use super::World;

/// The reasons of pods that have failed otherwise, or that the kubelet refuses only until the
/// pressure or the shutdown of its node has passed. The node reports both.
const PASSING: [&str; 5] =
    ["DeadlineExceeded", "Evicted", "NodeShutdown", "Preempting", "Terminated"];
/// The time after which a refusal says nothing any more: the node may have changed.
const RECENT: SignedDuration = SignedDuration::from_hours(1);

/// The reason of the newest refusal of a workload's pod on a node, after which none has started
/// there.
pub(super) type RefusedPods = BTreeMap<(NodeId, WorkloadId), String>;

pub(super) fn refused(world: World<'_>) -> RefusedPods {
    let mut newest: BTreeMap<(NodeId, WorkloadId), (Timestamp, &str)> = BTreeMap::new();
    for pod in &world.snapshot.pods {
        if let Some((key, reason)) = refusal(pod, world.now) {
            let at = newest.entry(key).or_insert((pod.created, reason));
            *at = (*at).max((pod.created, reason));
        }
    }
    let lasts = newest.into_iter().filter(|((node, workload), (at, _))| {
        let pods = world.snapshot.workload(*workload).pods.iter().map(|id| world.snapshot.pod(*id));
        let mut there = pods.filter(|pod| pod.node == Some(*node));
        !there.any(|pod| pod.running_since > Some(*at))
    });
    lasts.map(|(key, (_, reason))| (key, reason.to_owned())).collect()
}

fn refusal(pod: &Pod, now: Timestamp) -> Option<((NodeId, WorkloadId), &str)> {
    if pod.phase != PodPhase::Failed || now.duration_since(pod.created) >= RECENT {
        return None;
    }
    let reason = pod.reason.as_deref().filter(|reason| !PASSING.contains(reason))?;
    let mut containers = pod.containers.iter();
    let has_run = containers.any(|container| container.ended.is_some() || container.restarts > 0);
    Some(((pod.node?, pod.workload?), reason)).filter(|_| !has_run)
}
