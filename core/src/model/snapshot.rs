//! The cluster at one instant, as flat tables joined by position.
//!
//! [`import`] converts API objects to [`facts`], [`objects::Objects`] keeps the newest facts of
//! each object, and [`Snapshot::join`] joins them: a pod knows the positions of its node, its
//! workload and the budgets that select it. Tables are sorted by name, so that the same cluster
//! gives the same positions.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;

use crate::values::selector::Labels;
use crate::values::{Amount, PerResource, Resources, value_of};

use self::facts::{
    Attachment, BudgetFacts, Claim, CsiDrivers, Gang, NodeFacts, NonZeroRequests, Owner,
    OwnerFacts, OwnerKey, PodFacts, PodSizes, Skipped, StorageClass, Taint, Volume,
};
use self::lacking::Lack;
use self::objects::ObjectKind;
use self::pause::Pauses;

pub mod facts;
pub mod import;
pub mod lacking;
pub mod objects;
pub mod pause;
pub mod node_addresses;
mod groups;
mod join;
mod kubevirt;
mod nominations;
mod relations;
mod replicas;
mod binding_log;
mod storage;
mod unknown_nodes;

pub use binding_log::{BindingChange, Departure, RecentBinding};
pub use replicas::{ROLLOUT_REVISION, role_end};
pub use storage::{AttachedVolume, NewVolume};

/// The PriorityClasses of every cluster (`SystemPriorityClasses` in
/// kubernetes/pkg/apis/scheduling/v1/helpers.go).
const BUILT_IN_CLASSES: [(&str, i32); 2] =
    [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];

/// The position of a node in [`Snapshot::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub usize);

/// The position of a pod in [`Snapshot::pods`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodId(pub usize);

/// The position of a workload in [`Snapshot::workloads`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkloadId(pub usize);

/// The position of a budget in [`Snapshot::budgets`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BudgetId(pub usize);

/// The cluster at one instant.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The resources of all per-resource tables.
    pub resources: Resources,
    /// All nodes, by name.
    pub nodes: Vec<Node>,
    /// All pods, by namespace and name.
    pub pods: Vec<Pod>,
    /// The top-level controllers of pods (Deployments, StatefulSets, Jobs and others) by namespace,
    /// kind and name.
    pub workloads: Vec<Workload>,
    /// All PodDisruptionBudgets, by namespace and name.
    pub budgets: Vec<Budget>,
    /// The namespaces whose evictions people have stopped.
    pub pauses: Pauses,
    /// The labels of the namespaces.
    pub namespaces: BTreeMap<String, Labels>,
    /// The namespaces that are being deleted, with their content.
    pub deleted_namespaces: BTreeSet<String>,
    /// The values of the PriorityClasses.
    pub classes: BTreeMap<String, i32>,
    /// All PersistentVolumeClaims, by namespace and name.
    pub claims: Arc<BTreeMap<(String, String), Claim>>,
    /// All PersistentVolumes, by name.
    pub volumes: Arc<BTreeMap<String, Volume>>,
    /// All StorageClasses, by name.
    pub storage_classes: BTreeMap<String, StorageClass>,
    /// All VolumeAttachments, by name.
    pub attachments: Arc<BTreeMap<String, Attachment>>,
    /// The kinds of which no object is known, so that everything which depends on them is unknown.
    pub lacking: BTreeMap<ObjectKind, Lack>,
    /// The CSI drivers that run on any node.
    pub csi_drivers: BTreeSet<String>,
    /// The pod selectors of services, by namespace and name.
    pub services: Arc<BTreeMap<(String, String), Labels>>,
    /// The controllers that create pods, as far as they are watched.
    owners: Arc<BTreeMap<OwnerKey, OwnerFacts>>,
    /// The pods that have reserved room on a node before they are bound, by node.
    nominated: Vec<(NodeId, PodId)>,
    /// The latest pods that got a node or left one, the earliest first.
    bindings: Vec<RecentBinding>,
    /// The number of pods that stay in each group of pods, by namespace and group.
    gangs: BTreeMap<(String, Gang), usize>,
    /// Objects that could not be read.
    pub skipped: Vec<Skipped>,
    /// The state of the objects that relations of unchanged pods depend on.
    relations: u64,
}

/// A node: its facts and its pods.
#[derive(Clone, Debug)]
pub struct Node {
    facts: Arc<NodeFacts>,
    /// The allocatable amounts; zero for resources that it does not have.
    pub allocatable: PerResource<Amount>,
    /// Pods bound to it that have not finished, including terminating ones.
    pub pods: Vec<PodId>,
    /// The CSI drivers of its CSINode; `None` if it has none.
    pub csi_drivers: Option<CsiDrivers>,
    /// An object on this node that could not be read, so data about the node may be wrong.
    pub unreadable: Option<String>,
}

