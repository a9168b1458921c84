//! A search or a strategy that has used up its work: its answers so far are still in the plan.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use evenkeel::decide::explain::{Explanation, Subject};
use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::{NotSelected, Plan, PodVerdict};

use crate::it::support::{Cluster, after, noon, parse};

const POLICY: &str = "evictable: {minReplicas: 1}
strategies: [{lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%}}}]";
const OLD_PODS_LEAVE: &str = "evictable: {minReplicas: 1}
strategies: [{podLifeTime: {maxPodLifeTimeSeconds: 3600}}]";
/// Each forecast counts once for each of these nodes, which none of the pods may use.
const OTHER_NODES: usize = 1500;
const PODS_OF_A_NODE: usize = 30;

/// Hot nodes whose pods may only run on these nodes, so that each would land on a hot one.
fn hot_nodes_that_stay(hot_nodes: usize) -> String {
    let mut text = String::new();
    for node in 0..hot_nodes {
        let _ = writeln!(
            text,
            "node hot{node} labels=group:a\n  \
             heavy{node}*{PODS_OF_A_NODE} cpu=100m uses=200m requires=group:a"
        );
    }
    for node in 0..OTHER_NODES {
        let _ = writeln!(text, "node other{node}");
    }
    text
}

fn plan(hot_nodes: usize) -> Plan {
    Cluster::parse(&hot_nodes_that_stay(hot_nodes)).plan(POLICY)
}

fn kept(plan: &Plan) -> usize {
    let codes = plan.kept.iter().map(|kept| kept.refusal.code());
    codes.filter(|code| *code == "would-land-hot").count()
}

#[test]
fn every_pod_that_was_reached_has_an_answer() {
    let hot_nodes = 21;
    let plan = plan(hot_nodes);
    assert_eq!((plan.moves.len(), kept(&plan)), (0, hot_nodes * PODS_OF_A_NODE));
}

#[test]
fn pods_that_were_not_reached_have_no_answer() {
    let hot_nodes = 30;
    let plan = plan(hot_nodes);
    let kept = kept(&plan);
    let all = hot_nodes * PODS_OF_A_NODE;
    assert!((all / 2..all).contains(&kept), "{kept} of {all}");
    let left = all - kept;
    let sentence = format!("; {left} more selected pods were not reached in this cycle");
    assert_eq!(plan.not_reached(), sentence);
}

#[test]
fn a_hot_node_behind_others_that_stay_hot_is_reached_within_a_few_cycles() {
    let mut text = hot_nodes_that_stay(30);
    // It needs more evictions than each of the others, so that these come first.
    let _ = writeln!(text, "node last\n  light*{PODS_OF_A_NODE} cpu=100m uses=250m");
    let patient = format!("usage: {{staleAfter: 1h}}\n{POLICY}");
    let (engine, snapshot) = Cluster::parse(&text).seen(parse(&patient), Ledger::default());
    let mut cycles = (0..4).map(|cycle| engine.decide(&snapshot, after(60 * cycle)));
    assert!(cycles.any(|plan| plan.moves.iter().any(|planned| planned.node == "last")));
}

/// Full nodes whose pods may only run on these nodes, and all differ, so that each needs a forecast
/// of its own.
fn full_nodes(nodes: usize) -> Cluster {
    let mut text = String::new();
    for node in 0..nodes {
        let _ = writeln!(text, "node full{node} cpu=3 labels=group:a");
        for pod in 0..PODS_OF_A_NODE {
            let _ = writeln!(text, "  own{node}-{pod} cpu=100m requires=group:a age=2h");
        }
    }
    for node in 0..OTHER_NODES {
        let _ = writeln!(text, "node other{node}");
    }
    Cluster::parse(&text)
}

#[test]
fn a_strategy_that_refuses_all_pods_reaches_each_of_them_within_a_few_cycles() {
    let (nodes, cycles) = (30, 3);
    let (engine, snapshot) = full_nodes(nodes).seen(parse(OLD_PODS_LEAVE), Ledger::default());
    let all = nodes * PODS_OF_A_NODE;
    let mut reached = BTreeSet::new();
    for cycle in 0..cycles {
        let plan = engine.decide(&snapshot, after(60 * cycle));
        let kept = plan.kept.len();
        assert!((all / 2..all).contains(&kept), "{kept} of {all}");
        let left = all - kept;
        assert_eq!(
            plan.notes[0].why.to_string(),
            format!(
                "none of {kept} selected pods that were tried can leave now; {left} were not \
                 reached"
            )
        );
        assert_eq!(
            plan.not_reached(),
            format!("; {left} more selected pods were not reached in this cycle")
        );
        reached.extend(plan.kept.into_iter().map(|kept| kept.pod));
    }
    assert_eq!(reached.len(), all);
}

