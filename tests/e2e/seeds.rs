//! What articles about descheduler show of it, each with the policy of its own text.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::kit::audit::evictions;
use crate::kit::bed::{Bed, on_a_bed};
use crate::kit::keel::Launch;
use crate::kit::rounds::{healed, policy, remove, requests, rounds, spread};
use crate::kit::scene;
use crate::kit::wait::{eventually, say, that};

/// The policy that descheduler itself once shipped, and most articles show.
const SHIPPED: &str = "v1alpha1-default";

#[test]
fn what_articles_show_of_descheduler_comes_about() {
    on_a_bed(async |bed| {
        scene::rights(bed);
        one_of_three_moves_to_a_node_that_joins(bed).await;
        six_on_one_of_two_workers_are_evened_out(bed).await;
        by_requests_a_full_node_gives_to_the_others(bed).await;
    });
}

/// Four nodes, one of them open while forty pods start; descheduler as a Deployment. The nodes are in no zones: where
/// they are, the scheduler evens out zones before nodes, and brings pods back.
#[test]
fn forty_on_one_of_four_nodes_are_spread() {
    on_a_bed(async |bed| {
        scene::rights(bed);
        scene::nodes(bed, 4).await;
        bed.kubectl(&["label", "node", "--all", "topology.kubernetes.io/zone-"]);
        let closed = ["n1", "n2", "n4"].map(str::to_owned);
        scene::cordon(bed, &closed).await;
        let launch = Launch::written(bed, &policy(SHIPPED)).await;
        // The article has 5m.
        let mut keel = launch.as_descheduler(&["--descheduling-interval", "2s", "--v", "3"]);
        scene::deployment(bed, "nginx", 40, "10m").await;
        assert_eq!(sizes(bed, "nginx").await, [40]);
        scene::uncordon(bed, &closed).await;
        keel.eventually("thirty of them elsewhere", 240, async |_| {
            let now = spread(bed, "nginx").await;
            that(now.get("n3").is_some_and(|n| *n == 10), in_words(&now))
        })
        .await;
        healed(bed).await;
        keel.says(&["cycle: "], 2, 60).await;
        assert!(keel.stop(10).await.success());
        let (after, made) = (spread(bed, "nginx").await, evictions(bed).len());
        say(&format!(
            "nginx: n3 40 became {}; {made} evicted",
            in_words(&after)
        ));
        assert!(
            after.len() == 4 && after.values().all(|n| (8..=12).contains(n)),
            "{after:?}"
        );
        assert!((30..=32).contains(&made), "thirty would do");
    });
}

/// Deployment, CronJob or Job: its manifests differ in the interval alone.
#[test]
fn the_flags_of_its_manifests_are_understood() {
    on_a_bed(async |bed| {
        scene::rights(bed);
        scene::nodes(bed, 3).await;
        scene::cordon(bed, &scene::names(2, 3)).await;
        scene::deployment(bed, "web", 6, "10m").await;
        scene::uncordon(bed, &scene::names(2, 3)).await;
        let launch = Launch::written(bed, &policy(SHIPPED)).await;
        let mut keel = launch.as_descheduler(&["--descheduling-interval", "5m", "--v", "3"]);
        keel.says(&["cycle: "], 1, 60).await;
        assert_eq!(evictions(bed).len(), 1, "a quarter of six at a time");
        assert_eq!(keel.probe("/healthz").await, Ok(200));
        assert_eq!(
            keel.probe_by_tls("/healthz").await,
            Ok(200),
            "as its livenessProbe asks"
        );
        assert!(keel.stop(10).await.success());
        assert_eq!(keel.count(&["has no effect"]), 0);
        healed(bed).await;

        assert!(
            launch
                .as_descheduler(&["--v", "3"])
                .ended(60)
                .await
                .success()
        );
        assert_eq!(evictions(bed).len(), 2, "without an interval it runs once");
        its_account_gets_the_rights_that_we_say(bed).await;
    });
}

