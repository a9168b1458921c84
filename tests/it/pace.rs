//! Moves that certainly help come first. Moves that may land badly wait for them, and few are made
//! in one cycle.

use crate::it::support::{Cluster, text};

const POLICY: &str = "evictable: {minReplicas: 1}
strategies: [{lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%}}}]";

/// A hot node whose heavy pod lands on one of eight nodes, of which one becomes hot by it.
fn uncertain(group: &str) -> String {
    let hot = format!(
        "
node hot-{group} labels=group:{group}
  heavy-{group} cpu=1 uses=2 requires=group:{group}
  rock-{group}  cpu=1 uses=3500m stay
node warm-{group} labels=group:{group}
  busy-{group}  cpu=100m uses=3500m stay
"
    );
    let cool = |i| {
        format!(
            "
node cool-{group}{i} labels=group:{group}
  small-{group}{i} cpu=100m uses=100m stay
"
        )
    };
    hot + &(1..=7).map(cool).collect::<String>()
}

fn moved(cluster: &str) -> Vec<String> {
    let plan = Cluster::parse(cluster).plan(POLICY);
    plan.moves.iter().map(|m| m.pod.clone()).collect()
}

#[test]
fn an_uncertain_move_is_made_if_nothing_else_can_be_done() {
    assert_eq!(moved(&uncertain("a")), ["heavy-a-1"]);
}

#[test]
fn a_third_uncertain_move_waits_for_the_next_cycle() {
    let three = ["a", "b", "d"].map(uncertain);
    assert_eq!(moved(&three.concat()), ["heavy-a-1", "heavy-b-1"]);
}

/// Hot nodes whose heavy pod can only land on a cool node.
fn certain(groups: &[&str]) -> String {
    let of_group = |group: &&str| {
        format!(
            "
node hot-{group} labels=group:{group}
  heavy-{group} cpu=1 uses=2 requires=group:{group}
  rock-{group}  cpu=1 uses=3500m stay
node cool-{group} labels=group:{group}
  small-{group} cpu=100m uses=100m stay
"
        )
    };
    groups.iter().map(of_group).collect()
}

#[test]
fn an_uncertain_move_waits_for_certain_ones() {
    assert_eq!(moved(&[uncertain("a"), certain(&["c", "e"])].concat()), ["heavy-c-1", "heavy-e-1"]);
}

#[test]
fn the_number_of_certain_moves_is_not_limited() {
    assert_eq!(moved(&certain(&["c", "d", "e"])), ["heavy-c-1", "heavy-d-1", "heavy-e-1"]);
}

#[test]
fn few_pods_go_at_a_time_if_the_node_needs_as_many_heavier_ones_after_them() {
    assert_eq!(moved(STEPS), ["lamp-s-1", "leaf-s-1"]);
    let roomy = STEPS.replace("uses=3500m", "uses=1");
    assert_eq!(moved(&roomy), ["heavy-s-1", "large-s-1"]);
}

/// Both heavy pods must leave, however many light ones do. The cool node has no room for a heavy
/// one.
const STEPS: &str = "
node hot-s labels=group:s
  heavy-s   cpu=1 uses=1500m requires=group:s
  large-s   cpu=1 uses=1500m requires=group:s
  lamp-s    cpu=100m uses=300m requires=group:s
  leaf-s    cpu=100m uses=300m requires=group:s
  lime-s    cpu=100m uses=300m requires=group:s
  loft-s    cpu=100m uses=300m requires=group:s
  rock-s    cpu=4 uses=3300m stay
node cool-s labels=group:s
  small-s   cpu=100m uses=3500m stay
";

#[test]
fn a_pod_that_would_land_badly_says_so_when_the_cycle_ends_early() {
    let plan = Cluster::parse(STEPS).plan(POLICY);
    let kept = |pod: &str| plan.kept.iter().find(|k| k.pod == pod).map(|k| k.refusal.code());
    assert_eq!(kept("heavy-s-1"), Some("would-land-hot"), "{}", text(&plan));
    assert_eq!(kept("lime-s-1"), None, "{}", text(&plan));
}
