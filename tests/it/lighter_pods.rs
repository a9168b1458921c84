//! Lighter pods relieve a hot node whose heaviest pod stays. They wait for one that may go soon.

use crate::it::support::Cluster;

const POLICY: &str = "evictable: {minReplicas: 1}
strategies: [{lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%}}}]";
const STEERED: &str = "steering: {taintHot: true}\n";

/// A node at 86 %, of whose pods the heavy one or two light ones must leave.
fn hot(heavy: &str, others: &str) -> Cluster {
    Cluster::parse(&format!(
        "
        node n1
          heavy   cpu=500m uses=3700m {heavy}
          light-a cpu=300m uses=1500m
          light-b cpu=300m uses=1500m
        node n2
          small   cpu=300m uses=100m
        node n3
          small   cpu=300m uses=100m
        {others}
        "
    ))
}

fn moved(cluster: &Cluster, policy: &str) -> Vec<String> {
    cluster.plan(policy).moves.into_iter().map(|m| m.pod).collect()
}

#[test]
fn the_heavy_pod_goes_where_it_may() {
    assert_eq!(moved(&hot("", ""), POLICY), ["heavy-1"]);
}

#[test]
fn the_light_ones_go_if_a_budget_keeps_it() {
    let cluster = hot("", "budget heavy allows=0");
    for policy in [POLICY.to_owned(), format!("{STEERED}{POLICY}")] {
        assert_eq!(moved(&cluster, &policy), ["light-a-1", "light-b-1"], "{policy}");
    }
}

#[test]
fn the_light_ones_go_if_it_would_land_badly() {
    let cluster = hot("requires=disk:ssd", "node n4 labels=disk:ssd\n busy cpu=1 uses=4 stay");
    for policy in [POLICY.to_owned(), format!("{STEERED}{POLICY}")] {
        assert_eq!(moved(&cluster, &policy), ["light-a-1", "light-b-1"], "{policy}");
    }
}

/// It is not known how long the other replica will not be Ready.
#[test]
fn the_light_ones_go_if_another_replica_is_away_that_was_not_evicted() {
    let policy = format!("limits: {{perWorkload: 1}}\n{POLICY}");
    let away = hot("", "node n4\n heavy*2 cpu=500m uses=100m unready");
    assert_eq!(moved(&away, &policy), ["light-a-1", "light-b-1"]);
}

#[test]
fn as_many_light_ones_go_as_the_node_needs() {
    let cluster = Cluster::parse(
        "
        node n1
          heavy   cpu=500m uses=3700m
          light*8 cpu=300m uses=500m
        node n2
          small   cpu=300m uses=100m
        node n3
          small   cpu=300m uses=100m
        budget heavy allows=0
        ",
    );
    let light: Vec<String> = (1..=6).map(|i| format!("light-{i}")).collect();
    assert_eq!(moved(&cluster, POLICY), light);
}
