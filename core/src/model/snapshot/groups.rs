//! Groups of pods that share their spec and their labels in memory, as the pods of one controller
//! usually do.
//!
//! Workload and budgets are equal for the whole group, and requests for all pods with the same
//! sizes in memory. They are computed once each, because a large cluster has twenty times as many
//! pods as groups.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::facts::{PodFacts, PodSizes, address};
use super::objects::Objects;
use super::{BudgetId, NodeId, Pod, PodId, PodStage, Snapshot, WorkloadId};

/// The groups of some pods, and those pods in their order.
pub(super) struct PodGroups<'o> {
    /// One pod of each group.
    pub(super) examples: Vec<&'o PodFacts>,
    /// The different sizes of the pods.
    pub(super) sizes: Vec<&'o PodSizes>,
    pub(super) pods: Vec<GroupedPod>,
}

/// A pod with all that a snapshot needs of its own facts. They are read in one pass, because those
/// of a large cluster do not fit the processor's cache.
pub(super) struct GroupedPod {
    pub(super) facts: Arc<PodFacts>,
    pub(super) group: usize,
    /// The position of its sizes.
    pub(super) sizes: usize,
    pub(super) node: Option<NodeId>,
    pub(super) stage: PodStage,
}

/// The values that all pods of a group have in a snapshot.
pub(super) struct GroupRow {
    pub(super) workload: Option<WorkloadId>,
    pub(super) budgets: Vec<BudgetId>,
    pub(super) in_gang: bool,
    pub(super) nominates: bool,
}

impl<'o> PodGroups<'o> {
    pub(super) fn of(objects: &'o Objects, pods: impl Iterator<Item = &'o Arc<PodFacts>>) -> Self {
        let names = NodeNames::of(objects);
        let mut groups = PodGroups {
            examples: Vec::new(),
            sizes: Vec::new(),
            pods: Vec::with_capacity(pods.size_hint().0),
        };
        let mut known: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        let mut known_sizes: BTreeMap<usize, usize> = BTreeMap::new();
        for facts in pods {
            let key = (address(&facts.spec), address(&facts.labels));
            let next = groups.examples.len();
            let found = *known.entry(key).or_insert(next);
            let group = match groups.examples.get(found) {
                // Equal owners of two namespaces are two workloads.
                Some(example) if example.namespace == facts.namespace => found,
                Some(_) | None => next,
            };
            if group == next {
                groups.examples.push(facts);
            }
            let next = groups.sizes.len();
            let sizes = *known_sizes.entry(address(&facts.sizes)).or_insert(next);
            if sizes == next {
                groups.sizes.push(&facts.sizes);
            }
            groups.pods.push(GroupedPod {
                facts: Arc::clone(facts),
                group,
                sizes,
                node: facts.node.as_deref().and_then(|name| names.find(name)),
                stage: PodStage::of(facts),
            });
        }
        groups
    }

    /// Returns the names of all requested resources, most of them several times.
    pub(super) fn requested(&self) -> impl Iterator<Item = &'o str> {
        let requests = self.sizes.iter().flat_map(|sizes| &sizes.requests);
        requests.map(|(name, _)| name.as_ref())
    }
}

impl Snapshot {
    /// Returns the namespaces that have pods.
    pub fn pod_namespaces(&self) -> impl Iterator<Item = &str> {
        let mut rest = self.pods.as_slice();
        std::iter::from_fn(move || {
            let namespace = rest.first()?.namespace.as_str();
            // Pods are sorted by namespace, so that few of them are read.
            rest = &rest[rest.partition_point(|pod| pod.namespace == namespace)..];
            Some(namespace)
        })
    }

    /// Returns neighbouring pods that share namespace, spec, labels and volumes in memory, as those
    /// of one controller do, with the position of the first.
    pub fn pod_runs(&self) -> impl Iterator<Item = (PodId, &[Pod])> {
        let runs = self.pods.chunk_by(|a, b| {
            Arc::ptr_eq(&a.spec, &b.spec)
                && Arc::ptr_eq(&a.labels, &b.labels)
                && Arc::ptr_eq(&a.volumes, &b.volumes)
                && a.namespace == b.namespace
        });
        runs.scan(0, |next, run| {
            let first = *next;
            *next += run.len();
            Some((PodId(first), run))
        })
    }
}

/// The nodes by the hash of their names. Names of one cluster begin alike, so comparing them is
/// slow.
struct NodeNames<'o>(Vec<(u64, &'o str, NodeId)>);

impl<'o> NodeNames<'o> {
    fn of(objects: &'o Objects) -> Self {
        let names = objects.nodes.keys().enumerate();
        let mut names: Vec<_> =
            names.map(|(position, name)| (hash(name), name.as_str(), NodeId(position))).collect();
        names.sort_unstable();
        NodeNames(names)
    }

    fn find(&self, name: &str) -> Option<NodeId> {
        let hash = hash(name);
        let first = self.0.partition_point(|(other, _, _)| *other < hash);
        let mut equal = self.0[first..].iter().take_while(|(other, ..)| *other == hash);
        equal.find(|(_, other, _)| *other == name).map(|(.., node)| *node)
    }
}

fn hash(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::model::snapshot::import;
    use crate::model::snapshot::objects::{Object, Objects};
    use crate::model::snapshot::{NodeId, PodId, Snapshot};

    fn pod(name: &str, node: &str, cpu: &str) -> Object {
        let object = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"namespace": "shop", "name": name, "labels": {"app": "web"},
                "ownerReferences": [{"kind": "ReplicaSet", "name": "web", "controller": true}]},
            "spec": {"nodeName": node, "containers": [
                {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}});
        import::object(&object).unwrap().unwrap()
    }

    /// Two nodes, three pods of one controller, and a copy of the first one in another namespace,
    /// which shares the spec in memory.
    fn objects() -> Objects {
        let mut objects = Objects::default();
        for name in ["n1", "n2"] {
            let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
            objects.apply(import::object(&node).unwrap().unwrap());
        }
        let first = pod("web-1", "n1", "1");
        objects.apply(pod("web-2", "n2", "1"));
        objects.apply(pod("web-3", "gone", "2"));
        let Object::Pod(mut copy) = first.clone() else {
            panic!("a pod");
        };
        copy.namespace = "test".to_owned();
        objects.apply(first);
        objects.apply(Object::Pod(copy));
        objects
    }

    #[test]
    fn pods_of_one_group_have_their_own_nodes_and_share_the_rest() {
        let snapshot = Snapshot::join(&objects(), []);
        let nodes: Vec<Option<NodeId>> = snapshot.pods.iter().map(|pod| pod.node).collect();
        let [one, two] = [0, 1].map(|node| Some(NodeId(node)));
        assert_eq!(nodes, [one, two, None, one]);
        let [first, second, third, _] = [0, 1, 2, 3].map(|id| snapshot.pod(PodId(id)));
        assert_eq!(first.requests, second.requests);
        assert_ne!(first.requests, third.requests, "other sizes");
        assert_eq!((first.workload, first.workload), (second.workload, third.workload));
    }

    #[test]
    fn equal_pods_of_two_namespaces_have_two_workloads() {
        let snapshot = Snapshot::join(&objects(), []);
        let workloads: Vec<(String, usize)> = snapshot
            .workloads
            .iter()
            .map(|workload| (workload.key.to_string(), workload.pods.len()))
            .collect();
        let expected = [("shop/ReplicaSet/web", 3), ("test/ReplicaSet/web", 1)];
        assert_eq!(workloads, expected.map(|(key, pods)| (key.to_owned(), pods)));
        assert!(snapshot.pod_namespaces().eq(["shop", "test"]));
    }
}
