//! Where kube-scheduler's search starts: learned from the placements of pods in a large cluster.

use evenkeel::decide::draft::{Candidate, Draft};
use evenkeel::decide::gate;
use evenkeel::decide::placement::Placement;
use evenkeel::decide::projection::World;
use evenkeel::decide::scheduler::{choose, evaluate, forecast};
use evenkeel::model::search_start::{NodeOrder, SearchStart};
use evenkeel::model::snapshot::objects::{ObjectKind, Objects};
use evenkeel::model::snapshot::{NodeId, PodId, Snapshot, import};
use evenkeel::model::usage::Usage;
use evenkeel::policy::Policy;
use evenkeel::values::Ratio;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::shared::placements::case::{Case, folder};

/// The scheduler scores 100 of 200 nodes.
const NODES: usize = 200;

/// A cluster whose scheduler starts each search where the test says.
struct Cluster {
    policy: Policy,
    objects: Objects,
    known: SearchStart,
    pods: usize,
}

impl Cluster {
    fn empty() -> Self {
        let text =
            "{apiVersion: evenkeel/v1alpha1, kind: Policy, strategies: [{removeDuplicates: {}}]}";
        Cluster {
            policy: Policy::parse("policy.yaml", text).unwrap(),
            objects: Objects::default(),
            known: SearchStart::default(),
            pods: 0,
        }
    }

    fn new() -> Self {
        Cluster::joined(|_| 0)
    }

    /// Nodes that are requested to different degrees, with the second in which each was created.
    fn joined(second: impl Fn(usize) -> usize) -> Self {
        let mut cluster = Cluster::empty();
        for node in 0..NODES {
            let created = Timestamp::from_second(second(node).try_into().unwrap()).unwrap();
            cluster.apply(&json!({"apiVersion": "v1", "kind": "Node",
                "metadata": {"name": name(node), "creationTimestamp": created.to_string()},
                "status": {"conditions": [{"type": "Ready", "status": "True"}],
                    "allocatable": {"cpu": "32", "memory": "64Gi", "pods": "110"}}}));
            let cpu = 8000 + (node * 7919) % 16_000;
            cluster.pod(&format!("filler-{node:03}"), Some(node), cpu);
        }
        cluster.evaluate();
        cluster
    }

    fn apply(&mut self, object: &Value) {
        if let Some(object) = import::object(object).unwrap() {
            self.objects.apply(object);
        }
    }

    fn pod(&mut self, pod: &str, node: Option<usize>, cpu: usize) {
        self.apply(&json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": pod, "namespace": "default", "uid": pod},
            "spec": {"nodeName": node.map(name), "containers": [{"name": "main",
                "resources": {"requests": {"cpu": format!("{cpu}m"), "memory": "1Gi"}}}]}}));
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::join(&self.objects, self.policy.resources())
    }

    /// Learns from the placements so far.
    fn evaluate(&mut self) {
        let snapshot = self.snapshot();
        self.known = evaluate(&self.policy, &snapshot, &self.known, Timestamp::UNIX_EPOCH);
    }

    /// Creates a pod, and returns the forecast's probability that it lands on one of the best nodes
    /// that the scheduler finds from this start, without and with the knowledge so far. The second
    /// result is its next start.
    fn place(&mut self, start: usize) -> ((f64, f64), usize) {
        self.pods += 1;
        let pod = format!("web-{}", self.pods);
        let cpu = 100 + (self.pods * 389) % 900;
        self.pod(&pod, None, cpu);
        let snapshot = self.snapshot();
        let id = snapshot.find_pod("default", &pod).unwrap();
        let placement = Placement::new(&self.policy, &snapshot, &self.known);
        let (best, next) = choose(&placement, id, start);
        let chances = |known: &SearchStart| -> f64 {
            let chances = best.iter().map(|node| chance(self, &snapshot, known, id, *node));
            chances.sum()
        };
        let chances = (chances(&SearchStart::default()), chances(&self.known));
        self.pod(&pod, Some(best[0].0), cpu);
        (chances, next)
    }
}

