//! Facts: the fields of each API object that decisions need.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::values::selector::{Labels, Selector};
use crate::values::text::count;
use crate::values::{Amount, value_of};

mod annotations;
mod closure;
mod gang;
mod owner;
mod placement;
mod pod;

pub use annotations::{Annotations, DoNotDisrupt, NotSafeToEvict};
pub use closure::NodeClosure;
pub use gang::Gang;
pub use owner::{
    CreationFailure, JobFacts, Numbering, OVER_QUOTA, Owner, OwnerFacts, Revision, UidHash,
    WhenEvicted,
};
pub use placement::{
    Attachment, Claim, ClaimRef, ClaimState, EphemeralClaim, HostPort, Image, NodeFeature,
    NonZeroRequests, PodAffinityTerm, Spread, StorageClass, Volume, VolumeState,
    WeightedPodAffinityTerm,
};
pub use pod::{PodFacts, PodSizes, PodSpecFacts, ResourceName};

/// Returns the place of a shared value in memory. While it is borrowed, no other value has it.
pub(crate) fn address<T>(shared: &Arc<T>) -> usize {
    Arc::as_ptr(shared).addr()
}

/// The facts of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeFacts {
    /// Its name, which pods and metrics use.
    pub name: String,
    /// Its creation time by the API server's clock, in whole seconds.
    pub created: Timestamp,
    /// Its addresses of type InternalIP, which metrics may use.
    pub addresses: Vec<String>,
    /// Its labels.
    pub labels: Labels,
    /// Its taints, including the taint of a cordon.
    pub taints: Vec<Taint>,
    /// The status of its Ready condition. A node without one counts as Ready, as in descheduler.
    pub ready: bool,
    /// Why it takes no new pods, in order; empty if it does.
    pub closures: Vec<NodeClosure>,
    /// The operating system of its kubelet: `status.nodeInfo.operatingSystem`, or its label
    /// `kubernetes.io/os`. `None` if it has neither.
    pub os: Option<String>,
    /// The features that its kubelet reports, of those that pods may need.
    pub features: Vec<NodeFeature>,
    /// The allocatable amount by resource, or the capacity if the kubelet reports no allocatable.
    pub allocatable: Vec<(String, Amount)>,
    /// The cpu and memory of the machine, if the kubelet reports them.
    pub capacity: Vec<(String, Amount)>,
    /// The annotation by which an autoscaler never removes the node, so that emptying it saves
    /// nothing: `cluster-autoscaler.kubernetes.io/scale-down-disabled` or
    /// `karpenter.sh/do-not-disrupt`, with the value `true`. See "How can I prevent Cluster
    /// Autoscaler from scaling down a particular node?" in
    /// <https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md> and
    /// <https://karpenter.sh/docs/concepts/disruption/#node-level-controls>.
    pub unremovable: Option<&'static str>,
    /// The images that its kubelet reports.
    pub images: Vec<Arc<Image>>,
}

impl NodeFacts {
    /// Returns the amount of a resource that the machine has; `None` if it is not known.
    pub fn capacity_of(&self, resource: &str) -> Option<Amount> {
        value_of(&self.capacity, resource)
    }

    /// Returns why the node takes no new pods; `None` if it does. Of several reasons it is the one
    /// that lasts longest.
    pub fn closure(&self) -> Option<NodeClosure> {
        self.closures.first().copied()
    }

    /// Returns true if the node is being removed, so that its pods are about to end.
    pub fn is_going(&self) -> bool {
        let closure = self.closure();
        closure.is_some_and(|closure| closure <= NodeClosure::Stopping)
    }

    /// Returns true if the node is closed for this reason.
    pub fn is_closed_by(&self, closure: NodeClosure) -> bool {
        self.closures.contains(&closure)
    }
}

/// A taint of a node, which keeps away pods that do not tolerate it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taint {
    /// Its key.
    pub key: String,
    /// Its value, often empty.
    pub value: String,
    /// Its effect.
    pub effect: Effect,
}

/// The effect of a taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// No new pods.
    NoSchedule,
    /// New pods only if no better node is available.
    PreferNoSchedule,
    /// No new pods, and running pods are evicted.
    NoExecute,
}

impl fmt::Display for Taint {
    /// Writes the form of kubectl: `key=value:Effect`, without `=` if the value is empty.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Taint { key, value, effect } = self;
        let equals = if value.is_empty() { "" } else { "=" };
        write!(f, "{key}{equals}{value}:{effect:?}")
    }
}

/// The namespace, kind and name of an owner. Its text form is `namespace/Kind/name`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct OwnerKey {
    /// The namespace.
    pub namespace: String,
    /// The kind, such as `Deployment`.
    pub kind: String,
    /// The name.
    pub name: String,
}

impl fmt::Display for OwnerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.namespace, self.kind, self.name)
    }
}

impl From<OwnerKey> for String {
    fn from(key: OwnerKey) -> String {
        key.to_string()
    }
}

impl TryFrom<String> for OwnerKey {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        match text.splitn(3, '/').collect::<Vec<_>>()[..] {
            [namespace, kind, name] => Ok(OwnerKey {
                namespace: namespace.to_owned(),
                kind: kind.to_owned(),
                name: name.to_owned(),
            }),
            _ => Err(format!("found {text:?}, expected namespace/Kind/name")),
        }
    }
}

crate::names! {
    /// The phase of a pod.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum PodPhase {
        /// Not all containers have started.
        #[default]
        Pending = "Pending",
        /// At least one container is running.
        Running = "Running",
        /// All containers ended successfully.
        Succeeded = "Succeeded",
        /// All containers ended, and one of them failed.
        Failed = "Failed",
        /// The API server cannot reach its node.
        Unknown = "Unknown",
    }
    /// Returns the name in the API.
    pub fn name;
}

