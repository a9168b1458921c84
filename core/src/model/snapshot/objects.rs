//! The newest facts of each object, as watches or a file deliver them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::values::selector::Labels;

use super::binding_log::BindingLog;
use super::facts::{
    Attachment, BudgetFacts, Claim, CsiDrivers, NamespaceFacts, NodeFacts, OwnerFacts, OwnerKey,
    PodFacts, Skipped, StorageClass, Volume,
};
use super::lacking::Lack;
use super::node_addresses::NodeAddresses;
use super::pause::Pauses;
use super::relations::RelationChanges;

use self::owners::owner_key;
use self::sharing::Sharing;

mod kind;
mod owners;
mod repeated;
mod sharing;

pub use kind::ObjectKind;

/// Namespace and name. The namespace is empty for cluster-scoped objects.
pub type Name = (String, String);

/// The newest facts of each object: plain data that is filled and then joined.
///
/// The large maps are behind `Arc`, so that a copy to be joined is cheap. A map is copied only if
/// it changes meanwhile.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    pub(super) nodes: BTreeMap<String, Arc<NodeFacts>>,
    pub(super) pods: Arc<BTreeMap<Name, Arc<PodFacts>>>,
    pub(super) budgets: BTreeMap<Name, Arc<BudgetFacts>>,
    pub(super) namespaces: BTreeMap<String, Labels>,
    pub(super) deleted_namespaces: BTreeSet<String>,
    pub(super) pauses: Pauses,
    pub(super) classes: BTreeMap<String, i32>,
    pub(super) claims: Arc<BTreeMap<Name, Claim>>,
    pub(super) volumes: Arc<BTreeMap<String, Volume>>,
    pub(super) storage_classes: BTreeMap<String, StorageClass>,
    pub(super) csi_drivers: BTreeMap<String, CsiDrivers>,
    pub(super) attachments: Arc<BTreeMap<String, Attachment>>,
    pub(super) services: Arc<BTreeMap<Name, Labels>>,
    /// The kinds of which no object is known.
    pub(super) lacking: BTreeMap<ObjectKind, Lack>,
    pub(super) owners: Arc<BTreeMap<OwnerKey, OwnerFacts>>,
    pub(super) bindings: BindingLog,
    pub(super) relations: RelationChanges,
    sharing: Sharing,
    /// Of a pod that a file gives twice, one for each node.
    skipped: BTreeMap<(ObjectKind, Name), Vec<Skipped>>,
}

/// The facts of one object.
#[derive(Clone, Debug)]
pub enum Object {
    /// A node.
    Node(NodeFacts),
    /// A pod.
    Pod(Box<PodFacts>),
    /// A budget.
    Budget(BudgetFacts),
    /// A namespace.
    Namespace(String, NamespaceFacts),
    /// A PriorityClass and its value.
    Class(String, i32),
    /// A claim.
    Claim(Name, Claim),
    /// A volume.
    Volume(String, Volume),
    /// A storage class.
    StorageClass(String, StorageClass),
    /// A node and its CSI drivers.
    CsiNode(String, CsiDrivers),
    /// A volume attachment.
    Attachment(String, Attachment),
    /// A service: its name and pod selector.
    Service(Name, Labels),
    /// A controller that creates pods: its kind, its name and its facts.
    Owner(ObjectKind, Name, OwnerFacts),
}

