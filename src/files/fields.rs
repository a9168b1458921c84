//! The fields that a snapshot keeps of each kind, and how to scramble each field.
//!
//! The lists name the fields to keep, so an unknown field is left out. Of free text, only the
//! values of [`ANNOTATIONS`], the reasons of conditions and the words "exceeded quota" in their
//! messages are kept, so nothing can contain an environment variable, an argument or a command. In
//! a scrambled file, free text is replaced.

use super::rename::NameKind;

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
    /// A condition with its reason.
    Condition,
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
    Amounts, Annotations, Condition, Expressions, Key, Labels, Name, NodeFields, OwnName, Owners,
    Plain, Presence, Taint,
};

/// Annotations whose values decisions read; see `model::snapshot::import`.
pub(super) const ANNOTATIONS: [&str; 17] = [
    "batch.kubernetes.io/job-index-failure-count",
    "cluster-autoscaler.kubernetes.io/safe-to-evict",
    "descheduler.alpha.kubernetes.io/eviction-in-progress",
    "cluster-autoscaler.kubernetes.io/scale-down-disabled",
    "controller.kubernetes.io/pod-deletion-cost",
    "descheduler.alpha.kubernetes.io/evict",
    "descheduler.alpha.kubernetes.io/prefer-no-eviction",
    "descheduler.alpha.kubernetes.io/request-evict-only",
    "evenkeel.io/evict-single-replica",
    "evenkeel.io/pause-all-until",
    "evenkeel.io/pause-until",
    "karpenter.sh/do-not-disrupt",
    "kubernetes.io/config.source",
    "pv.kubernetes.io/bind-completed",
    "storageclass.beta.kubernetes.io/is-default-class",
    "storageclass.kubernetes.io/is-default-class",
    STORAGE_CLASS,
];

/// Annotations whose values name the group of a pod. Labels may name the same group.
pub(super) const GANGS: [&str; 5] = [
    "gang.scheduling.koordinator.sh/name",
    "pod-group-name",
    "scheduling.k8s.io/group-name",
    "scheduling.volcano.sh/group-name",
    "yunikorn.apache.org/task-group-name",
];

/// Pauses of evictions. Their values are reasons, which decisions do not read.
pub(super) const PAUSES: [&str; 2] = ["evenkeel.io/pause", "evenkeel.io/pause-all"];

/// Its value is the name of a storage class.
pub(super) const STORAGE_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
/// Its value is the name of a node.
pub(super) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// Its value is the hash of a file; decisions read only its presence.
pub(super) const MIRROR: &str = "kubernetes.io/config.mirror";

/// Lists fields with their rules. A field without one is plain, and a block is a list of its own.
macro_rules! kept {
    (@rule) => { Plain };
    (@rule $rule:ident) => { $rule };
    (@rule $rule:ident $kind:ident) => { $rule(NameKind::$kind) };
    (@rule { $($fields:tt)* }) => { Keep::Fields(kept! { $($fields)* }) };
    ($($field:ident $(: $rule:ident $(($kind:ident))?)? $({ $($fields:tt)* })?),* $(,)?) => {
        &[$((stringify!($field), kept!(@rule $($rule $($kind)?)? $({ $($fields)* })?))),*]
    };
}

const META: Keep = Keep::Fields(kept! {
    name: OwnName, namespace: Name(Namespace), uid: Name(Uid), generation, creationTimestamp,
    deletionTimestamp, labels: Labels, annotations: Annotations, ownerReferences: Owners,
});
const SELECTOR: Keep = Keep::Fields(kept! { matchLabels: Labels, matchExpressions: Expressions });
const NODE_TERM: Keep =
    Keep::Fields(kept! { matchExpressions: Expressions, matchFields: NodeFields });
