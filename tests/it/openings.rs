//! Openings: a pod of another node moves first, so that a pod of a hot node can land well.

use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::Reason;
use evenkeel::simulate;
use evenkeel::simulate::scenario::Scenario;

use crate::it::support::{Cluster, noon, parse, text};

const POLICY: &str = "evictable: {minReplicas: 1}
strategies: [{lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%}}}]";

/// A hot node with fewer requests than the two others, so that each of its pods would return.
const CLUSTER: &str = "
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

#[test]
fn a_light_pod_with_large_requests_moves_first() {
    let plan = Cluster::parse(CLUSTER).plan(POLICY);
    let moves: Vec<&str> = plan.moves.iter().map(|m| m.pod.as_str()).collect();
    assert_eq!(moves, ["wide-1"], "{}", text(&plan));
    let opened = &plan.moves[0];
    assert_eq!((opened.node.as_str(), opened.to.as_deref()), ("n2", Some("n1")));
    assert!(
        matches!(&opened.reason, Reason::Opening { node, .. } if node == "n1"),
        "{}",
        opened.reason
    );
}

#[test]
fn no_trial_promises_of_steering_what_an_opening_achieves_as_well() {
    let (engine, snapshot) = Cluster::parse(CLUSTER).seen(parse(POLICY), Ledger::default());
    let observed = engine.join_usage(&snapshot, noon());
    let plan = engine.decide_observed(&observed, |_| {});
    assert!(plan.keeps_most_for_landing(), "{}", text(&plan));
    assert_eq!(engine.steering_trial(&observed, engine.ledger(), &plan), None);
}

#[test]
fn nothing_moves_first_where_no_pod_of_the_hot_node_could_follow() {
    // The other nodes have no room below the target for a heavy pod.
    let full = CLUSTER.replace("uses=300m", "uses=3").replace("uses=100m", "uses=1");
    let plan = Cluster::parse(&full).plan(POLICY);
    assert!(plan.moves.is_empty(), "{}", text(&plan));
}

#[test]
fn nothing_moves_first_where_taints_steer_the_scheduler() {
    let plan = Cluster::parse(CLUSTER).plan(&format!("steering: {{taintHot: true}}\n{POLICY}"));
    assert!(plan.moves.is_empty(), "{}", text(&plan));
}

#[test]
fn two_moves_relieve_a_node_to_which_its_pods_would_return() {
    let scenario = "
name: opening
about: The hot node has the fewest requests
duration: 30m
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

#[test]
fn the_opening_after_which_more_pods_can_follow_comes_first() {
    // Either pod can move first. After `small` the node has room for one pod of the hot node, after
    // `large` for two.
    let plan = Cluster::parse(
        "
node n1
  heavy cpu=500m uses=1500m
  rock  cpu=500m uses=1500m
  stone cpu=500m uses=1500m
  metal cpu=500m uses=1500m
  steel cpu=100m uses=1500m
node n2
  small cpu=2 uses=100m
  busy  cpu=500m uses=2500m stay
node n3
  large cpu=1900m uses=100m
  other cpu=900m uses=300m stay
",
    )
    .plan(POLICY);
    let moves: Vec<&str> = plan.moves.iter().map(|m| m.pod.as_str()).collect();
    assert_eq!(moves, ["large-1", "steel-1"], "{}", text(&plan));
}
