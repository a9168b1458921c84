//! Openings: a pod of another node moves first, so that a pod of a hot node can land well.

use evenkeel::model::ledger::Ledger;
use evenkeel::simulate;
use evenkeel::simulate::scenario::Scenario;

use crate::it::support::{Cluster, noon, parse, text};

const POLICY: &str = "evictable: {minReplicas: 1}
strategies: [{lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%}}}]";

#[test]
fn no_trial_promises_of_steering_what_an_opening_achieves_as_well() {
    let cluster = "
        node n1
          heavy cpu=1 uses=2500m
          rock  cpu=1 uses=2500m
        node n2
          wide  cpu=1500m uses=100m
          other cpu=1 uses=300m
        node n3
          third cpu=1500m uses=2
          last  cpu=1 uses=2
        ";
    let (engine, snapshot) = Cluster::parse(cluster).seen(parse(POLICY), Ledger::default());
    let observed = engine.join_usage(&snapshot, noon());
    let plan = engine.decide_observed(&observed, |_| {});
    assert!(plan.keeps_most_for_landing(), "{}", text(&plan));
    assert_eq!(engine.steering_trial(&observed, engine.ledger(), &plan), None);
}

#[test]
fn two_moves_relieve_a_node_to_which_its_pods_would_return() {
    let scenario = "
name: opening
about: The hot node has the fewest requests
duration: 45m
nodes: [{name: n, count: 3, cpu: 8, memory: 32Gi}]
workloads:
- {name: heavy, replicas: 1, requests: {cpu: 1}, usage: {cpu: 2500m}, on: [n1]}
- {name: rock, replicas: 1, requests: {cpu: 1}, usage: {cpu: 2500m}, on: [n1]}
- {name: wide, replicas: 1, requests: {cpu: 1500m}, usage: {cpu: 100m}, on: [n2]}
- {name: other, replicas: 1, requests: {cpu: 1}, usage: {cpu: 300m}, on: [n2]}
- {name: third, replicas: 1, requests: {cpu: 1500m}, usage: {cpu: 2}, on: [n3]}
- {name: last, replicas: 1, requests: {cpu: 1}, usage: {cpu: 2}, on: [n3]}
";
    let scenario = Scenario::parse("opening.yaml", scenario).unwrap();
    let trace = simulate::run(&scenario, parse(POLICY), "test", |_| {});
    assert!(trace.summary.time_to_balance.is_some(), "{:?}", trace.refusals);
    let evictions = trace.evictions.iter();
    let went: Vec<_> = evictions.map(|e| (e.from.as_str(), e.to.as_deref(), e.helped)).collect();
    assert_eq!(went, [("n2", Some("n1"), Some(true)), ("n1", Some("n2"), Some(true))]);
}

#[test]
fn two_light_pods_move_where_one_does_not_suffice() {
    let scenario = "
name: chain
about: Only after two light pods have left n2 does the scheduler prefer it to the hot node
duration: 30m
nodes: [{name: n, count: 3, cpu: 8, memory: 32Gi}]
workloads:
- {name: heavy, replicas: 1, requests: {cpu: 1}, usage: {cpu: 2500m}, on: [n1]}
- {name: rock, replicas: 1, requests: {cpu: 1}, usage: {cpu: 2500m}, on: [n1]}
- {name: light, replicas: 1, requests: {cpu: 1}, usage: {cpu: 100m}, on: [n2]}
- {name: idle, replicas: 1, requests: {cpu: 1}, usage: {cpu: 100m}, on: [n2]}
- {name: busy, replicas: 3, requests: {cpu: 1200m}, usage: {cpu: 700m}, on: [n2]}
- {name: full, replicas: 2, requests: {cpu: 3500m}, usage: {cpu: 2}, on: [n3]}
";
    let scenario = Scenario::parse("chain.yaml", scenario).unwrap();
    let trace = simulate::run(&scenario, parse(POLICY), "test", |_| {});
    let evictions = trace.evictions.iter();
    let went: Vec<_> = evictions.map(|e| (e.from.as_str(), e.to.as_deref())).collect();
    assert_eq!(
        went,
        [("n2", Some("n1")), ("n2", Some("n1")), ("n1", Some("n2"))],
        "{:?}",
        trace.refusals
    );
    assert!(trace.summary.time_to_balance.is_some());
}
