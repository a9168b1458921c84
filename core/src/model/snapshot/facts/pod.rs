//! The facts of a pod: its own, and several parts that the pods of one controller usually share.
//! Pods that differ in one part share the others.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::values::Amount;
use crate::values::selector::{Labels, NodeTerm};

use super::{
    Annotations, Condition, ConditionState, Container, Gang, HostPort, NodeFeature,
    NonZeroRequests, Owner, PodAffinityTerm, PodPhase, Qos, Spread, Toleration, Volumes,
    WeightedPodAffinityTerm,
};

/// The name of a resource. The usual ones take no memory.
pub type ResourceName = Cow<'static, str>;

/// The condition of a pod whose containers all run.
const READY: &str = "Ready";
/// A younger pod may still find a node, so it does not count as waiting for one.
const PENDING_GRACE: SignedDuration = SignedDuration::from_secs(60);

/// The facts of a pod. Those of [`PodSpecFacts`] can be read as if they stood here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodFacts {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid. A replacement with the same name has another one.
    pub uid: String,
    /// Its labels.
    pub labels: Arc<Labels>,
    /// The name of the node that it is bound to.
    pub node: Option<String>,
    /// Its phase.
    pub phase: PodPhase,
    /// Whether its Ready condition is true.
    pub ready: bool,
    /// Whether it is being deleted.
    pub terminating: bool,
    /// The time by which it will have ended if its node works, which is the deletion timestamp;
    /// `None` if it is not being deleted.
    pub ends: Option<Timestamp>,
    /// Its creation time by the API server's clock, in whole seconds; 1970 if it is unknown, which
    /// only a file can bring about.
    pub created: Timestamp,
    /// The time when the kubelet accepted it.
    pub started: Option<Timestamp>,
    /// The time when its first main container started. `None` if none runs, or if every one has
    /// restarted since.
    pub running_since: Option<Timestamp>,
    /// `status.reason`, such as `Evicted`.
    pub reason: Option<String>,
    /// Its conditions.
    pub conditions: Vec<Condition>,
    /// Its volumes.
    pub volumes: Arc<Volumes>,
    /// Its containers with their status.
    pub containers: Arc<Vec<Container>>,
    /// Its requests and limits.
    pub sizes: Arc<PodSizes>,
    /// The other facts.
    pub spec: Arc<PodSpecFacts>,
}

/// The requests and limits of a pod. Where each pod of a controller is resized to its own needs,
/// they differ and everything else is equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodSizes {
    /// The requests that the scheduler counts: containers, init containers, sidecars and overhead.
    pub requests: Vec<(ResourceName, Amount)>,
    /// The part of the requests that no container has: the overhead of its RuntimeClass.
    pub overhead: Vec<(ResourceName, Amount)>,
    /// The most that its init containers request at a time, with the sidecars beside them.
    pub init_peak: Vec<(ResourceName, Amount)>,
    /// The sum of its containers' limits. A resource is missing if a container has no limit for it.
    pub limits: Vec<(ResourceName, Amount)>,
    /// The memory that it needs at least, because a container was killed when it reached its limit;
    /// `None` if none was.
    pub killed_at: Option<Amount>,
    /// The requests that the scheduler uses for scores, with defaults for containers without
    /// requests.
    pub non_zero_requests: NonZeroRequests,
    /// The same without pod-level requests: NodeResourcesFit scores a pending pod by these.
    pub non_zero_requests_of_containers: NonZeroRequests,
}

