//! Invariants of every plan, for random clusters.

use std::collections::BTreeMap;

use evenkeel::decide::draft::Draft;
use evenkeel::decide::projection::World;
use evenkeel::decide::strategy;
use evenkeel::model::approval::{Approved, ProposedMove};
use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::{Move, Plan, Reason};
use proptest::prelude::*;

use crate::it::support::random_cluster::{NODES, PODS};
use crate::it::support::{Cluster, cases, noon, parse, random_cluster, text};

/// A policy by which no landing may be bad, however unlikely. [`shipped`] has the default instead.
const POLICY: &str = "
forecast: {tolerance: 0%}
limits: {perCycle: 7, perNode: 3, perNamespace: 6, perWorkload: 2, perMinute: none}
strategies: [{lowNodeUtilization: {thresholds: {cpu: 30%, memory: 40%},
  targetThresholds: {cpu: 50%, memory: 60%}}}]
";

/// The same with the tolerance that is shipped.
fn shipped() -> String {
    POLICY.replace("forecast: {tolerance: 0%}\n", "")
}

fn clusters() -> impl Strategy<Value = String> {
    let nodes = [&NODES[..], &["cpu=4"]].concat();
    random_cluster::clusters((4, 4), &PODS, &nodes)
}

fn counts<'p>(plan: &'p Plan, by: impl Fn(&'p Move) -> String) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for key in plan.moves.iter().map(by) {
        *counts.entry(key).or_default() += 1;
    }
    counts
}

fn most(counts: &BTreeMap<String, usize>) -> usize {
    counts.values().copied().max().unwrap_or(0)
}

/// The candidates of LowNodeUtilization in order. Fails if a pod is one for the second time, because
/// such a search may never end.
fn candidates(cluster: &str, policy: &str, approved: &Approved) -> Vec<String> {
    // Nothing was observed before, so that a node has been hot for no time.
    let policy = policy.replace("lowNodeUtilization: {", "lowNodeUtilization: {sustainedFor: 0s, ");
    let (engine, snapshot) = Cluster::parse(cluster).seen(parse(&policy), Ledger::default());
    let usage = engine.usage(&snapshot, noon());
    let mut draft = Draft::new(World {
        approved,
        ..World::without_memory(engine.policy(), &snapshot, &usage, noon())
    });
    let mut asked = Vec::new();
    strategy::run(&mut draft, 0, |candidate, _| {
        let name = snapshot.pod(candidate.pod).name.clone();
        assert!(!asked.contains(&name), "{name} is a candidate for the second time");
        asked.push(name);
    });
    asked
}

#[test]
fn a_pod_that_a_limit_has_refused_is_no_candidate_again() {
    // With the one that is not Ready and the first one that moves, two of the workload are away.
    let cluster = "
        node n1
          web uses=2200m/1Gi
          web uses=800m/1Gi
          other uses=4100m/1Gi bare
        node n2
        node n3
        node n4 not-ready
          web
    ";
    let candidates = candidates(cluster, POLICY, &Approved::default());
    assert_eq!(candidates, ["other-1", "web-1", "web-2"]);
}