/// The forecast's probability that a pod lands on a node.
fn chance(
    cluster: &Cluster,
    snapshot: &Snapshot,
    known: &SearchStart,
    pod: PodId,
    node: NodeId,
) -> f64 {
    let possible_nodes =
        forecast(&Placement::new(&cluster.policy, snapshot, known), pod).possible_nodes;
    let possible = possible_nodes.iter().find(|possible| possible.node == node);
    possible.map_or(0.0, |possible| possible.chance.get())
}

fn name(node: usize) -> String {
    format!("node-{node:03}")
}

/// The mean probability of the best nodes without and with the knowledge, over some placements
/// that start where `start` says, given the scheduler's own next start.
fn mean(
    cluster: &mut Cluster,
    placements: usize,
    start: impl Fn(usize, usize) -> usize,
) -> (f64, f64) {
    let (mut without, mut with, mut next) = (0.0, 0.0, 57);
    for number in 0..placements {
        let (chances, after) = cluster.place(start(number, next));
        cluster.evaluate();
        without += chances.0;
        with += chances.1;
        next = after;
    }
    let number = f64::from(u32::try_from(placements).unwrap());
    (without / number, with / number)
}

#[test]
fn after_some_placements_the_next_one_is_known() {
    let mut cluster = Cluster::new();
    mean(&mut cluster, 12, |_, next| next);
    let (without, with) = {
        let next = (57 + 12 * 100) % NODES;
        mean(&mut cluster, 12, |number, own| if number == 0 { next } else { own })
    };
    assert!(without < 0.7, "{without}");
    assert!(with > 0.85, "{with}");
}

#[test]
fn a_scheduler_that_starts_anywhere_is_not_trusted() {
    let mut cluster = Cluster::new();
    let anywhere = |number: usize, _| (number * 7907 + 31) % NODES;
    mean(&mut cluster, 20, anywhere);
    let (without, with) = mean(&mut cluster, 20, |number, _| anywhere(number + 20, 0));
    assert!(with > 0.75 * without, "{with}, {without}");
}

#[test]
fn several_placements_between_two_looks_are_told_apart() {
    let mut cluster = Cluster::new();
    let mut next = 57;
    for _ in 0..4 {
        for _ in 0..4 {
            next = cluster.place(next).1;
        }
        cluster.evaluate();
    }
    let ((without, with), _) = cluster.place(next);
    assert!(with > 0.85, "{with}, {without}");
}

#[test]
fn ended_pods_count_at_the_placements_before_their_end() {
    let mut cluster = Cluster::new();
    let mut next = 57;
    for number in 0..12 {
        next = cluster.place(next).1;
        // Without these pods their nodes are by far the emptiest, and every search visits one of
        // them.
        for node in [number * 7, number * 7 + 100] {
            let filler = ("default".to_owned(), format!("filler-{node:03}"));
            cluster.objects.delete(ObjectKind::Pod, &filler);
        }
        cluster.evaluate();
    }
    let (_, known) = cluster.known.likeliest().unwrap();
    assert!(known.trust.get() > 0.9, "{}", known.trust);
}

#[test]
fn each_planned_move_moves_the_search_on() {
    let mut cluster = Cluster::new();
    mean(&mut cluster, 12, |_, next| next);
    let snapshot = cluster.snapshot();
    let likeliest = |draft: &Draft<'_>| {
        let chances = draft.starts().unwrap().chances();
        let best = chances.iter().enumerate();
        best.max_by(|a, b| a.1.total_cmp(b.1)).unwrap().0
    };
    let usage = Usage::default();
    let mut draft = Draft::new(World {
        search_start: &cluster.known,
        ..World::without_memory(&cluster.policy, &snapshot, &usage, Timestamp::UNIX_EPOCH)
    });
    let before = likeliest(&draft);
    let mut candidates = snapshot.pod_ids().map(|pod| Candidate::counted(pod, 0));
    let landing = |candidate: Candidate| {
        let landing = gate::landing(&candidate, &draft).ok()?;
        Some((candidate, landing))
    };
    let (candidate, landing) = candidates.find_map(landing).unwrap();
    draft.accept(candidate, landing);
    // The scheduler scores 100 of 200 nodes, all of which are feasible.
    assert_eq!(likeliest(&draft), (before + 100) % NODES);
}

