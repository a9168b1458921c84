//! Pods that the policy or their own properties keep from every eviction.

use crate::model::snapshot::facts::NotSafeToEvict;

/// A property of the pod, or a rule of the policy, that protects it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum Protected {
    #[error("mirror pod: the kubelet would recreate it")]
    Mirror,
    #[error("static pod: the kubelet would recreate it")]
    Static,
    #[error("its DaemonSet would recreate it on the same node")]
    DaemonSet,
    #[error("its priority is system-critical")]
    SystemCritical,
    #[error("its priority {priority} is not below the threshold {threshold}")]
    Priority {
        priority: i32,
        /// The threshold of the policy.
        threshold: i32,
    },
    #[error("the policy names PriorityClass {0}, which does not exist in the cluster")]
    UnknownPriorityClass(String),
    #[error("its priority is unknown: it has none, and neither has its PriorityClass {0}")]
    UnknownPriority(String),
    #[error("it uses PersistentVolumeClaim {0}")]
    PersistentVolume(String),
    #[error("it uses dynamic resource claims")]
    ResourceClaims,
    #[error("no PodDisruptionBudget covers it")]
    NoBudget,
    /// The annotation `descheduler.alpha.kubernetes.io/evict` of the pod is `false`, `no` or `0`.
    #[error("its annotation descheduler.alpha.kubernetes.io/evict forbids it")]
    EvictFalse,
    /// The annotation `descheduler.alpha.kubernetes.io/prefer-no-eviction` asks not to evict the
    /// pod.
    #[error("its annotation prefer-no-eviction asks not to evict it")]
    PreferNoEviction,
    #[error("it belongs to {0}, whose other pods would stop or wait without it")]
    Gang(String),
    /// The annotation `karpenter.sh/do-not-disrupt` protects the pod.
    #[error("its annotation karpenter.sh/do-not-disrupt protects it")]
    DoNotDisrupt,
    /// The annotation `cluster-autoscaler.kubernetes.io/safe-to-evict` protects the pod.
    #[error("its annotation cluster-autoscaler.kubernetes.io/safe-to-evict is {}", .0.value())]
    NotSafeToEvict(NotSafeToEvict),
    #[error("the policy does not allow evictions in namespace {0}")]
    Namespace(String),
    #[error("its labels do not match the policy's podSelector")]
    PodSelector,
}

impl Protected {
    pub(super) fn code_and_remedy(&self) -> (&'static str, String) {
        match self {
            Protected::Mirror => ("mirror-pod", MANIFEST.into()),
            Protected::Static => ("static-pod", MANIFEST.into()),
            Protected::DaemonSet => ("daemon-set", DAEMON_SET.into()),
            Protected::SystemCritical => ("system-critical", SYSTEM_CRITICAL.into()),
            Protected::Priority { priority, .. } => (
                "priority",
                format!(
                    "set `evictable.priorityBelow` above {priority}, or give it a lower priority"
                ),
            ),
            Protected::UnknownPriorityClass(name) => (
                "unknown-priority-class",
                format!("create PriorityClass {name}, or correct `evictable.priorityBelow`"),
            ),
            Protected::UnknownPriority(name) => {
                ("unknown-priority", format!("record PriorityClass {name} in the file"))
            }
            Protected::PersistentVolume(_) => ("persistent-volume", PERSISTENT_VOLUME.into()),
            Protected::ResourceClaims => ("resource-claims", RESOURCE_CLAIMS.into()),
            Protected::NoBudget => ("no-budget", NO_BUDGET.into()),
            Protected::EvictFalse => ("evict-false", EVICT_FALSE.into()),
            Protected::PreferNoEviction => ("prefer-no-eviction", PREFER_NO_EVICTION.into()),
            Protected::Gang(_) => ("gang", GANG.into()),
            Protected::DoNotDisrupt => ("do-not-disrupt", DO_NOT_DISRUPT.into()),
            Protected::NotSafeToEvict(_) => ("not-safe-to-evict", NOT_SAFE_TO_EVICT.into()),
            Protected::Namespace(name) => (
                "namespace",
                format!(
                    "allow {name} in `evictable.namespaces`, `evictable.namespaceSelector` or the strategy's `namespaces`"
                ),
            ),
            Protected::PodSelector => ("pod-selector", POD_SELECTOR.into()),
        }
    }
}

const MANIFEST: &str = "move its manifest to another node; no policy allows its eviction";
const DAEMON_SET: &str = "set `evictable.allow: [daemonSets]`; rarely useful";
const EVICT_FALSE: &str = "remove the annotation; no policy overrides it";
const POD_SELECTOR: &str = "change `evictable.podSelector` or the pod's labels";
const SYSTEM_CRITICAL: &str =
    "set `evictable.allow: [systemCritical]`, or give it a lower priority";
const PERSISTENT_VOLUME: &str = "remove `persistentVolumes` from `evictable.protect`, or name classes in `protectedStorageClasses`";
const RESOURCE_CLAIMS: &str = "set `evictable.allow: [resourceClaims]`; \
                               the forecast does not know which nodes have a device for it";
const NO_BUDGET: &str =
    "give it a PodDisruptionBudget, or remove `withoutBudget` from `evictable.protect`";
const PREFER_NO_EVICTION: &str =
    "remove the annotation, or set `evictable.allow: [preferNoEviction]`";
const GANG: &str = "set `evictable.allow: [gangs]`; \
                    only where a group continues without one of its pods";
pub(super) const DO_NOT_DISRUPT: &str =
    "remove the annotation, or set `evictable.allow: [doNotDisrupt]`";
const NOT_SAFE_TO_EVICT: &str = "remove the annotation, or set `evictable.allow: [notSafeToEvict]`";
