//! Moves that would mend one preference of a pod and break another.

use insta::assert_snapshot;

use crate::it::support::{Cluster, text};

const SPREAD: &str = "strategies: [{removePodsViolatingTopologySpreadConstraint: {constraints: [DoNotSchedule, ScheduleAnyway]}}]";

/// Two pods in each zone, and two of them on one host, with these constraints.
fn zones(spread: &str) -> Cluster {
    Cluster::parse(&format!(
        "node a1 labels=zone:a\n web cpu=300m spread={spread}
         node a2 labels=zone:a\n web cpu=300m spread={spread}
         node a3 labels=zone:a
         node b1 labels=zone:b\n web*2 cpu=300m spread={spread}"
    ))
}

#[test]
fn a_move_that_mends_the_hosts_and_breaks_the_zones_is_no_gain() {
    let plan = zones("zone:1:soft,kubernetes.io/hostname:1:soft").plan(SPREAD);
    assert!(plan.moves.is_empty(), "{}", text(&plan));
    let sentences: Vec<String> = plan.kept.iter().map(|k| k.refusal.to_string()).collect();
    let expected = "its replacement could land on a3, where the move would break another \
        preference: its soft topology spread constraint on zone";
    assert_eq!(sentences, [expected; 2]);
}

#[test]
fn a_move_that_breaks_nothing_is_a_gain() {
    assert_eq!(zones("kubernetes.io/hostname:1:soft").plan(SPREAD).moves.len(), 1);
    // The zones may differ by two.
    let plan = zones("zone:2:soft,kubernetes.io/hostname:1:soft").plan(SPREAD);
    assert_eq!(plan.moves.len(), 1, "{}", text(&plan));
}

#[test]
fn a_requirement_goes_before_a_preference() {
    let plan = zones("zone:1:soft,kubernetes.io/hostname:1:hard").plan(SPREAD);
    assert_eq!(plan.moves.len(), 1, "{}", text(&plan));
}

#[test]
fn a_preferred_node_is_no_gain_where_the_spread_would_be_broken() {
    let policy = "strategies: [{removePodsViolatingNodeAffinity: {nodeAffinityType: [preferredDuringSchedulingIgnoredDuringExecution]}}]";
    let cluster = |spread: &str| {
        Cluster::parse(&format!(
            "node n1\n web cpu=100m prefers=disk:ssd*100 {spread}
             node n2 labels=disk:ssd\n web*2 cpu=100m prefers=disk:ssd*100 {spread}"
        ))
    };
    assert_eq!(cluster("").plan(policy).moves.len(), 1);
    let plan = cluster("spread=kubernetes.io/hostname:1 soft").plan(policy);
    assert!(plan.moves.is_empty(), "{}", text(&plan));
}

#[test]
fn a_soft_taint_is_no_reason_to_leave_a_preferred_node() {
    let policy = "strategies: [{removePodsViolatingNodeTaints: {includePreferNoSchedule: true}}]";
    let cluster = |prefers: &str| {
        Cluster::parse(&format!(
            "node n1 labels=disk:ssd taint=old:PreferNoSchedule\n web*2 cpu=100m {prefers}\nnode n2"
        ))
    };
    assert!(!cluster("").plan(policy).moves.is_empty());
    // The taint weighs more for the scheduler, so the pod would lose its preferred node.
    let plan = cluster("prefers=disk:ssd*1").plan(policy);
    assert!(plan.moves.is_empty(), "{}", text(&plan));
}

