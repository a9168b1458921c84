//! Steering: which nodes gain the soft taint, which keep it, and which lose it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use evenkeel::decide::engine::Engine;
use evenkeel::decide::steering;
use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::{Plan, SteerValue};
use evenkeel::policy::{FitStrategy, Policy};
use insta::assert_snapshot;

use crate::it::support::{Cluster, EVEN, after, noon, parse, text};

const HOT_TAINT: &str = "taint=evenkeel.io/steer=hot:PreferNoSchedule";
const EMPTYING_TAINT: &str = "taint=evenkeel.io/steer=emptying:PreferNoSchedule";
const FULL_TAINT: &str = "taint=evenkeel.io/steer=full:PreferNoSchedule";

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

#[test]
fn only_a_hot_node_gains_the_taint() {
    let cluster = "
        node n1
          web*6 cpu=100m uses=1
        node n2
          web*3 cpu=100m uses=1
        node n3
    ";
    assert_snapshot!(
        of(cluster, &hot()),
        @"n1 add hot: cpu 75% is above the target 50%: new pods should land elsewhere"
    );
}

#[test]
fn without_the_setting_no_node_is_tainted() {
    assert_eq!(of("node n1\n web*6 cpu=100m uses=1\nnode n2", EVEN), "");
    let off = format!("steering: {{taintHot: false, taintEmptying: true}}\n{EVEN}");
    assert_eq!(of("node n1\n web*6 cpu=100m uses=1\nnode n2", &off), "");
}

