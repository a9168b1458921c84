//! Scenarios from articles about descheduler, each with the policy of the article.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::e2e::support::audit::evictions;
use crate::e2e::support::control_plane::ControlPlane;
use crate::e2e::support::process::Launch;
use crate::e2e::support::rounds::{healed, policy, remove, requests, rounds, spread};
use crate::e2e::support::scene;
use crate::e2e::support::wait::{eventually, say, that};

/// The policy that descheduler once shipped. Most articles show it.
const SHIPPED: &str = "v1alpha1-default";

#[test]
fn scenarios_of_descheduler_articles_work() {
    scene::with_rights(async |control_plane| {
        one_of_three_moves_to_a_node_that_joins(control_plane).await;
        six_on_one_of_two_workers_are_evened_out(control_plane).await;
        by_requests_a_full_node_gives_to_the_others(control_plane).await;
    });
}

/// Four nodes, of which only one is schedulable while forty pods start; descheduler runs as a
/// Deployment. The nodes are in no zones, because the scheduler balances zones before nodes and
/// would bring pods back.
#[test]
fn forty_on_one_of_four_nodes_are_spread() {
    scene::with_rights(async |control_plane| {
        scene::nodes(control_plane, 4).await;
        control_plane.kubectl(&["label", "node", "--all", "topology.kubernetes.io/zone-"]);
        let closed = ["n1", "n2", "n4"].map(str::to_owned);
        scene::cordon(control_plane, &closed).await;
        let launch = Launch::written(control_plane, &policy(SHIPPED)).await;
        // The article has 5m.
        let mut process = launch.as_descheduler(&["--descheduling-interval", "2s", "--v", "3"]);
        scene::deployment(control_plane, "nginx", 40, "10m").await;
        assert_eq!(sizes(control_plane, "nginx").await, [40]);
        scene::uncordon(control_plane, &closed).await;
        process
            .eventually("thirty of them elsewhere", 240, async |_| {
                let now = spread(control_plane, "nginx").await;
                that(now.get("n3").is_some_and(|n| *n == 10), in_words(&now))
            })
            .await;
        healed(control_plane).await;
        process.says(&["cycle: "], 2, 60).await;
        assert!(process.stop(10).await.success());
        let (after, made) = (spread(control_plane, "nginx").await, evictions(control_plane).len());
        say(&format!("nginx: n3 40 became {}; {made} evicted", in_words(&after)));
        assert!(after.len() == 4 && after.values().all(|n| (8..=12).contains(n)), "{after:?}");
        assert!((30..=32).contains(&made), "thirty would do");
    });
}

/// descheduler's manifests for Deployment, CronJob and Job differ only in the interval.
#[test]
fn the_flags_of_its_manifests_are_understood() {
    scene::with_rights(async |control_plane| {
        scene::nodes(control_plane, 3).await;
        scene::cordon(control_plane, &scene::names(2, 3)).await;
        scene::deployment(control_plane, "web", 6, "10m").await;
        scene::uncordon(control_plane, &scene::names(2, 3)).await;
        let launch = Launch::written(control_plane, &policy(SHIPPED)).await;
        let mut process = launch.as_descheduler(&["--descheduling-interval", "5m", "--v", "3"]);
        process.says(&["cycle: "], 1, 60).await;
        assert_eq!(evictions(control_plane).len(), 1, "a quarter of six at a time");
        assert_eq!(process.probe("/healthz").await, Ok(200));
        assert_eq!(process.probe_by_tls("/healthz").await, Ok(200), "as its livenessProbe asks");
        assert!(process.stop(10).await.success());
        assert_eq!(process.count(&["has no effect"]), 0);
        healed(control_plane).await;

        assert!(launch.as_descheduler(&["--v", "3"]).ended(60).await.success());
        assert_eq!(evictions(control_plane).len(), 2, "without an interval it runs once");
        its_account_gets_the_rights_that_we_say(control_plane).await;
    });
}

/// Runs the commands of docs/from-descheduler.md that give descheduler's own ServiceAccount the
/// rights it needs.
async fn its_account_gets_the_rights_that_we_say(control_plane: &ControlPlane) {
    let page = include_str!("../../docs/from-descheduler.md");
    let (_, rest) = page.split_once("## In a manifest").unwrap();
    let (chapter, _) = rest.split_once("\n## ").unwrap();
    let commands: Vec<&str> =
        chapter.lines().filter_map(|line| line.strip_prefix("    kubectl ")).collect();
    assert!(commands.len() > 1, "{chapter}");
    control_plane.kubectl(&["delete", "role,rolebinding", "-n", "kube-system", "evenkeel"]);
    for command in commands {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/");
        let words: Vec<String> =
            command.split(' ').map(|word| word.replace("deploy/", root)).collect();
        control_plane.kubectl(&words.iter().map(String::as_str).collect::<Vec<_>>());
    }
    for asked in [
        json!({"verb": "create", "resource": "pods", "subresource": "eviction"}),
        json!({"verb": "list", "group": "apps", "resource": "replicasets"}),
        json!({"verb": "get", "resource": "configmaps", "namespace": "kube-system",
            "name": "evenkeel-ledger"}),
        json!({"verb": "update", "resource": "configmaps", "namespace": "kube-system",
            "name": "evenkeel-ledger"}),
    ] {
        let what = format!("the right to {asked}");
        eventually(&what, 30, async || that(may(control_plane, &asked).await, "it is not given"))
            .await;
    }
}

