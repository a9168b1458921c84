//! What is kept of pods, nodes and volumes because it bears on where the scheduler puts a pod.

use std::collections::BTreeMap;

use crate::values::Amount;
use crate::values::selector::{Labels, NodeTerm, Selector};

/// What the scheduler takes a pod to use where it scores nodes: what its containers request, and 100m of cpu and 200Mi of
/// memory for each that requests none, so that pods that request nothing do not all go to one node
/// (`NonMissingContainerRequests` in the scheduler's source).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Presumed {
    /// Nanocores.
    pub cpu: Amount,
    /// Bytes.
    pub memory: Amount,
}

impl Presumed {
    /// What is taken for a container that requests nothing.
    pub const PER_CONTAINER: Presumed = Presumed {
        cpu: Amount::millicores(100),
        memory: Amount::new(200 * 1024 * 1024),
    };
}

/// A port of its node that a pod takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// The address of the node; `0.0.0.0` for all of them.
    pub ip: String,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: String,
    /// The number.
    pub port: i32,
}

/// An image that a node has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Its names, by tag and by digest.
    pub names: Vec<String>,
    /// Bytes.
    pub size: u64,
}

/// A preferred term of affinity or anti-affinity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Likes {
    /// From 1 to 100; below zero for anti-affinity.
    pub weight: i64,
    /// Whom.
    pub whom: Neighbours,
}

/// What is kept of a PersistentVolumeClaim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// Its storage class; `None` where it names none.
    pub class: Option<String>,
    /// The PersistentVolume that it is bound to.
    pub volume: Option<String>,
    /// Whether one pod alone may use it at a time (`ReadWriteOncePod`).
    pub one_pod: bool,
}

/// What is kept of a PersistentVolume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// One of these must hold for a node that is to reach it; `None` where every node does.
    pub nodes: Option<Vec<NodeTerm>>,
    /// Its labels of zone and region; where it is in several, they are joined by `__`.
    pub zones: Labels,
}

/// Pods that a term of affinity or anti-affinity means.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Neighbours {
    /// The pods' labels; `None` matches no pod.
    pub pods: Option<Selector>,
    /// The pods' namespaces by name.
    pub namespaces: Vec<String>,
    /// The pods' namespaces by label; `None` selects none, so that with no names the pod's own is meant.
    pub namespace_selector: Option<Selector>,
    /// The label whose value makes two nodes one place.
    pub topology_key: String,
}

impl Neighbours {
    /// Whether a term of a pod of one namespace means a pod of another namespace with these labels, wherever the two are.
    pub fn mean(
        &self,
        namespaces: &BTreeMap<String, Labels>,
        from: &str,
        namespace: &str,
        labels: &Labels,
    ) -> bool {
        self.pods.as_ref().is_some_and(|s| s.matches(labels))
            && self.in_scope(namespaces, from, namespace)
    }

    /// Whether it may mean pods of other namespaces than its own.
    pub const fn wide(&self) -> bool {
        !self.namespaces.is_empty() || self.namespace_selector.is_some()
    }

    /// A namespace that is not known has no labels.
    fn in_scope(&self, namespaces: &BTreeMap<String, Labels>, from: &str, namespace: &str) -> bool {
        if !self.wide() {
            return namespace == from;
        }
        let none = Labels::new();
        let labels = || namespaces.get(namespace).unwrap_or(&none);
        let by_label = self
            .namespace_selector
            .as_ref()
            .is_some_and(|s| s.matches(labels()));
        by_label || self.namespaces.iter().any(|n| n == namespace)
    }
}

/// How evenly a pod wants to be spread with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spread {
    /// How many more of them may be in one place than in another.
    pub max_skew: u32,
    /// The label whose value makes two nodes one place.
    pub topology_key: String,
    /// Whether the scheduler must keep it (`DoNotSchedule`) or prefers to (`ScheduleAnyway`).
    pub hard: bool,
    /// The pods that count, `matchLabelKeys` merged in; `None` matches no pod.
    pub pods: Option<Selector>,
    /// At least so many node_addresses count as there.
    pub min_domains: Option<u32>,
    /// Only nodes that the pod's node affinity and selector admit count (`nodeAffinityPolicy: Honor`, the default).
    pub honours_affinity: bool,
    /// Only nodes whose taints the pod tolerates count (`nodeTaintsPolicy: Honor`).
    pub honours_taints: bool,
}
