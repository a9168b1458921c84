//! What is kept of each object of the API: the fields that decisions need, and nothing else.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::values::Amount;
use crate::values::selector::{Labels, NodeTerm, Selector};

mod placement;

pub use placement::{Claim, HostPort, Image, Likes, Neighbours, Presumed, Spread, Volume};

/// What is kept of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name, by which pods and metrics refer to it.
    pub name: String,
    /// Its addresses of type InternalIP, by which metrics may name it.
    pub addresses: Vec<String>,
    /// Its labels.
    pub labels: Labels,
    /// Its taints, the one that a cordon adds included.
    pub taints: Vec<Taint>,
    /// Cordoned: takes no new pods.
    pub cordoned: bool,
    /// The status of its Ready condition; a node that has none counts as ready, as in descheduler.
    pub ready: bool,
    /// What pods may use of it, by resource; its capacity where the kubelet reports no allocatable.
    pub allocatable: Vec<(String, Amount)>,
    /// `cluster-autoscaler.kubernetes.io/scale-down-disabled: "true"`: cluster-autoscaler never takes it away, so that to
    /// empty it saves nothing. See
    /// <https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md#how-can-i-prevent-cluster-autoscaler-from-scaling-down-a-particular-node>.
    pub scale_down_disabled: bool,
    /// The images that it has, as far as its kubelet tells.
    pub images: Vec<Image>,
}

/// A mark on a node that keeps pods away that do not tolerate it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taint {
    /// Its name.
    pub key: String,
    /// Its value, often empty.
    pub value: String,
    /// How strongly it keeps pods away.
    pub effect: Effect,
}

/// How strongly a taint keeps pods away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// No new pods.
    NoSchedule,
    /// New pods only where there is nothing better.
    PreferNoSchedule,
    /// No new pods, and those that are there are thrown out.
    NoExecute,
}

impl fmt::Display for Taint {
    /// As kubectl writes it: `key=value:Effect`, without `=` where there is no value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Taint { key, value, effect } = self;
        let equals = if value.is_empty() { "" } else { "=" };
        write!(f, "{key}{equals}{value}:{effect:?}")
    }
}

/// What is kept of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one independent field of the object"
)]
pub struct Pod {
    /// Where it lives.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its identity: a replacement of the same name has another.
    pub uid: String,
    /// Its labels.
    pub labels: Labels,
    /// The annotations that decisions look at.
    pub marks: Marks,
    /// Its owners, in the order of the object.
    pub owners: Vec<Owner>,
    /// The node that it is bound to.
    pub node: Option<String>,
    /// Where it is in its life.
    pub phase: Phase,
    /// Whether its Ready condition is true.
    pub ready: bool,
    /// Whether it has been told to go.
    pub terminating: bool,
    /// When it was created, by the API server's clock, to the second.
    pub created: Timestamp,
    /// When the kubelet took it on.
    pub started: Option<Timestamp>,
    /// Its priority, as admission resolved it.
    pub priority: Option<i32>,
    /// Its quality of service.
    pub qos: Qos,
    /// What the scheduler counts for it: containers, init containers, sidecars and overhead.
    pub requests: Vec<(String, Amount)>,
    /// What it may use at most, its containers together; nothing of a resource of which one of them has no limit.
    pub limits: Vec<(String, Amount)>,
    /// What the scheduler takes it to use where it scores nodes.
    pub presumed: Presumed,
    /// The same without requests of the pod as a whole: so NodeResourcesFit scores a pod that waits.
    pub presumed_of_containers: Presumed,
    /// Who node_addresses it; `None` where it is `default-scheduler`.
    pub scheduler: Option<String>,
    /// Whether it has scheduling gates: it is not placed before they are gone.
    pub gated: bool,
    /// The ports of its node that it takes.
    pub ports: Vec<HostPort>,
    /// What it tolerates.
    pub tolerations: Vec<Toleration>,
    /// Labels that its node must carry.
    pub node_selector: Labels,
    /// Required node affinity: one of these must hold; `None` where it has none.
    pub required_nodes: Option<Vec<NodeTerm>>,
    /// Preferred node affinity, with weights from 1 to 100.
    pub preferred_nodes: Vec<(i32, NodeTerm)>,
    /// Topology spread constraints.
    pub spread: Vec<Spread>,
    /// Its containers, with what is known of how they fare.
    pub containers: Vec<Container>,
    /// `status.reason`, such as `Evicted`.
    pub reason: Option<String>,
    /// Its conditions.
    pub conditions: Vec<Condition>,
    /// Required anti-affinity: none of these may find a neighbour.
    pub avoids: Vec<Neighbours>,
    /// Required affinity: each of these must find a neighbour.
    pub seeks: Vec<Neighbours>,
    /// Preferred affinity and anti-affinity.
    pub likes: Vec<Likes>,
    /// Its volumes.
    pub volumes: Volumes,
    /// Whether it has dynamic resource claims.
    pub resource_claims: bool,
}