/// A pod: its facts and its relations.
#[derive(Clone, Debug)]
pub struct Pod {
    facts: Arc<PodFacts>,
    /// Its node; `None` if it is pending or bound to an unknown node.
    pub node: Option<NodeId>,
    /// Its top-level controller; `None` for a pod without one.
    pub workload: Option<WorkloadId>,
    /// The requests that the scheduler counts, including one of `pods` for the pod itself.
    pub requests: PerResource<Amount>,
    /// The budgets that select it.
    pub budgets: Vec<BudgetId>,
    /// Its requests as the scheduler counts them for scores. This is a copy of a fact, like the
    /// fields below: facts of many pods are far away in memory.
    pub non_zero_requests: NonZeroRequests,
    stage: PodStage,
    in_gang: bool,
    nominates: bool,
}

/// How far a pod is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PodStage {
    Stays,
    Terminates,
    Finished,
}

/// The top-level controller of pods. It stays the same over a rollout or a restart of a job.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Its namespace, kind and name.
    pub key: OwnerKey,
    /// Its pods, including finished ones.
    pub pods: Vec<PodId>,
}

/// A PodDisruptionBudget: its facts and its pods.
#[derive(Clone, Debug)]
pub struct Budget {
    facts: Arc<BudgetFacts>,
    /// The pods that it selects.
    pub pods: Vec<PodId>,
}

impl Deref for Node {
    type Target = NodeFacts;
    fn deref(&self) -> &NodeFacts {
        &self.facts
    }
}

impl Deref for Pod {
    type Target = PodFacts;
    fn deref(&self) -> &PodFacts {
        &self.facts
    }
}

impl Deref for Budget {
    type Target = BudgetFacts;
    fn deref(&self) -> &BudgetFacts {
        &self.facts
    }
}

impl PodStage {
    fn of(facts: &PodFacts) -> Self {
        if facts.finished() {
            PodStage::Finished
        } else if facts.terminating {
            PodStage::Terminates
        } else {
            PodStage::Stays
        }
    }
}

impl Pod {
    /// Returns its facts. The value stays shared until the object changes.
    pub const fn facts(&self) -> &Arc<PodFacts> {
        &self.facts
    }

    /// Returns true if the pod succeeded or failed and no longer uses resources.
    pub const fn finished(&self) -> bool {
        matches!(self.stage, PodStage::Finished)
    }

    /// Returns true if the pod is neither finished nor terminating.
    pub const fn stays(&self) -> bool {
        matches!(self.stage, PodStage::Stays)
    }

    /// Returns true if the pod serves: Ready, and neither finished nor terminating.
    pub fn serves(&self) -> bool {
        self.ready && self.stays()
    }
}

impl Snapshot {
    /// Returns the same snapshot with a taint on these nodes.
    #[must_use]
    pub fn with_taint(&self, nodes: &BTreeSet<NodeId>, taint: &Taint) -> Self {
        let mut snapshot = self.clone();
        for node in nodes {
            let facts = Arc::make_mut(&mut snapshot.nodes[node.0].facts);
            facts.taints.push(taint.clone());
        }
        snapshot
    }

    /// Returns true if this object exists and could not be read.
    pub fn is_skipped(&self, kind: ObjectKind, namespace: &str, name: &str) -> bool {
        self.skipped.iter().any(|skipped| {
            (skipped.kind.as_str(), skipped.namespace.as_str(), skipped.name.as_str())
                == (kind.name(), namespace, name)
        })
    }

    /// Returns an object of a kind that exists in a namespace and could not be read.
    pub fn skipped_in(&self, kind: ObjectKind, namespace: &str) -> Option<&Skipped> {
        let mut skipped = self.skipped.iter();
        skipped.find(|one| one.namespace == namespace && one.kind == kind.name())
    }

    /// Returns the position of the node with this name.
    pub fn find_node(&self, name: &str) -> Option<NodeId> {
        self.nodes.binary_search_by(|n| n.name.as_str().cmp(name)).ok().map(NodeId)
    }

    /// Returns the position of the pod with this namespace and name.
    pub fn find_pod(&self, namespace: &str, name: &str) -> Option<PodId> {
        let key = (namespace, name);
        self.pods
            .binary_search_by(|p| (p.namespace.as_str(), p.name.as_str()).cmp(&key))
            .ok()
            .map(PodId)
    }

    /// Returns the position of the workload with this key.
    pub fn find_workload(&self, key: &OwnerKey) -> Option<WorkloadId> {
        self.workloads.binary_search_by(|w| w.key.cmp(key)).ok().map(WorkloadId)
    }