impl Object {
    /// Returns the kind, and the namespace and name.
    pub fn key(&self) -> (ObjectKind, Name) {
        match self {
            Object::Node(node) => (ObjectKind::Node, plain(&node.name)),
            Object::Pod(pod) => (ObjectKind::Pod, (pod.namespace.clone(), pod.name.clone())),
            Object::Budget(budget) => {
                (ObjectKind::Budget, (budget.namespace.clone(), budget.name.clone()))
            }
            Object::Namespace(name, _) => (ObjectKind::Namespace, plain(name)),
            Object::Class(name, _) => (ObjectKind::Class, plain(name)),
            Object::Claim(name, _) => (ObjectKind::Claim, name.clone()),
            Object::Volume(name, _) => (ObjectKind::Volume, plain(name)),
            Object::StorageClass(name, _) => (ObjectKind::StorageClass, plain(name)),
            Object::CsiNode(name, _) => (ObjectKind::CsiNode, plain(name)),
            Object::Attachment(name, _) => (ObjectKind::Attachment, plain(name)),
            Object::Service(name, _) => (ObjectKind::Service, name.clone()),
            Object::Owner(kind, name, _) => (*kind, name.clone()),
        }
    }
}

impl Objects {
    /// Returns the evictions that people have stopped.
    pub const fn pauses(&self) -> &Pauses {
        &self.pauses
    }

    /// Stores the newest facts of an object.
    pub fn apply(&mut self, object: Object) {
        let (kind, name) = object.key();
        self.skipped.remove(&(kind, name.clone()));
        match object {
            Object::Node(node) => self.apply_node(name.1, node),
            Object::Pod(pod) => self.apply_pod(name, *pod),
            Object::Budget(budget) => self.apply_budget(name, budget),
            Object::Namespace(_, facts) => self.apply_namespace(name.1, facts),
            Object::Class(_, value) => drop(self.classes.insert(name.1, value)),
            Object::Claim(_, claim) => store(&mut self.claims, name, claim),
            Object::Volume(_, volume) => store(&mut self.volumes, name.1, volume),
            Object::StorageClass(_, class) => drop(self.storage_classes.insert(name.1, class)),
            Object::CsiNode(_, drivers) => drop(self.csi_drivers.insert(name.1, drivers)),
            Object::Attachment(_, facts) => store(&mut self.attachments, name.1, facts),
            Object::Service(_, selector) => store(&mut self.services, name, selector),
            Object::Owner(_, _, owner) => self.apply_owner(owner_key(kind, name), owner),
        }
    }

    /// Stores a node. Unchanged facts keep their place in memory, because snapshots share them.
    fn apply_node(&mut self, name: String, mut node: NodeFacts) {
        if self.nodes.get(&name).is_some_and(|old| **old == node) {
            return;
        }
        self.sharing.node(&mut node);
        if self.nodes.insert(name, Arc::new(node)).is_none() {
            self.relations.note();
        }
    }

    fn apply_namespace(&mut self, name: String, facts: NamespaceFacts) {
        self.pauses.set(&name, &facts.annotations);
        if facts.deleting {
            self.deleted_namespaces.insert(name.clone());
        } else {
            self.deleted_namespaces.remove(&name);
        }
        self.namespaces.insert(name, facts.labels);
    }

    fn apply_budget(&mut self, name: Name, budget: BudgetFacts) {
        let old = self.budgets.get(&name);
        // The status changes with each pod that becomes Ready.
        if old.is_none_or(|old| old.selector != budget.selector) {
            self.relations.note();
        }
        self.budgets.insert(name, Arc::new(budget));
    }

    /// Stores a pod. Unchanged facts keep their place in memory, because snapshots and windows of
    /// usage share them.
    fn apply_pod(&mut self, name: Name, mut pod: PodFacts) {
        if self.pods.get(&name).is_some_and(|old| **old == pod) {
            return;
        }
        self.sharing.pod(&mut pod);
        let pod = Arc::new(pod);
        self.bindings.note(self.pods.get(&name), Some(&pod));
        Arc::make_mut(&mut self.pods).insert(name, pod);
        self.sharing.changed(self.pods.len());
    }