#[test]
fn explain_says_that_a_pod_was_not_reached() {
    let (engine, snapshot) = full_nodes(30).seen(parse(OLD_PODS_LEAVE), Ledger::default());
    let kept = engine.decide(&snapshot, noon()).kept;
    let kept: BTreeSet<&str> = kept.iter().map(|kept| kept.pod.as_str()).collect();
    let left = snapshot.pods.iter().find(|pod| !kept.contains(pod.name.as_str())).unwrap();
    let subject = Subject::Pod(format!("{}/{}", left.namespace, left.name));
    let explanation = engine.explain(&snapshot, &subject, noon()).unwrap();
    let Explanation::Pod(pod) = &explanation else { panic!("{explanation:?}") };
    let verdict = &pod.verdicts[0].verdict;
    assert!(matches!(verdict, PodVerdict::NotSelected(NotSelected::NotReached)), "{verdict:?}");
}

/// The numbers of pods that are reached on the hot nodes of two pools, each with an entry of its
/// own. All of them would land on a hot node.
fn reached_in_pools(hot_nodes: [usize; 2]) -> [usize; 2] {
    let mut text = String::new();
    for (pool, hot_nodes) in hot_nodes.into_iter().enumerate() {
        for node in 0..hot_nodes {
            let _ = writeln!(
                text,
                "node hot{pool}-{node} labels=group:a{pool},pool:p{pool}\n  heavy{pool}-{node}\
                 *{PODS_OF_A_NODE} cpu=100m uses=200m requires=group:a{pool}"
            );
        }
        for node in 0..OTHER_NODES / 2 {
            let _ = writeln!(text, "node other{pool}-{node} labels=pool:p{pool}");
        }
    }
    let even = "thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%}";
    let entry =
        |pool: u8| format!("{{lowNodeUtilization: {{{even}, nodeSelector: pool=p{pool}}}}}");
    let entries = [entry(0), entry(1)].join(", ");
    let plan = Cluster::parse(&text)
        .plan(&format!("evictable: {{minReplicas: 1}}\nstrategies: [{entries}]"));
    assert!(plan.moves.is_empty());
    [0, 1].map(|pool| {
        let of_pool = |pod: &&str| pod.starts_with(&format!("heavy{pool}-"));
        plan.kept.iter().map(|kept| kept.pod.as_str()).filter(of_pool).count()
    })
}

#[test]
fn pools_share_the_work_of_a_cycle_and_each_gets_its_part() {
    let hot_nodes = 15;
    let all = hot_nodes * PODS_OF_A_NODE;
    for reached in reached_in_pools([hot_nodes; 2]) {
        assert!((all / 2..all).contains(&reached), "{reached} of {all}");
    }
}

#[test]
fn a_pool_without_hot_nodes_leaves_its_part_of_the_work_to_the_next_one() {
    let hot_nodes = 20;
    assert_eq!(reached_in_pools([0, hot_nodes]), [0, hot_nodes * PODS_OF_A_NODE]);
}

#[test]
fn a_cycle_of_a_large_cluster_marks_some_of_the_nodes_to_be_emptied() {
    let policy = "steering: {taintEmptying: true, maxNodes: none}\nevictable: {minReplicas: 1}
strategies: [{highNodeUtilization: {basis: requests, thresholds: {cpu: 20%}}}]";
    let mut text = String::from("node busy cpu=1000\n  big cpu=500\n");
    for node in 0..400 {
        let _ = writeln!(text, "node small{node}\n  light{node} cpu=100m");
    }
    for node in 0..2 * OTHER_NODES {
        let _ = writeln!(text, "node other{node}");
    }
    let plan = Cluster::parse(&text).plan(policy);
    let count = |code: &str| plan.steering.iter().filter(|steer| steer.why.code() == code).count();
    assert_eq!(count("empty"), 2 * OTHER_NODES);
    assert!((250..350).contains(&count("emptying")), "{}", count("emptying"));
}