/// Whether descheduler's own ServiceAccount has this right.
async fn may(control_plane: &ControlPlane, what: &Value) -> bool {
    let spec = json!({"user": "system:serviceaccount:kube-system:descheduler-sa",
        "resourceAttributes": what});
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": spec});
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let request = http::Request::post(path).body(review.to_string().into_bytes()).unwrap();
    let answer: Value = control_plane.client.request(request).await.unwrap();
    answer["status"]["allowed"] == true
}

/// Three pods on two nodes, so that two are on one; a node joins, and a Job runs once.
async fn one_of_three_moves_to_a_node_that_joins(control_plane: &ControlPlane) {
    scene::nodes(control_plane, 2).await;
    scene::deployment_with(control_plane, "nginx", 3, "10m", &requests("500m")).await;
    scene::nodes(control_plane, 3).await;
    let runs = carry_out(control_plane, "RemoveDuplicates", SHIPPED, "nginx").await;
    assert_eq!(runs, [1]);
    assert_eq!(sizes(control_plane, "nginx").await, [1, 1, 1]);
    remove(control_plane, "nginx").await;
}

/// A master and two workers, one of them cordoned while six pods start; then a CronJob.
async fn six_on_one_of_two_workers_are_evened_out(control_plane: &ControlPlane) {
    control_plane.kubectl(&["taint", "node", "n1", "node-role.kubernetes.io/master:NoSchedule"]);
    scene::cordon(control_plane, &scene::names(3, 3)).await;
    scene::deployment(control_plane, "web1", 6, "10m").await;
    scene::uncordon(control_plane, &scene::names(3, 3)).await;
    assert_eq!(sizes(control_plane, "web1").await, [6]);
    let runs = carry_out(control_plane, "RemoveDuplicates", SHIPPED, "web1").await;
    assert_eq!(runs.iter().sum::<usize>(), 3);
    assert_eq!(sizes(control_plane, "web1").await, [3, 3]);
    control_plane.kubectl(&["taint", "node", "n1", "node-role.kubernetes.io/master-"]);
    remove(control_plane, "web1").await;
}

/// Seven pods that request a core each on a node of eight, by a policy that weighs requests and
/// nothing else.
async fn by_requests_a_full_node_gives_to_the_others(control_plane: &ControlPlane) {
    scene::nodes(control_plane, 4).await;
    scene::cordon(control_plane, &scene::names(2, 4)).await;
    scene::deployment_with(control_plane, "busy", 7, "10m", &requests("1000m")).await;
    scene::uncordon(control_plane, &scene::names(2, 4)).await;
    let runs = carry_out(control_plane, "LowNodeUtilization", "v1alpha1-utilization", "busy").await;
    assert_eq!(
        runs.iter().sum::<usize>(),
        4,
        "three of a core each come to less than half of eight"
    );
    let after = spread(control_plane, "busy").await;
    assert!(after["n1"] == 3 && after.values().all(|n| *n <= 3), "{after:?}");
    remove(control_plane, "busy").await;
}

/// Runs the program until it has nothing left to do, and returns how many pods each run evicted.
async fn carry_out(
    control_plane: &ControlPlane,
    strategy: &str,
    file: &str,
    app: &str,
) -> Vec<usize> {
    let before = spread(control_plane, app).await;
    let launch = Launch::written(control_plane, &policy(file)).await;
    let runs: Vec<usize> =
        rounds(control_plane, &launch, strategy).await.iter().map(Vec::len).collect();
    let after = spread(control_plane, app).await;
    say(&format!(
        "{app}: {} became {}; evicted run by run: {runs:?}",
        in_words(&before),
        in_words(&after)
    ));
    runs
}

async fn sizes(control_plane: &ControlPlane, app: &str) -> Vec<usize> {
    spread(control_plane, app).await.into_values().collect()
}

fn in_words(spread: &BTreeMap<String, usize>) -> String {
    spread.iter().map(|(node, pods)| format!("{node} {pods}")).collect::<Vec<_>>().join(", ")
}
