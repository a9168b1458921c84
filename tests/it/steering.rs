//! Steering: which nodes gain the soft taint, which keep it, and which lose it.

use std::collections::BTreeSet;

use evenkeel::decide::engine::Engine;
use evenkeel::decide::steering;
use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::{Plan, SteerValue};
use evenkeel::policy::{FitStrategy, Policy};
use insta::assert_snapshot;

use crate::it::support::{Cluster, EVEN, after, noon, parse};

const HOT_TAINT: &str = "taint=evenkeel.io/steer=hot:PreferNoSchedule";
const EMPTYING_TAINT: &str = "taint=evenkeel.io/steer=emptying:PreferNoSchedule";

/// LowNodeUtilization with target 50 % and threshold 30 % of cpu, and steering away from hot nodes.
fn hot() -> String {
    format!("steering: {{taintHot: true, maxNodes: none}}\n{EVEN}")
}

/// HighNodeUtilization of nodes at or below 20 % of requested cpu, and steering away from these
/// nodes.
const EMPTYING: &str = "
steering: {taintEmptying: true, maxNodes: none}
evictable: {minReplicas: 1}
strategies: [{highNodeUtilization: {basis: requests, thresholds: {cpu: 20%}}}]
";

fn steering(plan: &Plan) -> String {
    let line = |s: &evenkeel::model::plan::Steer| {
        let value = s.action.value().map_or("", SteerValue::text);
        format!("{} {} {value}: {}", s.node, s.action.code(), s.why)
    };
    plan.steering.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn of(cluster: &str, policy: &str) -> String {
    steering(&Cluster::parse(cluster).plan(policy))
}

/// Another instance balances the nodes of pool b.
#[test]
fn taints_of_nodes_that_the_policy_does_not_select_stay() {
    let cluster = format!(
        "
        node n1 labels=pool:a {HOT_TAINT}
        node n2 labels=pool:a
        node n3 labels=pool:b {HOT_TAINT}
          web*6 cpu=100m uses=1
        node n4 labels=pool:b {EMPTYING_TAINT}
        "
    );
    let policy = format!("nodeSelector: 'pool=a'\n{}", hot());
    assert_snapshot!(of(&cluster, &policy), @"n1 remove : the node has cooled");
    let policy = parse(&policy);
    let released = steering::release(&Cluster::parse(&cluster).snapshot(&policy), &policy);
    assert_eq!(released.iter().map(|s| &*s.node).collect::<Vec<_>>(), ["n1"]);
}

#[test]
fn a_node_that_is_hot_for_a_moment_gains_no_taint() {
    let policy =
        hot().replace("thresholds: {cpu: 30%}", "sustainedFor: 1m, thresholds: {cpu: 30%}");
    let mut engine = Engine::new(parse(&policy), Ledger::default());
    let cluster = Cluster::parse("node n1\n  web*6 cpu=100m uses=1\nnode n2");
    let snapshot = cluster.snapshot(engine.policy());
    let mut said = BTreeSet::new();
    for at in (0..=120).step_by(15) {
        engine.observe(&snapshot, &cluster.readings(after(at)), after(at));
        if !engine.decide(&snapshot, after(at)).steering.is_empty() {
            said.insert(at);
        }
    }
    // Usage is known from the third sample on. The second look, after more than half a minute, is
    // the first one that sees it, and the node is hot a minute after that.
    assert_eq!(said, BTreeSet::from([105, 120]));
}

/// web-1 fits on n2 by requests, and a scheduler that packs prefers n2. Only n3 has room by usage.
#[test]
fn a_node_that_is_full_by_usage_is_tainted_while_pods_should_land_on_others() {
    let cluster = |taint: &str| {
        Cluster::parse(&format!(
            "node n1 {EMPTYING_TAINT}
              web cpu=500m uses=800m
            node n2 {taint}
              full cpu=4 uses=6
            node n3
              roomy cpu=2 uses=3"
        ))
    };
    let policy = || {
        let mut policy = parse(EMPTYING);
        policy.scheduler.fit.strategy = FitStrategy::MostAllocated;
        policy
    };
    let plan = cluster("").plan_by(policy());
    assert_eq!(plan.moves.len(), 0);
    assert_snapshot!(steering(&plan), @"
    n1 keep emptying: the node is to be emptied: new pods should land elsewhere
    n2 add full: the pods that have to move fit by requests, but their usage does not
    ");
    let plan = cluster("taint=evenkeel.io/steer=full:PreferNoSchedule").plan_by(policy());
    assert_eq!(plan.moves[0].to.as_deref(), Some("n3"));
    assert_snapshot!(steering(&plan), @"
    n1 keep emptying: the node is to be emptied: new pods should land elsewhere
    n2 keep full: the pods that have to move fit by requests, but their usage does not
    ");
}

/// Seven heavy pods on n1, which they prefer, and three idle nodes.
const DEAD_LOOP: &str = "
node n1
  hot*7 cpu=100m uses=1 prefers=kubernetes.io/hostname:n1*100
node n2
node n3
node n4
";

/// The effect of steering on a cluster as a sentence; empty without a trial.
fn trial(cluster: &str, policy: &str) -> String {
    let cluster = Cluster::parse(cluster);
    let (engine, snapshot) = cluster.seen(parse(policy), Ledger::default());
    let observed = engine.join_usage(&snapshot, noon());
    let plan = engine.decide_observed(&observed, |_| {});
    let trial = engine.steering_trial(&observed, engine.ledger(), &plan);
    trial.map(|trial| trial.to_string()).unwrap_or_default()
}

#[test]
fn a_trial_shows_what_steering_would_achieve() {
    assert_snapshot!(
        trial(DEAD_LOOP, EVEN),
        @"7 of 7 pods that stay do so because of where their replacements could land; with \
      `steering: {taintHot: true}`, 3 evictions would bring 1 of 1 hot node to target; without it 0"
    );
    // The limit of one eviction per cycle does not apply to the trial.
    let limited = format!("limits: {{perCycle: 1}}\n{}", hot());
    assert_eq!(trial(DEAD_LOOP, &limited), trial(DEAD_LOOP, &hot()));
    assert_snapshot!(
        trial(DEAD_LOOP, &hot()),
        @"7 of 7 pods that stay do so because of where their replacements could land; once the \
    taints of `steering` are set, 3 evictions would bring 1 of 1 hot node to target; without them 0"
    );
}

#[test]
fn without_anything_to_gain_there_is_no_trial() {
    // The taint is already set.
    let steered = DEAD_LOOP.replace("node n1", &format!("node n1 {HOT_TAINT}"));
    assert_eq!(trial(&steered, &hot()), "");
    // The candidates may not be evicted at all.
    let protected = DEAD_LOOP.replace("uses=1", "uses=1 emptydir");
    assert_eq!(trial(&protected, EVEN), "");
    // No other node may run the pods.
    let bound = "node n1\n web*6 cpu=100m uses=1 on=kubernetes.io/hostname:n1\nnode n2";
    assert_eq!(trial(bound, EVEN), "");
}

#[test]
fn releasing_removes_every_taint() {
    let cluster = Cluster::parse(&format!(
        "node n1 {HOT_TAINT}\nnode n2 {EMPTYING_TAINT}\nnode n3 taint=a=b:NoSchedule"
    ));
    let policy = parse(EVEN);
    let released = steering::release(&cluster.snapshot(&policy), &policy);
    let lines: Vec<String> =
        released.iter().map(|s| format!("{} {}: {}", s.node, s.action.code(), s.why)).collect();
    assert_snapshot!(lines.join("\n"), @"
    n1 remove: evenkeel exits and removes its taints
    n2 remove: evenkeel exits and removes its taints
    ");
}

#[test]
fn a_descheduler_policy_and_exact_mode_do_not_steer() {
    let theirs = "{apiVersion: descheduler/v1alpha2, kind: DeschedulerPolicy,
     profiles: [{name: p, pluginConfig:
        [{name: LowNodeUtilization, args: {thresholds: {cpu: 20}, targetThresholds: {cpu: 50}}}],
        plugins: {balance: {enabled: [LowNodeUtilization]}}}]}";
    assert!(!Policy::parse("p.yaml", theirs).unwrap().steering.is_on());
    assert!(!parse(&hot()).exactly().steering.is_on());
}

#[test]
fn the_plan_as_json_names_node_action_value_and_reason() {
    let plan = Cluster::parse("node n1\n web*6 cpu=100m uses=1\nnode n2").plan(&hot());
    assert_snapshot!(serde_json::to_string_pretty(&plan.steering).unwrap(), @r#"
    [
      {
        "node": "n1",
        "action": "add",
        "value": "hot",
        "code": "hot",
        "message": "cpu 75% is above the target 50%: new pods should land elsewhere"
      }
    ]
    "#);
}

#[test]
fn a_taint_that_no_strategy_can_cause_is_a_warning() {
    let policy = parse(&format!("steering: {{taintEmptying: true}}\n{EVEN}"));
    let warnings: Vec<String> = policy.warnings.iter().map(ToString::to_string).collect();
    assert_snapshot!(
        warnings.join("\n"),
        @"steering: taintEmptying has no effect without the strategy highNodeUtilization"
    );
}
