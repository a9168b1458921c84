//! The preferred kind of RemovePodsViolatingInterPodAntiAffinity.

use evenkeel::simulate;
use evenkeel::simulate::scenario::{Given, Scenario};
use jiff::SignedDuration;

use crate::it::support::{Cluster, noon, parse};

const PREFERRED: &str = "evictable: {minReplicas: 1}
strategies: [{removePodsViolatingInterPodAntiAffinity: {podAntiAffinityType:
  [preferredDuringSchedulingIgnoredDuringExecution]}}]\n";

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
    let scenario = Scenario::of("cluster.yaml".to_owned(), given);
    let trace = simulate::run(&scenario, parse(PREFERRED), "policy.yaml", |_| {});
    let last = trace.evictions.last().unwrap().at;
    assert!((3..=8).contains(&trace.summary.evictions), "{:?}", trace.evictions);
    assert!(trace.end.duration_since(last) > SignedDuration::from_mins(30), "{last}");
}