const NODE_SELECTOR: Keep = Keep::Fields(kept! { nodeSelectorTerms: NODE_TERM });
const POD_TERM: Keep = Keep::Fields(kept! {
    labelSelector: SELECTOR, namespaceSelector: SELECTOR, namespaces: Name(Namespace),
    topologyKey: Key, matchLabelKeys: Key, mismatchLabelKeys: Key,
});
const POD_TERMS: Keep = Keep::Fields(kept! {
    requiredDuringSchedulingIgnoredDuringExecution: POD_TERM,
    preferredDuringSchedulingIgnoredDuringExecution { weight, podAffinityTerm: POD_TERM },
});
const AFFINITY: Keep = Keep::Fields(kept! {
    nodeAffinity {
        requiredDuringSchedulingIgnoredDuringExecution: NODE_SELECTOR,
        preferredDuringSchedulingIgnoredDuringExecution { weight, preference: NODE_TERM },
    },
    podAffinity: POD_TERMS,
    podAntiAffinity: POD_TERMS,
});
const SPREAD: Keep = Keep::Fields(kept! {
    maxSkew, minDomains, topologyKey: Key, whenUnsatisfiable, labelSelector: SELECTOR,
    matchLabelKeys: Key, nodeAffinityPolicy, nodeTaintsPolicy,
});
const RESOURCES: Keep = Keep::Fields(kept! { requests: Amounts, limits: Amounts });
const CONTAINER: Keep = Keep::Fields(kept! {
    name: Name(Container),
    image: Name(Image),
    imagePullPolicy,
    resources: RESOURCES,
    restartPolicy,
    ports { containerPort, hostPort, protocol, hostIP: Name(Address) },
});
const STATE: Keep = Keep::Fields(kept! {
    running { startedAt }, waiting { reason }, terminated { reason, exitCode },
});
const CONTAINER_STATUS: Keep = Keep::Fields(kept! {
    name: Name(Container), restartCount, state: STATE, lastState: STATE,
    allocatedResources: Amounts, resources: RESOURCES,
});
const VOLUME: Keep = Keep::Fields(kept! {
    name: Name(Part),
    emptyDir: Presence,
    hostPath: Presence,
    ephemeral { volumeClaimTemplate { spec { storageClassName: Name(Storage) } } },
    persistentVolumeClaim { claimName: Name(Claim) },
    csi { driver: Name(Driver) },
    image { reference: Name(Image), pullPolicy },
});
const POD_SPEC: Keep = Keep::Fields(kept! {
    nodeName: Name(Node),
    priority,
    priorityClassName: Name(Priority),
    preemptionPolicy,
    schedulerName: Name(Scheduler),
    schedulingGates { name: Name(Part) },
    os { name },
    securityContext { supplementalGroupsPolicy },
    hostUsers,
    runtimeClassName: Name(Part),
    nodeSelector: Labels,
    affinity: AFFINITY,
    topologySpreadConstraints: SPREAD,
    tolerations: Taint,
    containers: CONTAINER,
    initContainers: CONTAINER,
    ephemeralContainers: CONTAINER,
    overhead: Amounts,
    resources: RESOURCES,
    resourceClaims { name: Name(Part) },
    schedulingGroup { podGroupName: Name(Value) },
    workloadRef { name: Name(Value), podGroup: Name(Value), podGroupReplicaKey: Name(Value) },
    restartPolicy,
    terminationGracePeriodSeconds,
    hostNetwork,
    volumes: VOLUME,
});

const META_ONLY: KeptFields = kept! { metadata: META };
const NODE: KeptFields = kept! {
    metadata: META,
    spec { unschedulable, taints: Taint },
    status {
        allocatable: Amounts,
        capacity: Amounts,
        conditions: Condition,
        images { names: Name(Image), sizeBytes },
        nodeInfo { operatingSystem },
        features { supplementalGroupsPolicy },
        runtimeHandlers { name: Name(Part), features { userNamespaces } },
    },
};
const POD: KeptFields = kept! {
    metadata: META,
    spec: POD_SPEC,
    status {
        phase, reason, qosClass, nominatedNodeName: Name(Node), startTime, conditions: Condition,
        containerStatuses: CONTAINER_STATUS,
        initContainerStatuses: CONTAINER_STATUS,
        ephemeralContainerStatuses: CONTAINER_STATUS,
        allocatedResources: Amounts, resources: RESOURCES,
        extendedResourceClaimStatus: Presence,
    },
};
const BUDGET: KeptFields = kept! {
    metadata: META,
    spec { selector: SELECTOR, minAvailable, maxUnavailable, unhealthyPodEvictionPolicy },
    status {
        disruptionsAllowed, currentHealthy, desiredHealthy, expectedPods, observedGeneration,
        conditions: Condition,
    },
};
const PRIORITY_CLASS: KeptFields = kept! { metadata: META, value };
const SERVICE: KeptFields = kept! { metadata: META, spec { selector: Labels } };
const NODE_METRICS: KeptFields = kept! { metadata: META, timestamp, window, usage: Amounts };
const POD_METRICS: KeptFields = kept! {
    metadata: META, timestamp, window, containers { name: Name(Container), usage: Amounts },
};

