//! Moves that certainly help come first. Moves that may land badly wait for them, and few are made in
//! one cycle.

use crate::it::support::{Cluster, text};

const POLICY: &str = "evictable: {minReplicas: 1}
strategies: [{lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%}}}]";

/// A hot node whose heavy pod lands on one of three nodes, of which one becomes hot by it.
fn uncertain(group: &str) -> String {
    format!(
        "
node hot-{group} labels=group:{group}
  heavy-{group} cpu=1 uses=2 requires=group:{group}
  rock-{group}  cpu=1 uses=3500m stay
node cool-{group} labels=group:{group}
  small-{group} cpu=100m uses=100m stay
node cold-{group} labels=group:{group}
  tiny-{group}  cpu=100m uses=50m stay
node warm-{group} labels=group:{group}
  busy-{group}  cpu=100m uses=3500m stay
"
    )
}

/// A hot node whose heavy pod can only land on a cool node.
const CERTAIN: &str = "
node hot-c labels=group:c
  heavy-c cpu=1 uses=2 requires=group:c
  rock-c  cpu=1 uses=3500m stay
node cool-c labels=group:c
  small-c cpu=100m uses=100m stay
";

fn moved(cluster: &str) -> Vec<String> {
    let plan = Cluster::parse(cluster).plan(POLICY);
    let moves: Vec<String> = plan.moves.iter().map(|m| m.pod.clone()).collect();
    if moves.is_empty() {
        println!("{}", text(&plan));
    }
    moves
}

#[test]
fn an_uncertain_move_is_made_if_nothing_else_can_be_done() {
    assert_eq!(moved(&uncertain("a")), ["heavy-a-1"]);
}

#[test]
fn a_second_uncertain_move_waits_for_the_next_cycle() {
    assert_eq!(
        moved(&[uncertain("a"), uncertain("b")].concat()),
        ["heavy-a-1"]
    );
}

#[test]
fn an_uncertain_move_waits_for_certain_ones() {
    assert_eq!(
        moved(&[uncertain("a"), CERTAIN.to_owned()].concat()),
        ["heavy-c-1"]
    );
}

#[test]
fn the_number_of_certain_moves_is_not_limited() {
    let certain: Vec<String> = ["c", "d", "e"]
        .map(|group| {
            let names = CERTAIN.replace("-c", &format!("-{group}"));
            names.replace("group:c", &format!("group:{group}"))
        })
        .into();
    assert_eq!(
        moved(&certain.concat()),
        ["heavy-c-1", "heavy-d-1", "heavy-e-1"]
    );
}

#[test]
fn pods_go_one_at_a_time_if_the_node_needs_as_many_heavier_ones_after_them() {
    // Both heavy pods must leave, however many light ones do. The cool node has no room for a heavy one.
    let steps = "
node hot-s labels=group:s
  heavy-s   cpu=1 uses=1500m requires=group:s
  large-s   cpu=1 uses=1500m requires=group:s
  light-s*4 cpu=100m uses=500m requires=group:s
  rock-s    cpu=4 uses=2500m stay
node cool-s labels=group:s
  small-s   cpu=100m uses=3500m stay
";
    assert_eq!(moved(steps), ["light-s-1"]);
    let roomy = steps.replace("uses=3500m", "uses=1");
    assert_eq!(moved(&roomy), ["heavy-s-1", "large-s-1"]);
}
