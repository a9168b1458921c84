//! Simulated clusters: the effect of a policy over hours.

use std::collections::BTreeSet;

use evenkeel::policy::Policy;
use evenkeel::simulate;
use evenkeel::simulate::load::Curve;
use evenkeel::simulate::scenario::{PolicySource, Scenario};
use evenkeel::simulate::trace::{Eviction, Trace};
use evenkeel::values::Amount;
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::it::support::{EVEN, parse, played};

/// The default policy of `evenkeel simulate`.
const USUAL: &str = "strategies: [{lowNodeUtilization: {
    thresholds: {cpu: 30%, memory: 40%}, targetThresholds: {cpu: 60%, memory: 70%}}}]\n";

fn usual() -> Policy {
    Policy::parse("usual.yaml", &format!("apiVersion: evenkeel/v1alpha1\nkind: Policy\n{USUAL}"))
        .unwrap()
}

fn scenario(text: &str) -> Scenario {
    Scenario::parse("scenario.yaml", text).unwrap_or_else(|e| panic!("{e}"))
}

fn by(scenario: &Scenario, policy: Policy) -> Trace {
    simulate::run(scenario, policy, "policy.yaml", |_| {})
}

/// Runs a built-in scenario under its own policy, or the default one.
fn built_in(name: &str) -> Trace {
    let scenario = scenario(Scenario::built_in(name).unwrap());
    let policy = match &scenario.policy {
        Some(PolicySource::Inline(policy)) => (**policy).clone(),
        Some(PolicySource::File(_)) | None => usual(),
    };
    by(&scenario, policy)
}

/// Returns the cpu of each node in percent, and its pods, at the end.
fn ends(trace: &Trace) -> Vec<(&str, f64, u32)> {
    let cpu = |series: &[Option<evenkeel::values::Ratio>]| {
        series.last().copied().flatten().unwrap_or_default().get() * 100.0
    };
    trace
        .nodes
        .iter()
        .map(|n| (n.name.as_str(), cpu(&n.actual["cpu"]), *n.pods.last().unwrap()))
        .collect()
}

fn minutes(trace: &Trace, eviction: &Eviction) -> i64 {
    eviction.at.duration_since(trace.start).as_mins()
}

fn events(trace: &Trace) -> String {
    let line = |e: &simulate::trace::Event| {
        format!("{} {}", e.at.duration_since(trace.start).as_mins(), e.what)
    };
    trace.events.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// A node that its pods made hot cools, while others that prefer it leave n1.
const COOLING: &str = "
name: cooling
about: A node that cools while pods leave another one
duration: 14m
nodes: [{name: n, count: 6, cpu: 8, memory: 32Gi}]
workloads:
- {name: hot, replicas: 32, requests: {cpu: 50m, memory: 100Mi}, usage: {cpu: {bursts:
    {base: 20m, peak: 175m, every: 7m, for: 1h}}, memory: 100Mi}, nodeAffinity: {preferred: [
    {weight: 100, nodes: kubernetes.io/hostname=n2}]}, on: [n1]}
- {name: brief, replicas: 2, requests: {cpu: 50m, memory: 100Mi}, usage: {cpu: {bursts:
    {base: 10m, peak: 2, every: 6m, for: 3m}}, memory: 100Mi}, on: [n2]}
policy:
  apiVersion: evenkeel/v1alpha1
  kind: Policy
  steering: {taintHot: true}
  limits: {perCycle: 1}
  usage: {smoothing: {halfLife: 1m}}
  strategies:
  - lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 40%}}
";

#[test]
fn taints_are_removed_after_the_moves_that_depend_on_them() {
    let trace = played(COOLING);
    let (foreseen, of) = trace.summary.foreseen;
    assert!(of > 2 && foreseen == of, "{foreseen} of {of}");
    assert!(events(&trace).contains("10 node n2 loses the steering taint"), "{}", events(&trace));
    // In the same cycle, a pod that prefers n2 lands elsewhere.
    assert!(trace.evictions.iter().any(|eviction| minutes(&trace, eviction) == 10));
}

/// Pods that prefer the node that they make hot, terminate slowly, and are recreated only
/// afterwards.
const ENDING: &str = "
name: ending
about: A StatefulSet that is steered around the node it prefers
duration: 2h
nodes: [{name: n, count: 4, cpu: 8, memory: 32Gi}]
workloads:
- {name: db, kind: StatefulSet, ending: 8m, replicas: 4, requests: {cpu: 100m, memory: 100Mi},
  usage: {cpu: 1760m, memory: 200Mi}, nodeAffinity: {preferred: [{weight: 100,
    nodes: kubernetes.io/hostname=n1}]}, on: [n1]}