/// What deploy/README.md says of descheduler's own ServiceAccount.
async fn its_account_gets_the_rights_that_we_say(bed: &Bed) {
    let readme = include_str!("../../deploy/README.md");
    let (_, rest) = readme.split_once("## Coming from descheduler").unwrap();
    let (chapter, _) = rest.split_once("\n## ").unwrap();
    let commands: Vec<&str> = chapter
        .lines()
        .filter_map(|line| line.strip_prefix("    kubectl "))
        .collect();
    assert!(commands.len() > 1, "{chapter}");
    bed.kubectl(&[
        "delete",
        "role,rolebinding",
        "-n",
        "kube-system",
        "evenkeel",
    ]);
    for command in commands {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/");
        let words: Vec<String> = command
            .split(' ')
            .map(|word| word.replace("deploy/", root))
            .collect();
        bed.kubectl(&words.iter().map(String::as_str).collect::<Vec<_>>());
    }
    for asked in [
        json!({"verb": "create", "resource": "pods", "subresource": "eviction"}),
        json!({"verb": "list", "group": "apps", "resource": "replicasets"}),
        json!({"verb": "create", "resource": "configmaps", "namespace": "kube-system"}),
        json!({"verb": "update", "resource": "configmaps", "namespace": "kube-system", "name": "evenkeel-ledger"}),
    ] {
        let what = format!("the right to {asked}");
        eventually(&what, 30, async || {
            that(may(bed, &asked).await, "it is not given")
        })
        .await;
    }
}

/// Whether descheduler's own ServiceAccount may do this.
async fn may(bed: &Bed, what: &Value) -> bool {
    let spec = json!({"user": "system:serviceaccount:kube-system:descheduler-sa", "resourceAttributes": what});
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec});
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let request = http::Request::post(path)
        .body(review.to_string().into_bytes())
        .unwrap();
    let answer: Value = bed.client.request(request).await.unwrap();
    answer["status"]["allowed"] == true
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
    bed.kubectl(&[
        "taint",
        "node",
        "n1",
        "node-role.kubernetes.io/master:NoSchedule",
    ]);
    scene::cordon(bed, &scene::names(3, 3)).await;
    scene::deployment(bed, "web1", 6, "10m").await;
    scene::uncordon(bed, &scene::names(3, 3)).await;
    assert_eq!(sizes(bed, "web1").await, [6]);
    let runs = carry_out(bed, "RemoveDuplicates", SHIPPED, "web1").await;
    assert_eq!(runs.iter().sum::<usize>(), 3);
    assert_eq!(sizes(bed, "web1").await, [3, 3]);
    bed.kubectl(&["taint", "node", "n1", "node-role.kubernetes.io/master-"]);
    remove(bed, "web1").await;
}

/// Seven pods that request a core each on a node of eight, by a policy that weighs requests and nothing else.
async fn by_requests_a_full_node_gives_to_the_others(bed: &Bed) {
    scene::nodes(bed, 4).await;
    scene::cordon(bed, &scene::names(2, 4)).await;
    scene::deployment_with(bed, "busy", 7, "10m", &requests("1000m")).await;
    scene::uncordon(bed, &scene::names(2, 4)).await;
    let runs = carry_out(bed, "LowNodeUtilization", "v1alpha1-utilization", "busy").await;
    assert_eq!(
        runs.iter().sum::<usize>(),
        4,
        "three of a core each come to less than half of eight"
    );
    let after = spread(bed, "busy").await;
    assert!(
        after["n1"] == 3 && after.values().all(|n| *n <= 3),
        "{after:?}"
    );
    remove(bed, "busy").await;
}

/// Runs the program until it has nothing left to do, and returns how many pods each run evicted.
async fn carry_out(bed: &Bed, strategy: &str, file: &str, app: &str) -> Vec<usize> {
    let before = spread(bed, app).await;
    let launch = Launch::written(bed, &policy(file)).await;
    let runs: Vec<usize> = rounds(bed, &launch, strategy)
        .await
        .iter()
        .map(Vec::len)
        .collect();
    let after = spread(bed, app).await;
    say(&format!(
        "{app}: {} became {}; evicted run by run: {runs:?}",
        in_words(&before),
        in_words(&after)
    ));
    runs
}

async fn sizes(bed: &Bed, app: &str) -> Vec<usize> {
    spread(bed, app).await.into_values().collect()
}

fn in_words(spread: &BTreeMap<String, usize>) -> String {
    spread
        .iter()
        .map(|(node, pods)| format!("{node} {pods}"))
        .collect::<Vec<_>>()
        .join(", ")
}
