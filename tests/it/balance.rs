//! The balancing strategies: duplicates, topology spread and packing, also in the exact mode of
//! descheduler.

use std::fmt::Write as _;

use evenkeel::model::plan::{Kept, Plan, Refusal, Stop};
use evenkeel::model::snapshot::objects::Object;
use evenkeel::policy::{FitStrategy, Policy, ScorePlugin};
use evenkeel::values::Ratio;
use evenkeel::values::selector::Selector;
use insta::assert_snapshot;
use proptest::prelude::*;

use crate::it::support::{Cluster, cases, nodes, only, random_cluster, text};

fn duplicates() -> Policy {
    only("removeDuplicates")
}

fn spread() -> Policy {
    only("removePodsViolatingTopologySpreadConstraint")
}

/// Empties nodes at or below 20% of cpu.
const HIGH: &str = "basis: requests, thresholds: {cpu: 20%}";
/// Moves pods from nodes above 50% of requested cpu to nodes at or below 20%.
const LOW: &str =
    "basis: requests, numberOfNodes: 0, thresholds: {cpu: 20%}, targetThresholds: {cpu: 50%}";

/// HighNodeUtilization with these arguments on a cluster whose scheduler packs.
fn pack(arguments: &str) -> Policy {
    let mut policy = only(&format!("{{highNodeUtilization: {{{arguments}}}}}"));
    policy.scheduler.fit.strategy = FitStrategy::MostAllocated;
    policy.scheduler.weights[ScorePlugin::PodTopologySpread] = 0;
    policy.scheduler.weights[ScorePlugin::NodeResourcesBalancedAllocation] = 0;
    policy
}

/// LowNodeUtilization with these arguments, as descheduler decides.
fn even(arguments: &str) -> Policy {
    only(&format!("{{lowNodeUtilization: {{{arguments}}}}}")).exactly()
}

/// Creates pods of one app in zones of one node each, this many per zone.
fn zones(sizes: &[usize]) -> Cluster {
    let mut text = String::new();
    for (position, size) in sizes.iter().enumerate() {
        let _ = writeln!(text, "node n{position} labels=zone:z{position}");
        let _ = (*size > 0).then(|| writeln!(text, " web*{size} cpu=100m spread=zone:1"));
    }
    Cluster::parse(&text)
}

fn codes(plan: &Plan) -> Vec<&'static str> {
    plan.kept.iter().map(|k| k.refusal.code()).collect()
}

mod duplicates {
    use super::*;