/// The quality of service class, from the weakest to the strongest guarantee.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Qos {
    /// No requests.
    #[default]
    BestEffort,
    /// Some requests.
    Burstable,
    /// Requests equal to limits.
    Guaranteed,
}

/// A toleration of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toleration {
    /// The key of the taint; `None` tolerates every key.
    pub key: Option<String>,
    /// The condition on the value of the taint.
    pub operator: Tolerates,
    /// The effect; `None` tolerates every effect.
    pub effect: Option<Effect>,
    /// The time after which a NoExecute taint removes the pod all the same, in seconds; `None` if
    /// it never does.
    pub seconds: Option<i64>,
}

/// A condition of a toleration on the value of a taint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tolerates {
    /// Any value.
    Any,
    /// This value.
    Equal(String),
    /// An integer above this.
    Above(i64),
    /// An integer below this.
    Below(i64),
}

/// A container and its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Its name.
    pub name: String,
    /// The role of the container.
    pub role: Role,
    /// Whether it runs now, as its status says.
    pub runs: bool,
    /// Its image, as in the spec.
    pub image: String,
    /// Whether a node must have its image already: its `imagePullPolicy` is `Never`.
    pub never_pulled: bool,
    /// The resources with an entry in its requests, even if the amount is zero.
    pub requested: Vec<String>,
    /// The number of restarts.
    pub restarts: u32,
    /// The reason why it waits.
    pub waiting: Option<String>,
    /// The reason and exit code of its current termination.
    pub ended: Option<(String, i32)>,
}

/// The role of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A regular container.
    Main,
    /// An init container, including sidecars.
    Init,
    /// An ephemeral container, added for debugging.
    Ephemeral,
}

/// A condition of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Nearly all pods have the same few.
    pub state: Arc<ConditionState>,
    /// The time of the last transition; `None` if missing.
    pub since: Option<Timestamp>,
}

impl Condition {
    /// Returns true if it has this type.
    pub fn is(&self, kind: &str) -> bool {
        self.state.kind == kind
    }
}

/// A condition without its time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConditionState {
    /// Its type, such as `Ready`.
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// A reason in one word; empty if missing.
    pub reason: String,
}

/// The volumes of a pod that affect evictions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volumes {
    /// Whether it has an emptyDir or hostPath volume, whose data a replacement does not have.
    pub local: bool,
    /// Names of its PersistentVolumeClaims, in its namespace.
    pub claims: Vec<String>,
    /// Claims that exist only for this pod. A replacement gets new ones.
    pub ephemeral: Vec<EphemeralClaim>,
    /// The CSI drivers of its inline volumes, such as that of secrets-store. They mount a volume
    /// without attaching it.
    pub inline_drivers: Vec<String>,
    /// The images of its volumes that a node must have already: their `pullPolicy` is `Never`.
    pub never_pulled: Vec<String>,
}

/// The facts of a CSINode: the CSI drivers of the node, with the number of volumes that each can
/// attach; `None` for a driver without a limit.
pub type CsiDrivers = BTreeMap<String, Option<u32>>;

/// The facts of a PodDisruptionBudget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BudgetFacts {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its controller, if it has one.
    pub controller: Option<Owner>,
    /// The selector of its pods. `None` covers no pod, and an empty selector covers the whole
    /// namespace.
    pub selector: Option<Selector>,
    /// The disruptions allowed now.
    pub allowed: u32,
    /// The number of healthy pods.
    pub healthy: u32,
    /// The required number of healthy pods.
    pub desired: u32,
    /// The number of pods that it covers, by the scale of their controllers.
    pub expected: u32,
    /// The field of its spec that never allows a disruption, such as `maxUnavailable: 0`; `None` if
    /// none does.
    pub forbids: Option<String>,
    /// Why the disruption controller cannot compute the status (`DisruptionAllowed` with the reason
    /// `SyncFailed`). It then allows no disruption.
    pub sync_failed: Option<String>,
    /// Whether the status is older than the spec. The API server then rejects every eviction.
    pub stale: bool,
    /// Whether pods that are not Ready may always be evicted (`unhealthyPodEvictionPolicy:
    /// AlwaysAllow`).
    pub always_unhealthy: bool,
}

impl BudgetFacts {
    /// Returns true if the budget covers a pod.
    pub fn covers(&self, pod: &PodFacts) -> bool {
        let matches = |selector: &Selector| selector.matches(&pod.labels);
        self.namespace == pod.namespace && self.selector.as_ref().is_some_and(matches)
    }
}

/// The facts of a Namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamespaceFacts {
    /// Its labels.
    pub labels: Labels,
    /// Its annotations, of which only pauses are kept.
    pub annotations: BTreeMap<String, String>,
    /// Whether it is being deleted. The API server then refuses every new object in it.
    pub deleting: bool,
}

/// An object that could not be read, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Skipped {
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty for cluster-scoped objects.
    pub namespace: String,
    /// Its name; empty if unreadable too.
    pub name: String,
    /// Its node, if known.
    pub node: Option<String>,
    /// The reason.
    pub why: String,
}

impl Skipped {
    /// Returns a sentence about these objects, with the first as an example; `None` if there are
    /// none.
    pub fn summary(all: &[Skipped]) -> Option<String> {
        let (first, number) = (all.first()?, count(all.len(), "object"));
        Some(format!("{number} cannot be read, such as: {first}"))
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.namespace.is_empty() { "" } else { "/" };
        write!(
            f,
            "{} {}{slash}{} cannot be read: {}",
            self.kind, self.namespace, self.name, self.why
        )
    }
}
