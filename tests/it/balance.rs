//! The balancing strategies: duplicates, topology spread and packing, also in the exact mode of
//! descheduler.

use std::fmt::Write as _;

use evenkeel::model::plan::{Kept, Plan, Refusal, Stop};
use evenkeel::model::snapshot::objects::Object;
use evenkeel::policy::{FitStrategy, Policy, ScorePlugin};
use evenkeel::values::Ratio;
use evenkeel::values::selector::Selector;
use proptest::prelude::*;

use crate::it::support::{Cluster, cases, only, random_cluster, text};

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
