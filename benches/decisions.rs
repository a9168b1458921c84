//! How long a cycle takes, step by step, on clusters of several sizes: `cargo bench`.
//!
//! Each node runs ten pods. Every fifth node is hot, the others have room, so that the strategy
//! finds moves to make.
#![expect(
    clippy::unwrap_used,
    reason = "a benchmark stops by panicking when its input is wrong"
)]

use divan::Bencher;
use evenkeel::decide::draft::{Draft, HotSince, World};
use evenkeel::decide::engine::Engine;
use evenkeel::decide::scheduler::forecast;
use evenkeel::model::ledger::Ledger;
use evenkeel::model::snapshot::objects::{ObjectKind, Objects};
use evenkeel::model::snapshot::{PodId, Snapshot, import};
use evenkeel::model::usage::{Readings, import as metrics};
use evenkeel::policy::Policy;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

const NODES: [usize; 3] = [200, 1000, 5000];
const PODS_PER_NODE: usize = 10;
/// One node in so many is hot.
const HOT: usize = 5;
const POLICY: &str = "
apiVersion: evenkeel/v1alpha1
kind: Policy
strategies:
- lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 50%}}
";

fn main() {
    divan::main();
}

#[divan::bench(args = NODES, sample_count = 10)]
fn decode_a_list_of_pods(bencher: Bencher<'_, '_>, nodes: usize) {
    let list = json!({"items": pods(nodes).collect::<Vec<_>>()}).to_string();
    bencher.bench(|| decode(ObjectKind::Pod, &list));
}

#[divan::bench(args = NODES, sample_count = 10)]
fn join_a_snapshot(bencher: Bencher<'_, '_>, nodes: usize) {
    let (policy, objects) = (policy(), objects(nodes));
    bencher.bench(|| Snapshot::join(&objects, policy.resources()));
}

#[divan::bench(args = NODES, sample_count = 10)]
fn forecast_one_pod(bencher: Bencher<'_, '_>, nodes: usize) {
    let cluster = Cluster::new(nodes);
    let usage = cluster.engine.usage(&cluster.snapshot, now());
    let (policy, ledger, hot_since) = (policy(), Ledger::default(), HotSince::default());
    let draft = Draft::new(World {
        policy: &policy,
        snapshot: &cluster.snapshot,
        usage: &usage,
        ledger: &ledger,
        hot_since: &hot_since,
        now: now(),
    });
    bencher.bench_local(|| forecast(&draft, PodId(0)));
}

#[divan::bench(args = NODES, sample_count = 10)]
fn decide(bencher: Bencher<'_, '_>, nodes: usize) {
    let cluster = Cluster::new(nodes);
    let plan = cluster.engine.decide(&cluster.snapshot, now());
    assert!(
        !plan.moves.is_empty(),
        "the benchmark has nothing to decide"
    );
    bencher.bench_local(|| cluster.engine.decide(&cluster.snapshot, now()));
}

/// An engine that has measured its cluster.
struct Cluster {
    engine: Engine,
    snapshot: Snapshot,
}

impl Cluster {
    fn new(nodes: usize) -> Self {
        let policy = policy();
        let snapshot = Snapshot::join(&objects(nodes), policy.resources());
        let mut engine = Engine::new(policy, Ledger::default());
        engine.observe_steady(&snapshot, &readings(nodes), now());
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

fn objects(nodes: usize) -> Objects {
    let mut objects = Objects::default();
    for value in (0..nodes).map(node).chain(pods(nodes)) {
        let object = import::object(&value).unwrap();
        objects.apply(object.unwrap());
    }
    objects
}

fn readings(nodes: usize) -> Readings {
    let mut readings = Readings::default();
    for node in 0..nodes {
        metrics::node(&node_metrics(node), &mut readings);
        for pod in 0..PODS_PER_NODE {
            metrics::pod(&pod_metrics(node, pod), &mut readings);
        }
    }
    readings
}

fn policy() -> Policy {
    Policy::parse("policy.yaml", POLICY).unwrap()
}

fn now() -> Timestamp {
    "2026-01-05T12:00:00Z".parse().unwrap()
}

fn node(node: usize) -> Value {
    let allocatable = json!({"cpu": "8", "memory": "32Gi", "pods": "110"});
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

fn pods(nodes: usize) -> impl Iterator<Item = Value> {
    (0..nodes).flat_map(|node| (0..PODS_PER_NODE).map(move |index| pod(node, index)))
}

fn pod(node: usize, index: usize) -> Value {
    // Replicas of one workload run on different nodes.
    let workload = format!("web-{}-{index}", node / 20);
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": pod_name(node, index), "namespace": "default", "uid": pod_name(node, index),
            "labels": {"app": workload}, "creationTimestamp": "2026-01-05T00:00:00Z",
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": workload, "uid": workload, "controller": true,
            }],
        },
        "spec": {
            "nodeName": node_name(node),
            "containers": [{
                "name": "main", "image": "main",
                "resources": {"requests": {"cpu": "200m", "memory": "512Mi"}},
            }],
        },
        "status": {
            "phase": "Running", "startTime": "2026-01-05T00:00:00Z",
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    })
}

fn node_metrics(node: usize) -> Value {
    let cpu = PODS_PER_NODE * millicores(node);
    json!({
        "metadata": {"name": node_name(node)}, "timestamp": now(), "window": "15s",
        "usage": {"cpu": format!("{cpu}m"), "memory": "5Gi"},
    })
}

fn pod_metrics(node: usize, index: usize) -> Value {
    json!({
        "metadata": {"name": pod_name(node, index), "namespace": "default"},
        "timestamp": now(), "window": "15s",
        "containers": [{
            "name": "main",
            "usage": {"cpu": format!("{}m", millicores(node)), "memory": "500Mi"},
        }],
    })
}

/// The CPU that each pod of a node uses: 75 % of a hot node, 12 % of another.
fn millicores(node: usize) -> usize {
    if node.is_multiple_of(HOT) { 600 } else { 100 }
}

fn node_name(node: usize) -> String {
    format!("n{node}")
}

fn pod_name(node: usize, index: usize) -> String {
    format!("web-{node}-{index}")
}
