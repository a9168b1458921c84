//! Economy of moves: the moves on random clusters, compared with the smallest sufficient number.

use std::fmt::Write as _;
use std::rc::Rc;

use evenkeel::decide::draft::{Candidate, DestinationLimits, Draft};
use evenkeel::decide::engine::Engine;
use evenkeel::decide::gate;
use evenkeel::decide::projection::World;
use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::{NoGain, Reason};
use evenkeel::model::snapshot::{NodeId, PodId};
use evenkeel::policy::{Basis, Policy};
use evenkeel::simulate::scenario::Scenario;
use evenkeel::simulate::{self, trace::Trace};
use evenkeel::values::{Amount, Ratio, ResourceId};
use jiff::SignedDuration;

use crate::dice::Dice;
use crate::it::support::{cases, parse};

/// The number of clusters, unless `PROPTEST_CASES` is set.
const CLUSTERS: u32 = 50;
/// The longest solution that is searched for.
const DEEPEST: usize = 6;
const REST: SignedDuration = SignedDuration::from_mins(10);

const POLICY: &str = "
interval: 1m
usage: {poll: 30s, window: 3m, smoothing: mean, staleAfter: 2m, minSamples: 2}
evictable: {minReplicas: 1}
limits: {perWorkload: 50%, perNode: none, perCycle: none}
strategies: [{lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%},
  sustainedFor: 1m}}]";

/// Creates four to seven nodes, of which one or two are overloaded. Requests say little about
/// usage. No node is so full that its pods get less than they demand, because the real demand would
/// then be invisible.
fn cluster(seed: u64) -> Scenario {
    let mut dice = Dice(seed);
    let nodes = 4 + dice.below(4);
    let crowded = 1 + dice.below(2);
    let zones = if dice.below(2) == 0 { "" } else { ", zones: [a, b, c]" };
    let mut text = format!(
        "name: chance-{seed}\nabout: A cluster by chance\nduration: 3h\nseed: {}\n",
        seed + 1
    );
    let _ = writeln!(
        text,
        "nodes: [{{name: n, count: {nodes}, cpu: 8, memory: 32Gi{zones}}}]\nworkloads:"
    );
    let mut used = vec![0; usize::try_from(nodes).unwrap()];
    for workload in 0..3 + dice.below(5) {
        let takes = dice.pick(&[100, 200, 300, 500, 700, 900, 1100, 1500]);
        let asks = dice.pick(&[50, 100, 100, 200, 250, 500]);
        let mut on = Vec::new();
        for _ in 0..2 + dice.below(5) {
            let node = if dice.below(3) < 2 { dice.below(crowded) } else { dice.below(nodes) };
            let load = &mut used[usize::try_from(node).unwrap()];
            if *load + takes <= 7800 {
                *load += takes;
                on.push(format!("n{}", node + 1));
            }
        }
        let _ = writeln!(
            text,
            "- \
                {{name: w{workload}, replicas: {}, requests: {{cpu: {asks}m, memory: 128Mi}},
                  usage: {{cpu: {takes}m, memory: 200Mi}}, on: [{}]}}",
            on.len(),
            on.join(", ")
        );
    }
    Scenario::parse("chance.yaml", &text).unwrap()
}

/// Finds the smallest number of moves after which no node is above its target. Each pod lands where
/// the scheduler would put it.
struct Search {
    targets: Rc<[(ResourceId, Ratio)]>,
    pods: Vec<PodId>,
}

impl Search {
    /// Returns `None` if there is no solution within the search depth.
    fn least(draft: &Draft<'_>, target: Ratio) -> Option<usize> {
        let snapshot = draft.world.snapshot;
        let targets: Rc<[_]> = Rc::new([(ResourceId::CPU, target)]);
        let mut search = Search { targets, pods: Vec::new() };
        let hot: Vec<NodeId> = search.hot(draft);
        search.pods = hot.iter().flat_map(|n| snapshot.node(*n).pods.clone()).collect();
        let ways = [search.pods.clone(), search.pods.iter().rev().copied().collect()];
        (0..=DEEPEST).find(|moves| {
            ways.iter().any(|pods| {
                search.pods.clone_from(pods);
                search.solves(draft, 0, *moves)
            })
        })
    }

    fn hot(&self, draft: &Draft<'_>) -> Vec<NodeId> {
        let over = |n: &NodeId| {
            draft.ratio(*n, ResourceId::CPU, Basis::Actual).unwrap() > self.targets[0].1
        };
        draft.world.snapshot.node_ids().filter(over).collect()
    }

