//! LowNodeUtilization judges a move by its expected gain, and starts only moves that it can finish.

use insta::assert_snapshot;

use crate::it::support::{Cluster, EVEN, text};

/// A strategy with a target of 60% cpu.
const SIXTY: &str = "strategies: [{lowNodeUtilization: {thresholds: {cpu: 30%},
    targetThresholds: {cpu: 60%}}}]";

#[test]
fn no_node_has_to_be_cold_if_a_node_has_room_below_its_target() {
    let cluster = "\
node n1
  web*6 cpu=1 uses=1200m
node n2
  api cpu=500m uses=3
node n3
  api cpu=500m uses=3
node n4
  api cpu=500m uses=3
";
    let plan = Cluster::parse(cluster).plan(SIXTY);
    assert!(!plan.moves.is_empty(), "{}", text(&plan));
    assert!(plan.moves.iter().all(|m| m.node == "n1"), "{}", text(&plan));
    // By descheduler's rule, which a number asks for, nothing happens.
    let counted =
        SIXTY.replace("thresholds: {cpu: 30%}", "numberOfNodes: 0, thresholds: {cpu: 30%}");
    assert_snapshot!(
        text(&Cluster::parse(cluster).plan(&counted)),
        @"default: 1 node is above its target, but no node below its thresholds can take pods"
    );
}

/// A StatefulSet creates its pod when the old one has ended, perhaps after the other replacements.
/// So does a Job that waits until the old one has failed.
#[test]
fn a_later_move_does_not_count_on_the_place_of_a_pod_that_is_created_later() {
    let possible = |kind: &str| {
        let plan = Cluster::parse(&format!(
            "
            node n1
              db   cpu=1 uses=2200m {kind}
              web  cpu=1100m uses=2200m
              rock cpu=1 uses=3 stay
            node n2
            node n3
              small cpu=500m uses=100m
            "
        ))
        .plan(&format!("evictable: {{minReplicas: 1}}\n{SIXTY}"));
        let nodes = plan.moves.iter().map(|m| format!("{} {}", m.pod, m.possible_nodes.join(" ")));
        nodes.collect::<Vec<_>>()
    };
    let moves = |web: &str| [("db-1", "n2"), ("web-1", web)].map(|(pod, on)| format!("{pod} {on}"));
    assert_eq!(possible(""), moves("n3"));
    assert_eq!(possible("owner=StatefulSet parallel"), moves("n3 n2"));
    assert_eq!(possible("owner=Job counts-late"), moves("n3 n2"));
}

#[test]
fn many_light_pods_leave_a_node_whose_heaviest_pod_must_stay() {
    let cluster = "\
node n1
  rock cpu=100m uses=5 stay
  web*30 cpu=100m uses=80m
node n2
node n3
";
    let plan = Cluster::parse(cluster).plan(SIXTY);
    let moved = plan.moves.iter().filter(|m| m.pod.starts_with("web")).count();
    assert!(moved >= 18 && moved == plan.moves.len(), "{}", text(&plan));
}

#[test]
fn nothing_is_begun_on_a_node_that_would_stay_as_hot() {
    let cluster = "\
node n1
  rock cpu=100m uses=7 stay
  web*4 cpu=100m uses=80m
node n2
node n3
";
    assert_snapshot!(
        text(&Cluster::parse(cluster).plan(SIXTY)),
        @"keep rock-1 on n1: its annotation prefer-no-eviction asks not to evict it"
    );
}

#[test]
fn the_less_important_of_two_sufficient_pods_goes() {
    let cluster = "\
node n1 cpu=10
  gold*2 cpu=1 uses=2 priority=1000
  dust*2 cpu=1 uses=1900m
node n2
node n3
";
    let plan = Cluster::parse(cluster).plan(SIXTY);
    let moved: Vec<&str> = plan.moves.iter().map(|m| m.pod.as_str()).collect();
    assert!(moved.iter().all(|pod| pod.starts_with("dust")), "{moved:?}");
    assert!(!moved.is_empty(), "{}", text(&plan));
}

#[test]
fn a_pod_that_may_leave_only_in_hours_does_not_hold_back_the_others() {
    let cluster = "\
node n1
  young cpu=1 uses=4 age=5m
  web*4 cpu=1 uses=700m
node n2
node n3
";
    let wait = |age: &str| format!("interval: 1m\nevictable: {{minPodAge: {age}}}\n{EVEN}");
    // The young pod may leave in the next cycle: no other pod goes instead of it.
    let soon = Cluster::parse(cluster).plan(&wait("6m"));
    assert!(soon.moves.is_empty(), "{}", text(&soon));
    let late = Cluster::parse(&cluster.replace("*4 cpu=1 uses=700m", "*4 cpu=1 uses=700m age=24h"));
    let late = late.plan(&wait("12h"));
    assert!(!late.moves.is_empty(), "{}", text(&late));
}
