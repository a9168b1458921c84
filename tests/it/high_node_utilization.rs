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

fn plan(cluster: &str) -> Plan {
    Cluster::parse(cluster).plan_by(packing(BY_USAGE))
}

fn moved(plan: &Plan) -> Vec<(&str, &str)> {
    plan.moves.iter().map(|m| (m.pod.as_str(), m.to.as_deref().unwrap())).collect()
}

#[test]
fn a_node_that_requests_much_and_uses_little_is_emptied_by_usage() {
    let plan = plan("node n1\n web*2 cpu=1500m uses=200m\nnode n2\n api*2 cpu=2 uses=2");
    assert_eq!(moved(&plan), [("web-1", "n2"), ("web-2", "n2")]);
    assert_snapshot!(nodes(&plan), @r"
    n1: at or below every threshold: to be emptied
    n2: above a threshold: stays and may take pods
    ");
}

#[test]
fn a_pod_that_fits_by_usage_but_not_by_requests_stays() {
    let plan = plan("node n1\n web*2 cpu=3 uses=200m\nnode n2\n api*2 cpu=2 uses=2");
    assert_snapshot!(text(&plan), @"
    keep web-1 on n1: its node is emptied completely or not at all, and web-2 has to stay
    keep web-2 on n1: no other node can take it: 1 is short of cpu by requests
    default: no node can be emptied now; nodes in use: 2, all needed by cpu requests
    ");
}

#[test]
fn a_node_whose_pods_need_not_leave_is_not_in_use() {
    let modes = "evictionModes: [OnlyThresholdingResources], thresholds";
    let policy = packing(&BY_USAGE.replace("thresholds", modes));
    let cluster = "node n1\n idle memory=10Mi\nnode n2\n api cpu=4 uses=3 image=a";
    assert_snapshot!(
        text(&Cluster::parse(cluster).plan_by(policy)),
        @"default: no node can be emptied now; nodes in use: 1, all needed by cpu usage"
    );
}

#[test]
fn a_node_of_the_control_plane_is_not_emptied_because_no_autoscaler_removes_it() {
    let plan = |labels: &str| {
        let pods = "web*2 cpu=1500m uses=200m\nnode n2\n api*2 cpu=2 uses=2";
        text(&plan(&format!("node n1 {labels}\n {pods}")))
    };
    assert!(plan("").starts_with("move web-1"));
    for role in ["control-plane", "master"] {
        let plan = plan(&format!("labels=node-role.kubernetes.io/{role}:true"));
        let why = "no autoscaler may remove it: the node has the label node-role.kubernetes.io/";
        assert!(plan.starts_with("keep web-1"), "{plan}");
        assert!(plan.contains(&format!("{why}{role}")), "{plan}");
    }
}

#[test]
fn a_pod_that_stays_for_its_own_sake_keeps_the_whole_node() {
    let answer = |pod: &str, least: &str| {
        let policy = BY_USAGE.replace("Replicas: 1", &format!("Replicas: 1, minPodAge: {least}"));
        let cluster = format!(
            "node n1\n web cpu=1 uses=200m age=900h\n db cpu=1 uses=200m {pod}\nnode n2\n api*2 cpu=2 uses=2"
        );
        text(&Cluster::parse(&cluster).plan_by(packing(&policy)))
    };
    assert!(answer("", "1m").starts_with("move "));
    for (pod, age) in [("do-not-disrupt=240h", "1m"), ("", "400h")] {
        let plan = answer(pod, age);
        assert!(!plan.contains("move "), "{pod} {age}: {plan}");
        assert!(plan.contains("and db-1 has to stay"), "{pod} {age}: {plan}");
    }
}

#[test]
fn no_node_is_filled_above_the_ceiling_by_usage() {
    let plan = plan("node n1\n web cpu=100m uses=1500m\nnode n2\n api cpu=4 uses=5");
    assert_snapshot!(
        text(&plan),
        @"
        keep web-1 on n1: its replacement could land on n2, where cpu usage would reach 81%, \
            above the ceiling of 80%
        default: no node can be emptied now; nodes in use: 2, all needed by cpu usage
        "
    );
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
fn nodes_above_the_ceiling_are_all_needed() {
    let hot = |n| format!("node n{n}\n web cpu=4 uses=7600m\n");
    let plan = plan(&format!("{}{}{}node n4\n a cpu=100m uses=0", hot(1), hot(2), hot(3)));
    let note = plan.notes[0].why.to_string();
    assert_eq!(note, "no node can be emptied now; nodes in use: 4, all needed by cpu usage");
}

/// A plan beside LowNodeUtilization, both on this basis.
fn beside_low(basis: &str, cluster: &str) -> String {
    let low = format!(
        "{{lowNodeUtilization: {{basis: {basis}, thresholds: {{cpu: 10%}}, targetThresholds: \
         {{cpu: 60%}}}}}}"
    );
    let policy = BY_USAGE.replace("actual", basis).replace("}}]", &format!("}}}}, {low}]"));
    text(&Cluster::parse(cluster).plan_by(packing(&policy)))
}

#[test]
fn no_node_is_filled_above_the_target_of_another_strategy() {
    let cluster = "node n1\n web cpu=100m uses=1\nnode n2\n api cpu=4 uses=4";
    assert_snapshot!(beside_low("actual", cluster), @"
    keep web-1 on n1: its replacement could land on n2, where cpu usage would reach 62%, above \
        the target of 60%
    default: no node can be emptied now; nodes in use: 2, at least 1 needed by cpu usage
    default: no node that takes part is above its target
    ");
}

#[test]
fn no_node_is_filled_above_the_target_of_another_strategy_by_requests() {
    let cluster = "node n1\n web cpu=1 uses=1\nnode n2\n api cpu=4 uses=1";
    assert_snapshot!(beside_low("requests", cluster), @"
    keep web-1 on n1: its replacement could land on n2, where cpu requests would reach 62%, above \
        the target of 60%
    default: no node can be emptied now; nodes in use: 2, at least 1 needed by cpu usage
    default: no node that takes part is above its target
    ");
}

/// It is not known how long the other replica will not be Ready, so the node would stay half empty.
#[test]
fn a_pod_that_waits_for_a_replica_that_is_away_keeps_the_whole_node() {
    let policy = BY_USAGE.replace("perWorkload: none", "perWorkload: 1");
    let cluster = |other: &str| {
        Cluster::parse(&format!(
            "node n1\n web cpu=1 uses=200m\n db cpu=1 uses=200m
             node n2\n api*2 cpu=2 uses=2\n db cpu=1 uses=200m {other}"
        ))
    };
    let moves = |other: &str| cluster(other).plan_by(packing(&policy)).moves.len();
    assert_eq!((moves(""), moves("unready")), (2, 0));
}

#[test]
fn a_node_without_metrics_is_neither_emptied_nor_filled() {
    let plan = plan(
        "node n1\n web cpu=100m uses=100m\nnode n2 no-metrics\n api cpu=4 no-metrics\nnode n3\n \
            api cpu=1 uses=3",
    );
    assert_eq!(plan.moves.len(), 0, "{}", text(&plan));
    assert_snapshot!(
        text(&plan),
        @"
        keep web-1 on n1: its replacement could land on n2, whose usage is unknown
        default: no node can be emptied now; nodes in use: 2, at least 1 needed by cpu usage
        "
    );
}

#[test]
fn by_requests_a_node_without_metrics_is_emptied_after_the_others() {
    let cluster = "
        node n1 no-metrics
          web cpu=100m no-metrics
        node n2
          api cpu=100m uses=100m
        node n3
          db cpu=4 uses=1
    ";
    let plan = Cluster::parse(cluster).plan_by(packing(&BY_USAGE.replace("actual", "requests")));
    assert_eq!(moved(&plan), [("api-1", "n3"), ("web-1", "n3")]);
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
fn if_all_nodes_are_underused_the_emptiest_is_emptied_into_a_fuller_one() {
    let plan = plan(
        "node n1\n a cpu=1 uses=100m\nnode n2\n b cpu=2 uses=200m\nnode n3\n c cpu=3 uses=300m",
    );
    assert_eq!(moved(&plan), [("a-1", "n3"), ("b-1", "n3")]);
}

#[test]
fn with_a_scheduler_that_spreads_nothing_moves_and_the_plan_says_why() {
    let cluster = Cluster::parse("node n1\n web cpu=500m uses=100m\nnode n2\n api*2 cpu=2 uses=2");
    assert_snapshot!(
        text(&cluster.plan(BY_USAGE)),
        @"
        keep web-1 on n1: its replacement would return to n1: the free nodes are no better by \
            requests, and the scheduler does not see usage
        default: no node can be emptied now; nodes in use: 2, at least 1 needed by cpu usage
        "
    );
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

#[test]
fn a_pod_that_a_budget_protects_keeps_its_node_from_being_emptied() {
    let plan = plan(
        "node n1\n web cpu=100m uses=100m\n shop cpu=100m uses=100m\nnode n2\n api cpu=4 \
            uses=4\nbudget shop allows=0",
    );
    assert_snapshot!(text(&plan), @"
    keep shop-1 on n1: PodDisruptionBudget shop allows no disruption now
    keep web-1 on n1: its node is emptied completely or not at all, and shop-1 has to stay
    default: no node can be emptied now; nodes in use: 2, at least 1 needed by cpu usage
    ");
}

#[test]
fn a_limit_only_delays_the_emptying() {
    let policy = BY_USAGE.replace("perNode: none", "perNode: 1");
    let cluster = Cluster::parse("node n1\n web*2 cpu=100m uses=100m\nnode n2\n api cpu=4 uses=4");
    assert_snapshot!(text(&cluster.plan_by(packing(&policy))), @"
    move web-1 from n1 to n2: node usage: cpu 2.5% and every other resource are at or below their \
        thresholds (20%), so the node is emptied
    keep web-2 on n1: the limit of 1 evictions per node is reached
    ");
}

/// Plans with the default limits.
fn usual(cluster: &str) -> Plan {
    let policy = "strategies: [{highNodeUtilization: {basis: actual, thresholds: {cpu: 20%}}}]";
    Cluster::parse(cluster).plan_by(packing(policy))
}

#[test]
fn both_replicas_of_a_workload_leave_one_after_the_other() {
    let plan = usual(
        "node n1\n web*2 cpu=100m uses=100m\n api*3 cpu=100m uses=100m\nnode n2\n db cpu=4 uses=4",
    );
    assert_snapshot!(text(&plan), @"
    move api-1 from n1 to n2: node usage: cpu 6.2% and every other resource are at or below their \
        thresholds (20%), so the node is emptied
    move api-2 from n1 to n2: node usage: cpu 6.2% and every other resource are at or below their \
        thresholds (20%), so the node is emptied
    move web-1 from n1 to n2: node usage: cpu 6.2% and every other resource are at or below their \
        thresholds (20%), so the node is emptied
    keep api-3 on n1: 0 other replicas would be Ready, and at least 1 must be
    keep web-2 on n1: 0 other replicas would be Ready, and at least 1 must be
    ");
}

/// The usual plan for a node with two replicas and this pod, beside one in use.
fn beside(pod: &str) -> Plan {
    usual(&format!(
        "node n1\n web*2 cpu=100m uses=100m\n {pod} cpu=100m uses=100m\nnode n2\n db cpu=4 uses=4"
    ))
}

#[test]
fn a_pod_that_may_never_be_evicted_keeps_its_node_from_being_emptied() {
    assert_snapshot!(text(&beside("alone bare")), @"
    keep alone-1 on n1: no controller would recreate it
    keep web-1 on n1: its node is emptied completely or not at all, and alone-1 has to stay
    keep web-2 on n1: its node is emptied completely or not at all, and alone-1 has to stay
    default: no node can be emptied now; nodes in use: 2, at least 1 needed by cpu usage
    ");
    assert_snapshot!(text(&beside("single")), @"
    keep single-1 on n1: its workload has 1 of the 2 replicas that the policy requires
    keep web-1 on n1: its node is emptied completely or not at all, and single-1 has to stay
    keep web-2 on n1: its node is emptied completely or not at all, and single-1 has to stay
    default: no node can be emptied now; nodes in use: 2, at least 1 needed by cpu usage
    ");
    assert_snapshot!(text(&beside("cache*2 emptydir")), @"
    keep cache-1 on n1: its emptyDir or hostPath data would be lost
    keep cache-2 on n1: its emptyDir or hostPath data would be lost
    keep web-1 on n1: its node is emptied completely or not at all, and cache-1 has to stay
    keep web-2 on n1: its node is emptied completely or not at all, and cache-1 has to stay
    default: no node can be emptied now; nodes in use: 2, at least 1 needed by cpu usage
    ");
}

#[test]
fn a_node_whose_pods_all_have_to_stay_has_a_reason_for_each() {
    let plan = usual(
        "node n1\n alone bare cpu=100m uses=100m\n single cpu=100m uses=100m\nnode n2\n db cpu=4 uses=4",
    );
    assert_snapshot!(text(&plan), @"
    keep alone-1 on n1: no controller would recreate it
    keep single-1 on n1: its workload has 1 of the 2 replicas that the policy requires
    default: no node can be emptied now; nodes in use: 2, at least 1 needed by cpu usage
    ");
}

#[test]
fn pods_that_may_go_later_and_daemon_pods_do_not_keep_a_node_from_being_emptied() {
    assert_snapshot!(text(&beside("new*2 age=10s")), @"
    move web-1 from n1 to n2: node usage: cpu 5% and every other resource are at or below their \
        thresholds (20%), so the node is emptied
    keep new-1 on n1: it is 10s old, and the minimum age is 1m
    keep new-2 on n1: it is 10s old, and the minimum age is 1m
    keep web-2 on n1: 0 other replicas would be Ready, and at least 1 must be
    ");
    assert_snapshot!(text(&beside("agent daemon")), @"
    move web-1 from n1 to n2: node usage: cpu 3.8% and every other resource are at or below their \
        thresholds (20%), so the node is emptied
    keep web-2 on n1: 0 other replicas would be Ready, and at least 1 must be
    ");
}

mod steered {
    use super::*;

    /// n1 is fuller than n2, but n2 stays in any case.
    #[test]
    fn an_underused_node_that_stays_takes_the_pods_of_others() {
        let moved_beside = |second: &str| {
            let first = "node n1 taint=evenkeel.io/steer=emptying:PreferNoSchedule";
            let cluster = format!("{first}\n web*2 cpu=1 uses=200m\n{second}");
            Cluster::parse(&cluster).plan(BY_USAGE).moves.len()
        };
        assert_eq!(moved_beside("node n2\n alone cpu=100m uses=100m bare"), 2);
        assert_eq!(moved_beside("node n2 no-scale-down"), 2);
        assert_eq!(moved_beside("node n2"), 0);
    }

    #[test]
    fn pods_of_a_node_that_is_emptied_do_not_go_to_an_empty_node() {
        let cluster = "
            node n1 taint=evenkeel.io/steer=emptying:PreferNoSchedule
              web*2 cpu=100m uses=100m
            node n2
              agent cpu=100m uses=100m daemon
            node n3
              db cpu=4 uses=4
        ";
        let plan = Cluster::parse(cluster).plan(BY_USAGE);
        assert_snapshot!(text(&plan), @"
        keep web-1 on n1: its replacement could land on n2, where the move would improve \
            nothing: n2 is to be emptied or to stay empty itself
        keep web-2 on n1: its replacement could land on n2, where the move would improve \
            nothing: n2 is to be emptied or to stay empty itself
        default: no node can be emptied now; nodes in use: 2, at least 1 needed by cpu usage
        ");
    }
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

    /// Two nodes that can be emptied, the first with this pod beside its own, and one in use.
    fn beside(pod: &str) -> Cluster {
        Cluster::parse(&format!(
            "node n1\n a cpu=1 uses=100m image=a\n {pod}\nnode n2\n b cpu=1 uses=200m image=b
             node n3\n c cpu=3 uses=3"
        ))
    }

    #[test]
    fn a_node_with_a_pod_that_it_may_not_evict_is_not_emptied() {
        let cluster = beside("batch cpu=1 uses=100m safe-to-evict=false");
        assert_snapshot!(text(&cluster.plan_by(packing(BY_USAGE))), @"
        move b-1 from n2 to n3: node usage: cpu 2.5% and every other resource are at or below \
            their thresholds (20%), so the node is emptied
        keep a-1 on n1: its node is emptied completely or not at all, and batch-1 has to stay
        keep batch-1 on n1: its annotation cluster-autoscaler.kubernetes.io/safe-to-evict is false
        ");
    }

    #[test]
    fn pods_that_leave_or_that_it_does_not_ask_do_not_keep_a_node() {
        let moves = |pod: &str, evictable: &str| {
            let policy = BY_USAGE.replace("minReplicas: 1", evictable);
            beside(&format!("agent uses=10m safe-to-evict=false {pod}"))
                .plan_by(packing(&policy))
                .moves
                .len()
        };
        let usual = "minReplicas: 1";
        for pod in ["daemon", "mirror", "static", "phase=Succeeded"] {
            assert_eq!(moves(pod, usual), 2, "{pod}");
        }
        assert_eq!(moves("", usual), 1);
        assert_eq!(moves("evict=true", usual), 3);
        assert_eq!(moves("", "minReplicas: 1, allow: [notSafeToEvict]"), 3);
    }

    /// Such a pod stays, and cluster-autoscaler does not evict it.
    #[test]
    fn a_node_with_a_pod_without_requests_that_it_may_not_evict_is_not_emptied() {
        let policy = BY_USAGE
            .replace("basis: actual", "evictionModes: [OnlyThresholdingResources], basis: actual");
        let kept = |value: &str| {
            let cluster = beside(&format!("agent uses=10m safe-to-evict={value}"));
            text(&cluster.plan_by(packing(&policy)))
        };
        assert!(
            kept("false").contains("pod agent-1 has the annotation safe-to-evict: false"),
            "{}",
            kept("false")
        );
        assert!(kept("on-completion").contains("move a-1"), "{}", kept("on-completion"));
    }

    #[test]
    fn a_node_that_karpenter_keeps_for_a_pod_of_a_daemon_set_is_not_emptied() {
        let plan = |pod: &str| {
            let cluster = beside(&format!("agent uses=10m daemon {pod}"));
            text(&cluster.plan_by(packing(BY_USAGE)))
        };
        assert_snapshot!(plan("do-not-disrupt=true"), @"
        move b-1 from n2 to n3: node usage: cpu 2.5% and every other resource are at or below \
            their thresholds (20%), so the node is emptied
        keep a-1 on n1: emptying its node would gain nothing, because no autoscaler may remove \
            it: pod agent-1 has the annotation karpenter.sh/do-not-disrupt
        ");
        assert!(plan("do-not-disrupt=2h").contains("keep a-1"));
        for ended in ["do-not-disrupt=1m", "do-not-disrupt=true phase=Succeeded"] {
            assert!(plan(ended).contains("move a-1"), "{ended}");
        }
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
