//! LowNodeUtilization: which nodes are hot, which pods move, and when it stops.

use std::fmt::Write as _;

use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::{Halt, Plan};
use evenkeel::model::snapshot::PodId;
use evenkeel::model::snapshot::facts::{PodFacts, PodPhase};
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

/// A rollout: nothing is known yet of pods that request much and may use little. A node seems neither
/// hot by them, nor to have that room.
#[test]
fn requests_of_new_pods_make_no_node_hot() {
    let plan = |fresh: &str| {
        let cluster = Cluster::parse(&format!(
            "
            node n1 cpu=8
              web*4 cpu=100m uses=600m
              {fresh}
            node n2 cpu=8
            node n3 cpu=8
            "
        ));
        cluster.plan(EVEN)
    };
    let rollout = plan("new*2 cpu=1500m age=5s no-metrics");
    assert!(rollout.moves.is_empty() && rollout.kept.is_empty(), "{}", text(&rollout));
    let class = |plan: &Plan| nodes(plan).lines().next().unwrap().to_owned();
    assert!(class(&rollout).contains("between threshold and target"), "{}", class(&rollout));
    // Once they are measured, their usage counts.
    assert!(!plan("new*2 cpu=1500m uses=1500m").moves.is_empty());
}

/// The sample of a node is of ten seconds. A pod that ran before them is part of it, and takes no
/// further room.
#[test]
fn a_pod_without_samples_counts_once_if_the_sample_of_its_node_includes_it() {
    let plan = |age: &str| {
        let cluster = Cluster::parse(&format!(
            "
            node n1 cpu=8
              web*8 cpu=100m uses=800m
            node n2 cpu=8 system=1
              new*3 cpu=1500m age={age} no-metrics
            "
        ));
        text(&cluster.plan(EVEN))
    };
    assert!(plan("20s").contains("move web-"), "{}", plan("20s"));
    assert!(!plan("5s").contains("move web-"), "{}", plan("5s"));
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
fn the_smallest_pod_that_suffices_moves() {
    let plan = Cluster::parse(
        "
        node n1
          small*2 cpu=100m uses=300m
          fits*2  cpu=100m uses=1600m
          large   cpu=100m uses=2800m
        node n2
        ",
    );
    // 6.6 of 8 cores are used, 0.6 too many, and 0.8 of room are left if possible. The large pod
    // would suffice too. One small pod would not.
    assert_snapshot!(text(&plan.plan("strategies: [{lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 75%}}}]\nevictable: {minReplicas: 1}")), @"move fits-1 from n1 to n2: node usage: cpu 82% is above its target \
        of 75%");
}

#[test]
fn the_least_important_of_equally_good_pods_moves() {
    let plan = Cluster::parse(
        "
        node n1
          a*2 cpu=100m uses=1500m priority=100
          b*2 cpu=100m uses=1500m priority=10
        node n2
        ",
    )
    .plan(EVEN);
    assert!(plan.moves[0].pod.starts_with("b-"), "{}", text(&plan));
}

#[test]
fn a_pod_that_does_not_use_the_overloaded_resource_stays() {
    let plan = Cluster::parse(
        "
        node n1
          eater*2  cpu=100m uses=0/9Gi
          burner*2 cpu=100m uses=2500m/0
        node n2
        ",
    )
    .plan(EVEN);
    assert_snapshot!(
        text(&plan),
        @"move burner-1 from n1 to n2: node usage: cpu 62% is above its target of 50%"
    );
}

#[test]
fn a_resource_that_no_pod_can_relieve_does_not_keep_the_pods_that_relieve_another() {
    let cluster = |rock: &str| {
        Cluster::parse(&format!(
            "
            node n1
              rock  cpu=100m uses=100m/{rock} stay
              web*6 cpu=100m uses=1
            node n2
            "
        ))
    };
    let policy = EVEN.replace("%}", "%, memory: 50%}");
    // Memory is below its target, or further above it than cpu.
    let plan = text(&cluster("10Gi").plan(&policy));
    assert_snapshot!(plan, @r"
    move web-1 from n1 to n2: node usage: cpu 76% is above its target of 50%
    move web-2 from n1 to n2: node usage: cpu 64% is above its target of 50%
    move web-3 from n1 to n2: node usage: cpu 51% is above its target of 50%
    ");
    let why = "keep rock-1 on n1: its annotation prefer-no-eviction asks not to evict it";
    assert_eq!(text(&cluster("31Gi").plan(&policy)), format!("{plan}\n{why}"));
}

#[test]
fn a_node_without_metrics_is_neither_source_nor_destination() {
    let plan = Cluster::parse(
        "
        node n1
          web*6 cpu=100m uses=1
        node n2 no-metrics
          web*6 cpu=100m no-metrics
        node n3
          web*1 cpu=100m uses=1
        ",
    )
    .plan(EVEN);
    assert_snapshot!(nodes(&plan), @r"
    n1: hot: cpu 75% is above the target 50%, and needs 2 evictions
    n2: left alone: no samples
    n3: at or below every threshold: may take pods
    ");
    assert!(
        plan.moves.iter().all(|m| m.node == "n1" && m.to.as_deref() == Some("n3")),
        "{}",
        text(&plan)
    );
    assert_eq!(plan.moves.len(), 2);
}

#[test]
fn a_cordoned_node_gives_pods_but_takes_none() {
    let plan = Cluster::parse(
        "
        node n1 cordoned
          web*6 cpu=100m uses=1
        node n2 cordoned
        node n3
        ",
    )
    .plan(EVEN);
    assert!(plan.moves.iter().all(|m| m.node == "n1" && m.to.as_deref() == Some("n3")));
    assert_eq!(plan.moves.len(), 2);
    assert!(nodes(&plan).contains("n2: at or below every threshold, but cordoned: takes no pods"));
}

#[test]
fn no_destination_becomes_hot() {
    let plan = Cluster::parse(
        "
        node n1
          web*7 cpu=100m uses=1
        node n2 cpu=2
        ",
    )
    .plan(EVEN);
    // One core is half of n2. A second one would be all of it.
    assert_eq!(plan.moves.len(), 1);
    assert_snapshot!(
        text(&plan).lines().last().unwrap(),
        @"keep web-7 on n1: its replacement could land on n2, where cpu usage would reach 100%, \
          above the target of 50%"
    );
}

#[test]
fn thresholds_may_be_deviations_from_the_mean() {
    let plan = Cluster::parse(
        "
        node n1
          web*4 cpu=100m uses=1
        node n2
          web*1 cpu=100m uses=1
        node n3
          web*1 cpu=100m uses=1
        ",
    )
    .plan(
        "strategies: [{lowNodeUtilization: {useDeviationThresholds: true, thresholds: {cpu: 10%},
          targetThresholds: {cpu: 10%}}}]",
    );
    // The mean is 25%: hot is above 35%, cold is at or below 15%.
    assert_snapshot!(text(&plan), @r"
    move web-1 from n1 to n2: node usage: cpu 50% is above its target of 35%
    move web-2 from n1 to n3: node usage: cpu 38% is above its target of 35%
    ");
}

#[test]
fn each_pool_is_balanced_separately() {
    let plan = Cluster::parse(
        "
        node a1 labels=pool:a
          web*6 cpu=100m uses=1
        node b1 labels=pool:b
        node b2 labels=pool:b
          db*6 cpu=100m uses=1
        ",
    )
    .plan(
        "strategies: [{lowNodeUtilization: {nodePools: [
           {name: a, nodeSelector: pool=a, thresholds: {cpu: 30%}, targetThresholds: {cpu: 50%}},
           {name: b, nodeSelector: pool=b, thresholds: {cpu: 30%},
             targetThresholds: {cpu: 70%}}]}}]",
    );
    assert_snapshot!(text(&plan), @r"
    move db-1 from b2 to b1: node usage: cpu 75% is above its target of 70%
    keep web-1 on a1: its replacement could land on b1, where the move would improve nothing: b1 is in another pool, b
    keep web-2 on a1: its replacement could land on b1, where the move would improve nothing: b1 is in another pool, b
    keep web-3 on a1: its replacement could land on b1, where the move would improve nothing: b1 is in another pool, b
    keep web-4 on a1: its replacement could land on b1, where the move would improve nothing: b1 is in another pool, b
    keep web-5 on a1: its replacement could land on b1, where the move would improve nothing: b1 is in another pool, b
    keep web-6 on a1: its replacement could land on b1, where the move would improve nothing: b1 is in another pool, b
    ");
}

