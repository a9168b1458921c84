//! LowNodeUtilization: which nodes are hot, which pods move, and when it stops.

use std::fmt::Write as _;

use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::Plan;
use evenkeel::model::snapshot::objects::Object;
use evenkeel::values::Ratio;
use insta::assert_snapshot;

use crate::it::support::{Cluster, EVEN, nodes, noon, parse, text};

/// Three hot nodes with heavy pods, and seven newer nodes with light ones.
fn late_nodes() -> Cluster {
    let mut text = String::new();
    for (node, heavy, light) in
        [(1, 7, 1), (2, 7, 1), (3, 6, 2)].into_iter().chain((4..=10).map(|n| (n, 0, 8)))
    {
        let _ = writeln!(text, "node n{node}\n agent cpu=100m uses=100m/200Mi daemon");
        let _ = writeln!(
            text,
            " hot*{heavy} cpu=100m uses=1/200Mi\n cold*{light} cpu=100m uses=50m/200Mi"
        );
    }
    Cluster::parse(&text)
}

fn moved(plan: &Plan, app: &str) -> usize {
    plan.moves.iter().filter(|m| m.pod.starts_with(app)).count()
}

#[test]
fn late_nodes_take_eleven_heavy_pods_and_no_light_one() {
    let plan = late_nodes().plan(EVEN);
    assert_eq!((moved(&plan, "hot"), moved(&plan, "cold"), plan.moves.len()), (11, 0, 11));
    let hottest =
        plan.after.nodes.iter().filter_map(|n| n.ratios["cpu"]).map(Ratio::get).fold(0.0, f64::max);
    assert!(hottest <= 0.5, "{hottest}");
}

#[test]
fn the_same_cluster_is_balanced_by_requests() {
    let plan = late_nodes()
        .plan(&EVEN.replace("thresholds: {cpu: 30%}", "basis: requests, thresholds: {cpu: 30%}"));
    assert_snapshot!(
        text(&plan),
        @"default: every node that takes part is below its thresholds: idle, not unbalanced"
    );
    assert_eq!(plan.nodes.len(), 10);
    assert!(
        nodes(&plan).lines().all(|l| l.ends_with("at or below every threshold: may take pods"))
    );
}

#[test]
fn light_pods_do_not_replace_heavy_pods_that_wait_for_a_limit() {
    let policy = format!(
        "limits: {{perWorkload: 25%, perNode: none, perCycle: none, perMinute: none}}\n{EVEN}"
    );
    let plan = late_nodes().plan(&policy);
    assert_eq!((moved(&plan, "hot"), moved(&plan, "cold")), (5, 0));
    assert!(plan.kept.iter().all(|k| k.refusal.code() == "workload-limit"), "{}", text(&plan));
}

#[test]
fn many_light_pods_leave_a_node_whose_heaviest_pod_must_stay() {
    let cluster = "\
node n1
  rock cpu=100m uses=5 stay
  web*30 cpu=100m uses=80m
node n2
node n3
";
    let plan = Cluster::parse(cluster).plan(&EVEN.replace("50%", "60%"));
    let moved = plan.moves.iter().filter(|m| m.pod.starts_with("web")).count();
    assert!(moved >= 18 && moved == plan.moves.len(), "{}", text(&plan));
}

/// The pods are on a node that has just disappeared, or that cannot be read.
#[test]
fn starting_pods_of_an_unknown_node_do_not_count_as_pending() {
    let mut cluster =
        Cluster::parse("node n1\n web*6 cpu=100m uses=1\nnode n2\n new*6 creating=1m");
    let snapshot = cluster.snapshot(&parse(EVEN));
    for pod in snapshot.pods.iter().filter(|pod| pod.labels["app"] == "new") {
        let mut pod = (**pod.facts()).clone();
        pod.node = Some("n3".to_owned());
        cluster.objects.apply(Object::Pod(Box::new(pod)));
    }
    assert_eq!(cluster.plan(EVEN).halted, None);
}

#[test]
fn the_balance_of_an_exact_plan_counts_replacements_where_they_are_expected() {
    let cluster = Cluster::parse("node n1\n web*7 cpu=100m uses=1\nnode n2\nnode n3");
    let (engine, snapshot) = cluster.seen(parse(EVEN).exactly(), Ledger::default());
    let observed = engine.join_usage(&snapshot, noon());
    let mut plan = engine.decide_observed(&observed, |_| {});
    engine.predict_landings(&observed, &mut plan);
    assert!(!plan.moves.is_empty());
    let (before, after) = (plan.before.balance["cpu"], plan.after.balance["cpu"]);
    assert_eq!(after.mean.to_string(), before.mean.to_string());
    assert!(after.deviation < before.deviation);
}
