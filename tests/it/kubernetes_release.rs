//! Landings by the release of kube-scheduler.

use evenkeel::model::plan::Plan;
use evenkeel::policy::KubernetesRelease;

use crate::it::support::{Cluster, EVEN, parse};

/// n1 is hot, and half of its cpu and memory is requested. n2 has more free, but its memory is
/// requested much more than its cpu. Nodes without the label `zone` do not count for the spread.
const CLUSTER: &str = "
    node n1
      hot*2 cpu=100m uses=3 owner=StatefulSet spread=zone:1 soft
      even cpu=3800m memory=16Gi uses=100m
    node n2
      uneven cpu=800m memory=19Gi uses=100m
";

/// Pods without requests. n2 is emptier, but uneven.
const WITHOUT_REQUESTS: &str = "
    node n1
      hot*2 uses=3 owner=StatefulSet spread=zone:1 soft
      even cpu=2 memory=8Gi uses=100m
    node n2
      uneven memory=12Gi uses=100m
";

fn plan(cluster: &str, minor: u32) -> Plan {
    let policy = parse(EVEN).with_release(KubernetesRelease::new(minor));
    Cluster::parse(cluster).plan_by(policy)
}

/// The forecast nodes of the moves, and the codes of the refusals.
fn decided(cluster: &str, minor: u32) -> (Vec<String>, Vec<&'static str>) {
    let plan = plan(cluster, minor);
    let to = plan.moves.iter().filter_map(|m| m.to.clone()).collect();
    (to, plan.kept.iter().map(|k| k.refusal.code()).collect())
}

#[test]
fn before_1_36_a_pod_returns_to_the_node_that_stays_balanced() {
    for minor in [31, 35] {
        let (moves, refusals) = decided(CLUSTER, minor);
        assert!(moves.is_empty(), "1.{minor}: {moves:?}");
        assert!(refusals.contains(&"would-return"), "1.{minor}: {refusals:?}");
    }
    for minor in [36, 37] {
        assert_eq!(decided(CLUSTER, minor).0, ["n2"], "1.{minor}");
    }
}

#[test]
fn before_1_33_a_pod_without_requests_is_balanced_too() {
    for minor in [31, 32] {
        assert!(decided(WITHOUT_REQUESTS, minor).0.is_empty(), "1.{minor}");
    }
    for minor in [33, 35, 36] {
        assert_eq!(decided(WITHOUT_REQUESTS, minor).0, ["n2"], "1.{minor}");
    }
}

#[test]
fn a_scheduler_configuration_keeps_the_release() {
    let head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
    let profiles = "profiles: [{schedulerName: default-scheduler}, {schedulerName: second}]";
    let config = evenkeel::policy::SchedulerConfig::parse("s.yaml", &format!("{head}{profiles}"));
    let release = KubernetesRelease::new(32);
    let policy = parse(EVEN).with_release(release).with_schedulers(config.unwrap());
    assert_eq!(policy.schedulers().count(), 2);
    assert!(policy.schedulers().all(|profile| profile.release == release));
}