const TEMPLATE: Keep = Keep::Fields(kept! {
    spec { nodeName: Name(Node), schedulingGates { name: Name(Part) } },
});
/// Also of a ReplicationController and a StatefulSet.
const REPLICA_SET: KeptFields = kept! {
    metadata: META,
    spec {
        replicas, podManagementPolicy, ordinals { start }, minReadySeconds, template: TEMPLATE,
        updateStrategy { rollingUpdate { partition } },
    },
    status { conditions: Condition, updateRevision: Name(Value) },
};
const JOB: KeptFields = kept! {
    metadata: META,
    spec {
        parallelism, completions, activeDeadlineSeconds, template: TEMPLATE, backoffLimit,
        backoffLimitPerIndex, suspend,
        podFailurePolicy {
            rules {
                action,
                onExitCodes { operator, values },
                onPodConditions { type: Name(Condition), status },
            },
        },
        podReplacementPolicy, managedBy: Name(Part),
    },
    status {
        conditions: Condition,
        startTime, succeeded, failed,
        uncountedTerminatedPods { failed: Name(Uid) },
    },
};

const CLAIM: KeptFields = kept! {
    metadata: META,
    spec { storageClassName: Name(Storage), volumeName: Name(Volume), accessModes },
    status { phase },
};
const DISK: Keep = Keep::Fields(kept! {
    pdName: Name(Volume), volumeID: Name(Volume), volumePath: Name(Volume), diskName: Name(Volume),
});
const PERSISTENT_VOLUME: KeptFields = kept! {
    metadata: META,
    spec {
        claimRef { namespace: Name(Namespace), name: Name(Claim), uid: Name(Uid) },
        nodeAffinity { required: NODE_SELECTOR },
        csi { driver: Name(Driver), volumeHandle: Name(Volume), volumeAttributes { dataLocality } },
        hostPath: Presence,
        local: Presence,
        nfs: Presence,
        azureFile: Presence,
        gcePersistentDisk: DISK,
        awsElasticBlockStore: DISK,
        cinder: DISK,
        vsphereVolume: DISK,
        azureDisk: DISK,
    },
    status { phase },
};
const ATTACHMENT: KeptFields = kept! {
    metadata: META,
    spec {
        attacher: Name(Driver), nodeName: Name(Node), source { persistentVolumeName: Name(Volume) },
    },
};
const CLASS_OF_STORAGE: KeptFields = kept! {
    metadata: META, provisioner: Name(Driver), volumeBindingMode,
    allowedTopologies { matchLabelExpressions: Expressions },
};
const CSI_NODE: KeptFields = kept! {
    metadata: META,
    spec { drivers { name: Name(Driver), allocatable { count } } },
};

/// The kind of an object's name and the fields to keep; `None` for objects that are left out.
pub(super) fn fields_of_kind(kind: &str) -> Option<(NameKind, KeptFields)> {
    Some(match kind {
        "Node" => (NameKind::Node, NODE),
        "Pod" => (NameKind::Pod, POD),
        "PodDisruptionBudget" => (NameKind::Budget, BUDGET),
        "Namespace" => (NameKind::Namespace, META_ONLY),
        "PriorityClass" => (NameKind::Priority, PRIORITY_CLASS),
        "PersistentVolumeClaim" => (NameKind::Claim, CLAIM),
        "PersistentVolume" => (NameKind::Volume, PERSISTENT_VOLUME),
        "StorageClass" => (NameKind::Storage, CLASS_OF_STORAGE),
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
