//! Random clusters under three ways to choose pods: evenkeel with and without steering, and the
//! choice of descheduler. Prints a table. Run it with `tests/arena.sh`, for example
//! `tests/arena.sh 10,50 30` for 30 seeds of 10 and of 50 nodes.
//!
//! Usage is unrelated to requests. Some nodes are hot by chance, because the simulated
//! kube-scheduler places pods by requests. Usage is constant, and a run lasts one simulated hour;
//! with the third argument `mixed`, it follows daily curves for a day, in three zones, and part of
//! the workloads have topology spread, anti-affinity or a PodDisruptionBudget; with `moving`, each
//! pod rises, falls, follows the day, jumps or is noisy for a day. The fourth argument
//! selects ways: `stock`, `ramp`, `steering`, `descheduler`, or several of them, separated by commas.

#![expect(clippy::print_stdout, reason = "the table is the output")]
#![expect(clippy::expect_used, reason = "a mistake ends the run, as in a test")]

use evenkeel::decide::draft::{Candidate, Draft};
use evenkeel::decide::engine::Engine;
use evenkeel::decide::placement::Landing;
use evenkeel::decide::projection::World;
use evenkeel::decide::scheduler;
use evenkeel::model::ledger::Ledger;
use evenkeel::model::snapshot::{Node, NodeId, Pod, PodId, Snapshot};
use evenkeel::model::usage::{Measure, Readings};
use evenkeel::policy::{Basis, Policy};
use evenkeel::simulate::scenario::Scenario;
use evenkeel::simulate::trace::Trace;
use evenkeel::simulate::{at_start, run, run_and_record};
use evenkeel::values::{Ratio, ResourceId};
use jiff::SignedDuration;

use dice::Dice;
use random_usage::{Curves, number, whole};

mod dice;
mod random_usage;

/// The cpu target of the policies.
const TARGET: f64 = 0.6;
const POLICY: &str = "{apiVersion: evenkeel/v1alpha1, kind: Policy, interval: 30s, strategies: [{
    lowNodeUtilization: {thresholds: {cpu: 45%, memory: 60%},
    targetThresholds: {cpu: 60%, memory: 80%}, numberOfNodes: 0}}]}";
const OURS: &str = "{apiVersion: evenkeel/v1alpha1, kind: Policy, interval: 30s, strategies: [{
    lowNodeUtilization: {thresholds: {cpu: 45%, memory: 60%},
    targetThresholds: {cpu: 60%, memory: 80%}}}]}";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let sizes = arguments.first().map_or("10,50", String::as_str);
    let seeds = arguments.get(1).map_or(3, |n| n.parse().expect("a number of seeds"));
    let kind = match arguments.get(2).map(String::as_str) {
        None | Some("constant") => Kind::Constant,
        Some("mixed") => Kind::Mixed,
        Some("moving") => Kind::Moving,
        Some(other) => panic!("{other}: expected constant, mixed or moving"),
    };
    let picks = arguments.get(3);
    let picked = |short: &str| picks.is_none_or(|list| list.split(',').any(|pick| pick == short));
    println!(
        "| nodes | way | hot before | reachable | hot after | evictions | lower bound | useless | \
         pending | node-minutes above target |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for size in sizes.split(',') {
        let nodes = size.parse().expect("a number of nodes");
        for (_, way, policy) in ways().into_iter().filter(|(short, ..)| picked(short)) {
            let mut sum = Outcome::default();
            for seed in 1..=seeds {
                sum.add(&play(kind, nodes, seed, policy.clone()));
            }
            println!("| {nodes} | {way} | {sum}");
        }
    }
}

/// The ways with their short names, by which the fourth argument selects some of them.
fn ways() -> [(&'static str, &'static str, Policy); 4] {
    let read = |text: &str| Policy::parse("policy.yaml", text).expect("a valid policy");
    let with = |setting: &str| read(&OURS.replacen("interval", &format!("{setting}, interval"), 1));
    [
        ("stock", "evenkeel", read(OURS)),
        ("ramp", "evenkeel, ramp", with("ramp: {watch: 2m}")),
        ("steering", "evenkeel, steering", with("steering: {taintHot: true}")),
        ("descheduler", "descheduler's choice", read(POLICY).exactly()),
    ]
}

