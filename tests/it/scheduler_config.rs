//! Landings by the scheduler's own configuration.

use evenkeel::model::plan::Plan;
use evenkeel::policy::SchedulerConfig;

use crate::it::support::{Cluster, EVEN, parse, text};

/// n1 is hot; n2 is idle, though half requested; n3 is idle.
const CLUSTER: &str = "
    node n1
      hot*2 cpu=100m uses=3
    node n2
      idle cpu=4 memory=16Gi uses=100m
    node n3
";

fn plan(cluster: &str, profiles: &str) -> Plan {
    let head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
    let config = SchedulerConfig::parse("sched.yaml", &format!("{head}{profiles}"))
        .unwrap_or_else(|e| panic!("{e}"));
    Cluster::parse(cluster).plan_by(parse(EVEN).with_schedulers(config))
}

fn packing(name: &str) -> String {
    format!(
        "profiles: [{{schedulerName: {name}, pluginConfig:
           [{{name: NodeResourcesFit, args: {{scoringStrategy: {{type: MostAllocated}}}}}}]}}]"
    )
}

fn landings(plan: &Plan) -> Vec<&str> {
    assert!(!plan.moves.is_empty(), "{}", text(plan));
    plan.moves.iter().map(|m| m.to.as_deref().unwrap()).collect()
}

#[test]
fn a_scheduler_that_packs_is_foreseen_to_pack() {
    assert!(landings(&plan(CLUSTER, "")).iter().all(|to| *to == "n3"));
    assert!(landings(&plan(CLUSTER, &packing("default-scheduler"))).iter().all(|to| *to == "n2"));
}

#[test]
fn each_pod_lands_as_its_own_scheduler_says() {
    assert!(landings(&plan(CLUSTER, &packing("packer"))).iter().all(|to| *to == "n3"));
    let theirs = CLUSTER.replace("uses=3\n", "uses=3 scheduler=packer\n");
    assert!(landings(&plan(&theirs, &packing("packer"))).iter().all(|to| *to == "n2"));
}

#[test]
fn where_scores_are_unknown_any_node_may_win_and_the_own_one_too() {
    let unknown =
        "profiles: [{plugins: {score: {enabled: [{name: TargetLoadPacking, weight: 5}]}}}]";
    let plan = plan(CLUSTER, unknown);
    assert!(plan.moves.is_empty(), "{}", text(&plan));
    assert!(plan.kept.iter().all(|k| k.refusal.code() == "would-return"), "{}", text(&plan));
}

#[test]
fn a_scheduler_that_is_not_known_may_choose_a_node_again_despite_its_taint() {
    let kept = |policy: &str, pod: &str| {
        let cluster = format!(
            "
            node n1 taint=fargate:NoSchedule
              hot*2 cpu=100m uses=3 {pod}
            node n2
            node n3
            "
        );
        let plan = Cluster::parse(&cluster).plan(policy);
        let codes = plan.kept.iter().map(|k| k.refusal.code().to_owned());
        (plan.moves.len(), codes.collect::<Vec<_>>())
    };
    for policy in [EVEN, "strategies: [removePodsViolatingNodeTaints]\n"] {
        assert!(kept(policy, "").0 > 0, "{policy}");
        let (moves, codes) = kept(policy, "scheduler=fargate-scheduler");
        assert_eq!((moves, codes), (0, vec!["would-return".to_owned(); 2]), "{policy}");
    }
}