/// Twenty placements of a real kube-scheduler in a cluster of 150 nodes, of which it scored 100. It
/// ran while the nodes joined, so it visits them by creation.
#[test]
fn a_real_scheduler_is_followed() {
    let file = folder().join("1.36/48-large.json");
    let case: Case = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let mut cluster = Cluster::empty();
    let mut nodes = 0;
    for object in &case.objects {
        let mut object = object.clone();
        if object["kind"] == "Node" {
            let created = Timestamp::from_second(nodes).unwrap();
            object["metadata"]["creationTimestamp"] = created.to_string().into();
            nodes += 1;
        }
        cluster.apply(&object);
    }
    cluster.evaluate();
    let (mut with, mut without, mut best) = (0.0, 0.0, 0.0);
    for (number, placement) in case.placements.iter().enumerate() {
        let (namespace, name) = placement.name();
        let asked = placement.replaces.clone().unwrap_or_else(|| name.clone());
        if placement.replaces.is_none() {
            cluster.apply(&placement.pod);
        }
        let snapshot = cluster.snapshot();
        let pod = snapshot.find_pod(&namespace, &asked).unwrap();
        let node = snapshot.find_node(placement.node.as_ref().unwrap()).unwrap();
        let unknown = chance(&cluster, &snapshot, &SearchStart::default(), pod, node);
        let known = chance(&cluster, &snapshot, &cluster.known, pod, node);
        let ideal = 1.0 / f64::from(u32::try_from(placement.equal.len()).unwrap());
        println!("{name}: {unknown:.2}, {known:.2}, at most {ideal:.2}");
        if number >= 6 {
            (with, without, best) = (with + known, without + unknown, best + ideal);
        }
        cluster.objects.delete(ObjectKind::Pod, &(namespace, asked));
        let mut bound = placement.pod.clone();
        bound["spec"]["nodeName"] = placement.node.clone().into();
        cluster.apply(&bound);
        cluster.evaluate();
    }
    let (_, known) = cluster.known.likeliest().unwrap();
    assert!(known.trust.get() > 0.9, "{}", known.trust);
    // With perfect knowledge the sum would be `best`.
    assert!(with > 1.15 * without && with > 0.8 * best, "{with}, {without}, {best}");
}

/// The simulated scheduler visits nodes by creation, as one that ran while they joined.
#[test]
fn the_order_of_the_nodes_is_learned() {
    let mut cluster = Cluster::joined(|node| (node * 7919) % NODES);
    mean(&mut cluster, 20, |_, next| next);
    let (order, known) = cluster.known.likeliest().unwrap();
    assert_eq!(order, NodeOrder::Creation);
    assert!(known.trust.get() > 0.9, "{}", known.trust);
}

#[test]
fn more_placements_than_can_be_followed_leave_nothing_known() {
    let mut cluster = Cluster::new();
    mean(&mut cluster, 4, |_, next| next);
    assert!(cluster.known.likeliest().is_some());
    for start in 0..65 {
        cluster.place(start);
    }
    cluster.evaluate();
    assert!(cluster.known.likeliest().is_none());
}

#[test]
fn only_placements_of_others_make_the_start_uncertain_and_only_for_a_while() {
    let mut known = SearchStart::default();
    known.expect_one();
    known.expect_one();
    known.evaluate(2, 2, Timestamp::UNIX_EPOCH);
    assert_eq!(known.disturbed(), Ratio::ZERO);
    known.evaluate(302, 300, Timestamp::UNIX_EPOCH);
    assert!(known.disturbed().get() > 0.4, "{}", known.disturbed());
    known.evaluate(302, 0, Timestamp::from_second(3600).unwrap());
    assert!(known.disturbed().get() < 0.05, "{}", known.disturbed());
}

#[test]
fn nothing_is_known_at_the_first_look() {
    let cluster = Cluster::new();
    assert!(cluster.known.likeliest().is_none());
}