/// Annotations that decisions look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// `kubernetes.io/config.mirror`: the API server's image of a static pod.
    pub mirror: bool,
    /// `kubernetes.io/config.source` other than `api`: not made through the API server.
    pub static_pod: bool,
    /// `descheduler.alpha.kubernetes.io/evict`, with its value.
    pub evict: Option<String>,
    /// `descheduler.alpha.kubernetes.io/prefer-no-eviction`, unless its value is `false`.
    pub prefer_no_eviction: bool,
    /// `controller.kubernetes.io/pod-deletion-cost`: the lower, the sooner it may go; 0 where it has none.
    pub deletion_cost: i32,
    /// `cluster-autoscaler.kubernetes.io/safe-to-evict`: whether cluster-autoscaler may evict it to take its node away;
    /// `None` where it says neither `true` nor `false`. See
    /// <https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md#what-types-of-pods-can-prevent-ca-from-removing-a-node>.
    pub safe_to_evict: Option<bool>,
}

/// Who made an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Owner {
    /// The kind, such as `ReplicaSet`.
    pub kind: String,
    /// The name, in the namespace of the owned.
    pub name: String,
    /// Whether this owner is the one that manages the object.
    #[serde(skip)]
    pub controller: bool,
}

/// Where an owner lives, its kind and its name. Reads `namespace/Kind/name`.
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

/// Where a pod is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not all of its containers have started.
    Pending,
    /// It runs.
    Running,
    /// It has done its work.
    Succeeded,
    /// It has failed for good.
    Failed,
    /// Its node cannot be asked.
    Unknown,
}

impl Phase {
    /// The name in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Pending => "Pending",
            Phase::Running => "Running",
            Phase::Succeeded => "Succeeded",
            Phase::Failed => "Failed",
            Phase::Unknown => "Unknown",
        }
    }
}

/// Quality of service, from the weakest claim on its node to the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Qos {
    /// Requests nothing.
    BestEffort,
    /// Requests something.
    Burstable,
    /// Requests all that it may use.
    Guaranteed,
}

/// What a pod puts up with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toleration {
    /// The taint's name; every one where `None`.
    pub key: Option<String>,
    /// How the values compare.
    pub operator: Tolerates,
    /// The effect; every one where `None`.
    pub effect: Option<Effect>,
}

/// How a toleration compares its value to the taint's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tolerates {
    /// Whatever the value.
    Any,
    /// This value.
    Equal(String),
    /// An integer above this.
    Above(i64),
    /// An integer below this.
    Below(i64),
}

/// A container, and how it fares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// What sort of container.
    pub role: Role,
    /// Its image, as the spec names it.
    pub image: String,
    /// Resources for which it has an entry among its requests, zero or not.
    pub requested: Vec<String>,
    /// How often it was restarted.
    pub restarts: u32,
    /// Why it waits.
    pub waiting: Option<String>,
    /// Why it ended, and with which code, where it has ended for now.
    pub ended: Option<(String, i32)>,
}

/// What sort of container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// One that does the pod's work.
    Main,
    /// One that runs before, or beside as a sidecar.
    Init,
    /// One that a person has added to look inside.
    Ephemeral,
}

/// A condition of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Its type, such as `Ready`.
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, in a word; empty where it says none.
    pub reason: String,
    /// Since when; `None` where it does not say.
    pub since: Option<Timestamp>,
}

/// What a pod has mounted, as far as it matters to eviction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volumes {
    /// An emptyDir or hostPath: its content goes with the pod.
    pub local: bool,
    /// Names of its PersistentVolumeClaims, in its namespace.
    pub claims: Vec<String>,
}

/// What is kept of a PodDisruptionBudget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Where it lives.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The pods that it covers; `None` covers none, an empty selector covers all of the namespace.
    pub selector: Option<Selector>,
    /// How many of its pods may be disrupted now.
    pub allowed: u32,
    /// How many of its pods are healthy.
    pub healthy: u32,
    /// How many must be.
    pub desired: u32,
    /// Whether its status is older than its spec, so that the API server refuses every eviction.
    pub stale: bool,
    /// Whether pods that are not Ready may always be evicted (`unhealthyPodEvictionPolicy: AlwaysAllow`).
    pub always_unhealthy: bool,
}

/// An object that could not be read, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Skipped {
    /// Its kind.
    pub kind: String,
    /// Its namespace, empty where it has none.
    pub namespace: String,
    /// Its name, empty where that could not be read either.
    pub name: String,
    /// The node that it is on, where that is known.
    pub node: Option<String>,
    /// What was wrong.
    pub why: String,
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