    /// Returns the node at a position.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0]
    }

    /// Returns the pod at a position.
    pub fn pod(&self, id: PodId) -> &Pod {
        &self.pods[id.0]
    }

    /// Returns the workload at a position.
    pub fn workload(&self, id: WorkloadId) -> &Workload {
        &self.workloads[id.0]
    }

    /// Returns the positions of all nodes.
    pub fn node_ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).map(NodeId)
    }

    /// Returns the positions of all pods.
    pub fn pod_ids(&self) -> impl Iterator<Item = PodId> + use<> {
        (0..self.pods.len()).map(PodId)
    }

    /// Returns the group that a pod belongs to, if other pods of the group stay too.
    pub fn shared_gang<'p>(&self, pod: &'p Pod) -> Option<&'p Gang> {
        let gang = pod.gang.as_ref()?;
        let size = self.gangs.get(&(pod.namespace.clone(), gang.clone()));
        let others = size.copied().unwrap_or_default() - usize::from(pod.stays());
        (others > 0).then_some(gang)
    }

    /// Returns the facts of a pod's controller; `None` if it does not exist, cannot be read, or is
    /// of a kind that is not watched. A later object of the same name is another one.
    pub fn controller_facts(&self, namespace: &str, controller: &Owner) -> Option<&OwnerFacts> {
        let facts = self.owners.get(&controller.key(namespace))?;
        let differ = facts.uid.zip(controller.uid).is_some_and(|(one, other)| one != other);
        (!differ).then_some(facts)
    }

    /// Returns the controllers that cannot create pods.
    pub fn failing(&self) -> impl Iterator<Item = (&OwnerKey, &OwnerFacts)> {
        self.owners.iter().filter(|(_, facts)| facts.fails.is_some())
    }

    /// Returns the priority of a pod, which admission derives from its class; `None` without
    /// either.
    ///
    /// # Errors
    /// The name of a class whose value is unknown.
    pub fn priority<'p>(&self, pod: &'p Pod) -> Result<Option<i32>, &'p str> {
        let Some(class) = pod.priority_class.as_deref().filter(|_| pod.priority.is_none()) else {
            return Ok(pod.priority);
        };
        let built_in = BUILT_IN_CLASSES.iter().find(|(name, _)| *name == class);
        let value = self.classes.get(class).or(built_in.map(|(_, value)| value));
        value.copied().map(Some).ok_or(class)
    }

    /// Returns true if a PriorityClass exists, or may exist: it cannot be read, or none is known.
    pub fn may_have_class(&self, name: &str) -> bool {
        let built_in = BUILT_IN_CLASSES.iter().any(|(class, _)| *class == name);
        built_in || self.classes.contains_key(name) || self.may_lack(ObjectKind::Class, "", name)
    }

    /// Returns true if an object that is not known may exist: it cannot be read, or none of its
    /// kind is known.
    pub fn may_lack(&self, kind: ObjectKind, namespace: &str, name: &str) -> bool {
        self.lacking.contains_key(&kind) || self.is_skipped(kind, namespace, name)
    }

    /// Returns true if the controllers of this kind are known, even if there are none. A file may
    /// lack the kind.
    pub fn knows_owners(&self, kind: &str) -> bool {
        !self.lacking.keys().any(|lacking| lacking.name() == kind)
    }
}

impl Default for Resources {
    fn default() -> Self {
        Resources::with([])
    }
}

impl Node {
    /// Returns the number of volumes that a CSI driver can attach to the node; `None` if it has no
    /// limit.
    pub fn attach_limit(&self, driver: &str) -> Option<u32> {
        self.csi_drivers.as_ref()?.get(driver).copied().flatten()
    }

    /// Returns true if no CSINode says that the node runs this CSI driver. The kubelet creates the
    /// CSINode when it starts, before any driver registers.
    pub fn lacks_driver(&self, driver: &str) -> bool {
        let drivers = self.csi_drivers.as_ref();
        drivers.is_none_or(|drivers| !drivers.contains_key(driver))
    }

    fn new(facts: &Arc<NodeFacts>, drivers: Option<&CsiDrivers>, resources: &Resources) -> Self {
        let allocatable = PerResource::from_fn(resources.count(), |r| {
            value_of(&facts.allocatable, resources.name(r)).unwrap_or_default()
        });
        Node {
            facts: Arc::clone(facts),
            allocatable,
            pods: Vec::new(),
            csi_drivers: drivers.cloned(),
            unreadable: None,
        }
    }
}

fn requests_of(sizes: &PodSizes, resources: &Resources) -> PerResource<Amount> {
    PerResource::from_fn(resources.count(), |r| match resources.name(r) {
        "pods" => Amount::ONE,
        name => value_of(&sizes.requests, name).unwrap_or_default(),
    })
}