#[test]
fn a_soft_taint_is_no_reason_to_land_on_a_hot_node() {
    let taints = "{removePodsViolatingNodeTaints: {includePreferNoSchedule: true}}";
    let balance = "{lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%}}}";
    let plan = |strategies: &str| {
        let cluster = Cluster::parse(
            "node n1 taint=old:PreferNoSchedule
               web cpu=1 uses=500m
             node n2
               lone cpu=1 uses=4500m bare",
        );
        let policy = format!("evictable: {{minReplicas: 1}}\nstrategies: [{strategies}]");
        text(&cluster.plan(&policy))
    };
    assert_snapshot!(
        plan(taints),
        @"move web-1 from n1 to n2: does not tolerate the taint old:PreferNoSchedule of its node"
    );
    assert_snapshot!(plan(&format!("{balance}, {taints}")), @r"
    keep web-1 on n1: its replacement could land on n2, where cpu usage would reach 62%, above the target of 60%
    default: no node that takes part is above its target
    ");
}

#[test]
fn a_soft_taint_is_left_only_for_fewer_soft_taints() {
    let policy = "evictable: {minReplicas: 1}
strategies: [{removePodsViolatingNodeTaints: {includePreferNoSchedule: true}}]";
    let plan = |n1: &str, n2: &str| {
        let cluster = format!("node n1 taint={n1}\n web cpu=1\nnode n2 taint={n2}");
        text(&Cluster::parse(&cluster).plan(policy))
    };
    let soft = "old:PreferNoSchedule";
    assert_eq!(plan(soft, soft), "");
    let moves = "move web-1 from n1 to n2: does not tolerate the taint old:PreferNoSchedule of its \
        node";
    let two = format!("{soft},older:PreferNoSchedule");
    assert_eq!(plan(&two, soft), moves);
    assert_eq!(plan(soft, &two), "");
    // A taint that keeps pods away goes first.
    let hard = format!("{soft},closed:NoSchedule");
    assert_eq!(
        plan(&hard, soft),
        "move web-1 from n1 to n2: does not tolerate the taint closed:NoSchedule of its node"
    );
}

#[test]
fn a_node_is_hot_by_the_lowest_target_of_all_rules() {
    let rule = |target: u8| {
        format!(
            "- lowNodeUtilization: {{sustainedFor: 0s, thresholds: {{cpu: 20%}}, \
             targetThresholds: {{cpu: {target}%}}}}\n"
        )
    };
    let plan = |targets: [u8; 2]| {
        let rules = targets.map(rule).concat();
        let policy = format!(
            "evictable: {{minReplicas: 1}}\nstrategies:\n{rules}- \
             removePodsViolatingNodeAffinity: {{nodeAffinityType: \
             [preferredDuringSchedulingIgnoredDuringExecution]}}\n"
        );
        let cluster = "node n1\n web cpu=1 uses=1 prefers=disk:ssd*50
             node n2 labels=disk:ssd\n lone cpu=1 uses=4 bare";
        text(&Cluster::parse(cluster).plan(&policy))
    };
    let kept = "keep web-1 on n1: its replacement could land on n2, where cpu usage would reach 62%, \
        above the target of 60%";
    assert!(plan([60, 80]).starts_with(kept));
    assert!(plan([80, 60]).starts_with(kept));
    assert!(plan([80, 80]).starts_with("move web-1"));
}

/// LowNodeUtilization would move the pod back, and so on for ever. The mean is 40 %.
#[test]
fn a_preference_is_no_reason_to_land_on_a_node_that_is_hot_by_the_mean() {
    let plan = |above: u8| {
        let policy = format!(
            "evictable: {{minReplicas: 1}}
strategies:
- removePodsViolatingNodeAffinity: {{nodeAffinityType: [preferredDuringSchedulingIgnoredDuringExecution]}}
- lowNodeUtilization: {{useDeviationThresholds: true, thresholds: {{cpu: 10%}}, targetThresholds: {{cpu: {above}%}}}}"
        );
        let cluster =
            "node n1 cpu=10\n web cpu=1 uses=2 prefers=disk:ssd*50\n rock cpu=1 uses=3 bare
             node n2 cpu=10 labels=disk:ssd\n lone cpu=1 uses=3 bare";
        text(&Cluster::parse(cluster).plan(&policy))
    };
    let kept = "keep web-1 on n1: its replacement could land on n2, where cpu usage would reach \
        50%, above the target of 45%";
    assert!(plan(5).starts_with(kept), "{}", plan(5));
    assert!(plan(10).starts_with("move web-1 from n1 to n2"), "{}", plan(10));
}

/// The mean is 35 % by requests and 30 % by usage. The second rule would move the pod back.
#[test]
fn a_rule_fills_no_node_that_is_hot_by_the_mean_of_another_rule() {
    let plan = |above: u8| {
        let rule = |basis: &str, above: u8| {
            format!(
                "- lowNodeUtilization: {{basis: {basis}, useDeviationThresholds: true, \
                 thresholds: {{cpu: 10%}}, targetThresholds: {{cpu: {above}%}}}}\n"
            )
        };
        let rules = [rule("requests", 10), rule("actual", above)].concat();
        let cluster = "node n1 cpu=10\n web cpu=3 uses=1\n rock cpu=3 uses=1 bare
             node n2 cpu=10\n lone cpu=1 uses=4 bare";
        let policy = format!("evictable: {{minReplicas: 1}}\nstrategies:\n{rules}");
        text(&Cluster::parse(cluster).plan(&policy))
    };
    let kept = "keep web-1 on n1: its replacement could land on n2, where cpu usage would reach \
        50%, above the target of 45%";
    assert!(plan(15).contains(kept), "{}", plan(15));
    assert!(plan(25).contains("move web-1 from n1 to n2"), "{}", plan(25));
}

#[test]
fn a_preference_is_no_reason_to_fill_a_node_that_is_being_emptied() {
    // Both nodes have a taint, so that kube-scheduler prefers the empty one.
    let plan = |value: &str| {
        let taint = |value: &str| format!("taint=evenkeel.io/steer={value}:PreferNoSchedule");
        let cluster =
            format!("node n1 {}\n web*2 cpu=100m\nnode n2 {}", taint("hot"), taint(value));
        Cluster::parse(&cluster).plan("strategies: [removeDuplicates]")
    };
    assert_eq!(plan("hot").moves.len(), 1);
    assert_snapshot!(text(&plan("emptying")), @"
    keep web-2 on n1: its replacement could land on n2, where the move would improve nothing: n2 \
        is to be emptied or to stay empty itself
    ");
}