    #[test]
    fn of_four_replicas_on_one_of_three_nodes_two_stay() {
        let cluster = Cluster::parse("node a\n web*4 cpu=100m\nnode b\nnode c");
        assert_snapshot!(text(&cluster.plan_by(duplicates())), @r"
        move web-4 from a to b: 4 of 4 replicas are on this node, and its share is 2
        move web-3 from a to c: 3 of 4 replicas are on this node, and its share is 2
        ");
        assert_eq!(cluster.plan_by(duplicates().exactly()).moves.len(), 2);
    }

    #[test]
    fn pods_of_different_owners_namespaces_or_images_are_not_duplicates() {
        let different = "node a\n web cpu=1\n api cpu=1\n web cpu=1 namespace=other\nnode b";
        let images = "node a\n web cpu=1 image=v1\n web cpu=1 image=v2\nnode b";
        for cluster in [different, images] {
            assert_eq!(text(&Cluster::parse(cluster).plan_by(duplicates())), "");
        }
        let order = "node a\n web cpu=1 image=v1,log\n web cpu=1 image=log,v1\nnode b";
        assert_eq!(Cluster::parse(order).plan_by(duplicates()).moves.len(), 1);
    }

    #[test]
    fn in_exact_mode_the_first_of_equal_pods_does_not_decide_where_the_others_may_go() {
        let cluster = |second: &str| {
            Cluster::parse(&format!("node a\n web cpu=1\n web cpu=1 {second}\nnode b\nnode c"))
        };
        let moves = |second: &str| {
            let plan = cluster(second).plan_by(duplicates().exactly());
            plan.moves.len()
        };
        assert_eq!(moves(""), 1);
        // The second pod would come back to its node again and again.
        assert_eq!(moves("on=kubernetes.io/hostname:a"), 0);
    }

    #[test]
    fn a_pod_with_two_owners_moves_once() {
        let mut cluster = Cluster::parse("node a\n web*2 cpu=1\nnode b");
        let snapshot = cluster.snapshot(&duplicates());
        for id in snapshot.pod_ids() {
            let mut pod = (**snapshot.pod(id)).clone();
            let mut second = pod.owners[0].clone();
            second.name = "second".to_owned();
            pod.owners.push(second);
            cluster.objects.apply(Object::Pod(Box::new(pod)));
        }
        assert_eq!(cluster.plan_by(duplicates()).moves.len(), 1);
        assert_eq!(cluster.plan_by(duplicates().exactly()).moves.len(), 1);
    }

    #[test]
    fn the_least_important_pod_moves_and_protected_pods_stay() {
        let cluster = "node a\n web cpu=1 priority=5\n web cpu=1 priority=1\n web cpu=1 priority=1 \
            emptydir\nnode b\nnode c";
        assert_snapshot!(text(&Cluster::parse(cluster).plan_by(duplicates())), @r"
        move web-2 from a to b: 3 of 3 replicas are on this node, and its share is 1
        move web-1 from a to c: 2 of 3 replicas are on this node, and its share is 1
        ");
    }

    #[test]
    fn only_nodes_that_may_run_the_pods_count_for_the_share() {
        let cluster =
            |b: &str| Cluster::parse(&format!("node a\n web*3 cpu=1\nnode b {b}\nnode c"));
        let moves = |b: &str, policy: Policy| cluster(b).plan_by(policy).moves.len();
        // Three pods over three nodes: one per node. Over two nodes: two per node.
        assert_eq!(moves("", duplicates()), 2);
        assert_eq!(moves("taint=x:NoSchedule", duplicates()), 1);
        assert_eq!(moves("cordoned", duplicates()), 1);
        // descheduler evicts two for two nodes, although the scheduler would avoid one of them.
        assert_eq!(moves("taint=x:PreferNoSchedule", duplicates()), 1);
        assert_eq!(moves("taint=x:PreferNoSchedule", duplicates().exactly()), 2);
        // A cordon is not a taint, and descheduler considers only taints.
        assert_eq!(moves("cordoned", duplicates().exactly()), 2);
        let full = cluster("cpu=500m").plan_by(duplicates());
        assert_snapshot!(text(&full), @r"
        move web-3 from a to c: 3 of 3 replicas are on this node, and its share is 1
        keep web-2 on a: its replacement could land on c, where the move would improve nothing: c has its share of the replicas already
        ");
    }

    #[test]
    fn a_node_takes_more_than_its_share_while_nodes_with_fewer_replicas_are_full() {
        let plan = |c: &str| {
            Cluster::parse(&format!(
                "node a\n web*5 cpu=100m\nnode b\n web cpu=100m\nnode c {c}\nnode d {c}"
            ))
            .plan_by(duplicates())
        };
        assert_snapshot!(text(&plan("cpu=50m")), @"
        move web-5 from a to b: 5 of 6 replicas are on this node, and its share is 2
        move web-4 from a to b: 4 of 6 replicas are on this node, and its share is 2
        keep web-3 on a: its replacement would return to a: the default topology spread of its scheduler outweighs the free nodes
        ");
        let there: Vec<_> = plan("").moves.into_iter().filter_map(|m| m.to).collect();
        assert_eq!(there, ["c", "d", "b"]);
    }
}

mod topology {
    use super::*;

    #[test]
    fn exact_mode_moves_as_many_pods_as_descheduler() {
        for (sizes, theirs, ours) in [
            (&[0, 0, 5][..], 3, 3),
            (&[1, 1, 9], 5, 5),
            (&[0, 4, 4], 3, 2),
            (&[2, 5, 3, 8, 5, 7], 5, 5),
            (&[2, 1, 2], 0, 0),
        ] {
            assert_eq!(zones(sizes).plan_by(spread().exactly()).moves.len(), theirs, "{sizes:?}");
            assert_eq!(zones(sizes).plan_by(spread()).moves.len(), ours, "{sizes:?}");
        }
    }

    #[test]
    fn each_move_names_the_domains_that_differ_too_much() {
        assert_snapshot!(text(&zones(&[0, 0, 5]).plan_by(spread())), @r"
        move web-5 from n2 to n0: zone z2 has 5 pods and z0 has 0, and maxSkew is 1
        move web-4 from n2 to n1: zone z2 has 4 pods and z1 has 0, and maxSkew is 1
        move web-3 from n2 to n0: zone z2 has 3 pods and z0 has 1, and maxSkew is 1
        ");
    }

    #[test]
    fn a_pod_may_go_to_any_domain_that_the_scheduler_admits() {
        // The smallest domain is full. With a maxSkew of 2, the second one may have 3 pods.
        let plan = |a: u32, b: u32| {
            let cluster = Cluster::parse(&format!(
                "node n0 labels=zone:a\n web*{a} cpu=1 spread=zone:2
                 node n1 labels=zone:b\n web*{b} cpu=1 spread=zone:2
                 node n2 labels=zone:c cpu=1\n web cpu=1 spread=zone:2"
            ));
            cluster.plan_by(spread())
        };
        assert_snapshot!(
            text(&plan(4, 2)),
            @"move web-4 from n0 to n1: zone a has 4 pods and c has 1, and maxSkew is 2"
        );
        assert_eq!(text(&plan(3, 3)), "");
        assert!(plan(4, 3).moves.is_empty(), "the scheduler admits no fourth pod");
    }

    /// The node without a rack is none to the scheduler, which counts 2 and 1 pods. descheduler
    /// looks at one key.
    #[test]
    fn only_nodes_with_the_keys_of_all_constraints_count() {
        let cluster = "node n0 labels=zone:a,rack:r1\n web*2 cpu=1 spread=zone:1,rack:5
             node n1 labels=zone:a\n web*2 cpu=1 spread=zone:1,rack:5
             node n2 labels=zone:b,rack:r2\n web cpu=1 spread=zone:1,rack:5";
        assert_eq!(text(&Cluster::parse(cluster).plan_by(spread())), "");
        assert_eq!(Cluster::parse(cluster).plan_by(spread().exactly()).moves.len(), 1);
        let all = cluster.replace("n1 labels=zone:a", "n1 labels=zone:a,rack:r1");
        assert_eq!(Cluster::parse(&all).plan_by(spread()).moves.len(), 1);
    }

    #[test]
    fn the_lowest_priority_moves_first() {
        let mut cluster = String::from("node n0 labels=zone:a\nnode n1 labels=zone:b\n");
        for priority in [20, 0, 30, 10] {
            let _ = writeln!(cluster, " web cpu=1 spread=zone:1 priority={priority}");
        }
        for policy in [spread(), spread().exactly()] {
            let plan = Cluster::parse(&cluster).plan_by(policy);
            let gone: Vec<_> = plan.moves.iter().map(|m| m.pod.as_str()).collect();
            assert_eq!(gone, ["web-2", "web-4"]);
        }
    }

    #[test]
    fn soft_constraints_count_on_request() {
        let cluster =
            "node n0 labels=zone:a\nnode n1 labels=zone:b\n web*4 cpu=1 spread=zone:1 soft";
        assert_eq!(Cluster::parse(cluster).plan_by(spread()).moves.len(), 0);
        let soft =
            only("{removePodsViolatingTopologySpreadConstraint: {constraints: [ScheduleAnyway]}}");
        assert_eq!(Cluster::parse(cluster).plan_by(soft).moves.len(), 2);
        // As in a rollout from the one kind to the other: each pod keeps to its own.
        let both = only(
            "{removePodsViolatingTopologySpreadConstraint: {constraints: [ScheduleAnyway, \
             DoNotSchedule]}}",
        );
        let mixed = "node n0 labels=zone:a\nnode n1 labels=zone:b\n web cpu=1 spread=zone:1:soft\n \
            web*3 cpu=1 spread=zone:1:hard";
        assert_eq!(Cluster::parse(mixed).plan_by(both).moves.len(), 2);
    }

    #[test]
    fn with_too_few_domains_the_smallest_count_is_zero() {
        // Only two of the three required domains exist, so the smallest count is zero. 4 exceeds it
        // by 4, and 3 is allowed.
        let cluster = "node n0 labels=zone:a\n web*2 cpu=1 spread=zone:3 domains=3\nnode n1 \
            labels=zone:b\n web*4 cpu=1 spread=zone:3 domains=3";
        assert_eq!(Cluster::parse(cluster).plan_by(spread()).moves.len(), 1);
        assert_eq!(Cluster::parse(cluster).plan_by(spread().exactly()).moves.len(), 0);
        assert_eq!(
            Cluster::parse(&cluster.replace(" domains=3", "")).plan_by(spread()).moves.len(),
            0
        );
    }

    #[test]
    fn no_pod_moves_if_the_other_domain_cannot_run_it() {
        let cluster =
            "node n0 labels=zone:a cpu=1500m\nnode n1 labels=zone:b\n web*6 cpu=1 spread=zone:1";
        assert_snapshot!(text(&Cluster::parse(cluster).plan_by(spread())), @r"
        move web-6 from n1 to n0: zone b has 6 pods and a has 0, and maxSkew is 1
        keep web-1 on n1: no other node can take it: 1 is short of cpu by requests
        keep web-2 on n1: no other node can take it: 1 is short of cpu by requests
        keep web-3 on n1: no other node can take it: 1 is short of cpu by requests
        keep web-4 on n1: no other node can take it: 1 is short of cpu by requests
        keep web-5 on n1: no other node can take it: 1 is short of cpu by requests
        ");
        let none = cluster.replace("cpu=1500m", "cordoned");
        assert_eq!(Cluster::parse(&none).plan_by(spread().exactly()).moves.len(), 0);
    }

    #[test]
    fn pods_on_all_nodes_count_as_the_scheduler_counts_them() {
        let moves = |a: u32, b: &str| {
            let mut policy = spread();
            policy.node_selector = Selector::parse("pool=web").ok();
            let cluster = format!(
                "node a1 labels=zone:a,pool:web\n web*{a} cpu=1 spread=zone:1
                 node a2 labels=zone:a,pool:spot\n web cpu=1 spread=zone:1
                 node b1 labels=zone:b,pool:web
                 node b2 labels=zone:b,{b} cpu=1 spread=zone:1"
            );
            text(&Cluster::parse(&cluster).plan_by(policy))
        };
        assert_eq!(moves(2, "pool:spot\n web*3"), "");
        assert_eq!(moves(2, "pool:web not-ready\n web*3"), "");
        assert_snapshot!(
            moves(3, "pool:spot\n web*2"),
            @"move web-3 from a1 to b1: zone a has 4 pods and b has 2, and maxSkew is 1"
        );
        // The pods on nodes that the policy does not select stay there.
        assert_eq!(moves(1, "pool:spot\n web*6"), "");
    }

    #[test]
    fn a_constraint_with_an_empty_selector_counts_no_pods_except_in_exact_mode() {
        let moved = |policy: Policy| {
            let mut cluster = Cluster::parse(
                "node n0 labels=zone:a\nnode n1 labels=zone:b\n web*2 cpu=1 spread=zone:1\n db*3 cpu=1",
            );
            let snapshot = cluster.snapshot(&policy);
            for pod in snapshot.pod_ids().map(|id| snapshot.pod(id)) {
                let mut pod = (**pod).clone();
                pod.spread.iter_mut().for_each(|spread| spread.pods = Selector::parse("").ok());
                cluster.objects.apply(Object::Pod(Box::new(pod)));
            }
            cluster.plan_by(policy).moves.len()
        };
        assert_eq!(moved(spread()), 0);
        assert_eq!(moved(spread().exactly()), 2);
    }

    #[test]
    fn pods_without_the_constraint_count_and_stay_except_in_exact_mode() {
        let moved = |policy: Policy| {
            let cluster = "node n0 labels=zone:a\nnode n1 labels=zone:b\n web*3 cpu=1\n \
                web cpu=1 spread=zone:1";
            let plan = Cluster::parse(cluster).plan_by(policy);
            plan.moves.into_iter().map(|m| m.pod).collect::<Vec<_>>()
        };
        assert_eq!(moved(spread()), ["web-4"]);
        assert_eq!(moved(spread().exactly()).len(), 2);
    }

    #[test]
    fn protected_pods_count_except_in_exact_mode() {
        let cluster = "node n0 labels=zone:a\n web cpu=1 spread=zone:1\nnode n1 labels=zone:b\n \
            web*3 cpu=1 spread=zone:1 emptydir\n web cpu=1 spread=zone:1";
        assert_eq!(Cluster::parse(cluster).plan_by(spread()).moves.len(), 1);
        assert_eq!(Cluster::parse(cluster).plan_by(spread().exactly()).moves.len(), 0);
    }
}

mod packing {
    use super::*;

    #[test]
    fn pods_move_to_the_fullest_feasible_node() {
        let cluster = Cluster::parse(
            "node n1\n web cpu=500m\n api cpu=200m\nnode n2\n web cpu=4\nnode n3\n api cpu=3",
        );
        let plan = cluster.plan_by(pack(HIGH));
        assert_snapshot!(text(&plan), @"
        move api-1 from n1 to n2: node requests: cpu 8.8% and every other resource are at or \
            below their thresholds (20%), so the node is emptied
        move web-1 from n1 to n2: node requests: cpu 8.8% and every other resource are at or \
            below their thresholds (20%), so the node is emptied
        ");
        assert_snapshot!(nodes(&plan), @r"
        n1: at or below every threshold: to be emptied
        n2: above a threshold: stays and may take pods
        n3: above a threshold: stays and may take pods
        ");
    }

    #[test]
    fn a_node_that_cannot_be_emptied_keeps_all_pods() {
        let cluster =
            Cluster::parse("node n1\n big cpu=900m\n small cpu=100m\nnode n2 cpu=1\n web cpu=500m");
        assert_snapshot!(text(&cluster.plan_by(pack(HIGH))), @"
        keep big-1 on n1: no other node can take it: 1 is short of cpu by requests
        keep small-1 on n1: its node is emptied completely or not at all, and big-1 has to stay
        default: no node can be emptied now; nodes in use: 2, at least 1 needed by cpu requests
        ");
        // descheduler evicts as many pods as fit the combined room of all nodes.
        assert_eq!(cluster.plan_by(pack(HIGH).exactly()).moves.len(), 1);
    }

    #[test]
    fn daemon_pods_do_not_keep_a_node_but_protected_pods_do() {
        let cluster = "node n1\n agent cpu=100m daemon\n lost cpu=100m bare\n web cpu=100m\nnode \
            n2\n api cpu=4";
        let moved = |cluster: &str, policy| {
            let moves = Cluster::parse(cluster).plan_by(policy).moves;
            moves.into_iter().map(|m| m.pod).collect::<Vec<_>>()
        };
        assert!(moved(cluster, pack(HIGH)).is_empty());
        assert_eq!(moved(&cluster.replace(" lost cpu=100m bare\n", ""), pack(HIGH)), ["web-1"]);
        // descheduler evicts the pods that it may evict.
        assert_eq!(moved(cluster, pack(HIGH).exactly()), ["web-1"]);
    }

    #[test]
    fn if_every_node_is_underused_pods_move_to_the_fuller_ones() {
        let cluster = Cluster::parse(
            "node n1\n a cpu=100m\nnode n2\n b cpu=200m\nnode n3\n c cpu=300m\nnode n4 cordoned\n \
                d cpu=50m",
        );
        let plan = cluster.plan_by(pack(HIGH));
        let moves: Vec<_> =
            plan.moves.iter().map(|m| (m.node.as_str(), m.to.as_deref().unwrap())).collect();
        assert_eq!(moves, [("n4", "n3"), ("n1", "n3"), ("n2", "n3")]);
        let theirs = cluster.plan_by(pack(HIGH).exactly());
        assert_snapshot!(
            text(&theirs),
            @"default: no other node can take pods: each is below its thresholds or cordoned"
        );
    }

    #[test]
    fn nodes_are_emptied_only_above_number_of_nodes() {
        let cluster = Cluster::parse("node n1\n a cpu=100m\nnode n2\n b cpu=4");
        let rule = format!("{HIGH}, numberOfNodes: 1");
        for policy in [pack(&rule), pack(&rule).exactly()] {
            assert_eq!(
                text(&cluster.plan_by(policy)),
                "default: nodes below their thresholds: 1; numberOfNodes requires more than 1"
            );
        }
    }

    #[test]
    fn pods_without_thresholding_requests_stay_on_request() {
        let cluster =
            Cluster::parse("node n1\n a cpu=100m image=x\n b cpu=100m\nnode n2\n c cpu=4");
        let rule = format!("{HIGH}, evictionModes: [OnlyThresholdingResources]");
        for policy in [pack(&rule), pack(&rule).exactly()] {
            let plan = cluster.plan_by(policy);
            assert_eq!(plan.moves.iter().map(|m| m.pod.as_str()).collect::<Vec<_>>(), ["a-1"]);
        }
    }
}

mod as_descheduler {
    use super::*;

    fn moved(plan: &Plan) -> Vec<&str> {
        plan.moves.iter().map(|m| m.pod.as_str()).collect()
    }

    #[test]
    fn a_ratio_equal_to_a_threshold_or_target_does_not_exceed_it() {
        let cluster = |a: &str, b: &str| {
            Cluster::parse(&format!("node n1 cpu=10\n x*5 cpu={a}\nnode n2 cpu=10\n y cpu={b}"))
        };
        let classes = |a: &str, b: &str| {
            let plan = cluster(a, b).plan_by(even(LOW));
            plan.nodes.iter().map(|v| v.class.code()).collect::<Vec<_>>()
        };
        assert_eq!(classes("1", "2"), ["even", "cold"]);
        assert_eq!(classes("1001m", "2001m"), ["hot", "even"]);
        // 55% times 100 is slightly more than 55 in binary floating point.
        let plan = cluster("1100m", "1").plan_by(even(&LOW.replace("50%", "55%")));
        assert_eq!(plan.nodes[0].class.code(), "hot", "as 5.5 / 10 * 100 is in the peer");
    }

    #[test]
    fn pods_are_ordered_by_priority_and_quality_of_service() {
        let cluster =
            "node n1\n a cpu=2 priority=2\n b cpu=500m priority=1\n c cpu=2\n d cpu=1\nnode n2";
        let plan = Cluster::parse(cluster).plan_by(even(LOW));
        assert_snapshot!(
            text(&plan),
            @"move c-1 from n1 to ?: node requests: cpu 69% is above its target of 50%"
        );
    }

    #[test]
    fn of_equally_important_pods_each_workload_gives_its_share() {
        let cluster = "node n1 cpu=10\n a*6 cpu=1\n b*3 cpu=1 age=1m\nnode n2 cpu=10";
        let plan = Cluster::parse(cluster).plan_by(even(LOW));
        assert_eq!(moved(&plan), ["a-1", "b-1", "a-2", "a-3"]);
    }

    #[test]
    fn destinations_share_their_room_and_the_last_pod_may_exceed_it() {
        // The combined room is 4 cores. Three pods of 1.5 cores move, although no node has room for
        // the third.
        let cluster = "node n1 cpu=30\n a*20 cpu=1500m\nnode n2 cpu=4\nnode n3 cpu=4";
        assert_eq!(Cluster::parse(cluster).plan_by(even(LOW)).moves.len(), 3);
    }

    #[test]
    fn notes_are_in_the_order_of_the_checks() {
        let note = |cluster: &str, number_of_nodes: u32| {
            let rule = LOW.replace("Nodes: 0", &format!("Nodes: {number_of_nodes}"));
            Cluster::parse(cluster).plan_by(even(&rule)).notes[0].why.code()
        };
        assert_eq!(note("node n1\n a cpu=5\nnode n2\n b cpu=3", 0), "nothing-cold");
        assert_eq!(note("node n1\n a cpu=3\nnode n2\n b cpu=3", 0), "nothing-hot");
        assert_eq!(note("node n1\n a cpu=5\nnode n2", 1), "few-cold");
        assert_eq!(note("node n1\nnode n2", 0), "all-cold");
        assert_eq!(note("node n1\n a cpu=3\nnode n2", 0), "nothing-hot");
    }

    #[test]
    fn a_destination_needs_tolerations_except_for_soft_taints() {
        let moves = |taint: &str, pod: &str| {
            let cluster = format!("node n1\n a*3 cpu=2 {pod}\nnode n2 taint={taint}");
            Cluster::parse(&cluster).plan_by(even(LOW))
        };
        assert_eq!(moves("x:PreferNoSchedule", "").moves.len(), 1);
        assert_eq!(moves("x:NoSchedule,y:NoExecute", "tolerates=x:NoSchedule").moves.len(), 0);
        assert_eq!(codes(&moves("x:NoSchedule", "")), ["no-room"; 3]);
        assert_eq!(moves("x:NoSchedule", "tolerates=x:NoSchedule").moves.len(), 1);
    }

    #[test]
    fn terminating_pods_count_as_load_and_never_move() {
        let plan =
            Cluster::parse("node n1\n a*2 cpu=2 terminating\n b cpu=1\nnode n2").plan_by(even(LOW));
        assert_eq!(moved(&plan), ["b-1"]);
    }

    #[test]
    fn actual_usage_comes_from_readings_and_unmeasured_pods_stay() {
        let actual = |cluster: &str, resource: &str| {
            let both = LOW
                .replace("requests", "actual")
                .replace("20%", &format!("20%, {resource}: 20%"))
                .replace("50%", &format!("50%, {resource}: 50%"));
            Cluster::parse(cluster).plan_by(even(&both))
        };
        let cluster = "node n1\n a cpu=100m uses=3 no-metrics\n b*3 cpu=100m uses=2\nnode n2\nnode \
            n3 no-metrics";
        let plan = actual(cluster, "memory");
        assert_eq!(plan.moves.len(), 1);
        assert_eq!(codes(&plan), ["unmeasured"]);
        assert_eq!(plan.nodes[2].class.code(), "unknown");
        assert_eq!(actual(cluster, "nvidia.com/gpu").notes[0].why.code(), "unmeasurable");
        let starting = "node n1\n a cpu=100m uses=6 phase=Pending\nnode n2";
        assert_eq!(moved(&actual(starting, "memory")), ["a-1"]);
    }

    #[test]
    fn a_node_at_its_eviction_limit_gives_no_more_pods() {
        let rule = format!("{LOW}, evictionLimits: {{node: 1}}");
        let plan = Cluster::parse("node n1\n a*7 cpu=1\nnode n2\n b*7 cpu=1\nnode n3")
            .plan_by(even(&rule));
        assert_eq!((plan.moves.len(), codes(&plan)), (2, vec!["node-limit"; 2]));
    }

    #[test]
    fn deviation_thresholds_follow_the_mean() {
        let rule = "basis: requests, useDeviationThresholds: true, thresholds: {cpu: 10%},
            targetThresholds: {cpu: 10%}";
        let plan = Cluster::parse("node n1\n a*3 cpu=1\nnode n2\n b cpu=1\nnode n3\n c*2 cpu=1")
            .plan_by(even(rule));
        assert_snapshot!(
            text(&plan),
            @"move a-1 from n1 to ?: node requests: cpu 38% is above its target of 35%"
        );
    }
}

/// Generates up to seven nodes in up to three zones, with pods of a few apps, some of them
/// protected.
fn clusters() -> impl Strategy<Value = String> {
    let marks = ["daemon", "bare", "emptydir", "mirror", "terminating", "tolerates=a:NoSchedule"];
    let mark = random_cluster::one_of(5, &marks);
    let pod = (0..4_u8, 1..16_u32, mark).prop_map(|(app, size, mark)| {
        let priority = ["", " priority=5"][usize::from(size % 5 == 0)];
        let skew = 1 + app % 2;
        format!("  app{app} cpu={}m memory=64Mi spread=zone:{skew} {mark}{priority}\n", size * 100)
    });
    let kinds = ["cordoned", "not-ready", "taint=a:NoSchedule", "cpu=2"];
    let pods = prop::collection::vec(pod, 0..9);
    random_cluster::nodes_with(pods, random_cluster::one_of(4, &kinds), 7)
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn planning_twice_gives_the_same_plan(cluster in clusters()) {
        let cluster = Cluster::parse(&cluster);
        for policy in [duplicates(), spread(), pack(HIGH), even(LOW)] {
            for policy in [policy.clone(), policy.exactly()] {
                let plan = || serde_json::to_string(&cluster.plan_by(policy.clone())).unwrap();
                prop_assert_eq!(plan(), plan());
            }
        }
    }

    #[test]
    fn after_a_plan_lands_as_forecast_nothing_is_left_to_do(text_cluster in clusters()) {
        for policy in [duplicates(), spread(), pack(HIGH)] {
            let mut cluster = Cluster::parse(&text_cluster);
            let plan = cluster.plan_by(policy.clone());
            cluster.carry_out(&plan);
            let again = cluster.plan_by(policy.clone());
            // A pod with a bad landing before may have a good one after others have left, and so
            // may the pods that stayed with it. The strategy asks for nothing else.
            let landing = ["no-room", "would-return", "would-not-help", "could-be-displaced"];
            let landed_badly = |pod: &str| {
                plan.kept.iter().any(|k| k.pod == pod && landing.contains(&k.refusal.code()))
            };
            let stayed = |pod: &str| {
                let with_other = |k: &Kept| {
                    let Refusal::Stop(Stop::NotAlone(other)) = &k.refusal else {
                        return false;
                    };
                    k.pod == pod && landed_badly(other)
                };
                landed_badly(pod) || plan.kept.iter().any(with_other)
            };
            // Where the nodes below their share refuse a pod, one at its share takes it from a
            // fuller one, and a pod there may have more tolerations.
            let took = |node: &str| plan.moves.iter().any(|m| m.to.as_deref() == Some(node));
            prop_assert!(
                again.moves.iter().all(|m| stayed(&m.pod) || took(&m.node)),
                "{}\nthen\n{}",
                text(&plan),
                text(&again)
            );
            for _ in 0..4 {
                let plan = cluster.plan_by(policy.clone());
                cluster.carry_out(&plan);
            }
            prop_assert!(cluster.plan_by(policy).moves.is_empty());
        }
    }

    #[test]
    fn only_allowed_and_necessary_moves_are_planned(text_cluster in clusters()) {
        let cluster = Cluster::parse(&text_cluster);
        for policy in [duplicates(), spread(), pack(HIGH), even(LOW)] {
            for policy in [policy.clone(), policy.exactly()] {
                let snapshot = cluster.snapshot(&policy);
                let plan = cluster.plan_by(policy);
                let mut seen = std::collections::BTreeSet::new();
                for m in &plan.moves {
                    let id = snapshot.find_pod(&m.namespace, &m.pod).unwrap();
                    let pod = snapshot.pod(id);
                    let fixed = pod.owners.is_empty()
                        || pod.owners[0].kind == "DaemonSet"
                        || pod.volumes.local
                        || pod.annotations.mirror
                        || pod.terminating;
                    prop_assert!(!fixed && seen.insert(id), "{}", text(&plan));
                    let home = snapshot.node(pod.node.unwrap());
                    prop_assert!(home.ready && m.to.as_deref() != Some(home.name.as_str()));
                    let class =
                        plan.nodes.iter().find(|v| v.node == m.node).map(|v| v.class.code());
                    prop_assert!(
                        class.is_none_or(|c| c == "hot" || c == "underused"),
                        "{}",
                        text(&plan)
                    );
                    if m.strategy == "RemoveDuplicates" {
                        let siblings = home
                            .pods
                            .iter()
                            .filter(|p| snapshot.pod(**p).owners == pod.owners)
                            .count();
                        prop_assert!(siblings > 1);
                    }
                }
            }
        }
    }

    #[test]
    fn a_node_is_emptied_completely_or_not_at_all(text_cluster in clusters()) {
        let cluster = Cluster::parse(&text_cluster);
        let plan = cluster.plan_by(pack(HIGH));
        for kept in &plan.kept {
            prop_assert!(!plan.moves.iter().any(|m| m.node == kept.node), "{}", text(&plan));
        }
        let full = plan.after.nodes.iter().zip(&plan.before.nodes);
        for (after, before) in full {
            let (Some(is), Some(was)) = (after.requests["cpu"], before.requests["cpu"]) else {
                continue;
            };
            prop_assert!(is <= was || is <= Ratio::ONE, "{}", text(&plan));
        }
    }
}