    /// Removes an object.
    pub fn delete(&mut self, kind: ObjectKind, name: &Name) {
        self.skipped.remove(&(kind, name.clone()));
        match kind {
            ObjectKind::Node => {
                if self.nodes.remove(&name.1).is_some() {
                    self.relations.note();
                }
            }
            ObjectKind::Pod => {
                let before = remove(&mut self.pods, name);
                self.bindings.note(before.as_ref(), None);
            }
            ObjectKind::Budget => {
                if self.budgets.remove(name).is_some() {
                    self.relations.note();
                }
            }
            ObjectKind::Namespace => {
                self.pauses.remove(&name.1);
                self.namespaces.remove(&name.1);
                self.deleted_namespaces.remove(&name.1);
            }
            ObjectKind::Class => drop(self.classes.remove(&name.1)),
            ObjectKind::Claim => drop(remove(&mut self.claims, name)),
            ObjectKind::Volume => drop(remove(&mut self.volumes, &name.1)),
            ObjectKind::StorageClass => drop(self.storage_classes.remove(&name.1)),
            ObjectKind::CsiNode => drop(self.csi_drivers.remove(&name.1)),
            ObjectKind::Attachment => drop(remove(&mut self.attachments, &name.1)),
            ObjectKind::Service => drop(remove(&mut self.services, name)),
            ObjectKind::ReplicaSet
            | ObjectKind::ReplicationController
            | ObjectKind::StatefulSet
            | ObjectKind::Job => {
                let key = owner_key(kind, name.clone());
                if self.owners.contains_key(&key) {
                    self.note_owner(&key);
                    Arc::make_mut(&mut self.owners).remove(&key);
                }
            }
        }
    }

    /// Records an unreadable object. Its earlier facts are removed, because they no longer hold.
    /// Those of a node stay, because the scheduler still places pods on it. A namespace may have
    /// been paused or deleted meanwhile, so its evictions stop.
    pub fn skip(&mut self, kind: ObjectKind, skipped: Skipped) {
        let name = (skipped.namespace.clone(), skipped.name.clone());
        if kind != ObjectKind::Node {
            self.delete(kind, &name);
        } else if !name.1.is_empty() && !self.nodes.contains_key(&name.1) {
            let known = NodeFacts { name: name.1.clone(), ready: true, ..NodeFacts::default() };
            self.apply_node(name.1.clone(), known);
        }
        if kind == ObjectKind::Namespace {
            self.pauses.set_unreadable(&skipped);
        }
        self.skipped.insert((kind, name), vec![skipped]);
    }

    /// Records whether the objects of a kind are known; `None` if they are.
    pub fn set_lacking(&mut self, kind: ObjectKind, lack: Option<Lack>) {
        match lack {
            Some(lack) => drop(self.lacking.insert(kind, lack)),
            None => drop(self.lacking.remove(&kind)),
        }
    }

    /// Returns the values of the PriorityClasses; `None` if they are not known.
    pub fn classes(&self) -> Option<&BTreeMap<String, i32>> {
        (!self.lacking.contains_key(&ObjectKind::Class)).then_some(&self.classes)
    }

    /// Removes these objects of a kind.
    pub fn delete_all(&mut self, kind: ObjectKind, names: &BTreeSet<Name>) {
        for name in names {
            self.delete(kind, name);
        }
    }

    /// Returns the names of all objects of a kind, including those that could not be read.
    pub fn names(&self, kind: ObjectKind) -> BTreeSet<Name> {
        let mut names: BTreeSet<Name> = match kind {
            ObjectKind::Node => self.nodes.keys().map(plain).collect(),
            ObjectKind::Pod => self.pods.keys().cloned().collect(),
            ObjectKind::Budget => self.budgets.keys().cloned().collect(),
            ObjectKind::Namespace => self.namespaces.keys().map(plain).collect(),
            ObjectKind::Class => self.classes.keys().map(plain).collect(),
            ObjectKind::Claim => self.claims.keys().cloned().collect(),
            ObjectKind::Volume => self.volumes.keys().map(plain).collect(),
            ObjectKind::StorageClass => self.storage_classes.keys().map(plain).collect(),
            ObjectKind::CsiNode => self.csi_drivers.keys().map(plain).collect(),
            ObjectKind::Attachment => self.attachments.keys().map(plain).collect(),
            ObjectKind::Service => self.services.keys().cloned().collect(),
            ObjectKind::ReplicaSet
            | ObjectKind::ReplicationController
            | ObjectKind::StatefulSet
            | ObjectKind::Job => {
                let of_kind = self.owners.keys().filter(|k| k.kind == kind.name());
                of_kind.map(|k| (k.namespace.clone(), k.name.clone())).collect()
            }
        };
        names.extend(self.skipped.keys().filter(|(k, _)| *k == kind).map(|(_, name)| name.clone()));
        names
    }

