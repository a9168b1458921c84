//! HighNodeUtilization on clusters whose workloads spread over all nodes, in the simulator: how
//! many of the nodes that could be empty are emptied, and with how many evictions.

use std::fmt::Write as _;

use evenkeel::values::Ratio;

use crate::dice::Dice;
use crate::it::support::played;

const NODES: u32 = 40;
const PODS_PER_NODE: u32 = 6;
const REPLICAS: u32 = 8;
/// The cpu of a node, in millicores.
const CPU: u32 = 8000;

impl Dice {
    fn small(&mut self, bound: u32) -> u32 {
        u32::try_from(self.below(u64::from(bound))).unwrap()
    }
}

/// Draws the requests and the usage of a workload's pods, in millicores.
type Draw = fn(&mut Dice) -> [u32; 2];

/// Pods request up to 5 % of a node and use more than that, so the ceiling by usage decides.
fn usage_decides(dice: &mut Dice) -> [u32; 2] {
    [100 + 50 * dice.small(7), 200 + dice.small(400)]
}

/// Pods use less than 80 % of their requests on average, so the room by requests decides.
fn requests_decide(dice: &mut Dice) -> [u32; 2] {
    let requested = 200 + 100 * dice.small(7);
    [requested, requested * (30 + dice.small(65)) / 100]
}

/// A cluster, and how many of its nodes are enough for its cpu.
struct Packed {
    text: String,
    needed: u32,
}

fn cluster(seed: u64, draw: Draw, steering: &str) -> Packed {
    let mut dice = Dice(seed);
    let mut order: Vec<u32> = (1..=NODES).collect();
    let mut text = format!(
        "name: packing\nabout: Workloads spread over all nodes\nduration: 30m\nseed: {seed}\n\
         scheduler: MostAllocated\n\
         nodes: [{{name: n, count: {NODES}, cpu: {CPU}m, memory: 64Gi}}]\nworkloads:\n"
    );
    let mut sums = [0, 0];
    for workload in 0..NODES * PODS_PER_NODE / REPLICAS {
        let first = (workload * REPLICAS % NODES) as usize;
        if first == 0 {
            for i in (1..order.len()).rev() {
                order.swap(i, dice.index(i + 1));
            }
        }
        let [requested, used] = draw(&mut dice);
        sums = [sums[0] + requested * REPLICAS, sums[1] + used * REPLICAS];
        let on = &order[first..first + REPLICAS as usize];
        let on: Vec<String> = on.iter().map(|node| format!("n{node}")).collect();
        let _ = writeln!(
            text,
            "- {{name: w{workload}, replicas: {REPLICAS}, on: [{}],\n  requests: {{cpu: \
             {requested}m, memory: 512Mi}}, usage: {{cpu: {used}m, memory: 400Mi}}}}",
            on.join(", ")
        );
    }
    let _ = write!(
        text,
        "policy:\n  apiVersion: evenkeel/v1alpha1\n  kind: Policy\n  steering: {steering}\n  \
         strategies: [{{highNodeUtilization: {{basis: actual, thresholds: {{cpu: 60%}}}}}}]\n"
    );
    let needed = sums[0].div_ceil(CPU).max(sums[1].div_ceil(CPU * 8 / 10));
    Packed { text, needed }
}

/// Runs three clusters. Returns the percentage of nodes that were emptied of those that could be.
///
/// In each of them a pod that has to move costs at most 1.1 evictions. Where a replacement lands on
/// another node than expected, at most 2 % of the pods move twice, and nodes exceed their ceiling
/// for at most 2 % of the time.
fn emptied(draw: Draw, steering: &str) -> u32 {
    let (mut emptied, mut possible) = (0, 0);
    for seed in 1..=3 {
        let cluster = cluster(seed, draw, steering);
        let trace = played(&cluster.text);
        let summary = &trace.summary;
        let moving = summary.empty_nodes * PODS_PER_NODE;
        assert!(
            summary.evictions * 10 <= moving * 11,
            "seed {seed}: {} evictions for {moving} pods",
            summary.evictions
        );
        assert!(summary.moved_again * 50 <= summary.evictions, "seed {seed}");
        assert_eq!(summary.pending, 0, "seed {seed}");
        let ceiling = Ratio::percent(80.0).unwrap();
        let points = trace.nodes.iter().flat_map(|node| &node.actual["cpu"]);
        let points: Vec<Ratio> = points.copied().flatten().collect();
        let above = points.iter().filter(|ratio| **ratio > ceiling).count();
        assert!(above * 50 <= points.len(), "seed {seed}: {above} of {} points", points.len());
        emptied += summary.empty_nodes;
        possible += NODES - cluster.needed;
    }
    emptied * 100 / possible
}

#[test]
fn with_taints_nearly_every_possible_node_is_emptied_where_usage_decides() {
    let share = emptied(usage_decides, "{taintEmptying: true, maxNodes: none}");
    assert!(share >= 97, "{share}%");
}

#[test]
fn without_taints_most_possible_nodes_are_emptied_where_requests_decide() {
    let share = emptied(requests_decide, "{}");
    assert!(share >= 90, "{share}%");
}
