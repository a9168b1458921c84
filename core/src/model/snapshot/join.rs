//! The join of all objects into a snapshot.
//!
//! A poll comes every few seconds, and of many pods few have changed meanwhile.
//! [`Snapshot::rejoined`] takes the others from the snapshot before. It must give what
//! [`Snapshot::join`] gives.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::values::{Amount, PerResource, Resources};

use super::facts::{NonZeroRequests, OwnerKey, PodFacts, PodSizes};
use super::groups::{GroupRow, GroupedPod, PodGroups};
use super::objects::Objects;
use super::{
    Budget, BudgetId, Node, NodeId, Pod, PodId, Snapshot, Workload, WorkloadId, requests_of,
};

/// The pods of an earlier snapshot that have not changed, and their workloads.
#[derive(Default)]
struct KeptPods {
    pods: Vec<Pod>,
    /// For each pod of the objects, its position in `pods` if it has not changed.
    origins: Vec<Option<usize>>,
    /// The workloads of the earlier snapshot; `None` for those whose pods have all changed.
    workloads: Vec<Option<OwnerKey>>,
}

impl Snapshot {
    /// Joins the facts. `named` are resources of the policy. Resources that a pod requests are
    /// added.
    pub fn join<'a>(objects: &'a Objects, named: impl IntoIterator<Item = &'a str>) -> Self {
        let groups = PodGroups::of(objects, objects.pods.values());
        let resources = Resources::with(groups.requested().chain(named));
        let kept = KeptPods { origins: vec![None; objects.pods.len()], ..KeptPods::default() };
        Snapshot::assembled(objects, resources, kept, groups)
    }

    /// Joins the facts as [`Snapshot::join`] does, and takes the pods that have not changed from
    /// this earlier snapshot of the same objects. Only a resource that no pod requests any more
    /// stays.
    #[must_use]
    pub fn rejoined<'a>(
        self,
        objects: &'a Objects,
        named: impl IntoIterator<Item = &'a str> + Clone,
    ) -> Self {
        let resources = self.resources.clone();
        let Some((kept, changed)) = self.keep(objects) else {
            return Snapshot::join(objects, named);
        };
        let groups = PodGroups::of(objects, changed.into_iter());
        let is_new = |name: &str| resources.find(name).is_none();
        if groups.requested().any(is_new) || named.clone().into_iter().any(is_new) {
            return Snapshot::join(objects, named);
        }
        Snapshot::assembled(objects, resources, kept, groups)
    }

    /// Finds the pods whose facts and relations have not changed, and the others; `None` if any
    /// relation may have.
    fn keep(self, objects: &Objects) -> Option<(KeptPods, Vec<&Arc<PodFacts>>)> {
        let moved = objects.relations.since(self.relations)?;
        let moved: BTreeSet<WorkloadId> =
            moved.filter_map(|workload| self.find_workload(workload)).collect();
        let stays = |pod: &Pod| pod.workload.is_none_or(|workload| !moved.contains(&workload));
        let mut used = vec![false; self.workloads.len()];
        let (mut origins, mut changed) = (Vec::with_capacity(objects.pods.len()), Vec::new());
        let mut position = 0;
        for facts in objects.pods.values() {
            // Names are compared only where something has changed.
            while self.pods.get(position).is_some_and(|old| is_before(old, facts)) {
                position += 1;
            }
            let same = self.pods.get(position).filter(|old| Arc::ptr_eq(&old.facts, facts));
            let old = same.filter(|old| stays(old));
            origins.push(old.map(|_| position));
            if old.is_none() {
                changed.push(facts);
            }
            if let Some(WorkloadId(workload)) = old.and_then(|old| old.workload) {
                used[workload] = true;
            }
            position += usize::from(same.is_some());
        }
        let workloads = self.workloads.into_iter().zip(used);
        let workloads = workloads.map(|(workload, used)| used.then_some(workload.key)).collect();
        Some((KeptPods { pods: self.pods, origins, workloads }, changed))
    }

    fn assembled(
        objects: &Objects,
        resources: Resources,
        kept: KeptPods,
        groups: PodGroups<'_>,
    ) -> Self {
        let mut snapshot = Snapshot::without_pods(objects, resources);
        let pods = kept.origins.len();
        let (moved, rows) = snapshot.join_workloads(objects, kept.workloads, pods, &groups);
        snapshot.pods.reserve_exact(pods);
        // Thousands of lists that grow cost more than the pods in them.
        let usual = pods / snapshot.nodes.len().max(1) + 1;
        for node in &mut snapshot.nodes {
            node.pods.reserve_exact(usual);
        }
        let sizes = groups.sizes.iter();
        let sizes: Vec<SizeRow> =
            sizes.map(|sizes| SizeRow::new(sizes, &snapshot.resources)).collect();
        let mut old = kept.pods.into_iter().enumerate();
        let mut new = groups.pods.into_iter();
        for origin in kept.origins {
            let pod = match origin {
                Some(position) => old.find(|(at, _)| *at == position).map(|(_, pod)| Pod {
                    workload: pod.workload.map(|WorkloadId(workload)| moved[workload]),
                    ..pod
                }),
                None => new.next().map(|pod| rows[pod.group].pod(&sizes[pod.sizes], pod)),
            };
            if let Some(pod) = pod {
                snapshot.push(pod);
            }
        }
        if snapshot.pods.iter().any(|pod| pod.nominates) {
            snapshot.join_nominations();
        }
        snapshot.join_bindings(&objects.bindings);
        snapshot.mark_unreadable();
        snapshot
    }

    fn without_pods(objects: &Objects, resources: Resources) -> Self {
        let nodes = objects.nodes.values();
        let drivers = |name: &str| objects.csi_drivers.get(name);
        let budgets = objects
            .budgets
            .values()
            .map(|budget| Budget { facts: Arc::clone(budget), pods: Vec::new() });
        let nodes: Vec<Node> = nodes.map(|n| Node::new(n, drivers(&n.name), &resources)).collect();
        let running = nodes.iter().filter_map(|node| node.csi_drivers.as_ref());
        let running: BTreeSet<&String> = running.flat_map(BTreeMap::keys).collect();
        Snapshot {
            csi_drivers: running.into_iter().cloned().collect(),
            nodes,
            budgets: budgets.collect(),
            namespaces: objects.namespaces.clone(),
            deleted_namespaces: objects.deleted_namespaces.clone(),
            pauses: objects.pauses.clone(),
            classes: objects.classes.clone(),
            claims: Arc::clone(&objects.claims),
            volumes: Arc::clone(&objects.volumes),
            storage_classes: objects.storage_classes.clone(),
            attachments: Arc::clone(&objects.attachments),
            lacking: objects.lacking.clone(),
            services: Arc::clone(&objects.services),
            owners: Arc::clone(&objects.owners),
            skipped: objects.skipped().cloned().collect(),
            relations: objects.relations.version(),
            resources,
            ..Snapshot::default()
        }
    }

    /// Adds the workloads of kept pods and of groups. `pods` is the number of all pods. Returns the
    /// new position of each kept workload, and the row of each group.
    fn join_workloads(
        &mut self,
        objects: &Objects,
        kept: Vec<Option<OwnerKey>>,
        pods: usize,
        groups: &PodGroups<'_>,
    ) -> (Vec<WorkloadId>, Vec<GroupRow>) {
        let mut moved = vec![WorkloadId(0); kept.len()];
        let kept = kept.into_iter().enumerate();
        let kept = kept.filter_map(|(position, key)| Some((key?, Some(position))));
        // The map sorts and removes duplicates before positions are assigned.
        let mut workloads: BTreeMap<OwnerKey, Option<usize>> = kept.collect();
        let of_groups = groups.examples.iter().map(|pod| objects.top_controller(pod));
        let of_groups: Vec<Option<OwnerKey>> = of_groups.collect();
        for key in of_groups.iter().flatten() {
            if !workloads.contains_key(key) {
                workloads.insert(key.clone(), None);
            }
        }
        let usual = pods / workloads.len().max(1) + 1;
        for (position, (key, earlier)) in workloads.into_iter().enumerate() {
            if let Some(earlier) = earlier {
                moved[earlier] = WorkloadId(position);
            }
            let pods = Vec::with_capacity(usual);
            self.workloads.push(Workload { key, pods });
        }
        let rows = groups.examples.iter().zip(&of_groups);
        let rows = rows.map(|(pod, key)| GroupRow {
            workload: key.as_ref().and_then(|key| self.find_workload(key)),
            budgets: self.budgets_of(pod),
            in_gang: pod.gang.is_some(),
            nominates: pod.nominated.is_some(),
        });
        let rows = rows.collect();
        (moved, rows)
    }

    /// Adds a pod to its node, workload, budgets and gang.
    fn push(&mut self, pod: Pod) {
        let id = PodId(self.pods.len());
        if let Some(WorkloadId(workload)) = pod.workload {
            self.workloads[workload].pods.push(id);
        }
        // A finished pod keeps its nodeName but uses nothing. The scheduler ignores it too.
        if let (Some(NodeId(node)), false) = (pod.node, pod.finished()) {
            self.nodes[node].pods.push(id);
        }
        for BudgetId(budget) in &pod.budgets {
            self.budgets[*budget].pods.push(id);
        }
        if pod.in_gang
            && pod.stays()
            && let Some(gang) = &pod.gang
        {
            let key = (pod.namespace.clone(), gang.clone());
            *self.gangs.entry(key).or_default() += 1;
        }
        self.pods.push(pod);
    }

    fn mark_unreadable(&mut self) {
        for skipped in self.skipped.clone() {
            if let Some(node) = skipped.node.as_deref().and_then(|name| self.find_node(name)) {
                self.nodes[node.0].unreadable = Some(skipped.to_string());
            }
        }
    }

    fn budgets_of(&self, pod: &PodFacts) -> Vec<BudgetId> {
        let first = self.budgets.partition_point(|b| b.namespace < pod.namespace);
        self.budgets[first..]
            .iter()
            .enumerate()
            .take_while(|(_, b)| b.namespace == pod.namespace)
            .filter(|(_, b)| b.covers(pod))
            .map(|(i, _)| BudgetId(first + i))
            .collect()
    }
}

