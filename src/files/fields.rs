//! The fields that a snapshot keeps of each kind, and how to scramble each field.
//!
//! The lists name the fields to keep, so an unknown field is left out. No kept field holds free
//! text, so none can contain an environment variable, an argument, a command or a secret.

use super::rename::NameKind;

use self::controllers::{JOB, REPLICA_SET};
use self::storage::{
    ATTACHMENT, CLAIM, CSI_NODE, PERSISTENT_VOLUME, STORAGE_CLASS as STORAGE_CLASS_FIELDS,
};

mod controllers;
mod storage;

/// How a value is kept. The rule of a list applies to each item.
#[derive(Clone, Copy, Debug)]
pub(super) enum Keep {
    /// Unchanged: numbers, times, and values that Kubernetes defines.
    Plain,
    /// Only its presence: an empty object.
    Presence,
    /// The name of the object itself.
    OwnName,
    /// A name of this kind.
    Name(NameKind),
    /// The key of a label, or a list of keys.
    Key,
    /// Labels, or a selector that lists labels.
    Labels,
    /// Requirements on labels (`matchExpressions`).
    Expressions,
    /// Requirements on the fields of a node (`matchFields`). Kubernetes supports only
    /// `metadata.name`.
    NodeFields,
    /// A taint or a toleration.
    Taint,
    /// Amounts by resource.
    Amounts,
    /// The annotations that decisions read.
    Annotations,
    /// Owner references.
    Owners,
    /// These fields.
    Fields(KeptFields),
}

/// Fields by name.
pub(super) type KeptFields = &'static [(&'static str, Keep)];

use Keep::{
    Amounts, Annotations, Expressions, Key, Labels, Name, NodeFields, OwnName, Owners, Plain,
    Presence, Taint,
};

/// Annotations whose values decisions read; see `model::snapshot::import`.
pub(super) const ANNOTATIONS: [&str; 15] = [
    "batch.kubernetes.io/job-index-failure-count",
    "cluster-autoscaler.kubernetes.io/safe-to-evict",
    "descheduler.alpha.kubernetes.io/eviction-in-progress",
    "cluster-autoscaler.kubernetes.io/scale-down-disabled",
    "controller.kubernetes.io/pod-deletion-cost",
    "descheduler.alpha.kubernetes.io/evict",
    "descheduler.alpha.kubernetes.io/prefer-no-eviction",
    "evenkeel.io/evict-single-replica",
    "evenkeel.io/pause-all-until",
    "evenkeel.io/pause-until",
    "karpenter.sh/do-not-disrupt",
    "kubernetes.io/config.source",
    "pv.kubernetes.io/bind-completed",
    "storageclass.kubernetes.io/is-default-class",
    STORAGE_CLASS,
];

/// Annotations whose values name the group of a pod. Labels may name the same group.
pub(super) const GANGS: [&str; 3] = [
    "gang.scheduling.koordinator.sh/name",
    "pod-group-name",
    "scheduling.k8s.io/group-name",
];

/// Pauses of evictions. Their values are reasons, which decisions do not read.
pub(super) const PAUSES: [&str; 2] = ["evenkeel.io/pause", "evenkeel.io/pause-all"];

/// Its value is the name of a storage class.
pub(super) const STORAGE_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
/// Its value is the hash of a file; decisions read only its presence.
pub(super) const MIRROR: &str = "kubernetes.io/config.mirror";

const META: Keep = Keep::Fields(&[
    ("name", OwnName),
    ("namespace", Name(NameKind::Namespace)),
    ("uid", Name(NameKind::Uid)),
    ("generation", Plain),
    ("creationTimestamp", Plain),
    ("deletionTimestamp", Plain),
    ("labels", Labels),
    ("annotations", Annotations),
    ("ownerReferences", Owners),
]);

