//! Why a node takes no new pods, beside taints and a Ready condition that is not true.

use std::fmt;

/// A reason why a node takes no new pods.
///
/// kube-scheduler sees only the taints that the node controller sets for conditions a moment later
/// (`nodeConditionToTaintKeyStatusMap` in its source). It does not see a deletion at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeClosure {
    /// It has a deletion timestamp. The owner of its finalizer, such as Karpenter, drains it and
    /// removes it.
    Deleting,
    /// It has a taint by which an autoscaler says that it is removing the node.
    Leaving,
    /// It has a taint by which a cloud provider says that its machine stops or has stopped.
    Stopping,
    /// It is cordoned, and is soon drained.
    Cordoned,
    /// It has no Ready condition, so its kubelet has never reported.
    NeverReady,
    /// Its Ready condition is not true. The scheduler sees a taint, which a pod may tolerate; no
    /// kubelet would start it.
    NotReady,
    /// Its condition MemoryPressure is true.
    MemoryPressure,
    /// Its condition DiskPressure is true.
    DiskPressure,
    /// Its condition PIDPressure is true.
    PidPressure,
    /// Its condition NetworkUnavailable is true.
    NetworkUnavailable,
    /// Pods of several workloads have waited long for a sandbox or an image there. Only the pods
    /// tell, not the facts of the node.
    StartsNothing,
}

/// Taints of a node that an autoscaler is removing. A pod that tolerates them is deleted with the
/// node: `ToBeDeletedTaint` in cluster-autoscaler/utils/taints/taints.go, and the taint of
/// <https://karpenter.sh/docs/concepts/disruption/#termination-controller>, which was called
/// `karpenter.sh/disruption` before v1.
const LEAVING: [&str; 3] =
    ["ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", "karpenter.sh/disruption"];

/// Taints of a node whose machine stops or has stopped: that of the cloud node lifecycle controller
/// (k8s.io/cloud-provider/api), that of an operator for a non-graceful node shutdown, that of GKE
/// for a preemptible machine, and those of <https://github.com/aws/aws-node-termination-handler>.
const STOPPING: [&str; 7] = [
    "node.cloudprovider.kubernetes.io/shutdown",
    "node.kubernetes.io/out-of-service",
    "cloud.google.com/impending-node-termination",
    "aws-node-termination-handler/asg-lifecycle-termination",
    "aws-node-termination-handler/rebalance-recommendation",
    "aws-node-termination-handler/scheduled-maintenance",
    "aws-node-termination-handler/spot-itn",
];

impl NodeClosure {
    /// The soft taint by which cluster-autoscaler announces that it may remove a node. It takes it
    /// back when pods arrive, so it closes no node.
    pub const CANDIDATE: &str = "DeletionCandidateOfClusterAutoscaler";

    /// Returns the closure that a taint with this key means, whether or not a pod tolerates it;
    /// `None` if it means none.
    pub fn of_taint(key: &str) -> Option<Self> {
        let stopping = STOPPING.contains(&key).then_some(NodeClosure::Stopping);
        LEAVING.contains(&key).then_some(NodeClosure::Leaving).or(stopping)
    }

    /// Returns the closure that a true condition of this type means; `None` if it means none.
    pub fn of_condition(kind: &str) -> Option<Self> {
        match kind {
            "MemoryPressure" => Some(NodeClosure::MemoryPressure),
            "DiskPressure" => Some(NodeClosure::DiskPressure),
            "PIDPressure" => Some(NodeClosure::PidPressure),
            "NetworkUnavailable" => Some(NodeClosure::NetworkUnavailable),
            _ => None,
        }
    }

    /// Returns the key of the NoSchedule taint that the control plane sets for it a moment later;
    /// `None` if it sets none. The filter NodeUnschedulable compares tolerations with that of a
    /// cordon whether or not it is set.
    pub const fn taint(self) -> Option<&'static str> {
        match self {
            // The taint of a node that is not Ready depends on why it is not.
            NodeClosure::Deleting
            | NodeClosure::Leaving
            | NodeClosure::Stopping
            | NodeClosure::NotReady
            | NodeClosure::StartsNothing => None,
            NodeClosure::Cordoned => Some("node.kubernetes.io/unschedulable"),
            NodeClosure::NeverReady => Some("node.kubernetes.io/not-ready"),
            NodeClosure::MemoryPressure => Some("node.kubernetes.io/memory-pressure"),
            NodeClosure::DiskPressure => Some("node.kubernetes.io/disk-pressure"),
            NodeClosure::PidPressure => Some("node.kubernetes.io/pid-pressure"),
            NodeClosure::NetworkUnavailable => Some("node.kubernetes.io/network-unavailable"),
        }
    }
}

impl fmt::Display for NodeClosure {
    /// Writes the words that follow "the node is".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NodeClosure::Deleting => "being deleted",
            NodeClosure::Leaving => "being removed by an autoscaler",
            NodeClosure::Stopping => "about to stop, by its taint",
            NodeClosure::Cordoned => "cordoned",
            NodeClosure::NeverReady => "without a Ready condition",
            NodeClosure::NotReady => "not Ready",
            NodeClosure::MemoryPressure => "under memory pressure",
            NodeClosure::DiskPressure => "under disk pressure",
            NodeClosure::PidPressure => "under PID pressure",
            NodeClosure::NetworkUnavailable => "without a network",
            NodeClosure::StartsNothing => "unable to start pods",
        })
    }
}