/// The facts that pods of one controller usually share, so that they are kept once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent field of the object")]
pub struct PodSpecFacts {
    /// The annotations that affect decisions.
    pub annotations: Annotations,
    /// The group of pods that it starts and stops with.
    pub gang: Option<Gang>,
    /// Its owners, in the order of the object.
    pub owners: Vec<Owner>,
    /// Its priority, as resolved by admission.
    pub priority: Option<i32>,
    /// Its `priorityClassName`.
    pub priority_class: Option<String>,
    /// Whether its work ends: its `restartPolicy` is `Never` or `OnFailure`.
    pub runs_once: bool,
    /// Whether the scheduler may remove pods of lower priority for it, that is, its
    /// `preemptionPolicy` is not `Never`.
    pub preempts: bool,
    /// The name of the node where a pod that is not bound has reserved room:
    /// `status.nominatedNodeName`. Nearly all pods share that they have none.
    pub nominated: Option<String>,
    /// Its quality of service class.
    pub qos: Qos,
    /// The time that it may take to end: `spec.terminationGracePeriodSeconds`.
    pub grace: SignedDuration,
    /// The operating system that its kubelet must run: `spec.os.name`; `None` if it does not say.
    pub os: Option<String>,
    /// The features that its kubelet and container runtime must have.
    pub needs: Vec<NodeFeature>,
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
    /// Its required anti-affinity. No term may match a pod in the same domain.
    pub required_anti_affinity: Vec<PodAffinityTerm>,
    /// Its required affinity. Every term must match a pod in the same domain.
    pub required_affinity: Vec<PodAffinityTerm>,
    /// Its preferred affinity and anti-affinity.
    pub preferred_terms: Vec<WeightedPodAffinityTerm>,
    /// Whether it uses dynamic resource claims, of its own or by an extended resource.
    pub resource_claims: bool,
}

impl PodSpecFacts {
    /// The grace period of a pod that does not ask for one.
    pub const USUAL_GRACE: SignedDuration = SignedDuration::from_secs(30);
}

impl PodFacts {
    /// Returns true if the pod succeeded or failed and no longer uses resources.
    pub fn finished(&self) -> bool {
        matches!(self.phase, PodPhase::Succeeded | PodPhase::Failed)
    }

    /// Returns the owner that replaces the pod. Other owners only tell the garbage collector when
    /// to delete it.
    pub fn controller(&self) -> Option<&Owner> {
        self.owners.iter().find(|owner| owner.controller)
    }

    /// Returns its age; `None` if it is unknown.
    pub fn age(&self, now: Timestamp) -> Option<SignedDuration> {
        let known = Some(self.created).filter(|created| *created != Timestamp::UNIX_EPOCH);
        known.map(|created| now.duration_since(created))
    }

    /// Returns true if the pod is neither finished nor terminating.
    pub fn stays(&self) -> bool {
        !self.terminating && !self.finished()
    }

    /// Returns true if kube-scheduler has had no node for the pod for longer than it usually takes.
    pub fn is_unplaced(&self, now: Timestamp) -> bool {
        self.node.is_none() && !self.gated && now.duration_since(self.created) > PENDING_GRACE
    }

    /// Returns since when the pod has been Ready; `None` if it is not, or if that is unknown.
    pub fn ready_since(&self) -> Option<Timestamp> {
        self.readiness_since().filter(|_| self.ready)
    }

    /// Returns since when the pod has been Ready or not Ready; `None` if that is unknown.
    pub fn readiness_since(&self) -> Option<Timestamp> {
        let mut conditions = self.conditions.iter();
        conditions.find(|condition| condition.is(READY))?.since
    }

    /// Makes the pod Ready or not Ready, as a kubelet does at this time.
    pub fn set_ready(&mut self, ready: bool, at: Timestamp) {
        self.ready = ready;
        let state = ConditionState {
            kind: READY.to_owned(),
            status: if ready { "True" } else { "False" }.to_owned(),
            reason: String::new(),
        };
        self.conditions.retain(|condition| !condition.is(READY));
        self.conditions.push(Condition { state: state.into(), since: Some(at) });
    }

    /// Returns its priority, and zero without one (`PodPriority` in
    /// k8s.io/component-helpers/scheduling/corev1).
    pub fn priority_or_zero(&self) -> i32 {
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
        Arc::make_mut(&mut self.spec)
    }
}
