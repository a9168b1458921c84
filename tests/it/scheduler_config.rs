//! Landings by the scheduler's own configuration.

use evenkeel::plan::Plan;
use evenkeel::policy::SchedulerConfig;

use crate::kit::{Cluster, EVEN, parse, text};

/// n1 is hot; n2 is idle, though half requested; n3 is idle.
const CLUSTER: &str = "
    node n1
      hot*6 cpu=100m uses=1
    node n2
      idle cpu=4 memory=16Gi uses=100m
    node n3
";

fn plan(cluster: &str, profiles: &str) -> Plan {
    let head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
    let config = SchedulerConfig::parse("sched.yaml", &format!("{head}{profiles}")).unwrap_or_else(|e| panic!("{e}"));
    Cluster::parse(cluster).plan_by(parse(EVEN).with_schedulers(config))
}

fn packing(name: &str) -> String {
    format!(
        "profiles: [{{schedulerName: {name}, pluginConfig:
           [{{name: NodeResourcesFit, args: {{scoringStrategy: {{type: MostAllocated}}}}}}]}}]"
    )
}

/// Where the first pod is foreseen to land; those after it are spread by the default profile.
fn landing(plan: &Plan) -> &str {
    plan.moves.first().and_then(|m| m.to.as_deref()).unwrap_or_else(|| panic!("{}", text(plan)))
}

#[test]
fn a_scheduler_that_packs_is_foreseen_to_pack() {
    assert_eq!(landing(&plan(CLUSTER, "")), "n3");
    assert_eq!(landing(&plan(CLUSTER, &packing("default-scheduler"))), "n2");
}

#[test]
fn each_pod_lands_as_its_own_scheduler_says() {
    assert_eq!(landing(&plan(CLUSTER, &packing("packer"))), "n3");
    let theirs = CLUSTER.replace("uses=1\n", "uses=1 scheduler=packer\n");
    assert_eq!(landing(&plan(&theirs, &packing("packer"))), "n2");
}

#[test]
fn where_scores_are_unknown_any_node_may_win_and_the_own_one_too() {
    let unknown = "profiles: [{plugins: {score: {enabled: [{name: TargetLoadPacking, weight: 5}]}}}]";
    let plan = plan(CLUSTER, unknown);
    assert!(plan.moves.is_empty(), "{}", text(&plan));
    assert!(plan.kept.iter().all(|k| k.refusal.code() == "would-return"), "{}", text(&plan));
}
