//! Facts of pods, nodes and volumes that affect scheduling.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::Timestamp;

use super::UidHash;
use crate::values::Amount;
use crate::values::selector::{Labels, NodeTerm, Selector};

/// The requests that the scheduler uses for scores: those of the containers, with 100m of cpu and
/// 200Mi of memory for each container without a request. Otherwise all pods without requests would
/// go to one node (`NonMissingContainerRequests` in the scheduler's source).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NonZeroRequests {
    /// Nanocores.
    pub cpu: Amount,
    /// Bytes.
    pub memory: Amount,
}

impl NonZeroRequests {
    /// The defaults for a container without requests.
    pub const PER_CONTAINER: NonZeroRequests =
        NonZeroRequests { cpu: Amount::millicores(100), memory: Amount::new(200 * 1024 * 1024) };
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

/// A feature of a kubelet and its container runtime that a pod may need. kube-scheduler does not
/// look at it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeFeature {
    /// `supplementalGroupsPolicy: Strict` in the security context of the pod.
    #[error("supplementalGroupsPolicy: Strict")]
    StrictGroups,
    /// A user namespace for the pod: `hostUsers: false`.
    #[error("user namespaces")]
    UserNamespaces,
    /// The runtime handler with the name of the RuntimeClass of the pod.
    #[error("the runtime handler {0}")]
    Handler(String),
}

/// An image that a node has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Image {
    /// Its names, by tag and by digest.
    pub names: Vec<String>,
    /// The size in bytes.
    pub size: u64,
}

impl Image {
    /// Returns the name of an image with the default tag if it has none.
    pub fn with_tag(name: &str) -> Cow<'_, str> {
        if name.rfind(':') > name.rfind('/') {
            name.into()
        } else {
            format!("{name}:latest").into()
        }
    }
}

/// A preferred affinity or anti-affinity term.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WeightedPodAffinityTerm {
    /// From 1 to 100; negative for anti-affinity.
    pub weight: i64,
    /// The term.
    pub term: PodAffinityTerm,
}

/// The facts of a PersistentVolumeClaim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// Its uid; `None` in files that have none.
    pub uid: Option<UidHash>,
    /// Its storage class; `None` if it names none and gets the default one while it is unbound.
    /// Empty if it wants no class, so that nothing is provisioned.
    pub class: Option<String>,
    /// The PersistentVolume that it is bound to.
    pub volume: Option<String>,
    /// Whether only one pod may use it at a time (`ReadWriteOncePod`).
    pub one_pod: bool,
    /// Whether the pods of only one node may use it at a time (`ReadWriteOnce` alone).
    pub one_node: bool,
    /// Whether a pod can start with it.
    pub state: ClaimState,
    /// The node that the scheduler has chosen for its new volume, and for which the provisioner
    /// works (`volume.kubernetes.io/selected-node`).
    pub selected_node: Option<String>,
}

/// Whether a pod can start with a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClaimState {
    /// It is bound, or waits to be bound.
    #[default]
    Usable,
    /// It names a volume, and the volume controller has not bound them yet.
    NotBoundYet,
    /// Its volume is gone (phase `Lost`).
    Lost,
    /// It has a deletionTimestamp.
    Deleting,
}

/// The facts of a PersistentVolume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// The node terms, of which one must match a node that accesses the volume; `None` allows every
    /// node.
    pub nodes: Option<Vec<NodeTerm>>,
    /// Its zone and region labels. Several values are joined by `__`.
    pub zones: Labels,
    /// The CSI driver and the handle of the volume; `None` for other kinds of volumes. A disk of a
    /// plugin that CSI migration has replaced has the driver of its successor.
    pub csi: Option<(String, String)>,
    /// Whether it is a directory of a node (`hostPath` or `local`).
    pub on_node: bool,
    /// Whether it can be attached to one node only, which nothing but its node affinity names.
    pub strictly_local: bool,
    /// Whether it is a network file system, which any number of nodes may mount: nothing enforces
    /// its access modes.
    pub shared: bool,
    /// The claim that it belongs to: `claimRef`. `None` in files that do not say it.
    pub owner: Option<Box<ClaimRef>>,
    /// Whether a pod can start with it.
    pub state: VolumeState,
}