    /// Returns the nodes by name.
    pub fn nodes(&self) -> impl Iterator<Item = &NodeFacts> {
        self.nodes.values().map(AsRef::as_ref)
    }

    /// Returns the pods by namespace and name.
    pub fn pods(&self) -> impl Iterator<Item = &PodFacts> {
        self.pods.values().map(AsRef::as_ref)
    }

    /// Returns the names and addresses of all nodes.
    pub fn node_addresses(&self) -> NodeAddresses {
        let mut node_addresses = NodeAddresses::default();
        for node in self.nodes.values() {
            node_addresses.add(&node.name, &node.addresses);
        }
        node_addresses
    }

    /// Returns the objects that could not be read.
    pub fn skipped(&self) -> impl Iterator<Item = &Skipped> {
        self.skipped.values().flatten()
    }

    /// Returns the number of objects of a kind, including those that could not be read.
    pub fn count(&self, kind: ObjectKind) -> usize {
        if kind == ObjectKind::Node {
            // One that cannot be read is a node as well.
            self.nodes.len()
        } else if kind == ObjectKind::Pod {
            // The facts of an unreadable pod are removed, so none counts twice.
            self.pods.len() + self.skipped.keys().filter(|(k, _)| *k == kind).count()
        } else {
            self.names(kind).len()
        }
    }
}

/// The name of an object without a namespace.
#[expect(clippy::ptr_arg, reason = "maps the keys of a map")]
fn plain(name: &String) -> Name {
    (String::new(), name.clone())
}

/// Stores a value. A map that is shared with a copy stays shared if nothing changes.
fn store<K, V>(map: &mut Arc<BTreeMap<K, V>>, key: K, value: V)
where
    K: Ord + Clone,
    V: PartialEq + Clone,
{
    if map.get(&key) != Some(&value) {
        Arc::make_mut(map).insert(key, value);
    }
}

