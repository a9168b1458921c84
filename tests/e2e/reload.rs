//! The policy file changes while the program runs.

use serde_json::{Value, json};

use crate::e2e::support::{
    ControlPlane, Launch, Policy, Process, evicted, evictions, ledger, scene,
};

/// The name of the simulated pod as which the program runs.
const POD: &str = "evenkeel-0";

/// Creates the pod whose name the program has, so that it has an object for its events.
async fn own_pod(control_plane: &ControlPlane) {
    let annotations =
        json!({"kwok.x-k8s.io/usage-cpu": "10m", "kwok.x-k8s.io/usage-memory": "9Mi"});
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": POD, "namespace": "kube-system", "annotations": annotations},
        "spec": {"containers": [{"name": "main", "image": "main"}]},
    });
    control_plane.apply(&pod.to_string());
    scene::usage_is_steady(control_plane).await;
}

async fn gauge(process: &Process, name: &str) -> Option<String> {
    let text = process.metrics().await;
    let line = text.lines().find(|line| line.starts_with(&format!("{name} ")));
    line.map(|line| line.rsplit(' ').next().unwrap().to_owned())
}

fn with_target(percent: u32) -> String {
    let policy = Policy { limits: "{perCycle: 1, perWorkload: 100%}", ..Policy::USUAL };
    let target = format!("targetThresholds: {{cpu: {percent}%}}");
    policy.by("").replace("targetThresholds: {cpu: 50%}", &target)
}

#[test]
fn only_a_valid_policy_takes_effect_and_windows_and_ledger_stay() {
    scene::with(scene::lopsided, async |control_plane| {
        own_pod(control_plane).await;
        let launch = Launch::written(control_plane, &with_target(90)).await.shown();
        let mut process = launch.run(&["--instance", POD]);
        process.cycles(6, 120).await;
        assert!(evictions(control_plane).is_empty(), "no node is above 90%");
        let first = launch.status().await["about"]["policy_since"].clone();

        // With the lower target of this file, pods would leave.
        launch.rewrite(&with_target(50).replace("interval:", "intervall:"));
        process.says(&["policy refused"], 1, 30).await;
        process.cycles(2, 60).await;
        assert!(evictions(control_plane).is_empty(), "an invalid policy took effect");
        assert_eq!(process.count(&["policy refused"]), 1, "reported more than once");
        assert_eq!(gauge(&process, "evenkeel_policy_refused").await.as_deref(), Some("1"));
        let about = launch.status().await["about"].clone();
        let error = about["policy_refused"]["error"].as_str().unwrap();
        assert!(error.contains("intervall"), "{error}");
        assert_eq!(about["policy_since"], first);
        let events =
            control_plane.list("/apis/events.k8s.io/v1/namespaces/kube-system/events").await;
        let refused: Vec<&Value> =
            events.iter().filter(|e| e["reason"] == "PolicyRefused").collect();
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert_eq!(
            (&refused[0]["regarding"]["name"], &refused[0]["type"]),
            (&json!(POD), &json!("Warning"))
        );

        launch.rewrite(&with_target(50));
        process.says(&["policy reloaded"], 1, 30).await;
        // The window was full before, so the first cycles act.
        evicted(control_plane, &mut process, 1, 45).await;
        assert_eq!(gauge(&process, "evenkeel_policy_refused").await.as_deref(), Some("0"));
        let about = launch.status().await["about"].clone();
        assert!(about["policy_refused"].is_null() && about["policy_since"] != first);

        launch.rewrite(&with_target(90));
        process.says(&["policy reloaded"], 1, 30).await;
        process.cycles(1, 60).await;
        let made = evictions(control_plane).len();
        process.cycles(2, 60).await;
        assert_eq!(evictions(control_plane).len(), made);
        assert_eq!(ledger::entries(control_plane).await.len(), made);
    });
}

#[test]
fn a_reload_that_ends_the_dry_run_waits_for_the_lease_and_one_that_begins_it_releases_it() {
    scene::with(scene::lopsided, async |control_plane| {
        let policy = |dry: bool| format!("dryRun: {dry}\n{}", with_target(50));
        let launch = Launch::written(control_plane, &policy(true)).await.shown();
        let mut process = launch.run(&["--leader-elect"]);
        process.cycles(3, 120).await;
        assert_eq!(holder(control_plane).await, None, "a dry run took the lead");

        launch.rewrite(&policy(false));
        process.says(&["leading: ledger loaded"], 1, 60).await;
        evicted(control_plane, &mut process, 1, 90).await;
        assert!(holder(control_plane).await.is_some(), "it evicts without the Lease");

        launch.rewrite(&policy(true));
        process.says(&["policy reloaded"], 1, 30).await;
        let made = evictions(control_plane).len();
        process.cycles(2, 60).await;
        assert_eq!(evictions(control_plane).len(), made, "a dry run evicted");
        assert_eq!(holder(control_plane).await, None, "a dry run keeps the Lease");
        assert_eq!(launch.status().await["about"]["dry_run"], true);
    });
}

/// The instance that holds the Lease.
async fn holder(control_plane: &ControlPlane) -> Option<String> {
    let leases =
        control_plane.list("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases").await;
    let lease = leases.iter().find(|lease| lease["metadata"]["name"] == "evenkeel")?;
    let holder = lease["spec"]["holderIdentity"].as_str()?;
    Some(holder.to_owned()).filter(|holder| !holder.is_empty())
}