/// How the pods use cpu, and which rules the workloads have.
#[derive(Clone, Copy)]
enum Kind {
    /// Constant usage, no rules.
    Constant,
    /// Daily curves, and rules of placement and disruption.
    Mixed,
    /// Usage that moves for a day, with a curve for each pod, no rules.
    Moving,
}

#[derive(Default)]
struct Outcome {
    hot_before: usize,
    hot_after: usize,
    evictions: u32,
    reachable: usize,
    lower_bound: usize,
    useless: u32,
    pending: u32,
    node_minutes: f64,
}

impl Outcome {
    fn add(&mut self, other: &Outcome) {
        self.hot_before += other.hot_before;
        self.hot_after += other.hot_after;
        self.evictions += other.evictions;
        self.reachable += other.reachable;
        self.lower_bound += other.lower_bound;
        self.useless += other.useless;
        self.pending += other.pending;
        self.node_minutes += other.node_minutes;
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} | {} | {} | {} | {} | {} | {} | {:.0} |",
            self.hot_before,
            self.reachable,
            self.hot_after,
            self.evictions,
            self.lower_bound,
            self.useless,
            self.pending,
            self.node_minutes
        )
    }
}

fn play(kind: Kind, nodes: usize, seed: u64, policy: Policy) -> Outcome {
    let scenario = scenario(kind, nodes, seed);
    let (snapshot, readings) = at_start(&scenario, &policy);
    let lower_bound = match kind {
        Kind::Constant | Kind::Mixed => lower_bound(&snapshot, &readings),
        Kind::Moving => lower_bound_of_day(&scenario, &snapshot),
    };
    let trace = run(&scenario, policy, "arena", |_| {});
    let steps = trace.nodes.first().map_or(0, |n| n.pods.len());
    let hot: Vec<usize> = (0..steps).map(|step| hot_at(&trace, step)).collect();
    let hot_steps: usize = hot.iter().sum();
    Outcome {
        hot_before: hot.first().copied().unwrap_or_default(),
        hot_after: hot.last().copied().unwrap_or_default(),
        evictions: trace.summary.evictions,
        reachable: reachable(&scenario, &snapshot, &readings),
        lower_bound,
        useless: trace.summary.evictions - trace.summary.helped - trace.summary.unknown,
        pending: trace.summary.pending,
        node_minutes: number(hot_steps) * trace.step.as_secs_f64() / 60.0,
    }
}

fn hot_at(trace: &Trace, step: usize) -> usize {
    let above = |cpu: &Option<Ratio>| cpu.is_some_and(|r| r.get() > TARGET);
    let nodes = trace.nodes.iter();
    nodes.filter(|n| n.actual["cpu"].get(step).is_some_and(above)).count()
}

/// The fewest pods that bring each node to its cpu target, wherever they land.
fn lower_bound(snapshot: &Snapshot, readings: &Readings) -> usize {
    let of_node = |node: &Node| {
        let used = |pod: &Pod| Some(readings.pods.get(&name_of(pod))?.used);
        fewest(shares(snapshot, node, &used))
    };
    snapshot.nodes.iter().map(of_node).sum()
}

/// The fewest pods that must have left each node by its worst hour, if none came: the bound of each
/// hour, and of these the largest.
fn lower_bound_of_day(scenario: &Scenario, snapshot: &Snapshot) -> usize {
    let text = OURS.replacen("interval", "dryRun: true, interval", 1);
    let idle = Policy::parse("policy.yaml", &text).expect("a valid policy");
    let (_, recorded) = run_and_record(scenario, idle, "nothing", SignedDuration::from_hours(1));
    let history = recorded.history.expect("a recording");
    let of_node = |node: &Node| {
        let hours = (0..history.range.steps).map(|hour| {
            let used = |pod: &Pod| history.pods.get(&name_of(pod))?.usage.get(hour);
            fewest(shares(snapshot, node, &used))
        });
        hours.max().unwrap_or_default()
    };
    snapshot.nodes.iter().map(of_node).sum()
}

fn name_of(pod: &Pod) -> (String, String) {
    (pod.namespace.clone(), pod.name.clone())
}