const SELECTOR: Keep = Keep::Fields(&[("matchLabels", Labels), ("matchExpressions", Expressions)]);
const NODE_TERM: Keep = Keep::Fields(&[
    ("matchExpressions", Expressions),
    ("matchFields", NodeFields),
]);
const NODE_SELECTOR: Keep = Keep::Fields(&[("nodeSelectorTerms", NODE_TERM)]);
const POD_TERM: Keep = Keep::Fields(&[
    ("labelSelector", SELECTOR),
    ("namespaceSelector", SELECTOR),
    ("namespaces", Name(NameKind::Namespace)),
    ("topologyKey", Key),
    ("matchLabelKeys", Key),
    ("mismatchLabelKeys", Key),
]);
const POD_TERMS: Keep = Keep::Fields(&[
    (REQUIRED, POD_TERM),
    (
        PREFERRED,
        Keep::Fields(&[("weight", Plain), ("podAffinityTerm", POD_TERM)]),
    ),
]);
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const AFFINITY: Keep = Keep::Fields(&[
    (
        "nodeAffinity",
        Keep::Fields(&[
            (REQUIRED, NODE_SELECTOR),
            (
                PREFERRED,
                Keep::Fields(&[("weight", Plain), ("preference", NODE_TERM)]),
            ),
        ]),
    ),
    ("podAffinity", POD_TERMS),
    ("podAntiAffinity", POD_TERMS),
]);
const SPREAD: Keep = Keep::Fields(&[
    ("maxSkew", Plain),
    ("minDomains", Plain),
    ("topologyKey", Key),
    ("whenUnsatisfiable", Plain),
    ("labelSelector", SELECTOR),
    ("matchLabelKeys", Key),
    ("nodeAffinityPolicy", Plain),
    ("nodeTaintsPolicy", Plain),
]);
const RESOURCES: Keep = Keep::Fields(&[("requests", Amounts), ("limits", Amounts)]);
const PORTS: Keep = Keep::Fields(&[
    ("containerPort", Plain),
    ("hostPort", Plain),
    ("protocol", Plain),
    ("hostIP", Name(NameKind::Address)),
]);
const CONTAINER: Keep = Keep::Fields(&[
    ("name", Name(NameKind::Container)),
    ("image", Name(NameKind::Image)),
    ("resources", RESOURCES),
    ("restartPolicy", Plain),
    ("ports", PORTS),
]);
const STATE: Keep = Keep::Fields(&[
    ("running", Keep::Fields(&[("startedAt", Plain)])),
    ("waiting", Keep::Fields(&[("reason", Plain)])),
    (
        "terminated",
        Keep::Fields(&[("reason", Plain), ("exitCode", Plain)]),
    ),
]);
const CONTAINER_STATUS: Keep = Keep::Fields(&[
    ("name", Name(NameKind::Container)),
    ("ready", Plain),
    ("restartCount", Plain),
    ("state", STATE),
    ("lastState", STATE),
    ("allocatedResources", Amounts),
    ("resources", RESOURCES),
]);
const CONDITION: Keep = Keep::Fields(&[
    ("type", Name(NameKind::Condition)),
    ("status", Plain),
    ("reason", Plain),
    ("lastTransitionTime", Plain),
]);
const VOLUME: Keep = Keep::Fields(&[
    ("name", Name(NameKind::Part)),
    ("emptyDir", Presence),
    ("hostPath", Presence),
    (
        "ephemeral",
        Keep::Fields(&[(
            "volumeClaimTemplate",
            Keep::Fields(&[(
                "spec",
                Keep::Fields(&[("storageClassName", Name(NameKind::Storage))]),
            )]),
        )]),
    ),
    (
        "persistentVolumeClaim",
        Keep::Fields(&[("claimName", Name(NameKind::Claim))]),
    ),
]);