    fn solves(&self, draft: &Draft<'_>, from: usize, moves: usize) -> bool {
        let hot = self.hot(draft);
        if hot.is_empty() {
            return true;
        }
        if self.bound(draft, &hot, from) > moves {
            return false;
        }
        (from..self.pods.len()).any(|next| {
            let pod = self.pods[next];
            let home = draft.world.snapshot.pod(pod).node.unwrap();
            if !hot.contains(&home) {
                return false;
            }
            let nodes = draft.world.snapshot.node_ids().filter(|n| !hot.contains(n)).collect();
            let destinations = DestinationLimits {
                nodes,
                targets: Rc::clone(&self.targets),
                basis: Basis::Actual,
                usage_targets: Rc::default(),
                others: NoGain::Hot,
            };
            let candidate = Candidate {
                saves: None,
                pod,
                strategy: 0,
                reason: Reason::Counted,
                destinations: Some(destinations),
            };
            gate::landing(&candidate, draft).is_ok_and(|landing| {
                let mut after = draft.fork();
                after.accept(candidate, landing);
                self.solves(&after, next + 1, moves - 1)
            })
        })
    }

    /// Returns a lower bound of the number of moves.
    fn bound(&self, draft: &Draft<'_>, hot: &[NodeId], from: usize) -> usize {
        let weight = |p: &PodId| draft.weight(*p, ResourceId::CPU, Basis::Actual).unwrap();
        let needed = |node: &NodeId| {
            let whole = draft.world.snapshot.node(*node).allocatable[ResourceId::CPU];
            let load = draft.load(*node, ResourceId::CPU, Basis::Actual).unwrap();
            let mut excess = load.minus(whole.times(self.targets[0].1));
            let here = self.pods[from..]
                .iter()
                .filter(|p| draft.world.snapshot.pod(**p).node == Some(*node));
            let mut weights: Vec<Amount> = here.map(weight).collect();
            weights.sort_unstable_by(|a, b| b.cmp(a));
            let mut moves = 0;
            for weight in weights {
                if excess == Amount::ZERO {
                    break;
                }
                excess = excess.minus(weight);
                moves += 1;
            }
            if excess == Amount::ZERO { moves } else { DEEPEST + 1 }
        };
        hot.iter().map(needed).sum()
    }
}

fn least(scenario: &Scenario, policy: &Policy) -> Option<usize> {
    let (snapshot, readings) = simulate::at_start(scenario, policy);
    let now = scenario.start();
    let mut engine = Engine::new(policy.clone(), Ledger::default());
    engine.observe_steady(&snapshot, &readings, now);
    let usage = engine.usage(&snapshot, now);
    let world = World::without_memory(policy, &snapshot, &usage, now);
    Search::least(&Draft::new(world), Ratio::percent(60.0).unwrap())
}

/// Returns the imbalance of cpu at the start and at the end.
fn unevenness(trace: &Trace) -> (f64, f64) {
    let of = |balance: &std::collections::BTreeMap<String, evenkeel::model::plan::Balance>| {
        balance["cpu"].deviation.get()
    };
    (of(&trace.summary.before), of(&trace.summary.after))
}

#[test]
fn random_clusters_are_balanced_with_hardly_more_moves_than_necessary() {
    let policy = parse(POLICY);
    let clusters = u64::from(cases(CLUSTERS).cases);
    let (mut all, mut least_of_all, mut balanced, mut hopeless, mut dear) = (0, 0, 0, 0, 0);
    let (mut wrong, mut stuck) = (Vec::new(), Vec::new());
    for seed in 0..clusters {
        let scenario = cluster(seed);
        let trace = simulate::run(&scenario, policy.clone(), "test", |_| {});
        let made = trace.evictions.len();
        let (before, after) = unevenness(&trace);
        if after > before + 1e-9 {
            wrong.push(format!("{seed}: less even than before: {before:.3} became {after:.3}"));
        }
        if let Some(young) = trace.evictions.iter().find(|e| e.age < REST) {
            wrong.push(format!("{seed}: {} went after {:#}", young.pod, young.age));
        }
        let Some(least) = least(&scenario, &policy) else {
            hopeless += 1;
            continue;
        };
        if trace.summary.time_to_balance.is_none() {
            stuck.push(format!("{seed}, where {least} would do"));
            continue;
        }
        // An early move may leave a node one light pod short. That must stay rare.
        if made * 4 > least * 5 {
            dear += 1;
        }
        if made > least + 1 {
            wrong.push(format!("{seed}: {made} moves, though {least} would do"));
        }
        (balanced, all, least_of_all) = (balanced + 1, all + made, least_of_all + least);
    }
    println!(
        "{clusters} clusters: {balanced} balanced, with {all} moves where {least_of_all} would do; \
         {hopeless} cannot be, and a node stays hot in {stuck:?}"
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        dear * 100 <= clusters && all * 100 <= least_of_all * 101,
        "{dear} clusters needed over a quarter more; {all} moves where {least_of_all} would do"
    );
    // Each next pod would land badly there. Moving pods that relieve little first would help.
    assert!(stuck.len() * 50 <= balanced, "{stuck:?}");
    assert!(
        balanced as u64 * 10 >= clusters * 6,
        "too few of the clusters can be balanced to tell: {balanced}"
    );
}
