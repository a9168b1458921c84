//! The facts of a pod, in two parts: its own, and those that the pods of one controller usually
//! share.

use std::ops::{Deref, DerefMut};

use jiff::Timestamp;

use crate::values::Amount;
use crate::values::selector::{Labels, NodeTerm};
use crate::values::shared::SharedValue;

use super::{
    Annotations, Condition, Container, Gang, HostPort, Likes, Neighbours, Owner, PodPhase,
    Presumed, Qos, Spread, Toleration, Volumes,
};

/// The facts of a pod. Those of [`PodSpecFacts`] can be read as if they stood here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodFacts {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid. A replacement with the same name has another one.
    pub uid: String,
    /// Its labels.
    pub labels: SharedValue<Labels>,
    /// The name of the node that it is bound to.
    pub node: Option<String>,
    /// Its phase.
    pub phase: PodPhase,
    /// Whether its Ready condition is true.
    pub ready: bool,
    /// Whether it is being deleted.
    pub terminating: bool,
    /// Its creation time by the API server's clock, in whole seconds.
    pub created: Timestamp,
    /// The time when the kubelet accepted it.
    pub started: Option<Timestamp>,
    /// `status.reason`, such as `Evicted`.
    pub reason: Option<String>,
    /// Its conditions.
    pub conditions: Vec<Condition>,
    /// Its volumes.
    pub volumes: SharedValue<Volumes>,
    /// The other facts.
    pub spec: SharedValue<PodSpecFacts>,
}

/// The facts that pods of one controller usually share, so that they are kept once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodSpecFacts {
    /// The annotations that affect decisions.
    pub annotations: Annotations,
    /// The group of pods that it starts and stops with.
    pub gang: Option<Gang>,
    /// Its owners, in the order of the object.
    pub owners: Vec<Owner>,
    /// Its priority, as resolved by admission.
    pub priority: Option<i32>,
    /// Whether the scheduler may remove pods of lower priority for it, that is, its
    /// `preemptionPolicy` is not `Never`.
    pub preempts: bool,
    /// The name of the node where a pod that is not bound has reserved room:
    /// `status.nominatedNodeName`. Nearly all pods share that they have none.
    pub nominated: Option<String>,
    /// Its quality of service class.
    pub qos: Qos,
    /// The requests that the scheduler counts: containers, init containers, sidecars and overhead.
    pub requests: Vec<(String, Amount)>,
    /// The sum of its containers' limits. A resource is missing if a container has no limit for it.
    pub limits: Vec<(String, Amount)>,
    /// The memory that it needs at least, because a container was killed when it reached its limit;
    /// `None` if none was.
    pub killed_at: Option<Amount>,
    /// The requests that the scheduler uses for scores, with defaults for containers without
    /// requests.
    pub presumed: Presumed,
    /// The same without pod-level requests: NodeResourcesFit scores a pending pod by these.
    pub presumed_of_containers: Presumed,
    /// The name of its scheduler; `None` for `default-scheduler`.
    pub scheduler: Option<String>,
    /// Whether it has scheduling gates. The scheduler ignores it until they are removed.
    pub gated: bool,
    /// Its host ports.
    pub ports: Vec<HostPort>,
    /// Its tolerations.
    pub tolerations: Vec<Toleration>,
    /// Its node selector.
    pub node_selector: Labels,
    /// Its required node affinity, of which one term must match; `None` without one.
    pub required_nodes: Option<Vec<NodeTerm>>,
    /// Its preferred node affinity, with weights from 1 to 100.
    pub preferred_nodes: Vec<(i32, NodeTerm)>,
    /// Its topology spread constraints.
    pub spread: Vec<Spread>,
    /// Its containers with their status.
    pub containers: Vec<Container>,
    /// Its required anti-affinity. No term may match a pod in the same domain.
    pub avoids: Vec<Neighbours>,
    /// Its required affinity. Every term must match a pod in the same domain.
    pub seeks: Vec<Neighbours>,
    /// Its preferred affinity and anti-affinity.
    pub likes: Vec<Likes>,
    /// Whether it uses dynamic resource claims.
    pub resource_claims: bool,
}

impl PodFacts {
    /// Returns true if the pod succeeded or failed and no longer uses resources.
    pub fn finished(&self) -> bool {
        matches!(self.phase, PodPhase::Succeeded | PodPhase::Failed)
    }

    /// Returns true if the pod is neither finished nor terminating.
    pub fn stays(&self) -> bool {
        !self.terminating && !self.finished()
    }

    /// Returns its priority, and zero without one (`PodPriority` in
    /// k8s.io/component-helpers/scheduling/corev1).
    pub fn rank(&self) -> i32 {
        self.priority.unwrap_or_default()
    }
}

impl Deref for PodFacts {
    type Target = PodSpecFacts;
    fn deref(&self) -> &PodSpecFacts {
        &self.spec
    }
}

impl DerefMut for PodFacts {
    fn deref_mut(&mut self) -> &mut PodSpecFacts {
        &mut self.spec
    }
}
