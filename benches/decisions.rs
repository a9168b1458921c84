//! How long a cycle takes, step by step, on clusters of several sizes: `cargo bench`.
//!
//! Each node runs ten pods. Every fifth node is hot, the others have room, so that the strategy
//! finds moves to make. In `decide_by_chance`, each node runs 30 pods of random usage and random
//! requests, so that nodes are hot by chance and most landings are uncertain.
#![expect(clippy::unwrap_used, reason = "a benchmark stops by panicking when its input is wrong")]

use std::cell::RefCell;

use divan::Bencher;
use evenkeel::decide::engine::Engine;
use evenkeel::decide::placement::Placement;
use evenkeel::decide::scheduler::forecast;
use evenkeel::model::ledger::Ledger;
use evenkeel::model::search_start::SearchStart;
use evenkeel::model::snapshot::objects::{ObjectKind, Objects};
use evenkeel::model::snapshot::{PodId, Snapshot, import};
use evenkeel::model::usage::{Readings, import as metrics};
use evenkeel::policy::Policy;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The allocator of the program.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const NODES: [usize; 3] = [200, 1000, 5000];
const CORES: u32 = 8;
/// One node in so many is hot.
const HOT: usize = 5;
/// Replicas of one workload run on so many nodes.
const SPREAD: usize = 20;
/// The number of nodes, and their mean cpu usage in thousandths. With a target of 60 %, no node is
/// hot at 200, one in eleven at 483, and two thirds at 642.
const BY_CHANCE: [(usize, u32); 4] = [(1000, 200), (1000, 642), (5000, 200), (5000, 483)];
/// The numbers of nodes and of pods per node of a poll. The largest cluster that Kubernetes
/// supports is the second. Of so many nodes, one has a pod replaced between two polls, which is 1 %
/// of the pods in a minute.
const REPLACED: usize = 13;
const POLLED: [(usize, usize); 2] = [(1000, 30), (5000, 30)];
const POLICY: &str = "
apiVersion: evenkeel/v1alpha1
kind: Policy
strategies:
- lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%}}
";

/// Usage that is polled every ten minutes, so that a day is learned soon.
const LEARNING: &str =
    "usage: {poll: 10m, window: 30m, staleAfter: 30m, minSamples: 2, ahead: 2h}\n";

fn main() {
    divan::main();
}

#[divan::bench(args = NODES, sample_count = 10)]
fn decode_a_list_of_pods(bencher: Bencher<'_, '_>, nodes: usize) {
    let list = json!({"items": regular(nodes).pods().collect::<Vec<_>>()}).to_string();
    bencher.bench(|| decode(ObjectKind::Pod, &list));
}

#[divan::bench(args = NODES, sample_count = 10)]
fn join_a_snapshot(bencher: Bencher<'_, '_>, nodes: usize) {
    let (policy, objects) = (policy(), regular(nodes).objects());
    bencher.bench(|| Snapshot::join(&objects, policy.resources()));
}

#[divan::bench(args = NODES, sample_count = 10)]
fn forecast_one_pod(bencher: Bencher<'_, '_>, nodes: usize) {
    let cluster = Cluster::new(&regular(nodes));
    let (policy, unknown) = (policy(), SearchStart::default());
    let placement = Placement::new(&policy, &cluster.snapshot, &unknown);
    bencher.bench_local(|| forecast(&placement, PodId(0)));
}

#[divan::bench(args = NODES, sample_count = 10)]
fn decide(bencher: Bencher<'_, '_>, nodes: usize) {
    let cluster = Cluster::new(&regular(nodes));
    let plan = cluster.engine.decide(&cluster.snapshot, now());
    assert!(!plan.moves.is_empty(), "the benchmark has nothing to decide");
    bencher.bench_local(|| cluster.engine.decide(&cluster.snapshot, now()));
}

#[divan::bench(args = BY_CHANCE, sample_count = 3, sample_size = 1)]
fn decide_by_chance(bencher: Bencher<'_, '_>, (nodes, usage): (usize, u32)) {
    let shape = Shape { nodes, pods_per_node: 30, mean_usage: Some(f64::from(usage) / 1000.0) };
    let cluster = Cluster::new(&shape);
    bencher.bench_local(|| cluster.engine.decide(&cluster.snapshot, now()));
}

