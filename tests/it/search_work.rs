//! A search that has used up its work: its answers so far are still in the plan.

use std::fmt::Write as _;

use evenkeel::model::plan::Plan;

use crate::it::support::Cluster;

const POLICY: &str = "evictable: {minReplicas: 1}
strategies: [{lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%}}}]";
/// Each forecast counts once for each of these nodes, which none of the pods may use.
const OTHER_NODES: usize = 1500;
const PODS_OF_A_NODE: usize = 30;

/// Hot nodes whose pods may only run on these nodes, so that each would land on a hot one.
fn plan(hot_nodes: usize) -> Plan {
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
    Cluster::parse(&text).plan(POLICY)
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
    let kept = kept(&plan(hot_nodes));
    let all = hot_nodes * PODS_OF_A_NODE;
    assert!((all / 2..all).contains(&kept), "{kept} of {all}");
}
