//! What articles about descheduler show of it, each with the policy of its own text.

use std::collections::BTreeMap;

use crate::kit::bed::{Bed, on_a_bed};
use crate::kit::keel::Launch;
use crate::kit::rounds::{policy, remove, requests, rounds, spread};
use crate::kit::scene;
use crate::kit::wait::say;

/// The policy that descheduler itself once shipped, and most articles show.
const SHIPPED: &str = "v1alpha1-default";

#[test]
fn what_articles_show_of_descheduler_comes_about() {
    on_a_bed(async |bed| {
        scene::rights(bed);
        one_of_three_moves_to_a_node_that_joins(bed).await;
        six_on_one_of_two_workers_are_evened_out(bed).await;
        forty_on_one_of_four_nodes_are_spread(bed).await;
        by_requests_a_full_node_gives_to_the_others(bed).await;
    });
}

/// Three pods on two nodes, so that two are on one; a node joins, and a Job runs once.
async fn one_of_three_moves_to_a_node_that_joins(bed: &Bed) {
    scene::nodes(bed, 2).await;
    scene::deployment_with(bed, "nginx", 3, "10m", &requests("500m")).await;
    scene::nodes(bed, 3).await;
    let runs = carry_out(bed, "RemoveDuplicates", SHIPPED, "nginx").await;
    assert_eq!(runs, [1]);
    assert_eq!(sizes(bed, "nginx").await, [1, 1, 1]);
    remove(bed, "nginx").await;
}

/// A master and two workers, one of them cordoned while six pods start; then a CronJob.
async fn six_on_one_of_two_workers_are_evened_out(bed: &Bed) {
    bed.kubectl(&["taint", "node", "n1", "node-role.kubernetes.io/master:NoSchedule"]);
    scene::cordon(bed, &scene::names(3, 3));
    scene::deployment(bed, "web1", 6, "10m").await;
    scene::uncordon(bed, &scene::names(3, 3));
    assert_eq!(sizes(bed, "web1").await, [6]);
    let runs = carry_out(bed, "RemoveDuplicates", SHIPPED, "web1").await;
    assert_eq!(runs.iter().sum::<usize>(), 3);
    assert_eq!(sizes(bed, "web1").await, [3, 3]);
    bed.kubectl(&["taint", "node", "n1", "node-role.kubernetes.io/master-"]);
    remove(bed, "web1").await;
}

/// Four nodes, one of them open while forty pods start.
async fn forty_on_one_of_four_nodes_are_spread(bed: &Bed) {
    scene::nodes(bed, 4).await;
    let closed = ["n1", "n2", "n4"].map(str::to_owned);
    scene::cordon(bed, &closed);
    scene::deployment(bed, "crowd", 40, "10m").await;
    scene::uncordon(bed, &closed);
    assert_eq!(sizes(bed, "crowd").await, [40]);
    carry_out(bed, "RemoveDuplicates", SHIPPED, "crowd").await;
    let after = sizes(bed, "crowd").await;
    assert!(after.len() == 4 && after.iter().all(|n| (8..=12).contains(n)), "{after:?}");
    remove(bed, "crowd").await;
}

/// Seven pods that request a core each on a node of eight, by a policy that weighs requests and nothing else.
async fn by_requests_a_full_node_gives_to_the_others(bed: &Bed) {
    scene::cordon(bed, &scene::names(2, 4));
    scene::deployment_with(bed, "busy", 7, "10m", &requests("1000m")).await;
    scene::uncordon(bed, &scene::names(2, 4));
    let runs = carry_out(bed, "LowNodeUtilization", "v1alpha1-utilization", "busy").await;
    assert_eq!(runs.iter().sum::<usize>(), 4, "three of a core each come to less than half of eight");
    let after = spread(bed, "busy").await;
    assert!(after["n1"] == 3 && after.values().all(|n| *n <= 3), "{after:?}");
    remove(bed, "busy").await;
}

/// Runs the program until it has nothing left to do, and returns how many pods each run evicted.
async fn carry_out(bed: &Bed, strategy: &str, file: &str, app: &str) -> Vec<usize> {
    let before = spread(bed, app).await;
    let launch = Launch::written(bed, &policy(file)).await;
    let runs: Vec<usize> = rounds(bed, &launch, strategy).await.iter().map(Vec::len).collect();
    let after = spread(bed, app).await;
    say(&format!("{app}: {} became {}; evicted run by run: {runs:?}", in_words(&before), in_words(&after)));
    runs
}

async fn sizes(bed: &Bed, app: &str) -> Vec<usize> {
    spread(bed, app).await.into_values().collect()
}

fn in_words(spread: &BTreeMap<String, usize>) -> String {
    spread.iter().map(|(node, pods)| format!("{node} {pods}")).collect::<Vec<_>>().join(", ")
}
