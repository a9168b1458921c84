//! Facts of pods, nodes and volumes that affect scheduling.

use std::collections::BTreeMap;

use crate::values::Amount;
use crate::values::selector::{Labels, NodeTerm, Selector};

/// The requests that the scheduler uses for scores: those of the containers, with 100m of cpu and
/// 200Mi of memory for each container without a request. Otherwise all pods without requests would
/// go to one node (`NonMissingContainerRequests` in the scheduler's source).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Presumed {
    /// Nanocores.
    pub cpu: Amount,
    /// Bytes.
    pub memory: Amount,
}

impl Presumed {
    /// The defaults for a container without requests.
    pub const PER_CONTAINER: Presumed = Presumed {
        cpu: Amount::millicores(100),
        memory: Amount::new(200 * 1024 * 1024),
    };
}

/// A host port of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// The address of the node; `0.0.0.0` means all addresses.
    pub ip: String,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: String,
    /// The port number.
    pub port: i32,
    /// Whether a sidecar has the port, which older schedulers ignore.
    pub of_sidecar: bool,
}

/// An image that a node has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Image {
    /// Its names, by tag and by digest.
    pub names: Vec<String>,
    /// The size in bytes.
    pub size: u64,
}

/// A preferred affinity or anti-affinity term.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Likes {
    /// From 1 to 100; negative for anti-affinity.
    pub weight: i64,
    /// The term.
    pub whom: Neighbours,
}

/// The facts of a PersistentVolumeClaim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// Its storage class; `None` if it names none.
    pub class: Option<String>,
    /// The PersistentVolume that it is bound to.
    pub volume: Option<String>,
    /// Whether only one pod may use it at a time (`ReadWriteOncePod`).
    pub one_pod: bool,
}

/// The facts of a PersistentVolume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// The node terms, of which one must match a node that accesses the volume; `None` allows every
    /// node.
    pub nodes: Option<Vec<NodeTerm>>,
    /// Its zone and region labels. Several values are joined by `__`.
    pub zones: Labels,
    /// The CSI driver and the handle of the volume; `None` for other kinds of volumes.
    pub csi: Option<(String, String)>,
}

/// The facts of a StorageClass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorageClass {
    /// The provisioner, which is the name of the CSI driver.
    pub provisioner: String,
    /// Whether a volume is provisioned only when the scheduler has chosen a node
    /// (`WaitForFirstConsumer`).
    pub waits: bool,
    /// The topologies of its volumes (`allowedTopologies`), of which one must match the node; every
    /// node may access them if empty.
    pub topologies: Vec<Selector>,
    /// Whether claims without a class get this one.
    pub is_default: bool,
}

/// A claim that is created for one pod and deleted with it (a generic ephemeral volume).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EphemeralClaim {
    /// The name of the claim: those of the pod and of the volume.
    pub name: String,
    /// The storage class of the template; `None` if it names none.
    pub class: Option<String>,
}

/// An affinity or anti-affinity term: the pods that it matches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Neighbours {
    /// The labels of the pods; `None` matches no pod.
    pub pods: Option<Selector>,
    /// The namespaces of the pods, by name.
    pub namespaces: Vec<String>,
    /// The namespaces of the pods, by label; `None` selects none. Without any namespace the pod's
    /// own is used.
    pub namespace_selector: Option<Selector>,
    /// The topology key: nodes with the same value form a domain.
    pub topology_key: String,
}

impl Neighbours {
    /// Returns true if the term, in a pod of one namespace, matches a pod of another namespace with
    /// these labels, wherever both run.
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

    /// Returns true if the term may match pods of other namespaces.
    pub const fn wide(&self) -> bool {
        !self.namespaces.is_empty() || self.namespace_selector.is_some()
    }

    /// An unknown namespace has no labels.
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

/// A topology spread constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spread {
    /// The maximum difference between domains.
    pub max_skew: u32,
    /// The topology key: nodes with the same value form a domain.
    pub topology_key: String,
    /// Whether the scheduler must keep it (`DoNotSchedule`) or prefers to (`ScheduleAnyway`).
    pub hard: bool,
    /// The pods that count, including `matchLabelKeys`; `None` matches no pod.
    pub pods: Option<Selector>,
    /// The minimum number of domains.
    pub min_domains: Option<u32>,
    /// Whether only nodes that match the pod's node affinity and selector count
    /// (`nodeAffinityPolicy: Honor`, the default).
    pub honours_affinity: bool,
    /// Whether only nodes whose taints the pod tolerates count (`nodeTaintsPolicy: Honor`).
    pub honours_taints: bool,
}