policy:
  apiVersion: evenkeel/v1alpha1
  kind: Policy
  steering: {taintHot: true, maxNodes: none}
  limits: {perWorkload: 100%}
  strategies:
  - lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 40%}}
";

#[test]
fn a_taint_stays_until_the_replacement_that_depends_on_it_has_landed() {
    let scenario = scenario(ENDING);
    let Some(PolicySource::Inline(policy)) = &scenario.policy else { panic!("{ENDING}") };
    let trace = by(&scenario, (**policy).clone());
    let summary = &trace.summary;
    assert_eq!(
        (summary.evictions, summary.helped, summary.foreseen),
        (3, 3, (3, 3)),
        "{}",
        events(&trace)
    );
    assert!(
        events(&trace).contains("loses the steering taint: the node has cooled"),
        "{}",
        events(&trace)
    );
}

#[test]
fn new_nodes_take_pods_from_full_nodes() {
    let trace = built_in("late-nodes");
    assert_eq!(trace.summary.needed, Some((8, 0)));
    assert!(ends(&trace).iter().all(|(_, cpu, _)| *cpu <= 60.0), "{:?}", ends(&trace));
    assert!((8..=11).contains(&trace.summary.evictions), "{:?}", trace.summary);
    assert_eq!(trace.summary.helped, trace.summary.evictions);
    assert!(
        trace.evictions.iter().all(|e| e.workload.as_deref() == Some("default/Deployment/hot"))
    );
    assert!(
        trace.evictions.iter().all(|e| (10..30).contains(&minutes(&trace, e))),
        "not before there is anywhere to go"
    );
    assert_eq!(events(&trace), "10 7 nodes join, n4 to n10");
    assert_eq!(trace.summary.pending, 0);
}

#[test]
fn pods_that_would_return_stay() {
    let trace = built_in("dead-loop");
    assert_eq!(trace.summary.evictions, 0, "{:?}", trace.evictions);
    assert_eq!(
        trace.refusals["would-return"].last,
        "its replacement would return to n1: its preferred node affinity outweighs the free nodes"
    );
    assert_eq!(trace.summary.time_to_balance, None);
}

#[test]
fn a_daily_wave_moves_few_pods_in_two_days() {
    let trace = built_in("daily-wave");
    assert!((3..=10).contains(&trace.summary.evictions), "{:?}", trace.summary);
    assert_eq!(trace.summary.helped, trace.summary.evictions);
    let before_noon = |e: &&Eviction| minutes(&trace, e) < 14 * 60;
    assert_eq!(
        trace.evictions.iter().filter(before_noon).count(),
        trace.evictions.len(),
        "the second day is quiet"
    );
}

#[test]
fn a_sustained_noisy_neighbour_makes_pods_move() {
    let trace = built_in("noisy-neighbour");
    let first = trace.evictions.iter().map(|e| minutes(&trace, e)).min().unwrap();
    assert!(first > 70, "the first burst begins after an hour");
    assert!(
        trace.evictions.iter().all(|e| e.from == "n1" && e.pod.starts_with("shop")),
        "{:?}",
        trace.evictions
    );
    assert!((1..=6).contains(&trace.summary.evictions), "{:?}", trace.summary);
}

#[test]
fn underused_nodes_are_emptied_with_a_packing_scheduler() {
    let trace = built_in("consolidation");
    let start: u32 = trace.nodes.iter().filter(|n| n.pods[0] == 0).count().try_into().unwrap();
    assert!(trace.summary.empty_nodes > start, "{:?}", trace.summary);
    assert_eq!(trace.summary.helped, trace.summary.evictions);
}

#[test]
fn the_published_example_is_reproduced() {
    let third = built_in("third-node");
    assert_eq!(ends(&third).iter().map(|(_, _, pods)| *pods).collect::<Vec<_>>(), [1, 1, 1]);
    assert_eq!(third.summary.evictions, 1);
    let two = built_in("two-workers");
    assert_eq!(ends(&two).iter().map(|(_, _, pods)| *pods).collect::<Vec<_>>(), [0, 3, 3]);
    assert_eq!((two.summary.evictions, two.summary.helped), (3, 3));
    let forty = built_in("forty-replicas");
    assert!(ends(&forty).iter().all(|(_, _, pods)| (8..=12).contains(pods)), "{:?}", ends(&forty));
    assert!((28..=34).contains(&forty.summary.evictions), "{:?}", forty.summary);
}