#[test]
fn a_pod_whose_landing_is_not_approved_is_no_candidate_again() {
    // The replacement may land on the warm node, so that the move is not certain.
    let cool = |i| format!("node cool{i}\n  small{i} cpu=100m uses=100m\n");
    let cool = (1..=7).map(cool).collect::<Vec<_>>().concat();
    let cluster = format!(
        "node hot\n  heavy cpu=1 uses=2\n  rock cpu=1 uses=3500m stay\n\
         node warm\n  busy cpu=100m uses=3500m stay\n{cool}"
    );
    let policy = shipped() + "evictable: {minReplicas: 1}\napproval: {required: true}\n";
    let move_of = |node: &str| ProposedMove {
        namespace: "default".to_owned(),
        pod: "heavy-1".to_owned(),
        uid: "uid-default-heavy-1".to_owned(),
        node: "hot".to_owned(),
        possible_nodes: vec![node.to_owned()],
        strategy: "LowNodeUtilization".to_owned(),
        why: String::new(),
    };
    let approved = Approved::new(&[move_of("n9")]);
    let candidates = candidates(&cluster, &policy, &approved);
    assert!(candidates.contains(&"heavy-1".to_owned()), "{candidates:?}");
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn a_plan_never_exceeds_a_limit(cluster in clusters()) {
        let cluster = Cluster::parse(&cluster);
        let plan = cluster.plan(POLICY);
        prop_assert!(plan.moves.len() <= 7);
        prop_assert!(most(&counts(&plan, |m| m.node.clone())) <= 3);
        prop_assert!(most(&counts(&plan, |m| m.namespace.clone())) <= 6);
        prop_assert!(most(&counts(&plan, |m| m.workload.as_ref().unwrap().to_string())) <= 2);
        // The API server evicts a pod that is not Ready without counting it while enough others are
        // healthy.
        let snapshot = evenkeel::model::snapshot::Snapshot::join(&cluster.objects, []);
        let ready = |name: &str| snapshot.pod(snapshot.find_pod("ns0", name).unwrap()).ready;
        let in_budget =
            plan.moves.iter().filter(|m| m.namespace == "ns0" && m.pod.starts_with("app0"));
        let budgeted = in_budget.filter(|m| ready(&m.pod)).count();
        prop_assert!(budgeted <= 1);
    }

    #[test]
    fn no_pod_is_a_candidate_twice(cluster in clusters()) {
        candidates(&cluster, POLICY, &Approved::default());
    }

    #[test]
    fn only_pods_of_hot_nodes_and_openings_move_and_none_to_a_hot_one(text_cluster in clusters()) {
        let plan = Cluster::parse(&text_cluster).plan(POLICY);
        let class = |node: &str| plan.nodes.iter().find(|v| v.node == node).unwrap().class.code();
        for m in &plan.moves {
            // An opening leaves a node that is not hot, and may land anywhere.
            if matches!(m.reason, Reason::Opening { .. }) {
                prop_assert_ne!(class(&m.node), "hot");
                continue;
            }
            prop_assert_eq!(class(&m.node), "hot");
            for to in &m.possible_nodes {
                prop_assert!(
                    ["cold", "even"].contains(&class(to)),
                    "{} may land on {to}, which is {}",
                    m.pod,
                    class(to)
                );
            }
            prop_assert!(m.possible_nodes.contains(m.to.as_ref().unwrap()));
        }
    }

    #[test]
    fn protected_pods_never_move(text_cluster in clusters()) {
        let cluster = Cluster::parse(&text_cluster);
        let plan = cluster.plan(POLICY);
        let snapshot = evenkeel::model::snapshot::Snapshot::join(&cluster.objects, []);
        for m in &plan.moves {
            let pod = snapshot.pod(snapshot.find_pod(&m.namespace, &m.pod).unwrap());
            let daemon = pod.owners.iter().any(|o| o.kind == "DaemonSet");
            let protected = daemon
                || pod.owners.is_empty()
                || pod.volumes.local
                || pod.annotations.mirror
                || pod.annotations.prefer_no_eviction;
            prop_assert!(!protected, "{}", m.pod);
            let siblings = pod.workload.map(|w| &snapshot.workload(w).pods).unwrap();
            let left = siblings.iter().map(|p| snapshot.pod(*p)).filter(|p| {
                p.serves()
                    && !plan.moves.iter().any(|m| m.namespace == p.namespace && m.pod == p.name)
            });
            prop_assert!(
                !pod.serves() || left.count() >= 1,
                "the last Ready replica {} moved",
                m.pod
            );
        }
    }

    // The shipped tolerance accepts a landing on a hot node if it is unlikely enough, for instance
    // because it depends on where an earlier replacement lands. Then the sum must not grow.
    #[test]
    fn no_node_becomes_hot_and_balance_never_gets_worse(text_cluster in clusters()) {
        let cluster = Cluster::parse(&text_cluster);
        for (policy, tolerates) in [(POLICY, false), (&shipped(), true)] {
            let plan = cluster.plan(policy);
            // An opening may land on a hot node. It is worth it only together with the pod that
            // follows in a later cycle, as `it::openings` tests.
            let is_opening = |m: &&Move| matches!(m.reason, Reason::Opening { .. });
            let openings = plan.moves.iter().filter(is_opening);
            let opened: Vec<&String> = openings.flat_map(|m| &m.possible_nodes).collect();
            let (mut over_before, mut over_after) = (0.0, 0.0);
            for (before, after) in plan.before.nodes.iter().zip(&plan.after.nodes) {
                if opened.contains(&&before.name) {
                    continue;
                }
                for (resource, target) in [("cpu", 0.5), ("memory", 0.6)] {
                    let (Some(was), Some(is)) = (before.ratios[resource], after.ratios[resource])
                    else {
                        continue;
                    };
                    over_before += (was.get() - target).max(0.0);
                    over_after += (is.get() - target).max(0.0);
                    prop_assert!(
                        tolerates || is.get() <= was.get().max(target) + 1e-9,
                        "{} {resource}: {was} to {is} by {policy}",
                        before.name
                    );
                }
            }
            prop_assert!(over_after <= over_before + 1e-9, "{policy}");
        }
    }

    #[test]
    fn every_pod_has_one_answer_and_every_node_a_verdict(text_cluster in clusters()) {
        let plan = Cluster::parse(&text_cluster).plan(POLICY);
        let mut pods: Vec<_> = plan
            .moves
            .iter()
            .map(|m| (&m.namespace, &m.pod))
            .chain(plan.kept.iter().map(|k| (&k.namespace, &k.pod)))
            .collect();
        let all = pods.len();
        pods.sort();
        pods.dedup();
        prop_assert_eq!(pods.len(), all, "{}", text(&plan));
        if plan.halted.is_none() {
            prop_assert_eq!(plan.nodes.len(), plan.before.nodes.len());
        }
    }

    #[test]
    fn after_a_plan_lands_as_forecast_the_relieved_nodes_need_nothing_more(
        text_cluster in clusters(),
    ) {
        let unlimited = POLICY.replace(
            "{perCycle: 7, perNode: 3, perNamespace: 6, perWorkload: 2, \
             perMinute: none}",
            "{perCycle: none, perNode: none, perWorkload: none, perMinute: none}",
        );
        prop_assert_ne!(unlimited.as_str(), POLICY);
        let mut cluster = Cluster::parse(&text_cluster);
        let plan = cluster.plan(&unlimited);
        cluster.carry_out(&plan);
        let again = cluster.plan(&unlimited);
        // A cycle may end before a node has reached its targets.
        let relieved = |node: &str| {
            plan.moves.iter().any(|m| m.node == node)
                && plan
                    .after
                    .nodes
                    .iter()
                    .any(|picture| picture.name == node && picture.is_at_target())
        };
        // A pod may still leave such a node for the sake of another one.
        let for_its_node = |m: &Move| !matches!(m.reason, Reason::Opening { .. });
        prop_assert!(
            !again.moves.iter().any(|m| relieved(&m.node) && for_its_node(m)),
            "{}\nthen\n{}",
            text(&plan),
            text(&again)
        );
    }
}