/// The sizes of pods in a snapshot.
struct SizeRow {
    requests: PerResource<Amount>,
    non_zero_requests: NonZeroRequests,
}

impl SizeRow {
    fn new(sizes: &PodSizes, resources: &Resources) -> Self {
        SizeRow {
            requests: requests_of(sizes, resources),
            non_zero_requests: sizes.non_zero_requests,
        }
    }
}

impl GroupRow {
    fn pod(&self, sizes: &SizeRow, pod: GroupedPod) -> Pod {
        Pod {
            facts: pod.facts,
            node: pod.node,
            workload: self.workload,
            requests: sizes.requests.clone(),
            budgets: self.budgets.clone(),
            non_zero_requests: sizes.non_zero_requests,
            stage: pod.stage,
            in_gang: self.in_gang,
            nominates: self.nominates,
        }
    }
}

/// Whether an earlier pod comes before these facts by namespace and name, so that it has left.
fn is_before(old: &Pod, facts: &Arc<PodFacts>) -> bool {
    !Arc::ptr_eq(&old.facts, facts) && (&old.namespace, &old.name) < (&facts.namespace, &facts.name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::model::snapshot::import;
    use crate::model::snapshot::objects::ObjectKind;

    /// A change of one object. Numbers choose among few names, so that changes meet.
    #[derive(Clone, Debug)]
    enum Event {
        Pod {
            name: u8,
            owner: u8,
            node: u8,
            phase: bool,
        },
        Node {
            name: u8,
            ready: bool,
        },
        Budget {
            name: u8,
            of: u8,
            allowed: u8,
        },
        Owner {
            name: u8,
            deployment: Option<u8>,
        },
        Delete(ObjectKind, u8),
        /// The joins of a poll.
        Poll,
    }

    const NAMESPACES: [&str; 2] = ["shop", "test"];

    /// Names of ReplicaSets, one of which has the name of a Deployment and a hash.
    const OWNERS: [&str; 3] = ["web", "web-6d4cf56db6", "db"];

    fn namespace(name: u8) -> &'static str {
        NAMESPACES[usize::from(name % 2)]
    }

    fn owner_name(owner: u8) -> &'static str {
        OWNERS[usize::from(owner % 3)]
    }

    fn object(kind: &str, name: &str, namespace: &str, rest: &Value) -> Value {
        let mut object = json!({"apiVersion": "v1", "kind": kind,
            "metadata": {"name": name, "namespace": namespace}});
        let (Value::Object(into), Value::Object(rest)) = (&mut object, rest) else {
            panic!("objects");
        };
        for (key, value) in rest {
            match (key.as_str(), value) {
                ("metadata", Value::Object(more)) => {
                    into["metadata"].as_object_mut().unwrap().extend(more.clone());
                }
                _ => drop(into.insert(key.clone(), value.clone())),
            }
        }
        object
    }

    fn pod(name: u8, owner: u8, node: u8, phase: bool) -> Value {
        let (owner_name, phase) = (owner_name(owner), if phase { "Running" } else { "Failed" });
        let labels = json!({"app": owner_name, "pod-template-hash": "6d4cf56db6"});
        let owners = json!([{"kind": "ReplicaSet", "name": owner_name, "controller": true}]);
        let requests = json!({"cpu": format!("{owner}")});
        let containers = json!([{"name": "c", "image": "i", "resources": {"requests": requests}}]);
        let uid = format!("u{owner}{node}");
        let nominated = (name == 3).then_some("n0");
        object(
            "Pod",
            &format!("p{name}"),
            namespace(name),
            &json!({
                "metadata": {"uid": uid, "labels": labels, "ownerReferences": owners},
                "spec": {"nodeName": format!("n{node}"), "containers": containers,
                    "schedulingGroup": {"podGroupName": "g"}},
                "status": {"phase": phase, "nominatedNodeName": nominated},
            }),
        )
    }

    fn apply(objects: &mut Objects, event: &Event) {
        let value = match event {
            Event::Pod { name, owner, node, phase } => pod(*name, *owner, *node, *phase),
            Event::Node { name, ready } => {
                let status = if *ready { "True" } else { "False" };
                let conditions = json!([{"type": "Ready", "status": status}]);
                object(
                    "Node",
                    &format!("n{name}"),
                    "",
                    &json!({"status": {"conditions": conditions}}),
                )
            }
            Event::Budget { name, of, allowed } => {
                let selector = json!({"matchLabels": {"app": owner_name(*of)}});
                let rest = json!({"apiVersion": "policy/v1", "spec": {"selector": selector},
                    "status": {"disruptionsAllowed": allowed}});
                object("PodDisruptionBudget", &format!("b{name}"), namespace(*name), &rest)
            }
            Event::Owner { name, deployment } => {
                let owner = |d| {
                    let name = format!("d{d}");
                    json!({"kind": "Deployment", "name": name, "controller": true})
                };
                let owners: Vec<Value> = deployment.iter().map(owner).collect();
                let rest =
                    json!({"apiVersion": "apps/v1", "metadata": {"ownerReferences": owners}});
                object("ReplicaSet", owner_name(*name), namespace(*name / 3), &rest)
            }
            Event::Delete(kind, name) => {
                let name = if *kind == ObjectKind::Node {
                    (String::new(), format!("n{name}"))
                } else if *kind == ObjectKind::Budget {
                    (namespace(*name).to_owned(), format!("b{name}"))
                } else if *kind == ObjectKind::ReplicaSet {
                    let owner = owner_name(*name).to_owned();
                    (namespace(*name / 3).to_owned(), owner)
                } else {
                    (namespace(*name).to_owned(), format!("p{name}"))
                };
                return objects.delete(*kind, &name);
            }
            Event::Poll => return,
        };
        objects.apply(import::object(&value).unwrap().unwrap());
    }

    fn event() -> impl Strategy<Value = Event> {
        let kinds = [ObjectKind::Pod, ObjectKind::Node, ObjectKind::Budget, ObjectKind::ReplicaSet];
        prop_oneof![
            5 => (0..8_u8, 0..3_u8, 0..4_u8, any::<bool>()).prop_map(|(name, owner, node, phase)| {
                Event::Pod { name, owner, node, phase }
            }),
            1 => (0..4_u8, any::<bool>()).prop_map(|(name, ready)| Event::Node { name, ready }),
            1 => (0..4_u8, 0..3_u8, 0..2_u8)
                .prop_map(|(name, of, allowed)| Event::Budget { name, of, allowed }),
            2 => (0..6_u8, prop::option::of(0..2_u8))
                .prop_map(|(name, deployment)| Event::Owner { name, deployment }),
            2 => (prop::sample::select(kinds.to_vec()), 0..8_u8)
                .prop_map(|(kind, name)| Event::Delete(kind, name)),
            4 => Just(Event::Poll),
        ]
    }

    proptest! {
        #[test]
        fn a_snapshot_after_an_earlier_one_is_that_of_all_objects(
            events in prop::collection::vec(event(), 1..60),
        ) {
            let (mut objects, mut earlier) = (Objects::default(), Snapshot::default());
            for event in &events {
                apply(&mut objects, event);
                if matches!(event, Event::Poll) {
                    earlier = earlier.rejoined(&objects, ["cpu"]);
                    let whole = Snapshot::join(&objects, ["cpu"]);
                    prop_assert_eq!(format!("{earlier:#?}"), format!("{whole:#?}"));
                }
            }
        }
    }

    /// A node with two pods of different owners.
    fn two_pods() -> Objects {
        let mut objects = Objects::default();
        for event in [
            Event::Node { name: 0, ready: true },
            Event::Pod { name: 0, owner: 0, node: 0, phase: true },
            Event::Pod { name: 2, owner: 2, node: 0, phase: true },
        ] {
            apply(&mut objects, &event);
        }
        objects
    }

    #[test]
    fn a_new_resource_and_a_new_owner_are_seen() {
        let mut objects = two_pods();
        let snapshot = Snapshot::join(&objects, []).rejoined(&objects, ["example.com/gpu"]);
        assert!(snapshot.resources.find("example.com/gpu").is_some());
        let owner = Event::Owner { name: 0, deployment: Some(7) };
        apply(&mut objects, &owner);
        let snapshot = snapshot.rejoined(&objects, []);
        let keys = snapshot.workloads.iter().map(|w| w.key.to_string());
        let keys: Vec<String> = keys.collect();
        assert_eq!(keys, ["shop/Deployment/d7", "shop/ReplicaSet/db"]);
    }

    /// Otherwise a poll would join all pods each time.
    #[test]
    fn unchanged_pods_are_kept() {
        let mut objects = two_pods();
        let origins = |snapshot: &Snapshot, objects: &Objects| {
            snapshot.clone().keep(objects).map(|(kept, _)| kept.origins)
        };
        let snapshot = Snapshot::join(&objects, []);
        let changed = Event::Pod { name: 0, owner: 1, node: 0, phase: true };
        apply(&mut objects, &changed);
        apply(&mut objects, &Event::Node { name: 0, ready: false });
        assert_eq!(origins(&snapshot, &objects), Some(vec![None, Some(1)]));
        apply(&mut objects, &Event::Owner { name: 2, deployment: None });
        assert_eq!(origins(&snapshot, &objects), Some(vec![None, None]));
        apply(&mut objects, &Event::Node { name: 1, ready: true });
        assert_eq!(origins(&snapshot, &objects), None);
    }
}
