//! Waits for evictions: for the next one, until the nodes are even, or as a CronJob, whose single
//! runs go on until there is nothing left to do.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::audit::evictions;
use super::control_plane::ControlPlane;
use super::process::{Launch, Process};
use super::scene::{is_ready, node_of, usage_is_steady};
use super::usage::{highest_asked, in_words, name, used};
use super::wait::{eventually, say, that};

/// How many seconds a run may take, and the recovery of the cluster after it.
const LONG: u64 = 120;

/// Runs the program until a run evicts nothing. Returns the pods that each earlier run evicted;
/// only this strategy may have evicted them.
pub async fn rounds(
    control_plane: &ControlPlane,
    launch: &Launch,
    strategy: &str,
) -> Vec<Vec<String>> {
    let mut all: Vec<Vec<String>> = Vec::new();
    loop {
        let before = evictions(control_plane).len();
        let mut process = launch.run(&["--once"]);
        assert!(process.ended(LONG).await.success());
        let made: Vec<String> =
            evictions(control_plane).split_off(before).into_iter().map(|e| e.name).collect();
        let told =
            process.count(&["\"outcome\":\"evicted\"", &format!("\"strategy\":\"{strategy}\"")]);
        assert_eq!(told, made.len(), "not all by {strategy}: {made:?}");
        if made.is_empty() {
            return all;
        }
        healed(control_plane).await;
        all.push(made);
        assert!(all.len() < 20, "runs keep evicting: {all:?}");
    }
}

/// Waits until every Deployment in namespace default has exactly its replicas.
pub async fn healed(control_plane: &ControlPlane) {
    eventually("all Deployments to be available", LONG, async || {
        let pods = control_plane.list("/api/v1/namespaces/default/pods").await;
        for deployment in control_plane.list("/apis/apps/v1/namespaces/default/deployments").await {
            let (name, wanted) =
                (name(&deployment), deployment["spec"]["replicas"].as_u64().unwrap());
            let own: Vec<&Value> =
                pods.iter().filter(|p| p["metadata"]["labels"]["app"] == name.as_str()).collect();
            let ready = own.iter().filter(|p| serves(p)).count() as u64;
            let unfinished = own.iter().filter(|p| p["status"]["phase"] != "Failed").count() as u64;
            let status = &deployment["status"];
            that(
                ready == wanted && unfinished == wanted,
                format!("{name}: {ready} of {wanted}, {unfinished} in all"),
            )?;
            that(status["availableReplicas"] == wanted, format!("{name}: {status}"))?;
        }
        Ok(())
    })
    .await;
}

/// The text of a policy file for descheduler.
pub fn policy(file: &str) -> String {
    std::fs::read_to_string(format!(
        "{}/tests/e2e/policies/{file}.yaml",
        env!("CARGO_MANIFEST_DIR")
    ))
    .unwrap()
}

/// The number of a Deployment's pods on each node.
pub async fn spread(control_plane: &ControlPlane, app: &str) -> BTreeMap<String, usize> {
    let mut spread = BTreeMap::new();
    for pod in pods_of(control_plane, app).await {
        *spread.entry(node_of(&pod)).or_default() += 1;
    }
    spread
}

/// The pods of a Deployment in namespace default that have not failed.
pub async fn pods_of(control_plane: &ControlPlane, app: &str) -> Vec<Value> {
    let pods = control_plane
        .list(&format!("/api/v1/namespaces/default/pods?labelSelector=app%3D{app}"))
        .await;
    pods.into_iter().filter(|p| p["status"]["phase"] != "Failed").collect()
}

/// Deletes a Deployment and waits until its pods are gone.
pub async fn remove(control_plane: &ControlPlane, deployment: &str) {
    control_plane.kubectl(&["delete", "deployment", deployment]);
    eventually("the pods to be gone", 60, async || {
        let left = control_plane
            .list(&format!("/api/v1/namespaces/default/pods?labelSelector=app%3D{deployment}"))
            .await
            .len();
        that(left == 0, format!("{left} left"))
    })
    .await;
}

/// The part of a pod specification that requests this much CPU.
pub fn requests(cpu: &str) -> Value {
    let resources = json!({"requests": {"cpu": cpu, "memory": "100Mi"}});
    json!({"containers": [{"name": "main", "image": "main", "resources": resources}]})
}

fn serves(pod: &Value) -> bool {
    // A failed pod keeps its conditions, because no kubelet updates them.
    let runs =
        pod["metadata"]["deletionTimestamp"].is_null() && pod["status"]["phase"] == "Running";
    runs && is_ready(pod)
}

/// Waits until this many pods have been evicted.
pub async fn evicted(
    control_plane: &ControlPlane,
    process: &mut Process,
    count: usize,
    seconds: u64,
) {
    process
        .eventually(&format!("{count} evictions"), seconds, async |_| {
            let made = evictions(control_plane).len();
            that(made >= count, format!("{made} so far"))
        })
        .await;
}

/// Waits for another eviction. Returns the seconds that it took.
pub async fn another_eviction(
    control_plane: &ControlPlane,
    process: &mut Process,
    seconds: u64,
) -> u64 {
    let (start, before) = (tokio::time::Instant::now(), evictions(control_plane).len());
    process
        .eventually("an eviction", seconds, async |_| {
            let after = evictions(control_plane).len();
            that(after > before, format!("{before} before, {after} now"))
        })
        .await;
    start.elapsed().as_secs()
}

/// Waits until every node is at the usual target of half of its cpu, or below it: as measured, and
/// by what its pods ask for, because a busy machine measures less.
pub async fn even(control_plane: &ControlPlane, process: &mut Process, seconds: u64) {
    process
        .eventually("every node at its target", seconds, async |_| {
            let (used, asked) = (used(control_plane).await, highest_asked(control_plane).await);
            that(
                used.highest() <= 50.0 && asked <= 50.0,
                format!("{}; pods ask for {asked:.0} %", in_words(&used.percentages())),
            )
        })
        .await;
}

/// Runs the program on the scene of late nodes until they are filled. Few evictions are enough, and
/// none of a light pod; no node gets hot again.
pub async fn late_nodes_are_filled(control_plane: &ControlPlane, launch: &Launch) {
    let mut process = launch.run(&[]);
    even(control_plane, &mut process, 420).await;
    usage_is_steady(control_plane).await;
    process.cycles(4, 120).await;
    usage_is_steady(control_plane).await;
    let (made, after) = (evictions(control_plane), used(control_plane).await);
    let light = made.iter().filter(|e| !e.name.starts_with("hot-")).count();
    let seconds = made[made.len() - 1].at.duration_since(made[0].at).as_secs();
    let nodes = in_words(&after.percentages());
    say(&format!("late nodes: {} evictions within {seconds} s: {nodes}", made.len()));
    assert!(after.highest() <= 50.0, "a node is still hot: {nodes}");
    assert!(made.len() <= 12, "eleven are enough: {made:#?}");
    assert_eq!(light, 0, "{made:#?}");
}