/// The cost of a poll after the source has answered: the join of all objects, the windows, the hot
/// nodes and the start of the scheduler's search.
#[divan::bench(args = POLLED, sample_count = 10, sample_size = 1)]
fn poll(bencher: Bencher<'_, '_>, (nodes, pods_per_node): (usize, usize)) {
    let shape = Shape { nodes, pods_per_node, mean_usage: None };
    let (policy, objects, readings) = (policy(), shape.objects(), shape.readings());
    let mut engine = Engine::new(policy.clone(), Ledger::default());
    let mut snapshot = Snapshot::join(&objects, policy.resources());
    engine.observe_steady(&snapshot, &readings, now());
    let (objects, mut polls) = (RefCell::new(objects), 0);
    bencher
        .with_inputs(|| {
            for node in (0..nodes).step_by(REPLACED) {
                let gone = ("default".to_owned(), pod_name(node, polls));
                objects.borrow_mut().delete(ObjectKind::Pod, &gone);
                let new = import::object(&pod(node, pods_per_node + polls, 200)).unwrap();
                objects.borrow_mut().apply(new.unwrap());
            }
            polls += 1;
        })
        .bench_local_values(|()| {
            let earlier = std::mem::take(&mut snapshot);
            let objects = objects.borrow().clone();
            snapshot = earlier.rejoined(&objects, policy.resources());
            engine.observe(&snapshot, &readings, now());
        });
}

/// The parts of [`poll`], and the join of all objects in a cycle.
#[divan::bench(args = ["join", "observe", "usage"], sample_count = 10, sample_size = 1)]
fn poll_part(bencher: Bencher<'_, '_>, part: &str) {
    let shape = Shape { nodes: POLLED[1].0, pods_per_node: POLLED[1].1, mean_usage: None };
    let (policy, objects, readings) = (policy(), shape.objects(), shape.readings());
    let mut engine = Engine::new(policy.clone(), Ledger::default());
    let snapshot = Snapshot::join(&objects, policy.resources());
    engine.observe_steady(&snapshot, &readings, now());
    match part {
        "join" => bencher.bench_local(|| Snapshot::join(&objects, policy.resources())),
        "observe" => bencher.bench_local(|| engine.observe(&snapshot, &readings, now())),
        _ => bencher.bench_local(|| engine.usage(&snapshot, now())),
    }
}

/// The expected usage of 50,000 pods whose usage has been learned for a day, as each poll and each
/// cycle computes it with `usage.ahead`.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn usage_ahead(bencher: Bencher<'_, '_>) {
    let shape = Shape { nodes: 1_667, pods_per_node: 30, mean_usage: None };
    let policy = Policy::parse("policy.yaml", &format!("{POLICY}{LEARNING}")).unwrap();
    let snapshot = Snapshot::join(&shape.objects(), policy.resources());
    let (mut engine, mut readings) = (Engine::new(policy, Ledger::default()), shape.readings());
    let minutes = (0..=26 * 60).step_by(10);
    for at in minutes.map(|minute| now() + SignedDuration::from_mins(minute)) {
        let samples = readings.nodes.values_mut().chain(readings.pods.values_mut());
        samples.for_each(|sample| sample.at = at);
        engine.observe(&snapshot, &readings, at);
    }
    let end = now() + SignedDuration::from_hours(26);
    assert!(engine.usage(&snapshot, end).outlook().is_some(), "nothing was learned");
    bencher.bench_local(|| engine.usage(&snapshot, end));
}

/// An engine that has measured its cluster.
struct Cluster {
    engine: Engine,
    snapshot: Snapshot,
}

impl Cluster {
    fn new(shape: &Shape) -> Self {
        let policy = policy();
        let snapshot = Snapshot::join(&shape.objects(), policy.resources());
        let mut engine = Engine::new(policy, Ledger::default());
        engine.observe_steady(&snapshot, &shape.readings(), now());
        Cluster { engine, snapshot }
    }
}

#[derive(Deserialize)]
struct List<'a> {
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

/// Decodes a list as the watches do: item by item.
fn decode(kind: ObjectKind, list: &str) -> Objects {
    let mut objects = Objects::default();
    let list: List<'_> = serde_json::from_str(list).unwrap();
    for item in list.items {
        objects.apply(import::json(kind, item.get().as_bytes()).unwrap());
    }
    objects
}

/// The size and the load of a cluster.
struct Shape {
    nodes: usize,
    pods_per_node: usize,
    /// The mean usage of a node as a share of its cpu, if usage and requests are random.
    mean_usage: Option<f64>,
}

/// A cluster without chance.
fn regular(nodes: usize) -> Shape {
    Shape { nodes, pods_per_node: 10, mean_usage: None }
}