/// The cpu of each pod of a node, as a share of the node.
fn shares(snapshot: &Snapshot, node: &Node, used: &dyn Fn(&Pod) -> Option<Measure>) -> Vec<f64> {
    let whole = node.allocatable[ResourceId::CPU];
    let pods = node.pods.iter().map(|p| snapshot.pod(*p));
    pods.filter_map(|pod| Some(used(pod)?.cpu.share_of(whole)?.get())).collect()
}

/// The fewest of these pods whose leaving brings the node to its target.
fn fewest(mut used: Vec<f64>) -> usize {
    used.sort_by(|a, b| b.total_cmp(a));
    let mut excess = used.iter().sum::<f64>() - TARGET;
    let mut least = 0;
    for pod in used {
        if excess <= 1e-9 {
            break;
        }
        excess -= pod;
        least += 1;
    }
    least
}

/// The number of hot nodes that some sequence of moves could relieve, each alone: the replacement
/// of every moved pod lands where the scheduler most probably puts it, and makes no node hot.
fn reachable(scenario: &Scenario, snapshot: &Snapshot, readings: &Readings) -> usize {
    let policy = Policy::parse("policy.yaml", OURS).expect("a valid policy");
    let now = scenario.start();
    let mut engine = Engine::new(policy.clone(), Ledger::default());
    engine.observe_steady(snapshot, readings, now);
    let usage = engine.usage(snapshot, now);
    let draft = Draft::new(World::without_memory(&policy, snapshot, &usage, now));
    let hot = snapshot.node_ids().filter(|n| ratio(&draft, *n) > TARGET);
    hot.filter(|n| can_relieve(&draft, *n)).count()
}

/// Whether a sequence of moves brings a node below the target: its heaviest pod that lands well
/// goes first. If none does, a pod of another node goes first, after which one lands well.
fn can_relieve(draft: &Draft<'_>, hot: NodeId) -> bool {
    let mut draft = draft.later();
    for _ in 0..10 {
        if ratio(&draft, hot) <= TARGET {
            return true;
        }
        let next = moved_from(&draft, hot).or_else(|| {
            let others = emptiest(&draft).into_iter().filter(|n| *n != hot);
            let mut pods = others.flat_map(|n| draft.pods_on(n).collect::<Vec<_>>());
            pods.find_map(|pod| moved_from(&moved(&draft, pod)?, hot))
        });
        let Some(next) = next else { return false };
        draft = next;
    }
    false
}

/// The draft after the heaviest pod of a node that lands well has moved.
fn moved_from<'w>(draft: &Draft<'w>, node: NodeId) -> Option<Draft<'w>> {
    let usage = |pod: &PodId| draft.weight(*pod, ResourceId::CPU, Basis::Actual);
    let mut pods: Vec<PodId> = draft.pods_on(node).collect();
    pods.sort_by_key(|pod| std::cmp::Reverse(usage(pod)));
    pods.into_iter().take(10).find_map(|pod| moved(draft, pod))
}

/// The draft after a pod has moved and its replacement has landed, if it probably lands well.
fn moved<'w>(draft: &Draft<'w>, pod: PodId) -> Option<Draft<'w>> {
    if draft.moves(pod) {
        return None;
    }
    let node = scheduler::forecast(draft, pod).possible_nodes.first()?.node;
    let more = draft.weight(pod, ResourceId::CPU, Basis::Actual)?;
    let after = draft.ratio_with(node, ResourceId::CPU, Basis::Actual, more)?;
    if draft.place(pod) == Some(node) || after.get() > TARGET {
        return None;
    }
    let mut moved = draft.fork();
    let landing = Landing { on: Some(node), possible_nodes: vec![node], starts: None };
    moved.accept(Candidate::counted(pod, 0), landing);
    Some(moved.later())
}

/// The nodes with the fewest cpu requests. Only these can become the next that the scheduler
/// prefers.
fn emptiest(draft: &Draft<'_>) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = draft.world.snapshot.node_ids().collect();
    nodes.sort_by_key(|n| draft.reserved(*n)[ResourceId::CPU]);
    nodes.truncate(20);
    nodes
}

fn ratio(draft: &Draft<'_>, node: NodeId) -> f64 {
    let ratio = draft.ratio(node, ResourceId::CPU, Basis::Actual);
    ratio.map_or(0.0, Ratio::get)
}

