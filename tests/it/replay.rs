//! Replays of recorded usage: a replay of a run gives the same evictions and the same balance.

use evenkeel::model::usage::recorded::UsageHistory;
use evenkeel::model::usage::recorded::object;
use evenkeel::policy::Policy;
use evenkeel::simulate;
use evenkeel::simulate::scenario::{Given, Scenario};
use evenkeel::simulate::trace::Trace;
use jiff::SignedDuration;

use crate::it::support::parse;

/// A day of a cluster whose services have their peaks at different hours, on few of its nodes at
/// first.
const DAY: &str = "
name: day
about: Services with peaks at different hours
duration: 24h
nodes: [{name: n, count: 12, cpu: 8, memory: 32Gi, base: {cpu: 200m, memory: 1Gi}}]
workloads:
- {name: agent, kind: DaemonSet, requests: {cpu: 100m, memory: 100Mi},
  usage: {cpu: 80m, memory: 90Mi}}
- {name: night, replicas: 18, on: [n1, n2, n3], requests: {cpu: 200m, memory: 256Mi},
  usage: {cpu: {wave: {mean: 700m, swing: 500m, peak: 3h}, noise: 5%}, memory: 600Mi}}
- {name: morning, replicas: 18, on: [n3, n4, n5], requests: {cpu: 200m, memory: 256Mi},
  usage: {cpu: {wave: {mean: 700m, swing: 500m, peak: 9h}, noise: 5%}, memory: 400Mi}}
- {name: evening, replicas: 18, on: [n5, n6, n7], requests: {cpu: 200m, memory: 256Mi},
  usage: {cpu: {wave: {mean: 600m, swing: 500m, peak: 20h}, noise: 5%}, memory: 400Mi}}
- {name: db, kind: StatefulSet, replicas: 5, requests: {cpu: 500m, memory: 1Gi},
  usage: {cpu: 600m, memory: 2Gi}}
- {name: batch, replicas: 8, on: [n8, n9], requests: {cpu: 100m, memory: 128Mi},
  usage: {cpu: {wave: {mean: 600m, swing: 500m, peak: 14h}, noise: 5%}, memory: 300Mi}}
";

/// Steering, because without it chance decides whether a move helps, and runs differ much.
const BALANCE: &str = "usage: {poll: 1m, window: 5m}
steering: {taintHot: true, maxNodes: none}
strategies: [{lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%}}}]\n";

const STEP: SignedDuration = SignedDuration::from_mins(5);

/// The history as a file holds it.
fn through_a_file(history: &UsageHistory) -> UsageHistory {
    let mut read = None;
    for line in object::write(history) {
        let value = serde_json::from_str(&line).unwrap();
        let item = object::read(&value).unwrap().unwrap();
        item.add_to(&mut read).unwrap();
    }
    read.unwrap()
}

/// Runs these hours of the day and returns their trace and their recording.
fn recorded(hours: i64, seed: u64, policy: &Policy) -> (Trace, Given) {
    let day = Scenario::parse("day.yaml", DAY).unwrap_or_else(|e| panic!("{e}"));
    let duration = SignedDuration::from_hours(hours);
    let day = Scenario { seed, duration, ..day };
    let (trace, mut given) = simulate::run_and_record(&day, policy.clone(), "run", STEP);
    given.history = given.history.as_ref().map(through_a_file);
    (trace, given)
}

/// Replays a recording. The seed decides among equal nodes.
fn replayed(given: Given, seed: u64, policy: &Policy) -> Trace {
    let scenario = Scenario { seed, ..Scenario::of("cluster.json".to_owned(), given) };
    simulate::run(&scenario, policy.clone(), "replay", |_| {})
}

/// The mean over all points of all runs of the nodes' standard deviation, in points.
fn mean_deviation(traces: &[Trace], resource: &str) -> f64 {
    let series = traces.iter().flat_map(|trace| &trace.balance[resource]);
    let all: Vec<f64> = series.flatten().map(|balance| balance.deviation.get() * 100.0).collect();
    let count = f64::from(u32::try_from(all.len()).unwrap());
    all.iter().sum::<f64>() / count
}

/// Chance places replacements among equal nodes, so that two runs with other seeds differ as well.
/// Several runs together show the effect of the replay.
#[test]
fn replays_of_runs_give_the_same_evictions_and_the_same_balance() {
    let policy = parse(BALANCE);
    let run_and_replay = |seed| {
        let (run, given) = recorded(12, seed, &policy);
        (run, replayed(given, seed, &policy))
    };
    let (runs, replays): (Vec<_>, Vec<_>) = (1..=5).map(run_and_replay).unzip();
    let evictions = |traces: &[Trace]| -> u32 { traces.iter().map(|t| t.summary.evictions).sum() };
    let (before, after) = (evictions(&runs), evictions(&replays));
    assert!(before >= 50, "{before} evictions show little");
    assert!(before.abs_diff(after) * 10 <= before, "{before} and {after} evictions");
    for resource in ["cpu", "memory"] {
        let [before, after] = [&runs, &replays].map(|traces| mean_deviation(traces, resource));
        assert!((before - after).abs() <= 2.0, "{resource}: {before} and {after} points");
    }
}

#[test]
fn without_evictions_a_replay_has_the_usage_of_the_run() {
    let policy = parse(&format!("dryRun: true\n{BALANCE}"));
    let (run, given) = recorded(6, 1, &policy);
    let replay = replayed(given, 1, &policy);
    assert_eq!((run.start, run.nodes.len()), (replay.start, replay.nodes.len()));
    for (before, after) in run.nodes.iter().zip(&replay.nodes) {
        for resource in ["cpu", "memory"] {
            let series = before.actual[resource].iter().zip(&after.actual[resource]);
            for (point, (before, after)) in series.enumerate() {
                let [before, after] = [before, after].map(|ratio| ratio.unwrap().get());
                let difference = (before - after).abs();
                // The noise of the pods lasts for one sample.
                assert!(difference < 0.04, "{resource} {point}: {before} {after}");
            }
        }
    }
}

#[test]
fn pods_start_where_they_were_and_usage_is_constant_without_a_history() {
    // No eviction before the first value of the history.
    let late =
        BALANCE.replace("thresholds: {cpu: 30%}", "sustainedFor: 10m, thresholds: {cpu: 30%}");
    let policy = parse(&late);
    let (run, given) = recorded(6, 1, &policy);
    let pods = |trace: &Trace, end: bool| -> Vec<u32> {
        let count = |pods: &[u32]| if end { pods.last() } else { pods.first() }.copied();
        let nodes = trace.nodes.iter();
        nodes.map(|node| count(&node.pods).unwrap()).collect()
    };
    let replay = replayed(given.clone(), 1, &policy);
    assert_eq!(pods(&replay, false), pods(&run, false));
    let at = given.at;
    let constant = replayed(Given { history: None, ..given }, 1, &policy);
    assert_eq!(pods(&constant, false), pods(&run, true));
    assert_eq!((constant.start, run.end), (at, at));
    assert_eq!(constant.end.duration_since(constant.start), SignedDuration::from_hours(2));
}