#[test]
fn the_objects_of_a_cluster_are_no_scenario() {
    let error = Scenario::parse("c.json", r#"{"kind": "List", "items": []}"#).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("the objects of a cluster are handed over by `--from`"), "{error}");
    assert_eq!(error.matches("c.json:").count(), 1, "{error}");
}

#[test]
fn every_built_in_scenario_parses_and_has_the_name_of_its_file() {
    for name in Scenario::names() {
        let scenario = scenario(Scenario::built_in(name).unwrap());
        assert_eq!(scenario.name, name);
        assert!(!scenario.about.is_empty() && scenario.about.len() < 100, "{name}");
    }
}

#[test]
fn equal_seeds_give_equal_traces_and_other_seeds_differ() {
    let scenario = scenario(Scenario::built_in("noisy-neighbour").unwrap());
    let text = |scenario: &Scenario| serde_json::to_string(&by(scenario, usual())).unwrap();
    assert_eq!(text(&scenario), text(&scenario));
    assert_ne!(text(&scenario), text(&Scenario { seed: 2, ..scenario.clone() }));
}

/// One hot node of three, with the workload under test.
fn hot(workload: &str) -> Scenario {
    scenario(&format!(
        "name: hot\nabout: one hot node\nduration: 1h\nnodes: [{{name: n, count: \
         3}}]\nworkloads:\n- {{name: db, replicas: 7, requests: {{cpu: 100m}}, usage: {{cpu: 1}}, \
         on: [n1], {workload}}}\n"
    ))
}

#[test]
fn a_budget_counts_before_one_of_its_pods_has_been_ready() {
    let trace = played(
        "
name: slow
about: Pods that start for longer than the run
duration: 6m
nodes: [{name: n, cpu: 4, memory: 32Gi}, {name: u, count: 2, cpu: 8, memory: 32Gi}]
workloads:
- {name: web, replicas: 6, requests: {cpu: 100m}, usage: {cpu: 300m}, on: [n]}
- {name: slow, replicas: 4, requests: {cpu: 100m}, usage: {cpu: 500m}, on: [n], from: 1m,
  startup: 8m, budget: {minAvailable: 3}}
policy:
  apiVersion: evenkeel/v1alpha1
  kind: Policy
  interval: 1m
  strategies:
  - lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%}}
",
    );
    assert!(trace.refusals.contains_key("disruption-budget"), "{:?}", trace.refusals);
    assert!(trace.refusals.keys().all(|code| !code.starts_with("api-")), "{:?}", trace.refusals);
}

#[test]
fn the_plan_respects_budgets_so_the_api_server_refuses_nothing() {
    let trace = by(&hot("budget: {maxUnavailable: 1}, startup: 2m"), parse(EVEN));
    let times: Vec<i64> = trace.evictions.iter().map(|e| minutes(&trace, e)).collect();
    assert!(times.len() > 1, "{times:?}");
    assert!(
        times.windows(2).all(|pair| pair[1] - pair[0] >= 2),
        "one at a time, until it is Ready: {times:?}"
    );
    assert!(trace.refusals.contains_key("disruption-budget"), "{:?}", trace.refusals);
    assert!(trace.refusals.keys().all(|code| !code.starts_with("api-")), "{:?}", trace.refusals);
}

#[test]
fn a_replacement_rests() {
    // The pods of a StatefulSet keep their names, so a pod that moves twice is visible.
    let trace =
        by(&hot("kind: StatefulSet, nodeSelector: {kubernetes.io/hostname: n1}"), parse(EVEN));
    assert!(trace.evictions.is_empty(), "nowhere to go: {:?}", trace.evictions);
    let trace = by(&hot("kind: StatefulSet"), parse(&format!("{EVEN}cooldown: {{rest: 20m}}\n")));
    let last = |pod: &str| {
        trace
            .evictions
            .iter()
            .filter(|e| e.pod == pod)
            .map(|e| minutes(&trace, e))
            .collect::<Vec<_>>()
    };
    let pods: BTreeSet<&str> = trace.evictions.iter().map(|e| e.pod.as_str()).collect();
    assert!(!pods.is_empty());
    assert!(
        pods.iter().all(|pod| last(pod).windows(2).all(|pair| pair[1] - pair[0] >= 20)),
        "{:?}",
        trace.evictions
    );
}

