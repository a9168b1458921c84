//! The gates: which pods stay, and the reason in the plan.

use std::collections::BTreeSet;

use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::Plan;
use evenkeel::policy::Policy;
use insta::assert_snapshot;

use crate::it::support::{Cluster, EVEN, noon, parse, text};

#[test]
fn descheduler_policies_keep_the_marks_of_other_tools_unless_the_mode_is_exact() {
    let policy = "
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: p
  pluginConfig:
  - {name: PodLifeTime, args: {maxPodLifeTimeSeconds: 60}}
  plugins: {deschedule: {enabled: [PodLifeTime]}}
";
    let cluster = Cluster::parse(
        "
        node n1
          train*2 cpu=100m gang=train
          batch cpu=100m safe-to-evict=false
          model cpu=100m do-not-disrupt=true
          video cpu=100m devices
          web cpu=100m
        node n2
        ",
    );
    let plan = |exact: bool| {
        let policy = Policy::parse("policy.yaml", policy).unwrap();
        cluster.plan_by(if exact { policy.exactly() } else { policy })
    };
    let moved = |plan: &Plan| plan.moves.iter().map(|m| m.pod.clone()).collect::<Vec<_>>();
    assert_eq!(moved(&plan(false)), ["web-1"]);
    assert_eq!(moved(&plan(true)).len(), 6);
}

/// The effect of a lower `minReplicas` on a cluster as a sentence; empty without a trial.
fn replica_trial(cluster: &str, policy: &str) -> String {
    let cluster = Cluster::parse(cluster);
    let (engine, snapshot) = cluster.seen(parse(policy), Ledger::default());
    let observed = engine.join_usage(&snapshot, noon());
    let plan = engine.decide_observed(&observed, |_| {});
    let trial = engine.replica_trial(&observed, engine.ledger(), &plan);
    trial.map(|trial| trial.to_string()).unwrap_or_default()
}

const SINGLES: &str = "
node n1
  a cpu=100m uses=1
  b cpu=100m uses=1
  c cpu=100m uses=1
  d cpu=100m uses=1
  e cpu=100m uses=1
node n2
  f cpu=100m uses=2
  g cpu=100m uses=2
  h cpu=100m uses=2
node n3
node n4
";

#[test]
fn a_trial_shows_what_single_replicas_cost() {
    assert_snapshot!(
        replica_trial(SINGLES, EVEN),
        @"8 of 8 pods that stay on hot nodes are single replicas; with \
      `evictable.minReplicas: 1`, 2 evictions would bring 2 of 2 hot nodes to target; without it 0"
    );
    // The limits of a cycle do not apply to the trial.
    let limited = format!("limits: {{perCycle: 0}}\n{EVEN}");
    assert_eq!(replica_trial(SINGLES, &limited), replica_trial(SINGLES, EVEN));
    let pairs = SINGLES.replace("node n4", "node n4\n a cpu=100m uses=0");
    let three = format!("evictable: {{minReplicas: 3}}\n{EVEN}");
    let said = replica_trial(&pairs, &three);
    assert!(said.contains("belong to workloads with too few replicas; with"), "{said}");
}

#[test]
fn without_single_replicas_or_without_a_gain_there_is_no_replica_trial() {
    // The only pods that may move do so.
    assert_eq!(replica_trial(SINGLES, &format!("evictable: {{minReplicas: 1}}\n{EVEN}")), "");
    // Other nodes cannot take the pods.
    let full = SINGLES.replace("node n3", "").replace("node n4", "node n4 taint=a:NoSchedule");
    assert_eq!(replica_trial(&full, EVEN), "");
    // Most candidates stay for another reason.
    let local = SINGLES.replace("uses=1", "uses=1 emptydir").replace("uses=2", "uses=2 stay");
    assert_eq!(replica_trial(&local, EVEN), "");
}

/// Outside of a window the plan lists the pods that would move now.
#[test]
fn outside_a_window_the_plan_lists_the_pods_that_would_move() {
    let cluster = Cluster::parse(
        "
        node n1
          web*7 cpu=100m uses=1
        node n2
          web cpu=100m uses=100m
        node n3
        node n4
        ",
    );
    let today = noon().strftime("%a").to_string();
    let open = cluster.plan(&format!("windows: {{allow: ['{today} 11:00-13:00']}}\n{EVEN}"));
    assert!(!open.moves.is_empty(), "{}", text(&open));
    let closed = cluster.plan(&format!("windows: {{forbid: ['{today} 11:00-13:00']}}\n{EVEN}"));
    assert!(closed.moves.is_empty(), "{}", text(&closed));
    let named = |pods: Vec<&str>| pods.into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
    assert_eq!(
        named(closed.kept.iter().map(|kept| kept.pod.as_str()).collect()),
        named(open.moves.iter().map(|planned| planned.pod.as_str()).collect()),
    );
    for kept in &closed.kept {
        assert_eq!(kept.refusal.code(), "outside-window");
        assert_eq!(
            kept.refusal.to_string(),
            "the windows of the policy forbid evictions for another 1h"
        );
    }
}

#[test]
fn a_replacement_that_comes_back_brings_its_usage_back() {
    let cluster = Cluster::parse("node n1\n web cpu=500m uses=100m\nnode n2\n api*2 cpu=2 uses=2");
    let plan = cluster.plan(
        "forecast: {tolerance: 100%}
evictable: {minReplicas: 1}
strategies: [{highNodeUtilization: {basis: actual, thresholds: {cpu: 20%}}}]",
    );
    assert_eq!(plan.moves[0].to.as_deref(), Some("n1"));
    assert_eq!(plan.after.nodes, plan.before.nodes);
}
