//! Strategies that judge every pod by itself ask for every pod that their rules cover, and for no
//! other one.

use std::fmt::Write as _;

use evenkeel::model::snapshot::facts::PodPhase;
use evenkeel::model::snapshot::{Pod, Snapshot};
use evenkeel::policy::Policy;
use jiff::SignedDuration;
use proptest::prelude::*;

use crate::it::support::{Cluster, cases, noon, only, text};

/// Up to six nodes with up to ten pods each. Many of the pods violate a rule.
fn clusters() -> impl Strategy<Value = String> {
    let marks = vec![
        "",
        "bare",
        "daemon",
        "terminating",
        "stay",
        "phase=Failed",
        "phase=Succeeded",
        "phase=Pending",
        "restarts=7",
        "restarts=12",
        "age=30h",
        "anti-affinity=app0",
        "anti-affinity=app1@zone",
        "requires=disk:ssd",
        "prefers=disk:ssd*9",
        "tolerates=a=b:NoSchedule",
        "cpu=7",
        "evict=true",
        "priority=9",
    ];
    let pod = (0..3_u8, 0..2_u8, prop::sample::subsequence(marks, 0..4)).prop_map(
        |(app, space, marks)| format!("  app{app} namespace=ns{space} {}\n", marks.join(" ")),
    );
    let kind = vec![
        "",
        "cordoned",
        "not-ready",
        "taint=a=b:NoSchedule",
        "taint=c:NoExecute,d:PreferNoSchedule",
    ];
    let labels = vec!["disk:ssd", "disk:hdd", "zone:a", "zone:a,disk:ssd", "zone:b"];
    let node = (
        prop::collection::vec(pod, 0..10),
        prop::sample::select(kind),
        prop::sample::select(labels),
    );
    prop::collection::vec(node, 2..6).prop_map(|nodes| {
        let mut text = String::new();
        for (position, (pods, kind, labels)) in nodes.iter().enumerate() {
            let _ = write!(text, "node n{position} labels={labels} {kind}\n{}", pods.concat());
        }
        text
    })
}

/// All six strategies with few arguments.
fn everything(exact: bool, node_fit: bool) -> Policy {
    let during = "DuringSchedulingIgnoredDuringExecution";
    let mut policy = only(&format!(
        "removePodsViolatingInterPodAntiAffinity, {{removePodsViolatingNodeAffinity:
           {{nodeAffinityType: [required{during}, preferred{during}]}}}},
         removePodsViolatingNodeTaints, {{removePodsHavingTooManyRestarts: {{podRestartThreshold: 10}}}},
         {{podLifeTime: {{maxPodLifeTimeSeconds: 86400}}}},
         {{removeFailedPods: {{minPodLifetimeSeconds: 0}}}}"
    ));
    policy.safety.max_not_ready = evenkeel::values::Ratio::ONE;
    policy.profiles[0].evictable.node_fit = node_fit;
    if exact { policy.exactly() } else { policy }
}

/// Whether a pod violates the rule of a strategy, as a simple model of the rule.
fn breaks(strategy: &str, pod: &Pod, snapshot: &Snapshot) -> bool {
    let node = snapshot.node(pod.node.unwrap());
    let has = |label: &str, value: &str| node.labels.get(label).is_some_and(|v| v == value);
    let age = noon().duration_since(pod.created);
    match strategy {
        "RemovePodsViolatingInterPodAntiAffinity" => {
            pod.required_anti_affinity.iter().any(|term| {
                let other =
                    |p: &&Pod| p.uid != pod.uid && p.namespace == pod.namespace && !p.finished();
                let label =
                    |p: &Pod| p.node.and_then(|n| snapshot.node(n).labels.get(&term.topology_key));
                let near = |p: &&Pod| {
                    label(p) == label(pod) && (label(pod).is_some() || p.node == pod.node)
                };
                snapshot
                    .pods
                    .iter()
                    .filter(other)
                    .filter(near)
                    .any(|p| term.pods.as_ref().unwrap().matches(&p.labels))
            })
        }
        "RemovePodsViolatingNodeAffinity" => {
            (pod.required_nodes.is_some() || !pod.preferred_nodes.is_empty())
                && !has("disk", "ssd")
                && !pod.finished()
        }
        "RemovePodsViolatingNodeTaints" => {
            node.taints.iter().any(|t| t.key == "a")
                && pod.tolerations.is_empty()
                && !pod.finished()
        }
        "RemovePodsHavingTooManyRestarts" => {
            pod.containers.iter().map(|c| c.restarts).sum::<u32>() >= 10
        }
        "PodLifeTime" => age > SignedDuration::from_hours(24),
        "RemoveFailedPods" => pod.phase == PodPhase::Failed,
        other => panic!("{other}"),
    }
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn a_strategy_selects_only_pods_that_its_rule_covers(
        cluster in clusters(),
        exact: bool,
        node_fit: bool,
    ) {
        let cluster = Cluster::parse(&cluster);
        let policy = everything(exact, node_fit);
        let snapshot = cluster.snapshot(&policy);
        let plan = cluster.plan_by(policy.clone());
        let moves = plan.moves.iter().map(|m| (m.strategy, &m.namespace, &m.pod));
        let mut asked: Vec<_> =
            moves.chain(plan.kept.iter().map(|k| (k.strategy, &k.namespace, &k.pod))).collect();
        for (strategy, namespace, name) in &asked {
            let pod = snapshot.pod(snapshot.find_pod(namespace, name).unwrap());
            prop_assert!(
                breaks(strategy, pod, &snapshot),
                "{strategy} asks for {name}:\n{}",
                text(&plan)
            );
            prop_assert!(!pod.terminating && snapshot.node(pod.node.unwrap()).ready, "{name}");
        }
        let all = asked.len();
        asked.sort_unstable();
        asked.dedup();
        prop_assert_eq!(asked.len(), all, "asked twice:\n{}", text(&plan));
        let mut uids: Vec<_> = plan.moves.iter().map(|m| &m.uid).collect();
        uids.sort_unstable();
        uids.dedup();
        prop_assert_eq!(uids.len(), plan.moves.len(), "evicted twice:\n{}", text(&plan));
        // The same world gives the same plan.
        prop_assert_eq!(text(&plan), text(&cluster.plan_by(policy)));
    }

    #[test]
    fn a_pod_that_violates_a_rule_moves_or_the_plan_says_why_not(cluster in clusters()) {
        let cluster = Cluster::parse(&cluster);
        let policy = everything(false, false);
        let snapshot = cluster.snapshot(&policy);
        let plan = cluster.plan_by(policy);
        if plan.halted.is_some() {
            return Ok(());
        }
        for pod in
            snapshot.pods.iter().filter(|p| !p.terminating && snapshot.node(p.node.unwrap()).ready)
        {
            let strategies = [
                "RemovePodsViolatingNodeTaints",
                "RemovePodsHavingTooManyRestarts",
                "PodLifeTime",
                "RemoveFailedPods",
            ];
            let broken = strategies.iter().any(|s| breaks(s, pod, &snapshot));
            let moved = plan.moves.iter().any(|m| m.uid == pod.uid);
            let kept =
                plan.kept.iter().any(|k| (&k.namespace, &k.pod) == (&pod.namespace, &pod.name));
            prop_assert!(!broken || moved || kept, "{} is passed over:\n{}", pod.name, text(&plan));
        }
    }
}