const FAILING: &str = "
name: failing
about: a node fails, comes back, and another is drained
duration: 1h
nodes:
- {name: n1, fails: 10m, recovers: 30m}
- {name: n2}
- {name: n3, drains: 40m}
workloads:
- {name: web, replicas: 3, requests: {cpu: 100m}, on: [n1, n2, n3], budget: {minAvailable: 2}}
- {name: db, kind: StatefulSet, replicas: 1, requests: {cpu: 100m}, on: [n1]}
- {name: agent, kind: DaemonSet, requests: {cpu: 100m}}
- {name: lonely, kind: Pod, requests: {cpu: 100m}, on: [n1]}
";

#[test]
fn pods_leave_a_failed_node_after_five_minutes_and_a_drained_node_as_budgets_allow() {
    let trace = by(&scenario(FAILING), parse(EVEN));
    assert_eq!(events(&trace), "10 node n1 fails\n30 node n1 is back\n40 node n3 is drained");
    let at = |node: &str, minute: i64| {
        let step = usize::try_from(minute * 60 / trace.step.as_secs()).unwrap();
        trace.nodes.iter().find(|n| n.name == node).unwrap().pods[step]
    };
    assert_eq!([at("n1", 9), at("n2", 9), at("n3", 9)], [4, 2, 2]);
    assert_eq!(at("n1", 20), 4, "terminating pods stay until the node is back");
    assert_eq!(at("n2", 14) + at("n3", 14), 4, "nothing leaves within five minutes");
    assert_eq!(at("n2", 16) + at("n3", 16), 5, "web is replaced, db only once it is gone");
    assert_eq!(at("n1", 32) + at("n2", 32) + at("n3", 32), 7, "db is back, and lonely is lost");
    assert_eq!(at("n3", 45), 1, "the agent stays");
    assert!(
        trace.evictions.is_empty(),
        "only evictions by the policy are recorded: {:?}",
        trace.evictions
    );
    assert_eq!(trace.summary.pending, 0);
    let cpu = &trace.nodes[0].actual["cpu"];
    assert!(
        cpu.iter().any(Option::is_none) && cpu.last().unwrap().is_some(),
        "a node that is down uses nothing"
    );
}

#[test]
fn nothing_is_evicted_from_a_node_without_metrics() {
    let mut blind = hot("labels: {a: b}");
    let gap = "nodes: [n1], from: 0s, until: 30m";
    let text = format!(
        "name: g\nabout: g\nduration: 1h\nnodes: [{{name: n1}}]\nworkloads: []\nmetrics: {{gaps: [{{{gap}}}]}}"
    );
    blind.metrics = scenario(&text).metrics;
    let trace = by(&blind, parse(EVEN));
    assert!(!trace.evictions.is_empty());
    assert!(trace.evictions.iter().all(|e| minutes(&trace, e) >= 30), "{:?}", trace.evictions);
}

#[test]
fn a_node_supplies_no_more_cpu_than_it_has() {
    let mut greedy = hot("labels: {a: b}");
    greedy.workloads[0].usage.as_mut().unwrap().cpu = Curve::steady(Amount::millicores(4000));
    let mut idle = parse(EVEN);
    idle.dry_run = true;
    let trace = by(&greedy, idle);
    assert!(trace.nodes[0].actual["cpu"].iter().flatten().all(|r| r.get() <= 1.0));
}

#[test]
fn jobs_complete_and_workloads_start_and_end() {
    let trace = by(
        &scenario(
            "name: jobs\nabout: jobs\nduration: 1h\nnodes: [{name: n, count: 2}]\nworkloads:\n\
             - {name: once, kind: Job, replicas: 4, requests: {cpu: 1}, runs: 10m, from: 5m}\n\
             - {name: web, replicas: 2, requests: {cpu: 1}, from: 20m, until: 40m}\n",
        ),
        parse(EVEN),
    );
    let pods = |minute: i64| {
        let step = usize::try_from(minute * 60 / trace.step.as_secs()).unwrap();
        trace.nodes.iter().map(|n| n.pods[step]).sum::<u32>()
    };
    assert_eq!([4, 6, 16, 21, 39, 41].map(pods), [0, 4, 0, 2, 2, 0]);
}

#[test]
fn no_series_exceeds_the_point_limit() {
    let mut long = hot("startup: 5s");
    long.duration = SignedDuration::from_hours(20);
    let trace = by(&long, usual());
    let points = trace.nodes[0].pods.len();
    assert!((200..=401).contains(&points), "{points}");
    assert!(trace.balance.values().all(|series| series.len() == points));
}

