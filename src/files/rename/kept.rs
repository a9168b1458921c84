//! The names that decisions compare with words of their own, and those of every cluster. They are
//! kept.

use jiff::{SignedDuration, Timestamp};

use super::NameKind;

impl NameKind {
    /// Whether a name is kept, because decisions compare it with a word, or because every cluster
    /// has it and policies refer to it.
    pub(in crate::files) fn keeps(self, name: &str) -> bool {
        match self {
            NameKind::Namespace => {
                ["default", "kube-system", "kube-public", "kube-node-lease"].contains(&name)
            }
            NameKind::Priority => {
                ["system-cluster-critical", "system-node-critical"].contains(&name)
            }
            NameKind::Scheduler => name == "default-scheduler",
            NameKind::Address => ["0.0.0.0", "127.0.0.1", "::"].contains(&name),
            NameKind::Key => KEYS.contains(&name),
            NameKind::Driver => DRIVERS.contains(&name),
            // The empty name means no class.
            NameKind::Storage => name.is_empty(),
            NameKind::Kind => KINDS.contains(&name),
            // Only custom resources have a domain.
            NameKind::Version => !name.contains('.') || name.starts_with("kubevirt.io/"),
            NameKind::Resource => {
                !name.contains('/') || ["nvidia.com/gpu", "amd.com/gpu"].contains(&name)
            }
            NameKind::Condition => CONDITIONS.contains(&name),
            NameKind::Text => is_told_apart(name),
            // The `managedBy` of a Job, if it is written out.
            NameKind::Part => name == "kubernetes.io/job-controller",
            NameKind::Node
            | NameKind::Pod
            | NameKind::ReplicaSet
            | NameKind::ReplicationController
            | NameKind::Job
            | NameKind::Workload
            | NameKind::Budget
            | NameKind::Service
            | NameKind::Claim
            | NameKind::Volume
            | NameKind::Attachment
            | NameKind::Container
            | NameKind::Image
            | NameKind::Value
            | NameKind::Reason
            | NameKind::Uid => false,
        }
    }
}

/// Well-known keys of labels and taints:
/// <https://kubernetes.io/docs/reference/labels-annotations-taints/>, and the keys that decisions
/// read.
const KEYS: [&str; 53] = [
    "DeletionCandidateOfClusterAutoscaler",
    "ToBeDeletedByClusterAutoscaler",
    "app.kubernetes.io/component",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/name",
    "app.kubernetes.io/part-of",
    "app.kubernetes.io/version",
    "apps.kubernetes.io/pod-index",
    "aws-node-termination-handler/asg-lifecycle-termination",
    "aws-node-termination-handler/rebalance-recommendation",
    "aws-node-termination-handler/scheduled-maintenance",
    "aws-node-termination-handler/spot-itn",
    "batch.kubernetes.io/job-name",
    "cloud.google.com/impending-node-termination",
    "controller-revision-hash",
    "evenkeel.io/steer",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "grove.io/podgang",
    "jobset.sigs.k8s.io/jobset-name",
    "karpenter.sh/disrupted",
    "karpenter.sh/disruption",
    "karpenter.sh/nodepool",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/metadata.name",
    "kubernetes.io/os",
    "kueue.x-k8s.io/pod-group-name",
    "leaderworkerset.sigs.k8s.io/group-index",
    "leaderworkerset.sigs.k8s.io/name",
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
    "node.cloudprovider.kubernetes.io/shutdown",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/instance-type",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/network-unavailable",
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/out-of-service",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/unschedulable",
    "pod-group.scheduling.sigs.k8s.io",
    "pod-group.scheduling.sigs.k8s.io/name",
    "pod-template-hash",
    "ray.io/originated-from-crd",
    "rollouts-pod-template-hash",
    "scheduling.x-k8s.io/pod-group",
    "statefulset.kubernetes.io/pod-name",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "volcano.sh/job-name",
];

/// The keys of labels and taints whose values decisions compare with words.
pub(super) const KEPT_VALUES: [&str; 3] =
    ["evenkeel.io/steer", "kubernetes.io/os", "ray.io/originated-from-crd"];

/// The plugins for volumes that CSI migration has replaced, and the drivers that replace them. A
/// volume without a provisioner is not provisioned where a pod lands.
const DRIVERS: [&str; 11] = [
    "cinder.csi.openstack.org",
    "csi.vsphere.vmware.com",
    "disk.csi.azure.com",
    "ebs.csi.aws.com",
    "kubernetes.io/aws-ebs",
    "kubernetes.io/azure-disk",
    "kubernetes.io/cinder",
    "kubernetes.io/gce-pd",
    "kubernetes.io/no-provisioner",
    "kubernetes.io/vsphere-volume",
    "pd.csi.storage.gke.io",
];

/// Kinds of Kubernetes that own other objects, and the machines of KubeVirt.
const KINDS: [&str; 10] = [
    "CronJob",
    "DaemonSet",
    "Deployment",
    "Job",
    "Node",
    "Pod",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
    "VirtualMachineInstance",
];

/// The types of the conditions that Kubernetes sets.
const CONDITIONS: [&str; 20] = [
    "AllContainersRestarting",
    "Complete",
    "ContainersReady",
    "DiskPressure",
    "DisruptionAllowed",
    "DisruptionTarget",
    "Failed",
    "FailureTarget",
    "Initialized",
    "MemoryPressure",
    "NetworkUnavailable",
    "PIDPressure",
    "PodReadyToStartContainers",
    "PodResizeInProgress",
    "PodResizePending",
    "PodScheduled",
    "Ready",
    "ReplicaFailure",
    "SuccessCriteriaMet",
    "Suspended",
];

/// Whether decisions tell this value of an annotation from others: a word, a number, a duration or
/// a time.
fn is_told_apart(value: &str) -> bool {
    let words = ["api", "false", "no", "on-completion", "true"];
    words.iter().any(|word| value.eq_ignore_ascii_case(word))
        || value.parse::<i64>().is_ok()
        || value.parse::<SignedDuration>().is_ok()
        || value.parse::<Timestamp>().is_ok()
}