const NODE: KeptFields = &[
    ("metadata", META),
    (
        "spec",
        Keep::Fields(&[("unschedulable", Plain), ("taints", Taint)]),
    ),
    (
        "status",
        Keep::Fields(&[
            ("allocatable", Amounts),
            ("capacity", Amounts),
            ("conditions", CONDITION),
            (
                "images",
                Keep::Fields(&[("names", Name(NameKind::Image)), ("sizeBytes", Plain)]),
            ),
            ("nodeInfo", Keep::Fields(&[("operatingSystem", Plain)])),
        ]),
    ),
];
const POD_SPEC: Keep = Keep::Fields(&[
    ("nodeName", Name(NameKind::Node)),
    ("priority", Plain),
    ("priorityClassName", Name(NameKind::Priority)),
    ("preemptionPolicy", Plain),
    ("schedulerName", Name(NameKind::Scheduler)),
    (
        "schedulingGates",
        Keep::Fields(&[("name", Name(NameKind::Part))]),
    ),
    ("os", Keep::Fields(&[("name", Plain)])),
    ("nodeSelector", Labels),
    ("affinity", AFFINITY),
    ("topologySpreadConstraints", SPREAD),
    ("tolerations", Taint),
    ("containers", CONTAINER),
    ("initContainers", CONTAINER),
    ("ephemeralContainers", CONTAINER),
    ("overhead", Amounts),
    ("resources", RESOURCES),
    (
        "resourceClaims",
        Keep::Fields(&[("name", Name(NameKind::Part))]),
    ),
    (
        "schedulingGroup",
        Keep::Fields(&[("podGroupName", Name(NameKind::Value))]),
    ),
    ("restartPolicy", Plain),
    ("terminationGracePeriodSeconds", Plain),
    ("hostNetwork", Plain),
    ("volumes", VOLUME),
]);
const POD: KeptFields = &[
    ("metadata", META),
    ("spec", POD_SPEC),
    (
        "status",
        Keep::Fields(&[
            ("phase", Plain),
            ("reason", Plain),
            ("qosClass", Plain),
            ("nominatedNodeName", Name(NameKind::Node)),
            ("startTime", Plain),
            ("conditions", CONDITION),
            ("containerStatuses", CONTAINER_STATUS),
            ("initContainerStatuses", CONTAINER_STATUS),
            ("ephemeralContainerStatuses", CONTAINER_STATUS),
        ]),
    ),
];
const BUDGET: KeptFields = &[
    ("metadata", META),
    (
        "spec",
        Keep::Fields(&[
            ("selector", SELECTOR),
            ("minAvailable", Plain),
            ("maxUnavailable", Plain),
            ("unhealthyPodEvictionPolicy", Plain),
        ]),
    ),
    (
        "status",
        Keep::Fields(&[
            ("disruptionsAllowed", Plain),
            ("currentHealthy", Plain),
            ("desiredHealthy", Plain),
            ("expectedPods", Plain),
            ("observedGeneration", Plain),
            ("conditions", CONDITION),
        ]),
    ),
];
const CLASS: KeptFields = &[
    ("metadata", META),
    ("value", Plain),
    ("globalDefault", Plain),
    ("preemptionPolicy", Plain),
];
const SERVICE: KeptFields = &[
    ("metadata", META),
    ("spec", Keep::Fields(&[("selector", Labels)])),
];
const META_ONLY: KeptFields = &[("metadata", META)];
const NODE_METRICS: KeptFields = &[
    ("metadata", META),
    ("timestamp", Plain),
    ("window", Plain),
    ("usage", Amounts),
];
const POD_METRICS: KeptFields = &[
    ("metadata", META),
    ("timestamp", Plain),
    ("window", Plain),
    (
        "containers",
        Keep::Fields(&[("name", Name(NameKind::Container)), ("usage", Amounts)]),
    ),
];

/// The kind of an object's name and the fields to keep; `None` for objects that are left out.
pub(super) fn fields_of_kind(kind: &str) -> Option<(NameKind, KeptFields)> {
    Some(match kind {
        "Node" => (NameKind::Node, NODE),
        "Pod" => (NameKind::Pod, POD),
        "PodDisruptionBudget" => (NameKind::Budget, BUDGET),
        "Namespace" => (NameKind::Namespace, META_ONLY),
        "PriorityClass" => (NameKind::Priority, CLASS),
        "PersistentVolumeClaim" => (NameKind::Claim, CLAIM),
        "PersistentVolume" => (NameKind::Volume, PERSISTENT_VOLUME),
        "StorageClass" => (NameKind::Storage, STORAGE_CLASS_FIELDS),
        "CSINode" => (NameKind::Node, CSI_NODE),
        "VolumeAttachment" => (NameKind::Attachment, ATTACHMENT),
        "Service" => (NameKind::Service, SERVICE),
        "ReplicaSet" => (NameKind::ReplicaSet, REPLICA_SET),
        "ReplicationController" => (NameKind::ReplicationController, REPLICA_SET),
        "StatefulSet" => (NameKind::Workload, REPLICA_SET),
        "Job" => (NameKind::Job, JOB),
        "NodeMetrics" => (NameKind::Node, NODE_METRICS),
        "PodMetrics" => (NameKind::Pod, POD_METRICS),
        _ => return None,
    })
}