impl Shape {
    fn objects(&self) -> Objects {
        let mut objects = Objects::default();
        let sets = (0..=self.nodes / SPREAD)
            .flat_map(|group| (0..self.pods_per_node).map(move |index| replica_set(group, index)));
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"},
        });
        let nodes = (0..self.nodes).map(node);
        for value in nodes.chain(sets).chain(self.pods()).chain([namespace]) {
            let object = import::object(&value).unwrap();
            objects.apply(object.unwrap());
        }
        objects
    }

    fn readings(&self) -> Readings {
        let mut readings = Readings::default();
        for node in 0..self.nodes {
            let pods = 0..self.pods_per_node;
            let cpu = pods.clone().map(|pod| self.usage(node, pod)).sum();
            metrics::node(&node_metrics(node, cpu), &mut readings);
            for pod in pods {
                let cpu = self.usage(node, pod);
                metrics::pod(&pod_metrics(node, pod, cpu), &mut readings);
            }
        }
        readings
    }

    fn pods(&self) -> impl Iterator<Item = Value> {
        let all =
            (0..self.nodes).flat_map(|n| (0..self.pods_per_node).map(move |index| (n, index)));
        all.map(|(node, index)| pod(node, index, self.request(node, index)))
    }

    /// The cpu that a pod uses, in millicores.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "some thousands of millicores"
    )]
    fn usage(&self, node: usize, index: usize) -> u64 {
        match self.mean_usage {
            None if node.is_multiple_of(HOT) => 600,
            None => 100,
            Some(share) => {
                let mean = share * f64::from(CORES) * 1000.0 / self.pods_per_node as f64;
                (-chance(node, index, 1).ln() * mean) as u64
            }
        }
    }

    /// The cpu that a pod requests, in millicores.
    fn request(&self, node: usize, index: usize) -> u64 {
        match self.mean_usage {
            None => 200,
            Some(_) if chance(node, index, 2) < 0.5 => 100,
            Some(_) => 250,
        }
    }
}

/// A number above 0 and up to 1, always the same for the same pod.
#[expect(clippy::cast_precision_loss, reason = "53 bits are enough")]
fn chance(node: usize, index: usize, salt: u64) -> f64 {
    let mut z =
        ((node * 1000 + index) as u64).wrapping_add(salt.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (((z ^ (z >> 31)) >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

fn policy() -> Policy {
    Policy::parse("policy.yaml", POLICY).unwrap()
}

fn now() -> Timestamp {
    "2026-01-05T12:00:00Z".parse().unwrap()
}

fn node(node: usize) -> Value {
    let allocatable = json!({"cpu": CORES, "memory": "32Gi", "pods": "110"});
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": node_name(node),
            "labels": {
                "kubernetes.io/hostname": node_name(node),
                "topology.kubernetes.io/zone": format!("z{}", node % 3),
            },
        },
        "spec": {},
        "status": {
            "allocatable": allocatable, "capacity": allocatable,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    })
}

fn pod(node: usize, index: usize, request: u64) -> Value {
    // Replicas of one workload run on different nodes.
    let workload = workload(node / SPREAD, index);
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": pod_name(node, index), "namespace": "default", "uid": pod_name(node, index),
            "labels": {"app": workload}, "creationTimestamp": "2026-01-05T00:00:00Z",
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": workload, "uid": workload,
                "controller": true,
            }],
        },
        "spec": {
            "nodeName": node_name(node),
            "containers": [{
                "name": "main", "image": "main",
                "resources": {"requests": {"cpu": format!("{request}m"), "memory": "512Mi"}},
            }],
        },
        "status": {
            "phase": "Running", "startTime": "2026-01-05T00:00:00Z",
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    })
}

fn replica_set(group: usize, index: usize) -> Value {
    let name = workload(group, index);
    json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {
            "name": name, "namespace": "default",
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "Deployment", "name": format!("{name}-d"), "uid": name,
                "controller": true,
            }],
        },
    })
}

fn workload(group: usize, index: usize) -> String {
    format!("web-{group}-{index}")
}

fn node_metrics(node: usize, cpu: u64) -> Value {
    json!({
        "metadata": {"name": node_name(node)}, "timestamp": now(), "window": "15s",
        "usage": {"cpu": format!("{cpu}m"), "memory": "5Gi"},
    })
}

fn pod_metrics(node: usize, index: usize, cpu: u64) -> Value {
    json!({
        "metadata": {"name": pod_name(node, index), "namespace": "default"},
        "timestamp": now(), "window": "15s",
        "containers": [{
            "name": "main",
            "usage": {"cpu": format!("{cpu}m"), "memory": "500Mi"},
        }],
    })
}

fn node_name(node: usize) -> String {
    format!("n{node}")
}

fn pod_name(node: usize, index: usize) -> String {
    format!("web-{node}-{index}")
}