#[test]
fn a_long_run_has_the_balance_at_its_first_eviction_and_at_its_end() {
    let run = |hours: i64| {
        let mut scenario = scenario(Scenario::built_in("noisy-neighbour").unwrap());
        scenario.duration = SignedDuration::from_hours(hours);
        by(&scenario, usual())
    };
    let (short, long) = (run(2), run(40));
    assert_eq!(long.evictions[0].at, short.evictions[0].at);
    assert_eq!(long.summary.before, short.summary.before);
    let hot = ends(&long).iter().filter(|(_, cpu, _)| *cpu > 60.0).count();
    let counted = long.summary.above_target["cpu"].nodes_at_end;
    assert_eq!(u32::try_from(hot).unwrap(), counted);
}

#[test]
fn a_daemon_set_runs_where_its_affinity_admits_it() {
    let text = "
name: agents
about: A DaemonSet of one node
duration: 10m
nodes: [{name: n, count: 3}]
workloads:
- {name: agent, kind: DaemonSet, requests: {cpu: 100m},
  nodeAffinity: {required: [kubernetes.io/hostname=n2]}}
";
    let trace = by(&scenario(text), usual());
    let pods: Vec<u32> = ends(&trace).iter().map(|(_, _, pods)| *pods).collect();
    assert_eq!(pods, [0, 1, 0]);
}

/// Returns the errors of a scenario, without the lines of the file below each.
fn errors(text: &str) -> String {
    let error = Scenario::parse("s.yaml", text).unwrap_err().to_string();
    error.lines().filter(|line| !line.starts_with("  |")).collect::<Vec<_>>().join("\n")
}

/// Returns the errors of a scenario that contains this part.
fn refused(part: &str) -> String {
    errors(&format!("name: s\nabout: s\nduration: 1h\nnodes: [{{name: n, count: 2}}]\n{part}\n"))
}

