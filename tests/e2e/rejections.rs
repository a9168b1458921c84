//! Evictions that a broken webhook or a missing right keeps from being made: the pod rests, the
//! others go, and the log, the plan and the exit status say why.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::e2e::support::{
    ControlPlane, Launch, Policy, Request, eventually, evicted, eviction_calls, evictions, say,
    scene, that,
};

#[test]
fn a_webhook_without_endpoints_for_one_pod_does_not_stop_the_others() {
    scene::with(scene::more_lopsided, async |control_plane| {
        let launch = Launch::new(control_plane, &Policy::USUAL).await;
        let plan = launch.plan();
        let first = plan["moves"][0]["pod"].as_str().unwrap().to_owned();
        break_webhook(control_plane, &first).await;

        let mut process = launch.run(&[]);
        evicted(control_plane, &mut process, 3, 240).await;
        process.cycles(3, 120).await;
        let calls = eviction_calls(control_plane);
        let of_first: Vec<&Request> = calls.iter().filter(|call| call.name == first).collect();
        say(&format!(
            "a webhook without endpoints: {} calls, {} of them for its pod",
            calls.len(),
            of_first.len()
        ));
        assert_eq!(of_first.len(), 1, "{of_first:#?}");
        assert_eq!(of_first[0].code, 500);
        assert!(process.count(&["eviction: failed", "WARN", "guard"]) == 1);
        let explained = launch.explain_text(&["pod", &first]);
        assert!(
            explained.contains("its last eviction was rejected; it rests for another"),
            "{explained}"
        );
        let metrics = process.metrics().await;
        assert!(metrics.contains("evenkeel_ledger_rejected_pods 1"));
    });
}

/// The API server gives it ten seconds and then evicts, because its failures are ignored. A client
/// that gives up earlier ends the request instead.
#[test]
fn a_webhook_that_never_responds_only_delays_evictions() {
    scene::with(scene::more_lopsided, async |control_plane| {
        silence_webhook(control_plane).await;
        let launch = Launch::new(control_plane, &Policy::USUAL).await;
        let mut process = launch.run(&[]);
        evicted(control_plane, &mut process, 2, 240).await;
        assert_eq!(process.count(&["unanswered"]), 0);
        control_plane.kubectl(&["delete", "validatingwebhookconfiguration", "silent"]);
    });
}

#[test]
fn a_single_run_without_the_right_to_evict_exits_with_1() {
    scene::with(scene::lopsided, async |control_plane| {
        forbid_evictions(control_plane).await;
        let launch = Launch::new(control_plane, &Policy::USUAL).await;
        for run in ["the first run", "the next run, in which the pods rest"] {
            let mut process = launch.run(&["--once"]);
            assert_eq!(process.ended(120).await.code(), Some(1), "{run}");
            let log = process.log().join("\n");
            assert!(log.contains("grant `create` on `pods/eviction`"), "{log}");
        }
        let calls = eviction_calls(control_plane);
        assert_eq!(calls.len(), 1, "one request shows it: {calls:#?}");
        assert_eq!(calls[0].code, 403);

        // As the manifests ship both.
        scene::rights(control_plane);
        let (ledger, empty) = ("configmap/evenkeel-ledger", r#"{"data": null}"#);
        let patch = ["patch", "-n", "kube-system", ledger, "--type=merge", "-p", empty];
        control_plane.kubectl(&patch);
        assert!(launch.run(&["--once"]).ended(120).await.success());
        assert!(!evictions(control_plane).is_empty());
    });
}

/// Lets a webhook without endpoints decide about the eviction of this pod.
async fn break_webhook(control_plane: &ControlPlane, pod: &str) {
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "guard", "namespace": "default"},
        "spec": {"ports": [{"port": 443}], "selector": {"app": "guard"}},
    });
    let condition = format!("request.name == '{pod}'");
    let webhook = json!({
        "name": "guard.example.com",
        "clientConfig": {"service": {"namespace": "default", "name": "guard"}},
        "matchConditions": [{"name": "one", "expression": condition}],
        "failurePolicy": "Fail",
    });
    control_plane.apply(&service.to_string());
    decides_evictions(control_plane, "guard", webhook);
    // The API server takes a moment to load it.
    eventually("the webhook to be in force", 60, async || {
        let answer = dry_eviction(control_plane, pod).await;
        that(answer.contains("guard.example.com"), answer)
    })
    .await;
}

/// Lets a webhook that accepts connections and says nothing decide about all evictions.
async fn silence_webhook(control_plane: &ControlPlane) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let called = Arc::new(AtomicUsize::new(0));
    let calls = Arc::clone(&called);
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            calls.fetch_add(1, Ordering::Relaxed);
            open.push(stream);
        }
    });
    let webhook = json!({
        "name": "silent.example.com",
        "clientConfig": {"url": url},
        "failurePolicy": "Ignore",
    });
    decides_evictions(control_plane, "silent", webhook);
    let victim = first_pod(control_plane).await;
    eventually("the webhook to be in force", 120, async || {
        let answer = dry_eviction(control_plane, &victim).await;
        that(called.load(Ordering::Relaxed) > 0, answer)
    })
    .await;
}

/// Lets the API server ask this webhook about evictions.
fn decides_evictions(control_plane: &ControlPlane, name: &str, mut webhook: Value) {
    webhook["rules"] = json!([{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
        "resources": ["pods/eviction"]}]);
    webhook["sideEffects"] = "None".into();
    webhook["admissionReviewVersions"] = json!(["v1"]);
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [webhook],
    });
    control_plane.apply(&configuration.to_string());
}

async fn first_pod(control_plane: &ControlPlane) -> String {
    let pods = control_plane.list("/api/v1/namespaces/default/pods").await;
    pods[0]["metadata"]["name"].as_str().unwrap().to_owned()
}

/// The answer to an eviction that changes nothing.
async fn dry_eviction(control_plane: &ControlPlane, pod: &str) -> String {
    let eviction = json!({
        "apiVersion": "policy/v1", "kind": "Eviction",
        "metadata": {"name": pod, "namespace": "default"},
        "deleteOptions": {"dryRun": ["All"]},
    });
    let path = format!("/api/v1/namespaces/default/pods/{pod}/eviction?dryRun=All");
    let answer = control_plane.send("POST", &path, None, &eviction).await;
    answer.map_or_else(|(_, message)| message, |status| status.to_string())
}

/// Takes the right to evict pods from the role, and nothing else.
async fn forbid_evictions(control_plane: &ControlPlane) {
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/evenkeel";
    let cluster_role = control_plane.get(path).await;
    let is_eviction = |rule: &&Value| rule["resources"] == json!(["pods/eviction"]);
    let (gone, kept): (Vec<&Value>, Vec<&Value>) =
        cluster_role["rules"].as_array().unwrap().iter().partition(is_eviction);
    assert_eq!(gone.len(), 1);
    let rules = json!({"rules": kept}).to_string();
    control_plane.kubectl(&["patch", "clusterrole", "evenkeel", "--type=merge", "-p", &rules]);
}