/// Removes a value, as [`store`] stores one.
fn remove<K, V>(map: &mut Arc<BTreeMap<K, V>>, key: &K) -> Option<V>
where
    K: Ord + Clone,
    V: Clone,
{
    if map.contains_key(key) { Arc::make_mut(map).remove(key) } else { None }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::{Value, json};

    use super::*;
    use crate::model::snapshot::import;

    fn pod(name: &str, owner: &str, node: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": name, "labels": {"app": "web"},
                "ownerReferences": [{"kind": "ReplicaSet", "name": owner, "controller": true}],
            },
            "spec": {"nodeName": node, "containers": [{"name": "c", "image": "web:1"}]},
        })
    }

    fn with(objects: &mut Objects, value: &Value) {
        objects.apply(import::object(value).unwrap().unwrap());
    }

    fn stored(objects: &Objects, name: &str) -> Arc<PodFacts> {
        Arc::clone(&objects.pods[&("default".to_owned(), name.to_owned())])
    }

    #[test]
    fn pods_of_one_controller_share_equal_facts() {
        let mut objects = Objects::default();
        with(&mut objects, &pod("web-1", "web", "n1"));
        with(&mut objects, &pod("web-2", "web", "n2"));
        with(&mut objects, &pod("other-1", "other", "n2"));
        let [first, second, other] = ["web-1", "web-2", "other-1"].map(|n| stored(&objects, n));
        assert!(
            Arc::ptr_eq(&first.spec, &second.spec) && Arc::ptr_eq(&first.labels, &second.labels)
        );
        assert!(!Arc::ptr_eq(&first.spec, &other.spec));
        let mut changed = pod("web-3", "web", "n1");
        changed["spec"]["containers"][0]["image"] = json!("web:2");
        with(&mut objects, &changed);
        let changed = stored(&objects, "web-3");
        assert!(!Arc::ptr_eq(&changed.containers, &first.containers));
        assert!(
            Arc::ptr_eq(&changed.spec, &first.spec) && Arc::ptr_eq(&changed.labels, &first.labels)
        );
    }

    #[test]
    fn pods_that_differ_only_in_sizes_or_restarts_share_the_rest() {
        let mut objects = Objects::default();
        for number in 0..9 {
            let mut pod = pod(&format!("web-{number}"), "web", "n1");
            let resources = json!({"requests": {"cpu": format!("{number}m"), "memory": "1Gi"}});
            pod["spec"]["containers"][0]["resources"] = resources;
            pod["status"] = json!({"containerStatuses": [{"name": "c", "restartCount": number}]});
            with(&mut objects, &pod);
        }
        let [first, last] = ["web-0", "web-8"].map(|name| stored(&objects, name));
        assert!(Arc::ptr_eq(&first.spec, &last.spec) && Arc::ptr_eq(&first.labels, &last.labels));
        assert_ne!((&first.sizes, &first.containers), (&last.sizes, &last.containers));
        let names = last.sizes.requests.iter().map(|(name, _)| name);
        assert!(names.into_iter().all(|name| matches!(name, Cow::Borrowed(_))));
    }

    #[test]
    fn an_update_that_changes_no_fact_keeps_the_old_value() {
        let mut objects = Objects::default();
        with(&mut objects, &pod("web-1", "web", "n1"));
        let before = stored(&objects, "web-1");
        let mut same = pod("web-1", "web", "n1");
        same["metadata"]["resourceVersion"] = json!("9");
        with(&mut objects, &same);
        assert!(Arc::ptr_eq(&before, &stored(&objects, "web-1")));
        with(&mut objects, &pod("web-1", "web", "n2"));
        assert_eq!(stored(&objects, "web-1").node.as_deref(), Some("n2"));
    }

    #[test]
    fn values_of_deleted_pods_are_dropped_in_time() {
        let mut objects = Objects::default();
        for round in 0..2100 {
            let name = format!("job-{round}");
            with(&mut objects, &pod(&name, &name, "n1"));
            objects.delete(ObjectKind::Pod, &("default".to_owned(), name));
        }
        assert!(objects.sharing.count() <= 1002, "{}", objects.sharing.count());
    }

    #[test]
    fn pods_of_different_controllers_share_their_conditions() {
        let mut objects = Objects::default();
        for (name, since) in [("web-1", "2026-01-01T00:00:00Z"), ("db-1", "2026-01-02T00:00:00Z")] {
            let mut pod = pod(name, name, "n1");
            pod["status"]["conditions"] =
                json!([{"type": "Ready", "status": "True", "lastTransitionTime": since}]);
            with(&mut objects, &pod);
        }
        let [first, second] = ["web-1", "db-1"].map(|name| stored(&objects, name));
        let (first, second) = (&first.conditions[0], &second.conditions[0]);
        assert!(Arc::ptr_eq(&first.state, &second.state) && first.since != second.since);
    }

    #[test]
    fn nodes_share_their_images() {
        let node = |name: &str| {
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
                "status": {"images": [{"names": ["web:1"], "sizeBytes": 7}]}})
        };
        let mut objects = Objects::default();
        with(&mut objects, &node("n1"));
        with(&mut objects, &node("n2"));
        let [first, second] = ["n1", "n2"].map(|name| &objects.nodes[name].images[0]);
        assert!(Arc::ptr_eq(first, second));
    }
}