#[test]
fn number_of_nodes_requires_more_cold_nodes_than_its_value() {
    let cluster = Cluster::parse(
        "
        node n1
          web*6 cpu=100m uses=1
        node n2
        ",
    );
    let policy = EVEN.replace("thresholds: {cpu: 30%}", "numberOfNodes: 1, thresholds: {cpu: 30%}");
    assert_snapshot!(
        text(&cluster.plan(&policy)),
        @"default: nodes below their thresholds: 1; numberOfNodes requires more than 1"
    );
}

#[test]
fn extended_resources_and_pods_count_by_requests() {
    let plan = Cluster::parse(
        "
        node n1 gpu=4
          train*4 cpu=100m gpu=1 uses=100m
        node n2 gpu=4
        node n3
        ",
    )
    .plan(
        "strategies: [{lowNodeUtilization: {thresholds: {nvidia.com/gpu: 25%},
          targetThresholds: {nvidia.com/gpu: 75%}}}]",
    );
    assert_snapshot!(
        text(&plan),
        @"move train-1 from n1 to n2: node usage: nvidia.com/gpu 100% is above its target of 75%"
    );
}

#[test]
fn an_unhealthy_cluster_is_not_touched() {
    let plan = Cluster::parse(
        "
        node n1
          web*6 cpu=100m uses=1
        node n2
        node n3 not-ready
        node n4 not-ready
        ",
    )
    .plan(EVEN);
    assert_snapshot!(
        text(&plan),
        @"halted: 2 of 4 nodes are not ready; safety.maxNotReady allows 40%"
    );
}

#[test]
fn gated_pods_do_not_count_as_pending() {
    let plan = |gated: bool, node: Option<&str>| {
        let mut cluster = Cluster::parse("node n1\n web*6 cpu=100m uses=1\nnode n2");
        let snapshot = cluster.snapshot(&parse(EVEN));
        for number in 0..6 {
            let name = format!("job-{number}");
            let node = node.map(str::to_owned);
            let mut pod =
                PodFacts { uid: name.clone(), name, node, ..(**snapshot.pod(PodId(0))).clone() };
            pod.gated = gated;
            (pod.phase, pod.ready, pod.started) = (PodPhase::Pending, false, None);
            cluster.objects.apply(Object::Pod(Box::new(pod)));
        }
        cluster.plan(EVEN)
    };
    assert!(matches!(plan(false, None).halted, Some(Halt::Pending { pending: 6, of: 12, .. })));
    assert_eq!(plan(true, None).halted, None);
    assert!(!plan(true, None).moves.is_empty());
    // Their node has just disappeared, or cannot be read.
    assert_eq!(plan(false, Some("n3")).halted, None);
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