impl Volume {
    /// Returns the end of a label's key by which it says a place of several nodes; `None` if it
    /// does not.
    pub fn place_end(key: &str) -> Option<&'static str> {
        ["zone", "region"].into_iter().find(|end| key.ends_with(end))
    }
}

/// A reference to a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimRef {
    /// The namespace; empty if it is not known.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The uid; `None` if it is not known.
    pub uid: Option<UidHash>,
}

/// Whether a pod can start with a volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VolumeState {
    /// It is bound or available.
    #[default]
    Usable,
    /// It has a deletionTimestamp.
    Deleting,
    /// Its reclamation failed (phase `Failed`).
    Failed,
    /// Its claim was deleted (phase `Released`).
    Released,
}

/// The facts of a VolumeAttachment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attachment {
    /// The CSI driver.
    pub driver: String,
    /// The name of the PersistentVolume; `None` for a volume in the template of a pod.
    pub volume: Option<String>,
    /// The name of the node.
    pub node: String,
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
    /// Whether claims without a class may get this one.
    pub is_default: bool,
    /// Its creation time. Of several default classes, the newest counts.
    pub created: Timestamp,
}

/// The provisioner of classes whose volumes an administrator creates. See
/// <https://kubernetes.io/docs/concepts/storage/storage-classes/#local>.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

impl StorageClass {
    /// Returns true if new volumes are provisioned.
    pub fn provisions(&self) -> bool {
        self.provisioner != NO_PROVISIONER
    }
}

/// A claim that is created for one pod and deleted with it (a generic ephemeral volume).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EphemeralClaim {
    /// The name of the claim: those of the pod and of the volume.
    pub name: String,
    /// The storage class of the template; `None` if it names none and gets the default one. Empty
    /// if it wants no class, so that nothing is provisioned.
    pub class: Option<String>,
}

/// An affinity or anti-affinity term: the pods that it matches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodAffinityTerm {
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

impl PodAffinityTerm {
    /// Returns true if the term, in a pod of one namespace, matches a pod of another namespace with
    /// these labels, wherever both run.
    pub fn matches(
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

    /// Returns true if only the labels of a namespace tell whether the term matches its pods, and
    /// they are not known.
    pub fn scope_is_unknown(&self, namespaces: &BTreeMap<String, Labels>, namespace: &str) -> bool {
        let listed = || self.namespaces.iter().any(|n| n == namespace);
        let Some(selector) = &self.namespace_selector else {
            return false;
        };
        if namespaces.contains_key(namespace) || listed() {
            return false;
        }
        let (named, others): (Vec<_>, Vec<_>) = selector
            .requirements()
            .iter()
            .cloned()
            .partition(|requirement| requirement.key == NAMESPACE_NAME);
        !others.is_empty() && Selector::new(named).matches(&labels_by_name(namespace))
    }

    /// Of an unknown namespace, only its name is known.
    fn in_scope(&self, namespaces: &BTreeMap<String, Labels>, from: &str, namespace: &str) -> bool {
        if !self.wide() {
            return namespace == from;
        }
        let by_label = |selector: &Selector| match namespaces.get(namespace) {
            Some(labels) => selector.matches(labels),
            None => selector.matches(&labels_by_name(namespace)),
        };
        self.namespace_selector.as_ref().is_some_and(by_label)
            || self.namespaces.iter().any(|n| n == namespace)
    }
}

/// The label that the API server gives to every namespace.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// Returns the labels that every namespace of this name has.
fn labels_by_name(namespace: &str) -> Labels {
    Labels::from([(NAMESPACE_NAME.to_owned(), namespace.to_owned())])
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