#[test]
fn errors_in_a_file_have_positions() {
    assert_snapshot!(errors("nme: x"), @"
    s.yaml:1:1: name: missing, expected the name of the scenario
    s.yaml:1:1: about: missing, expected a sentence that describes the scenario
    s.yaml:1:1: duration: missing, expected the duration, such as 2h
    s.yaml:1:1: nodes: missing, expected a list with at least two nodes
    s.yaml:1:1: workloads: missing, expected a list of workloads
    s.yaml:1:1: nme: unknown field (did you mean `name`?); allowed here: name, about, seed, \
        duration, policy, scheduler, nodes, workloads, metrics, guards
    ");
    assert_snapshot!(refused("workloads: [{name: web, replica: 3}]"), @"s.yaml:5:25: workloads[0].replica: unknown field (did you mean `replicas`?); allowed here: kind, requests, replicas, from, until, startup, ending, runs, nodeAffinity, namespace, name, labels, usage, tolerations, nodeSelector, apart, spread, priority, emptyDir, budget, on");
    assert_snapshot!(refused("workloads: [{name: web, on: [n3]}]"), @r"s.yaml:5:30: workloads[0].on[0]: no node has the name `n3` (did you mean `n1`?)");
    assert_snapshot!(refused("workloads: [{name: Web, kind: Deploiment, usage: {cpu: lots}}]"), @"
    s.yaml:5:20: workloads[0].name: found Web, expected a name of lower-case letters, digits, - \
        and .
    s.yaml:5:31: workloads[0].kind: found Deploiment, expected Deployment, StatefulSet, \
        DaemonSet, Job or Pod
    s.yaml:5:56: workloads[0].usage.cpu: found lots, expected a quantity of cpu, such as 500m or 2
    ");
}

#[test]
fn conflicting_fields_are_reported() {
    assert_snapshot!(refused("workloads: [{name: web, usage: {cpu: {wave: {mean: 1}, steady: 1}}}]"), @r"
    s.yaml:5:38: workloads[0].usage.cpu: expected exactly one of steady, wave, bursts, leak or trace
    s.yaml:5:39: workloads[0].usage.cpu.wave.swing: missing, expected a quantity
    ");
    assert_snapshot!(refused("workloads: [{name: web}, {name: web, budget: {}}]"), @"s.yaml:5:46: workloads[1].budget: expected exactly one of minAvailable or maxUnavailable: a number of pods, or a percentage");
    assert_snapshot!(refused("workloads: []\nmetrics: {gaps: [{nodes: [n9], from: 2m, until: 1m}]}"), @r"s.yaml:6:42: metrics.gaps[0].until: must be later than from");
    assert_snapshot!(refused("workloads: []\npolicy: {apiVersion: evenkeel/v1alpha1, kind: Policy, strategy: []}"), @"
    s.yaml:6:1: policy.strategies: missing, expected a list with at least one strategy, such as \
        lowNodeUtilization
    s.yaml:6:55: policy.strategy: unknown field (did you mean `strategies`?); allowed here: \
        apiVersion, kind, interval, basis, dryRun, nodeSelector, usage, evictable, profiles, \
        gracePeriod, limits, cooldown, ramp, windows, safety, guards, approval, forecast, \
        steering, rightsizing, strategies
    ");
}

/// A hot node, and a guard that stops all evictions for a time.
fn guarded(until: &str) -> Trace {
    let scenario = scenario(&format!(
        "
name: guarded
about: A hot node while a guard stops everything
duration: 2h
nodes: [{{name: n, count: 3, cpu: 4, memory: 8Gi}}]
workloads:
- {{name: web, replicas: 6, requests: {{cpu: 100m, memory: 100Mi}}, usage: {{cpu: 580m}}, on: [n1]}}
guards: [{{guard: errors, value: 1{until}}}]
"
    ));
    let policy = format!(
        "apiVersion: evenkeel/v1alpha1\nkind: Policy\nusage: {{prometheus: {{url: 'http://p'}}}}\n\
         guards: [{{name: errors, query: up}}]\n{USUAL}"
    );
    by(&scenario, Policy::parse("p.yaml", &policy).unwrap())
}

#[test]
fn cycles_without_evictions_are_counted_and_say_whether_a_node_was_hot() {
    let trace = guarded("");
    let summary = &trace.summary;
    assert_eq!((summary.cycles, summary.stopped), (121, 121));
    let halted = &trace.refusals["halted"];
    assert_eq!(halted.times, 121);
    assert!(halted.last.starts_with("guard errors stops all evictions"), "{halted:?}");
    assert_eq!(summary.time_to_balance, None, "n1 is hot all the time");
    let trace = guarded(", until: 1h");
    let balanced = trace.summary.time_to_balance.unwrap();
    assert!(balanced > SignedDuration::from_mins(60), "hot from the beginning: {balanced}");
    assert!(trace.summary.stopped < trace.summary.cycles);
}

#[test]
fn a_node_that_only_stopped_cycles_have_measured_is_known() {
    let scenario = scenario(
        "
name: failing
about: Half of the nodes fail before a decision knows any usage
duration: 30m
nodes: [{name: n, count: 2}, {name: m, count: 2, fails: 1m}]
workloads: [{name: web, replicas: 2, requests: {cpu: 100m, memory: 100Mi}, on: [n1]}]
",
    );
    let summary = by(&scenario, usual()).summary;
    assert_eq!((summary.cycles, summary.stopped), (31, 30));
    assert!(summary.unknown_nodes.is_empty(), "{summary:?}");
}

#[test]
fn a_guard_without_an_answer_has_no_labels() {
    let text = "{name: a, about: b, duration: 1h, nodes: [{name: n}], \
        workloads: [{name: w, requests: {cpu: 1, memory: 1Gi}}], guards: [{guard: g, value: none, labels: {namespace: x}}]}";
    let error = Scenario::parse("s.yaml", text).unwrap_err().to_string();
    assert!(error.contains("guards[0].labels: a query without an answer has no series"), "{error}");
    let fine = text.replace(", labels: {namespace: x}", "");
    scenario(&fine);
}

#[test]
fn a_node_does_not_fail_before_it_joins() {
    let text = "{name: a, about: b, duration: 1h, workloads: [], \
        nodes: [{name: n1}, {name: n2, joins: 10m, drains: 5m}]}";
    let error = Scenario::parse("s.yaml", text).unwrap_err().to_string();
    assert!(error.contains("nodes[1].joins: must not be later than fails and drains"), "{error}");
    scenario(&text.replace("joins: 10m", "joins: 5m"));
}

#[test]
fn a_preference_has_no_more_weight_than_in_kubernetes() {
    let preferred = |weight: u32| {
        format!(
            "workloads: [{{name: web, nodeAffinity: {{preferred: \
             [{{weight: {weight}, nodes: {{matchLabels: {{a: b}}}}}}]}}}}]"
        )
    };
    let error = refused(&preferred(101));
    assert!(error.contains("preferred[0].weight: found 101, expected at most 100"), "{error}");
}