/// The workloads of one file: a file has a limit of values.
const WORKLOADS_IN_A_FILE: usize = 1000;

/// Workloads of 2 to 60 replicas, 30 pods for each node of 8 cores. Their usage is scaled to 49% of
/// the cpu of the cluster.
fn scenario(kind: Kind, nodes: usize, seed: u64) -> Scenario {
    let mut random = Dice(seed * 7919 + nodes as u64);
    let mut workloads: Vec<(usize, u64, u64, f64, u64)> = Vec::new();
    let mut pods = 0;
    while pods < nodes * 30 {
        let replicas = whole(random.log_normal(1.8, 1.0)).clamp(2, (nodes / 3).clamp(2, 60));
        let cpu = random.pick(&[50, 100, 100, 200, 250, 500]);
        let memory = random.pick(&[64, 128, 256, 512, 1024]);
        let usage = random.log_normal(-0.3, 0.9).min(8.0);
        let share = random.log_normal(-0.3, 0.4).min(1.5);
        let used_memory = whole(number(usize::try_from(memory).unwrap_or_default()) * share);
        workloads.push((replicas, cpu, memory, usage, used_memory.max(8) as u64));
        pods += replicas;
    }
    let total: f64 = workloads.iter().map(|w| number(w.0) * w.3).sum();
    let scale = 0.49 * 8000.0 * number(nodes) / total;
    let (duration, zones) = match kind {
        Kind::Constant => ("1h", ""),
        Kind::Mixed => ("24h", ", zones: [a, b, c]"),
        Kind::Moving => ("24h", ""),
    };
    let head = format!(
        "name: arena\nabout: usage unrelated to requests\nduration: {duration}\nseed: {seed}\n\
         nodes:\n- {{name: n, count: {nodes}, cpu: 8, memory: 32Gi{zones}}}\nworkloads:\n"
    );
    let mut lines = Vec::new();
    let mut curves = Curves::default();
    for (i, (replicas, cpu, memory, usage, used_memory)) in workloads.iter().enumerate() {
        let used = whole(usage * scale).clamp(5, 2000);
        let (used, rules) = match kind {
            Kind::Constant => (format!("{used}m"), ""),
            Kind::Mixed => (daily(used, &mut random), rules(*replicas, nodes, &mut random)),
            Kind::Moving => (curves.add(used, *replicas, &mut random), ""),
        };
        lines.push(format!(
            "- {{name: w{i}, replicas: {replicas}, requests: {{cpu: {cpu}m, memory: {memory}Mi}}, \
             usage: {{cpu: {used}, memory: {used_memory}Mi}}{rules}}}\n"
        ));
    }
    let parse = |lines: &[String]| {
        let text = head.clone() + &lines.concat();
        let open = |_: &str| Ok(curves.rows().to_owned());
        Scenario::parse_with("arena.yaml", &text, &open).unwrap_or_else(|e| panic!("{e}"))
    };
    let mut parts = lines.chunks(WORKLOADS_IN_A_FILE).map(parse);
    let mut whole = parts.next().expect("a workload");
    whole.workloads.extend(parts.flat_map(|part| part.workloads));
    whole
}

/// A curve over a day that peaks at any hour, most often at 14:00.
fn daily(mean: usize, random: &mut Dice) -> String {
    let peak = [14, 14, 14, 14, random.index(24)][random.index(5)];
    let swing = mean * random.index(7) / 10;
    format!("{{wave: {{mean: {mean}m, swing: {swing}m, period: 24h, peak: {peak}h}}}}")
}

/// The rules of a workload: in one of two cases none.
fn rules(replicas: usize, nodes: usize, random: &mut Dice) -> &'static str {
    match random.index(8) {
        0 => {
            ", spread: [{topologyKey: topology.kubernetes.io/zone, maxSkew: 1, \
             whenUnsatisfiable: DoNotSchedule}]"
        }
        1 => {
            ", spread: [{topologyKey: kubernetes.io/hostname, maxSkew: 1, \
             whenUnsatisfiable: ScheduleAnyway}]"
        }
        2 if replicas * 2 < nodes => ", apart: [kubernetes.io/hostname]",
        3 => ", budget: {maxUnavailable: 1}",
        _ => "",
    }
}
