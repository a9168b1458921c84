//! The program in place of descheduler, with the flags and the account of its manifests.

use serde_json::{Value, json};

use crate::e2e::support::{
    ControlPlane, Launch, eventually, evictions, healed, rounds::policy, scene, that,
};

/// The policy that descheduler once shipped. Most articles show it.
const SHIPPED: &str = "v1alpha1-default";

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
    let answer = control_plane.send("POST", path, None, &review).await.unwrap();
    answer["status"]["allowed"] == true
}
