//! HighNodeUtilization: a node is emptied as a whole or not at all, by the forecast of the
//! scheduler and by real usage.

use evenkeel::decide::draft::Draft;
use evenkeel::decide::projection::World;
use evenkeel::decide::strategy;
use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::Plan;
use evenkeel::model::usage::{PodUsage, Unmeasured};
use evenkeel::policy::{FitStrategy, Policy, ScorePlugin};
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::it::support::{Cluster, nodes, noon, parse, text};

/// A policy that empties nodes at or below 20 % of cpu usage, in a cluster with a scheduler that
/// packs.
const BY_USAGE: &str = "
strategies: [{highNodeUtilization: {basis: actual, thresholds: {cpu: 20%}}}]
evictable: {minReplicas: 1}
limits: {perWorkload: none, perMinute: none, perCycle: none, perNode: none}";

fn packing(policy: &str) -> Policy {
    let mut policy = parse(policy);
    policy.scheduler.fit.strategy = FitStrategy::MostAllocated;
    policy.scheduler.weights[ScorePlugin::NodeResourcesBalancedAllocation] = 0;
    policy.scheduler.weights[ScorePlugin::PodTopologySpread] = 0;
    policy
}

fn moved(plan: &Plan) -> Vec<(&str, &str)> {
    plan.moves.iter().map(|m| (m.pod.as_str(), m.to.as_deref().unwrap())).collect()
}

#[test]
fn the_ceiling_of_usage_also_applies_on_the_basis_of_requests() {
    let policy = BY_USAGE.replace("actual", "requests");
    let cluster = Cluster::parse("node n1\n web cpu=100m uses=1500m\nnode n2\n api cpu=4 uses=5");
    let refusal = &cluster.plan_by(packing(&policy)).kept[0].refusal;
    assert_eq!(refusal.code(), "would-land-hot");
    assert!(refusal.remedy().contains("raise `highNodeUtilization.ceilings`"));
}

#[test]
fn a_pod_whose_samples_are_old_takes_its_last_usage_along() {
    let policy = packing(&BY_USAGE.replace("actual", "requests"));
    let cluster = "node n1\n web cpu=100m uses=1500m\nnode n2\n api cpu=4 uses=5";
    let (engine, snapshot) = Cluster::parse(cluster).seen(policy, Ledger::default());
    let mut usage = engine.usage(&snapshot, noon());
    let web = snapshot.find_pod("default", "web-1").unwrap();
    let last = usage.pod(web).unwrap();
    let old = Unmeasured::Stale(SignedDuration::from_mins(20));
    usage.pods[web.0] = PodUsage::Unknown(old, last);
    let mut draft = Draft::new(World::without_memory(engine.policy(), &snapshot, &usage, noon()));
    strategy::run(&mut draft, 0, |_, _| {});
    let refusals: Vec<&str> = draft.refusals(0).map(|(_, why)| why.code()).collect();
    assert_eq!(refusals, ["would-land-hot"]);
}

#[test]
fn replicas_that_the_scheduler_spreads_by_default_would_return() {
    let mut policy = packing(BY_USAGE);
    policy.scheduler.weights[ScorePlugin::PodTopologySpread] = 2;
    let cluster = Cluster::parse("node n1\n web*2 cpu=100m uses=100m\nnode n2\n api cpu=4 uses=4");
    assert_snapshot!(text(&cluster.plan_by(policy)), @"
    keep web-1 on n1: its node is emptied completely or not at all, and web-2 has to stay
    keep web-2 on n1: its replacement would return to n1: the default topology spread of its \
        scheduler outweighs the free nodes
    default: no node can be emptied now; nodes in use: 2, at least 1 needed by cpu usage
    ");
}

mod cluster_autoscaler {
    use super::*;
    use evenkeel::model::snapshot::facts::{Effect, Taint};
    use evenkeel::model::snapshot::objects::Object;

    /// Two nodes that can be emptied, and one in use.
    fn three() -> Cluster {
        Cluster::parse(
            "node n1\n a cpu=1 uses=100m\nnode n2\n b cpu=1 uses=200m\nnode n3\n c cpu=3 uses=3",
        )
    }

    fn with_node(
        mut cluster: Cluster,
        name: &str,
        change: impl Fn(&mut evenkeel::model::snapshot::facts::NodeFacts),
    ) -> Cluster {
        let snapshot = cluster.snapshot(&packing(BY_USAGE));
        let mut node = (**snapshot.node(snapshot.find_node(name).unwrap())).clone();
        change(&mut node);
        cluster.objects.apply(Object::Node(node));
        cluster
    }

    fn soft(key: &str) -> Taint {
        Taint { key: key.to_owned(), value: String::new(), effect: Effect::PreferNoSchedule }
    }

    #[test]
    fn a_node_that_it_may_not_remove_is_not_emptied() {
        let cluster = with_node(three(), "n1", |n| {
            n.unremovable = Some("karpenter.sh/do-not-disrupt");
        });
        assert_snapshot!(text(&cluster.plan_by(packing(BY_USAGE))), @"
        move b-1 from n2 to n3: node usage: cpu 2.5% and every other resource are at or below \
            their thresholds (20%), so the node is emptied
        keep a-1 on n1: emptying its node would gain nothing, because no autoscaler may \
            remove it: the node has the annotation karpenter.sh/do-not-disrupt: true
        ");
    }

    #[test]
    fn a_node_that_it_is_about_to_remove_is_emptied_first_and_receives_no_pods() {
        let candidate = |name: &str| {
            with_node(three(), name, |n| {
                n.taints.push(soft("DeletionCandidateOfClusterAutoscaler"));
            })
        };
        let plan = candidate("n2").plan_by(packing(BY_USAGE));
        assert_eq!(moved(&plan), [("b-1", "n3"), ("a-1", "n3")]);
        let plan = candidate("n3").plan_by(packing(BY_USAGE));
        assert!(plan.moves.iter().all(|m| m.to.as_deref() != Some("n3")), "{}", text(&plan));
        assert!(
            nodes(&plan)
                .contains("n3: above a threshold, but an autoscaler removes it: takes no pods")
        );
    }
}
