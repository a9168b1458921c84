//! What a snapshot keeps of each kind, and what each field means to somebody who makes names up.
//!
//! A list of what is kept, not of what is left out: what nobody has thought of is not in the file. No field holds free
//! text, so that no environment, argument, command or secret can be in one.

use super::rename::Space;

/// What is kept of a value. Of a list, each item is kept alike.
#[derive(Clone, Copy, Debug)]
pub(super) enum Keep {
    /// As it is: numbers, times, and words that Kubernetes defines.
    Plain,
    /// Only that it is there.
    There,
    /// The name of an object of the kind itself.
    Own,
    /// A name of this sort.
    Name(Space),
    /// The key of a label, or several.
    Key,
    /// Labels, or labels that are asked for.
    Labels,
    /// Requirements on labels.
    Expressions,
    /// Requirements on the fields of a node, of which Kubernetes knows its name alone.
    NodeFields,
    /// A taint or a toleration.
    Taint,
    /// Amounts by resource.
    Amounts,
    /// Annotations, as far as decisions look at them.
    Annotations,
    /// Who made the object.
    Owners,
    /// These fields.
    Fields(Fields),
}

/// Fields by name.
pub(super) type Fields = &'static [(&'static str, Keep)];

use Keep::{
    Amounts, Annotations, Expressions, Key, Labels, Name, NodeFields, Own, Owners, Plain, Taint,
    There,
};

/// Annotations whose values mean something to decisions; see `snapshot::import`.
pub(super) const ANNOTATIONS: [&str; 7] = [
    "cluster-autoscaler.kubernetes.io/safe-to-evict",
    "cluster-autoscaler.kubernetes.io/scale-down-disabled",
    "controller.kubernetes.io/pod-deletion-cost",
    "descheduler.alpha.kubernetes.io/evict",
    "descheduler.alpha.kubernetes.io/prefer-no-eviction",
    "kubernetes.io/config.source",
    STORAGE_CLASS,
];

/// Names a storage class.
pub(super) const STORAGE_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
/// Its value is a hash of a file; that it is there is what counts.
pub(super) const MIRROR: &str = "kubernetes.io/config.mirror";

const META: Keep = Keep::Fields(&[
    ("name", Own),
    ("namespace", Name(Space::Namespace)),
    ("uid", Name(Space::Uid)),
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
    ("namespaces", Name(Space::Namespace)),
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
    ("hostIP", Name(Space::Address)),
]);
const CONTAINER: Keep = Keep::Fields(&[
    ("name", Name(Space::Container)),
    ("image", Name(Space::Image)),
    ("resources", RESOURCES),
    ("restartPolicy", Plain),
    ("ports", PORTS),
]);
const STATE: Keep = Keep::Fields(&[
    ("running", There),
    ("waiting", Keep::Fields(&[("reason", Plain)])),
    (
        "terminated",
        Keep::Fields(&[("reason", Plain), ("exitCode", Plain)]),
    ),
]);
const CONTAINER_STATUS: Keep = Keep::Fields(&[
    ("name", Name(Space::Container)),
    ("ready", Plain),
    ("restartCount", Plain),
    ("state", STATE),
    ("allocatedResources", Amounts),
    ("resources", RESOURCES),
]);
const CONDITION: Keep = Keep::Fields(&[
    ("type", Name(Space::Condition)),
    ("status", Plain),
    ("reason", Plain),
    ("lastTransitionTime", Plain),
]);
const VOLUME: Keep = Keep::Fields(&[
    ("name", Name(Space::Part)),
    ("emptyDir", There),
    ("hostPath", There),
    ("ephemeral", There),
    (
        "persistentVolumeClaim",
        Keep::Fields(&[("claimName", Name(Space::Claim))]),
    ),
]);

const NODE: Fields = &[
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
                Keep::Fields(&[("names", Name(Space::Image)), ("sizeBytes", Plain)]),
            ),
        ]),
    ),
];
const POD_SPEC: Keep = Keep::Fields(&[
    ("nodeName", Name(Space::Node)),
    ("priority", Plain),
    ("priorityClassName", Name(Space::Priority)),
    ("schedulerName", Name(Space::Scheduler)),
    (
        "schedulingGates",
        Keep::Fields(&[("name", Name(Space::Part))]),
    ),
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
        Keep::Fields(&[("name", Name(Space::Part))]),
    ),
    ("restartPolicy", Plain),
    ("hostNetwork", Plain),
    ("volumes", VOLUME),
]);
const POD: Fields = &[
    ("metadata", META),
    ("spec", POD_SPEC),
    (
        "status",
        Keep::Fields(&[
            ("phase", Plain),
            ("reason", Plain),
            ("qosClass", Plain),
            ("startTime", Plain),
            ("conditions", CONDITION),
            ("containerStatuses", CONTAINER_STATUS),
            ("initContainerStatuses", CONTAINER_STATUS),
            ("ephemeralContainerStatuses", CONTAINER_STATUS),
        ]),
    ),
];
const BUDGET: Fields = &[
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
        ]),
    ),
];
const CLASS: Fields = &[
    ("metadata", META),
    ("value", Plain),
    ("globalDefault", Plain),
    ("preemptionPolicy", Plain),
];
const CLAIM: Fields = &[
    ("metadata", META),
    (
        "spec",
        Keep::Fields(&[
            ("storageClassName", Name(Space::Storage)),
            ("volumeName", Name(Space::Volume)),
            ("accessModes", Plain),
        ]),
    ),
];
const PERSISTENT_VOLUME: Fields = &[
    ("metadata", META),
    (
        "spec",
        Keep::Fields(&[
            ("storageClassName", Name(Space::Storage)),
            ("nodeAffinity", Keep::Fields(&[("required", NODE_SELECTOR)])),
        ]),
    ),
];
const SERVICE: Fields = &[
    ("metadata", META),
    ("spec", Keep::Fields(&[("selector", Labels)])),
];
const META_ONLY: Fields = &[("metadata", META)];
const NODE_METRICS: Fields = &[
    ("metadata", META),
    ("timestamp", Plain),
    ("window", Plain),
    ("usage", Amounts),
];
const POD_METRICS: Fields = &[
    ("metadata", META),
    ("timestamp", Plain),
    ("window", Plain),
    (
        "containers",
        Keep::Fields(&[("name", Name(Space::Container)), ("usage", Amounts)]),
    ),
];

/// What is kept of a kind, and of which sort its name is; `None` where nothing is kept of it.
pub(super) fn of(kind: &str) -> Option<(Space, Fields)> {
    Some(match kind {
        "Node" => (Space::Node, NODE),
        "Pod" => (Space::Pod, POD),
        "PodDisruptionBudget" => (Space::Budget, BUDGET),
        "Namespace" => (Space::Namespace, META_ONLY),
        "PriorityClass" => (Space::Priority, CLASS),
        "PersistentVolumeClaim" => (Space::Claim, CLAIM),
        "PersistentVolume" => (Space::Volume, PERSISTENT_VOLUME),
        "Service" => (Space::Service, SERVICE),
        "ReplicaSet" => (Space::ReplicaSet, META_ONLY),
        "ReplicationController" => (Space::ReplicationController, META_ONLY),
        "Job" => (Space::Job, META_ONLY),
        "NodeMetrics" => (Space::Node, NODE_METRICS),
        "PodMetrics" => (Space::Pod, POD_METRICS),
        _ => return None,
    })
}
