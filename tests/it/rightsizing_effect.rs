//! The effect of right-sizing: once requests match usage, the scheduler spreads the pods itself.

use evenkeel::decide::engine::Engine;
use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::Rightsizing;
use evenkeel::policy::Policy;
use evenkeel::simulate;
use evenkeel::simulate::scenario::Scenario;
use evenkeel::simulate::trace::Trace;
use evenkeel::values::Ratio;

use crate::it::support::parse;

/// Ten nodes with thirty services of one pod each, which use a core and request a tenth of it, and
/// five services that request three cores and use almost nothing. The nodes of the latter look full
/// to the scheduler, the others empty.
fn scene() -> Scenario {
    let pod = |name: &str, requests: &str, uses: &str| {
        format!(
            "- {{name: {name}, replicas: 1, requests: {{cpu: {requests}, memory: 100Mi}}, \
             usage: {{cpu: {{steady: {uses}, noise: 3%}}, memory: 80Mi}}}}\n"
        )
    };
    let mut text =
        "name: wrong-requests\nabout: requests that do not say what pods use\nduration: \
        30m\n\
        nodes: [{name: n, count: 10, cpu: 8, memory: 32Gi}]\nworkloads:\n\
        - \
        {name: agent, namespace: kube-system, kind: DaemonSet,
          requests: {cpu: 100m, memory: 80Mi}}\n"
            .to_owned();
    text.extend((1..=5).map(|n| pod(&format!("batch-{n}"), "3", "50m")));
    text.extend((1..=30).map(|n| pod(&format!("shop-{n}"), "100m", "1000m")));
    Scenario::parse("scene.yaml", &text).unwrap_or_else(|e| panic!("{e}"))
}

/// A policy without evictions.
const WATCHING: &str = "dryRun: true\nstrategies: [{lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%}}}]\n";

#[test]
fn with_the_recommended_requests_the_scheduler_spreads_the_pods() {
    let policy = parse(WATCHING);
    let wrong = scene();
    let rightsizing = rightsizing(&wrong, &policy);
    assert_eq!(rightsizing.len(), 35, "every one of them, and not the agent");
    let right = with(&wrong, &rightsizing);
    // The scheduler chooses at random among equal nodes. Several seeds show that the result is not
    // luck.
    for seed in 1..=3 {
        let before = run(&Scenario { seed, ..wrong.clone() }, &policy);
        let after = run(&Scenario { seed, ..right.clone() }, &policy);
        assert_eq!(before.summary.evictions + after.summary.evictions, 0);
        assert!(deviation(&before) > 0.35 && fullest(&before) > 0.85, "{:?}", before.summary.after);
        assert!(deviation(&after) < 0.02 && fullest(&after) < 0.45, "{:?}", after.summary.after);
    }
}

/// Running pods stay where they are. The new requests only keep later pods away from the full
/// nodes.
#[test]
fn new_requests_do_not_move_running_pods() {
    let policy = parse(WATCHING);
    let late = Scenario::parse("late-nodes", Scenario::built_in("late-nodes").unwrap()).unwrap();
    let before = run(&late, &policy);
    let after = run(&with(&late, &rightsizing(&late, &policy)), &policy);
    assert!(
        fullest(&before) > 0.9 && fullest(&after) < 0.85,
        "{} became {}",
        fullest(&before),
        fullest(&after)
    );
    assert!(fullest(&after) > 0.6, "a rebalancer is still needed");
}

fn run(scenario: &Scenario, policy: &Policy) -> Trace {
    simulate::run(scenario, policy.clone(), "policy.yaml", |_| {})
}

/// The standard deviation of the nodes' cpu usage at the end.
fn deviation(trace: &Trace) -> f64 {
    trace.summary.after["cpu"].deviation.get()
}

/// The cpu usage of the fullest node at the end.
fn fullest(trace: &Trace) -> f64 {
    let last = trace.nodes.iter().filter_map(|n| n.actual["cpu"].last().copied().flatten());
    last.map(Ratio::get).fold(0.0, f64::max)
}

fn rightsizing(scenario: &Scenario, policy: &Policy) -> Vec<Rightsizing> {
    let (snapshot, readings) = simulate::at_start(scenario, policy);
    let mut engine = Engine::new(policy.clone(), Ledger::default());
    let now = readings.nodes.values().map(|s| s.at).max().unwrap();
    engine.observe_steady(&snapshot, &readings, now);
    engine.rightsizing(&engine.join_usage(&snapshot, now))
}

/// The same scenario with the recommended requests.
fn with(scenario: &Scenario, rightsizing: &[Rightsizing]) -> Scenario {
    let mut scenario = scenario.clone();
    for recommended in rightsizing {
        let key = &recommended.workload;
        let workload = scenario
            .workloads
            .iter_mut()
            .find(|w| w.namespace == key.namespace && w.name == key.name)
            .unwrap();
        workload.requests.retain(|(name, _)| !recommended.resources.contains_key(name.as_str()));
        workload.requests.extend(
            recommended.resources.iter().map(|(name, s)| ((*name).to_owned(), s.suggested)),
        );
    }
    scenario
}
