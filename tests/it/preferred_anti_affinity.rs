//! The preferred kind of RemovePodsViolatingInterPodAntiAffinity.

use evenkeel::policy::Policy;
use evenkeel::simulate;
use evenkeel::simulate::scenario::{Given, Scenario};
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::it::support::{Cluster, noon, parse, text};

const PREFERRED: &str = "{podAntiAffinityType: [preferredDuringSchedulingIgnoredDuringExecution]}";

/// Returns the pods that move, in order.
fn moved(cluster: &str, policy: Policy) -> String {
    let plan = Cluster::parse(cluster).plan_by(policy);
    let pods: Vec<&str> = plan.moves.iter().map(|m| m.pod.as_str()).collect();
    pods.join(" ")
}

fn policy(kinds: &str) -> Policy {
    parse(&format!(
        "strategies: [{{removePodsViolatingInterPodAntiAffinity: {kinds}}}]\nevictable: {{minReplicas: 1}}"
    ))
}

#[test]
fn a_pod_moves_where_preferred_anti_affinity_is_violated_less() {
    let cluster = "
        node n1
          web*2 cpu=100m memory=100Mi dislikes=web*100
        node n2
          web cpu=100m memory=100Mi dislikes=web*100
        node n3
        ";
    assert_eq!(moved(cluster, policy(PREFERRED)), "web-1");
    assert_eq!(moved(cluster, policy("{}")), "", "it is off by default");
    assert_snapshot!(
        text(&Cluster::parse(cluster).plan_by(policy(PREFERRED))),
        @"move web-1 from n1 to n3: preferred anti-affinity counts 200 against its node and only 0 \
          against another"
    );
    // Every node has such a pod already.
    let full = cluster.replace("node n3", "node n3\n web cpu=100m memory=100Mi dislikes=web*100");
    assert_eq!(moved(&full, policy(PREFERRED)), "");
    // The scheduler would put the replacement back, because the other node is too full.
    let heavy = cluster.replace("node n3", "node n3 cpu=50m");
    assert_eq!(moved(&heavy, policy(PREFERRED)), "");
    // Each node has a pod that the pod avoids.
    let asked = "node n1\n web cpu=100m dislikes=db*10\n db cpu=100m\nnode n2\n db cpu=100m";
    assert_eq!(moved(asked, policy(PREFERRED)), "");
}

#[test]
fn preferred_anti_affinity_comes_to_rest_on_a_simulated_cluster() {
    let cluster = Cluster::parse(
        "
        node n1
          web*4 cpu=100m memory=100Mi uses=100m/100Mi dislikes=web*100
          db*2 cpu=100m memory=100Mi uses=100m/100Mi dislikes=web*50
        node n2
        node n3
        node n4
        ",
    );
    let given = Given {
        objects: cluster.objects.clone(),
        readings: cluster.readings(noon()),
        at: noon(),
        history: None,
        guards: Vec::new(),
    };
    let policy = policy(PREFERRED);
    let scenario = Scenario::of("cluster.yaml".to_owned(), given);
    let trace = simulate::run(&scenario, policy, "policy.yaml", |_| {});
    let last = trace.evictions.last().unwrap().at;
    assert!((3..=8).contains(&trace.summary.evictions), "{:?}", trace.evictions);
    assert!(trace.end.duration_since(last) > SignedDuration::from_mins(30), "{last}");
}