#[test]
fn the_taint_stays_until_the_node_is_at_sixty_five_percent_of_its_target() {
    // n1 to n4 use 75 %, 36 %, 36 % and 32 %. A node has cooled at 32.5 %, and is warm above 37.5 %.
    let cluster = format!(
        "
        node n1 {HOT_TAINT}
          web*6 cpu=100m uses=1
        node n2 {HOT_TAINT}
          web*4 cpu=100m uses=720m
        node n3
          web*4 cpu=100m uses=720m
        node n4 {HOT_TAINT}
          web*4 cpu=100m uses=640m
        "
    );
    assert_snapshot!(of(&cluster, &hot()), @"
    n1 keep hot: cpu 75% is above the target 50%: new pods should land elsewhere
    n2 keep hot: the node was hot, and cpu 36% is still above 32%
    n4 remove : the node has cooled
    ");
}

#[test]
fn while_a_node_is_hot_the_warm_ones_have_the_taint_as_well() {
    // n2 to n5 use 41 %, 36 %, 36 % and 32 %.
    let cluster = |hot: &str| {
        format!(
            "
            node n1
              web*6 cpu=100m uses={hot}
            node n2
              web*4 cpu=100m uses=820m
            node n3 {HOT_TAINT}
              web*4 cpu=100m uses=720m
            node n4
              web*4 cpu=100m uses=720m
            node n5 {HOT_TAINT}
              web*4 cpu=100m uses=640m
            node n6
            "
        )
    };
    let any = hot();
    assert_snapshot!(of(&cluster("1"), &any), @"
    n1 add hot: cpu 75% is above the target 50%: new pods should land elsewhere
    n2 add hot: other nodes are hot, and cpu 41% is above 38%
    n3 keep hot: the node was hot, and cpu 36% is still above 32%
    n5 remove : the node has cooled
    ");
    assert_snapshot!(of(&cluster("400m"), &any), @"
    n3 keep hot: the node was hot, and cpu 36% is still above 32%
    n5 remove : the node has cooled
    ");
    let one = hot().replace("maxNodes: none", "maxNodes: 1");
    assert!(of(&cluster("1"), &one).starts_with("n1 add hot"), "hot nodes come first");
}

#[test]
fn no_taint_goes_while_a_pod_of_a_stateful_set_is_to_land_elsewhere() {
    // n2 has cooled. Without its taint, the scheduler would prefer it to n3, and it would be hot.
    let cluster = |owner: &str| {
        format!(
            "
            node n1
              web*6 cpu=100m uses=1 {owner}
            node n2 {HOT_TAINT}
              api*2 cpu=50m uses=1200m
            node n3
              big*2 cpu=1500m uses=300m
            "
        )
    };
    let policy = hot();
    let stateful = Cluster::parse(&cluster("owner=StatefulSet")).plan(&policy);
    assert!(!stateful.moves.is_empty());
    assert_snapshot!(steering(&stateful), @"
    n1 add hot: cpu 75% is above the target 50%: new pods should land elsewhere
    n2 keep hot: a replacement that should land elsewhere has no node yet
    ");
    assert_snapshot!(of(&cluster(""), &policy), @"
    n1 add hot: cpu 75% is above the target 50%: new pods should land elsewhere
    n2 remove : the node has cooled
    ");
}

#[test]
fn without_a_strategy_that_knows_hot_nodes_the_taint_goes_because_nothing_asks_for_it() {
    let policy = "steering: {taintHot: true}\nstrategies: [removeDuplicates]";
    assert_snapshot!(
        of(&format!("node n1 {HOT_TAINT}\n web cpu=100m uses=7"), policy),
        @"n1 remove : the policy does not ask for steering"
    );
}

#[test]
fn a_node_with_unknown_usage_gains_no_taint() {
    let cluster = format!(
        "
        node n1 no-metrics {HOT_TAINT}
          web*6 cpu=100m no-metrics
        node n2 not-ready {HOT_TAINT}
        node n3
        node n4
        "
    );
    assert_snapshot!(of(&cluster, &hot()), @"
    n1 remove : no taint without reliable data: left alone: no samples
    n2 remove : no taint without reliable data: left alone: not ready
    ");
}

#[test]
fn an_unhealthy_cluster_is_not_steered() {
    let cluster = format!(
        "node n1 {HOT_TAINT}\n web*6 cpu=100m uses=1\nnode n2 not-ready\nnode n3 not-ready\nnode n4"
    );
    assert_snapshot!(
        of(&cluster, &hot()),
        @"n1 remove : no taint while nothing is evicted: 2 of 4 nodes are not ready; \
          safety.maxNotReady allows 40%"
    );
}

#[test]
fn taints_left_by_an_earlier_policy_or_a_crash_are_removed() {
    let cluster = format!(
        "
        node n1 {HOT_TAINT}
          web*6 cpu=100m uses=1
        node n2 {EMPTYING_TAINT}
        node n3 taint=evenkeel.io/steer=old:NoSchedule
        node n4 taint=dedicated=gpu:PreferNoSchedule
        "
    );
    assert_snapshot!(of(&cluster, EVEN), @"
    n1 remove : the policy does not ask for steering
    n2 remove : the policy does not ask for steering
    n3 remove : the policy does not ask for steering
    ");
    assert_snapshot!(of(&cluster, &hot()), @"
    n1 keep hot: cpu 75% is above the target 50%: new pods should land elsewhere
    n2 remove : the policy does not ask for steering
    n3 remove : the policy does not ask for steering
    ");
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
fn a_steering_taint_in_another_form_is_corrected() {
    let cluster = "node n1 taint=evenkeel.io/steer=hot:NoSchedule,a=b:NoSchedule\n web*6 cpu=100m \
        uses=1\nnode n2\nnode n3";
    assert_snapshot!(
        of(cluster, &hot()),
        @"n1 add hot: cpu 75% is above the target 50%: new pods should land elsewhere"
    );
}

#[test]
fn the_hottest_nodes_come_first_and_never_all_nodes_are_tainted() {
    let mut cluster = format!("node n1 {HOT_TAINT}\n web*8 cpu=100m uses=690m\n");
    for (node, uses) in [(2, 600), (3, 900), (4, 800), (5, 100)] {
        let _ = writeln!(cluster, "node n{node}\n web*8 cpu=100m uses={uses}m");
    }
    let most = |n: &str| hot().replace("maxNodes: none", &format!("maxNodes: {n}"));
    // Two of five nodes. n1 already has the taint, which does not wander to a hotter node.
    assert_snapshot!(of(&cluster, &most("40%")), @"
    n1 keep hot: cpu 69% is above the target 50%: new pods should land elsewhere
    n2 withhold hot: 2 of 5 nodes have the taint already, the most that steering.maxNodes allows
    n3 add hot: cpu 90% is above the target 50%: new pods should land elsewhere
    n4 withhold hot: 2 of 5 nodes have the taint already, the most that steering.maxNodes allows
    ");
    // A share below one node allows one node.
    assert!(of(&cluster, &most("1%")).starts_with("n1 keep hot"), "{}", of(&cluster, &most("1%")));
    assert_snapshot!(
        of(&cluster, &most("0")).lines().next().unwrap(),
        @"n1 remove : 0 of 5 nodes have the taint already, the most that steering.maxNodes allows"
    );
}

/// n2 to n5 use 38 %, 39 %, 46 % and 40 %.
#[test]
fn the_taint_of_a_warm_node_moves_to_a_clearly_warmer_one_if_pods_find_no_place() {
    let cluster = format!(
        "
        node n1
          web*6 cpu=100m uses=1
        node n2 {HOT_TAINT}
          web*4 cpu=100m uses=760m
        node n3 {HOT_TAINT}
          web*4 cpu=100m uses=780m
        node n4
          web*4 cpu=100m uses=920m
        node n5
          web*4 cpu=100m uses=800m
        "
    );
    let policy = hot().replace("maxNodes: none", "maxNodes: 3");
    let taints = of(&format!("{cluster}\nnode n6"), &policy);
    assert!(taints.contains("n3 keep") && taints.contains("n4 withhold"), "{taints}");
    assert_snapshot!(of(&cluster, &policy), @"
    n1 add hot: cpu 75% is above the target 50%: new pods should land elsewhere
    n2 remove : 3 of 5 nodes have the taint already, the most that steering.maxNodes allows
    n3 keep hot: the node was hot, and cpu 39% is still above 32%
    n4 add hot: other nodes are hot, and cpu 46% is above 38%
    n5 withhold hot: 3 of 5 nodes have the taint already, the most that steering.maxNodes allows
    ");
}

#[test]
fn warm_nodes_are_tainted_in_pools_with_a_hot_node_and_never_all_of_them() {
    let mut cluster = "node a1 labels=pool:a\n web*6 cpu=100m uses=1\n".to_owned();
    for (node, uses) in [("a2", 800), ("a3", 820), ("a4", 840), ("b1", 840)] {
        let pool = &node[..1];
        let _ = writeln!(cluster, "node {node} labels=pool:{pool}\n web*4 cpu=100m uses={uses}m");
    }
    for node in 2..10 {
        let _ = writeln!(cluster, "node b{node} labels=pool:b");
    }
    let pools = "nodePools: [{name: a, nodeSelector: pool=a}, {name: b, nodeSelector: pool=b}]";
    let policy = hot().replace("maxNodes: none", "maxNodes: 80%");
    let policy =
        policy.replace("thresholds: {cpu: 30%}", &format!("{pools}, thresholds: {{cpu: 30%}}"));
    assert_snapshot!(of(&cluster, &policy), @"
    a1 add hot: cpu 75% is above the target 50%: new pods should land elsewhere
    a2 withhold hot: 3 of 4 nodes have the taint already, the most that steering.maxNodes allows
    a3 add hot: other nodes are hot, and cpu 41% is above 38%
    a4 add hot: other nodes are hot, and cpu 42% is above 38%
    ");
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

#[test]
fn a_planned_move_does_not_cool_a_node() {
    let plan = Cluster::parse("node n1\n web*6 cpu=100m uses=1\nnode n2").plan(&hot());
    assert!(steering(&plan).starts_with("n1 add hot"), "{}", steering(&plan));
}

#[test]
fn the_emptiest_nodes_that_can_be_emptied_gain_the_taint() {
    let cluster = "
        node n1
          web*6 cpu=1
        node n2
          api*2 cpu=500m
        node n3
          web cpu=500m
        node n4
          alone cpu=500m bare
        node n5
          agent cpu=100m daemon
    ";
    assert_snapshot!(of(cluster, EMPTYING), @"
    n2 add emptying: the node is to be emptied: new pods should land elsewhere
    n3 add emptying: the node is to be emptied: new pods should land elsewhere
    n5 add emptying: the node is empty and should stay empty until it is removed
    ");
}

/// Without the taint, a scheduler that spreads would prefer n3 to every other node.
#[test]
fn empty_nodes_come_before_nodes_to_be_emptied() {
    let cluster = format!(
        "
        node n1
          web*6 cpu=1
        node n2 {EMPTYING_TAINT}
          web cpu=500m
        node n3
        node n4 cordoned {EMPTYING_TAINT}
        "
    );
    let limited = EMPTYING.replace("maxNodes: none", "maxNodes: 1");
    assert_snapshot!(of(&cluster, &limited), @"
    n2 remove : 1 of 4 nodes have the taint already, the most that steering.maxNodes allows
    n3 add emptying: the node is empty and should stay empty until it is removed
    n4 remove : the node is no longer to be emptied, or takes no new pods anyway
    ");
    assert_snapshot!(of(&cluster, EMPTYING), @"
    n2 keep emptying: the node is to be emptied: new pods should land elsewhere
    n3 add emptying: the node is empty and should stay empty until it is removed
    n4 remove : the node is no longer to be emptied, or takes no new pods anyway
    ");
}

#[test]
fn a_node_whose_pods_would_not_land_well_on_the_only_one_with_room_gains_no_taint() {
    let cluster = |second: &str| {
        format!(
            "
            node n1 labels=pool:a
              web cpu=500m
            node n2 {second}
              api*2 cpu=500m
              alone cpu=100m bare
            "
        )
    };
    let policy = EMPTYING.replace("minReplicas: 1", "minReplicas: 1, destinations: pool=a");
    let open = "labels=pool:a";
    assert!(of(&cluster(open), &policy).starts_with("n1 add emptying"));
    assert_eq!(of(&cluster("labels=pool:b"), &policy), "");
    let leaving = "taint=DeletionCandidateOfClusterAutoscaler:PreferNoSchedule";
    assert_eq!(of(&cluster(&format!("{open} {leaving}")), &policy), "");
}

#[test]
fn a_node_that_cluster_autoscaler_may_not_remove_gains_no_taint() {
    let cluster = "
        node n1
          web*6 cpu=1
        node n2 no-scale-down
          api*2 cpu=500m
        node n3
          db*2 cpu=500m safe-to-evict=false
    ";
    assert_eq!(of(cluster, EMPTYING), "");
}

#[test]
fn a_node_whose_pods_have_no_room_elsewhere_gains_no_taint() {
    let cluster = "
        node n1 cpu=2
          web*3 cpu=500m
        node n2
          api*2 cpu=500m memory=15Gi
        node n3
          db cpu=800m memory=4Gi
    ";
    assert_eq!(of(cluster, EMPTYING), "");
}

#[test]
fn an_empty_node_is_not_filled_in_order_to_empty_another() {
    let cluster = format!(
        "
        node n1 {EMPTYING_TAINT}
          web*2 cpu=500m
        node n2
          agent cpu=100m daemon
        node n3
          db*2 cpu=3900m
        "
    );
    assert_snapshot!(of(&cluster, EMPTYING), @"
    n1 remove : the node is no longer to be emptied, or takes no new pods anyway
    n2 add emptying: the node is empty and should stay empty until it is removed
    ");
}

#[test]
fn a_node_with_a_pod_that_a_budget_protects_gains_no_taint() {
    let cluster =
        "node n1\n web cpu=100m\n shop cpu=100m\nnode n2\n api*2 cpu=2\nbudget shop allows=0";
    assert_eq!(of(cluster, EMPTYING), "");
    assert!(
        of(&cluster.replace("budget shop", "budget none"), EMPTYING).starts_with("n1 add emptying")
    );
}

#[test]
fn the_taint_stays_until_replacements_have_a_node() {
    let policy = EMPTYING.replace("minReplicas: 1", "minReplicas: 2");
    let cluster = |taint: &str| {
        let pods = "web cpu=100m\n shop*2 cpu=100m\nnode n2\n api*2 cpu=2\n web cpu=100m unready";
        of(&format!("node n1 {taint}\n {pods}\nbudget shop allows=0"), &policy)
    };
    assert_eq!(cluster(""), "");
    assert_snapshot!(
        cluster(EMPTYING_TAINT),
        @"n1 keep emptying: the node is to be emptied: new pods should land elsewhere"
    );
}

#[test]
fn the_taint_stays_while_the_pods_of_a_stateful_set_wait_for_each_other() {
    let cluster = |taint: &str| {
        let db = "db cpu=100m owner=StatefulSet ordered";
        of(&format!("node n2\n api*2 cpu=2\n {db} unready\nnode n1 {taint}\n {db}"), EMPTYING)
    };
    assert_eq!(cluster(""), "");
    assert_snapshot!(
        cluster(EMPTYING_TAINT),
        @"n1 keep emptying: the node is to be emptied: new pods should land elsewhere"
    );
}

#[test]
fn a_node_whose_pods_would_make_every_other_node_hot_gains_no_taint() {
    let cluster = |uses: &str| {
        format!("node n1\n web*2 cpu=100m uses=700m\nnode n2\n api*2 cpu=2 uses={uses}")
    };
    assert_eq!(of(&cluster("2700m"), EMPTYING), "");
    assert!(of(&cluster("2400m"), EMPTYING).starts_with("n1 add emptying"));
    let low = "{lowNodeUtilization: {thresholds: {cpu: 10%}, targetThresholds: {cpu: 60%}}}";
    assert_eq!(of(&cluster("2400m"), &EMPTYING.replace("}}]", &format!("}}}}, {low}]"))), "");
}

#[test]
fn if_every_node_is_underused_emptier_nodes_go_to_fuller_ones() {
    let cluster = "
        node n1
          web*3 cpu=500m
        node n2
          web*2 cpu=500m
        node n3
          web cpu=500m
    ";
    assert_snapshot!(
        of(cluster, EMPTYING),
        @"
    n2 add emptying: the node is to be emptied: new pods should land elsewhere
    n3 add emptying: the node is to be emptied: new pods should land elsewhere
    "
    );
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

#[test]
fn a_node_with_the_taint_is_not_filled_so_that_the_taints_do_not_wander() {
    let cluster = format!(
        "
        node n1 {EMPTYING_TAINT}
          web cpu=500m
        node n2 {EMPTYING_TAINT}
          api cpu=600m
        node n3
          shop*2 cpu=500m
        "
    );
    assert_snapshot!(of(&cluster, EMPTYING), @"
    n1 keep emptying: the node is to be emptied: new pods should land elsewhere
    n2 keep emptying: the node is to be emptied: new pods should land elsewhere
    ");
}

#[test]
fn a_destination_of_the_plan_gains_no_taint_in_the_same_plan() {
    let cluster = format!(
        "
        node n1 {EMPTYING_TAINT}
          web cpu=500m
        node n2
          api cpu=600m
        node n3
          shop*2 cpu=1
        "
    );
    let plan = Cluster::parse(&cluster).plan(EMPTYING);
    let moves: Vec<_> =
        plan.moves.iter().map(|m| (m.pod.as_str(), m.to.as_deref().unwrap())).collect();
    assert_eq!(moves, [("web-1", "n2")]);
    assert_snapshot!(
        steering(&plan),
        @"n1 keep emptying: the node is to be emptied: new pods should land elsewhere"
    );
}

#[test]
fn an_empty_node_keeps_the_taint_and_a_node_in_use_loses_it() {
    let cluster = format!(
        "
        node n1
          web*6 cpu=1
        node n2 {EMPTYING_TAINT}
        node n3 {EMPTYING_TAINT}
          web*4 cpu=500m
        "
    );
    assert_snapshot!(of(&cluster, EMPTYING), @"
    n2 keep emptying: the node is empty and should stay empty until it is removed
    n3 remove : the node is no longer to be emptied, or takes no new pods anyway
    ");
}

/// The pods of n1 fit only on the empty node. Its taint makes n2 better for the scheduler.
#[test]
fn a_hot_node_whose_pods_find_no_better_place_gets_an_empty_node_back() {
    let cluster = |mid: &str| {
        format!(
            "
            node n1
              heavy*4 cpu=1500m uses=1500m
            node n2
              web*4 cpu=100m uses={mid}
            node n3 {EMPTYING_TAINT}
            node n4 {EMPTYING_TAINT}
            "
        )
    };
    let low = "{lowNodeUtilization: {thresholds: {cpu: 10%}, targetThresholds: {cpu: 60%}}}";
    let both = EMPTYING.replace("}}]", &format!("}}}}, {low}]"));
    let stuck = Cluster::parse(&cluster("1")).plan(&both);
    assert_eq!(stuck.moves.len(), 0);
    assert_snapshot!(steering(&stuck), @"
    n3 keep emptying: the node is empty and should stay empty until it is removed
    n4 remove : pods of the hot node n1 find no better place
    ");
    let cool = Cluster::parse(&cluster("100m")).plan(&both);
    assert_eq!(cool.moves.len(), 1);
    assert_snapshot!(steering(&cool), @"
    n3 keep emptying: the node is empty and should stay empty until it is removed
    n4 keep emptying: the node is empty and should stay empty until it is removed
    ");
}

#[test]
fn no_taint_of_emptying_goes_while_a_pod_of_a_stateful_set_is_to_land_elsewhere() {
    let cluster = |owner: &str| {
        format!(
            "
            node n1
              web*6 cpu=100m uses=1 {owner}
            node n2 {EMPTYING_TAINT}
              api*4 cpu=500m uses=100m
            node n3 {FULL_TAINT}
            node n4
            "
        )
    };
    let policy = hot().replace("taintHot: true", "taintHot: true, taintEmptying: true");
    assert_snapshot!(of(&cluster("owner=StatefulSet"), &policy), @"
    n1 add hot: cpu 75% is above the target 50%: new pods should land elsewhere
    n2 keep emptying: a replacement that should land elsewhere has no node yet
    n3 keep full: a replacement that should land elsewhere has no node yet
    ");
    assert_snapshot!(of(&cluster(""), &policy), @"
    n1 add hot: cpu 75% is above the target 50%: new pods should land elsewhere
    n2 remove : the node is no longer to be emptied, or takes no new pods anyway
    n3 remove : the node has room for pods that have to move, or no pod has to move any more
    ");
}

#[test]
fn number_of_nodes_applies_to_steering_as_well() {
    let cluster = "node n1\n web*6 cpu=1\nnode n2\n web cpu=500m";
    let policy = EMPTYING.replace("thresholds:", "numberOfNodes: 1, thresholds:");
    assert!(of(cluster, EMPTYING).starts_with("n2 add"));
    assert_eq!(of(cluster, &policy), "");
}

/// Seven heavy pods on n1, which they prefer, and three idle nodes.
const DEAD_LOOP: &str = "
node n1
  hot*7 cpu=100m uses=1 prefers=kubernetes.io/hostname:n1*100
node n2
node n3
node n4
";

fn dead_loop(taint: &str) -> Plan {
    Cluster::parse(&DEAD_LOOP.replace("node n1", &format!("node n1 {taint}"))).plan(&hot())
}

#[test]
fn a_pod_that_would_return_moves_once_the_taint_is_set() {
    let before = dead_loop("");
    assert!(
        before.moves.is_empty() && before.kept.iter().all(|k| k.refusal.code() == "would-return")
    );
    assert_eq!(before.steering.len(), 1);
    let after = dead_loop(HOT_TAINT);
    assert_eq!(after.moves.len(), 3, "{}", text(&after));
}

/// evenkeel may lack the permission to set taints, so a decision only counts on taints that exist.
#[test]
fn a_taint_that_is_only_planned_changes_no_decision() {
    let off = Cluster::parse(DEAD_LOOP).plan(EVEN);
    let on = Cluster::parse(DEAD_LOOP).plan(&hot());
    assert_eq!(steering(&on).lines().count(), 1);
    assert_eq!((off.moves, off.kept), (on.moves, on.kept));
}

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
fn a_node_is_emptied_once_the_scheduler_avoids_it() {
    // The scheduler spreads, so pods that leave the emptiest node return to it.
    let cluster = |taint: &str| {
        let nodes =
            format!("node n1\n web*6 cpu=1\nnode n2\n web*5 cpu=1\nnode n3 {taint}\n web cpu=1");
        Cluster::parse(&nodes).plan(EMPTYING)
    };
    let before = cluster("");
    assert!(before.moves.is_empty(), "{}", text(&before));
    assert_snapshot!(
        steering(&before),
        @"n3 add emptying: the node is to be emptied: new pods should land elsewhere"
    );
    let after = cluster(EMPTYING_TAINT);
    assert_eq!(
        after.moves.iter().map(|m| m.node.as_str()).collect::<Vec<_>>(),
        ["n3"],
        "{}",
        text(&after)
    );
    assert_snapshot!(
        steering(&after),
        @"n3 keep emptying: the node is to be emptied: new pods should land elsewhere"
    );
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
fn no_pod_is_evicted_because_of_a_steering_taint() {
    let policy = "
        evictable: {minReplicas: 1}
        strategies: [{removePodsViolatingNodeTaints: {includePreferNoSchedule: true}}]
    "
    .replace("\n        ", "\n");
    let cluster =
        |key: &str| format!("node n1 taint={key}=hot:PreferNoSchedule\n web cpu=100m\nnode n2");
    assert!(Cluster::parse(&cluster("evenkeel.io/steer")).plan(&policy).moves.is_empty());
    assert_snapshot!(
        text(&Cluster::parse(&cluster("other")).plan(&policy)),
        @"move web-1 from n1 to n2: does not tolerate the taint other=hot:PreferNoSchedule of its \
          node"
    );
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

#[test]
fn a_pod_that_stays_on_an_emptied_node_does_not_keep_it_from_being_emptied() {
    let cluster = "
        node n1
          api cpu=100m
          idle memory=10Mi stay
        node n2
          big cpu=4
    ";
    assert_eq!(of(cluster, EMPTYING), "");
    let only = "thresholds: {cpu: 20%}, evictionModes: [OnlyThresholdingResources]";
    let policy = EMPTYING.replace("thresholds: {cpu: 20%}", only);
    assert!(of(cluster, &policy).starts_with("n1 add emptying"), "{}", of(cluster, &policy));
}
