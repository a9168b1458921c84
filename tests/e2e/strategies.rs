//! Each strategy works with a policy in descheduler's format, and the cluster recovers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::e2e::support::{
    ControlPlane, Launch, eventually, healed, name,
    rounds::{pods_of, policy, remove, requests, rounds, spread},
    say, scene, that,
};

#[test]
fn strategies_that_weigh_nodes_even_them_out() {
    scene::with_rights(async |control_plane| {
        scene::nodes(control_plane, 4).await;
        duplicates_are_spread(control_plane).await;
        a_full_node_gives_to_the_empty_ones(control_plane).await;
        a_topology_spread_constraint_is_kept(control_plane).await;
        a_node_with_little_on_it_is_emptied(control_plane).await;
    });
}

#[test]
fn strategies_that_judge_pods_one_by_one_take_those_and_no_others() {
    scene::with_rights(async |control_plane| {
        scene::nodes(control_plane, 4).await;
        who_avoids_a_pod_leaves_it(control_plane).await;
        a_node_that_affinity_no_longer_admits_is_left(control_plane).await;
        a_tainted_node_is_left(control_plane).await;
        scene::deployment(control_plane, "aged", 4, "10m").await;
        a_pod_with_too_many_restarts_goes(control_plane).await;
        a_failed_pod_is_cleared_away(control_plane).await;
        old_pods_are_replaced(control_plane).await;
    });
}

async fn duplicates_are_spread(control_plane: &ControlPlane) {
    on_n1(control_plane, "twins", 4, &json!({})).await;
    carry_out(control_plane, "RemoveDuplicates", "remove-duplicates", 3).await;
    let after = spread(control_plane, "twins").await;
    assert!(after.values().all(|n| *n == 1), "{after:?}");
    remove(control_plane, "twins").await;
}

/// Six pods that request a core each, on one node of eight cores: at most three can stay.
async fn a_full_node_gives_to_the_empty_ones(control_plane: &ControlPlane) {
    on_n1(control_plane, "large", 6, &requests("1000m")).await;
    carry_out(control_plane, "LowNodeUtilization", "low-node-utilization", 3).await;
    let after = spread(control_plane, "large").await;
    assert!(after["n1"] <= 3 && after.values().all(|n| *n <= 3), "{after:?}");
    remove(control_plane, "large").await;
}

/// Three and three on two nodes; then two nodes more.
async fn a_topology_spread_constraint_is_kept(control_plane: &ControlPlane) {
    let constraint = json!({
        "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "even"}}, "nodeTaintsPolicy": "Honor",
    });
    scene::cordon(control_plane, &scene::names(3, 4)).await;
    scene::deployment_with(
        control_plane,
        "even",
        6,
        "10m",
        &json!({"topologySpreadConstraints": [constraint]}),
    )
    .await;
    scene::uncordon(control_plane, &scene::names(3, 4)).await;
    carry_out(control_plane, "RemovePodsViolatingTopologySpreadConstraint", "topology-spread", 2)
        .await;
    let after = spread(control_plane, "even").await;
    assert!(after.len() == 4 && after.values().all(|n| *n <= 2), "{after:?}");
    remove(control_plane, "even").await;
}

/// n1 is half full, n2 has two small pods: they go to n1, given a scheduler that packs.
async fn a_node_with_little_on_it_is_emptied(control_plane: &ControlPlane) {
    let scheduler = scene::packing_scheduler(control_plane);
    on_n1(control_plane, "many", 4, &requests("1000m")).await;
    scene::cordon(control_plane, &["n1", "n3", "n4"].map(str::to_owned)).await;
    scene::deployment_with(control_plane, "few", 2, "10m", &requests("500m")).await;
    scene::uncordon(control_plane, &["n1", "n3", "n4"].map(str::to_owned)).await;
    // With usage of every node, the ceilings apply, and a single run has to wait for more samples.
    scene::usage_is_steady(control_plane).await;
    let launch = Launch::written(control_plane, &policy("high-node-utilization"))
        .await
        .with_scheduler(scheduler);
    carry_out_by(control_plane, &launch, "HighNodeUtilization", 2).await;
    assert_eq!(spread(control_plane, "few").await, BTreeMap::from([("n1".to_owned(), 2)]));
    remove(control_plane, "few").await;
    remove(control_plane, "many").await;
}

async fn who_avoids_a_pod_leaves_it(control_plane: &ControlPlane) {
    let noisy = json!({"matchLabels": {"noisy": "true"}});
    let apart = json!([{"labelSelector": noisy, "topologyKey": "kubernetes.io/hostname"}]);
    let rule =
        json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": apart}});
    on_n1(control_plane, "quiet", 2, &json!({"affinity": rule})).await;
    on_n1(control_plane, "loud", 1, &json!({})).await;
    control_plane.kubectl(&["label", "pod", "-l", "app=loud", "noisy=true"]);
    carry_out(
        control_plane,
        "RemovePodsViolatingInterPodAntiAffinity",
        "inter-pod-anti-affinity",
        2,
    )
    .await;
    assert_left(control_plane, "quiet").await;
    remove(control_plane, "quiet").await;
    remove(control_plane, "loud").await;
}

async fn a_node_that_affinity_no_longer_admits_is_left(control_plane: &ControlPlane) {
    control_plane.kubectl(&["label", "node", "n1", "n2", "disk=ssd"]);
    let ssd = json!({"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]});
    let required =
        json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [ssd]}});
    on_n1(control_plane, "fast", 2, &json!({"affinity": {"nodeAffinity": required}})).await;
    control_plane.kubectl(&["label", "--overwrite", "node", "n1", "disk=hdd"]);
    carry_out(control_plane, "RemovePodsViolatingNodeAffinity", "node-affinity", 2).await;
    assert_eq!(spread(control_plane, "fast").await, BTreeMap::from([("n2".to_owned(), 2)]));
    remove(control_plane, "fast").await;
}

/// One pod tolerates the one taint, and the other is one that the policy leaves out.
async fn a_tainted_node_is_left(control_plane: &ControlPlane) {
    let tolerant = json!({"tolerations": [{"key": "dedicated", "operator": "Exists"}]});
    on_n1(control_plane, "tolerant", 1, &tolerant).await;
    on_n1(control_plane, "plain", 2, &json!({})).await;
    control_plane.kubectl(&[
        "taint",
        "node",
        "n1",
        "dedicated=db:NoSchedule",
        "reserved=yes:NoSchedule",
    ]);
    let stays = names_of(control_plane, "tolerant").await;
    carry_out(control_plane, "RemovePodsViolatingNodeTaints", "node-taints", 2).await;
    assert_left(control_plane, "plain").await;
    assert_eq!(names_of(control_plane, "tolerant").await, stays);
    control_plane.kubectl(&["taint", "node", "n1", "dedicated-", "reserved-"]);
    remove(control_plane, "plain").await;
    remove(control_plane, "tolerant").await;
}

async fn a_pod_with_too_many_restarts_goes(control_plane: &ControlPlane) {
    scene::deployment(control_plane, "shaky", 3, "10m").await;
    let names: Vec<String> = names_of(control_plane, "shaky").await.into_iter().collect();
    set_status(control_plane, &names[0], &container_status(120));
    set_status(control_plane, &names[1], &container_status(99));
    let evicted =
        carry_out(control_plane, "RemovePodsHavingTooManyRestarts", "too-many-restarts", 1).await;
    assert_eq!(evicted, names[..1]);
    remove(control_plane, "shaky").await;
}

/// The ReplicaSet has already created a replacement, but does not delete the failed pod.
async fn a_failed_pod_is_cleared_away(control_plane: &ControlPlane) {
    scene::deployment(control_plane, "worn", 3, "10m").await;
    let names: Vec<String> = names_of(control_plane, "worn").await.into_iter().collect();
    set_status(control_plane, &names[0], &json!({"phase": "Failed", "reason": "Evicted"}));
    set_status(control_plane, &names[1], &json!({"phase": "Failed", "reason": "Shutdown"}));
    healed(control_plane).await;
    let evicted = carry_out(control_plane, "RemoveFailedPods", "failed-pods", 1).await;
    assert_eq!(evicted, names[..1]);
    let all = scene::pods(control_plane).await;
    assert!(!all.contains(&names[0]) && all.contains(&names[1]), "{all:?}");
    remove(control_plane, "worn").await;
}

async fn old_pods_are_replaced(control_plane: &ControlPlane) {
    let originals = names_of(control_plane, "aged").await;
    let launch = Launch::written(control_plane, &policy("pod-life-time")).await;
    // Wait for all of them: they may have been created in different seconds.
    eventually("pods older than 30 s", 90, async || {
        let plan = launch.plan();
        let asked = ["moves", "kept"].iter().flat_map(|list| plan[list].as_array().unwrap());
        let old: BTreeSet<String> =
            asked.map(|one| one["pod"].as_str().unwrap().to_owned()).collect();
        that(old == originals, format!("only {old:?}"))
    })
    .await;
    let evicted: BTreeSet<String> =
        carry_out(control_plane, "PodLifeTime", "pod-life-time", 4).await.into_iter().collect();
    assert_eq!(evicted, originals);
    remove(control_plane, "aged").await;
}

/// Runs the program until nothing is left to do, and returns the evicted pods. Fails above `most`
/// evictions.
async fn carry_out(
    control_plane: &ControlPlane,
    strategy: &str,
    file: &str,
    most: usize,
) -> Vec<String> {
    carry_out_by(
        control_plane,
        &Launch::written(control_plane, &policy(file)).await,
        strategy,
        most,
    )
    .await
}

async fn carry_out_by(
    control_plane: &ControlPlane,
    launch: &Launch,
    strategy: &str,
    most: usize,
) -> Vec<String> {
    let rounds = rounds(control_plane, launch, strategy).await;
    let evicted = rounds.concat();
    say(&format!("{strategy}: {} evicted in {} runs", evicted.len(), rounds.len()));
    assert!((1..=most).contains(&evicted.len()), "1 to {most} would do: {evicted:?}");
    evicted
}

/// A Deployment with all of its pods on n1. Afterwards all nodes are schedulable.
async fn on_n1(control_plane: &ControlPlane, name: &str, replicas: u32, more: &Value) {
    scene::cordon(control_plane, &scene::names(2, 4)).await;
    scene::deployment_with(control_plane, name, replicas, "10m", more).await;
    scene::uncordon(control_plane, &scene::names(2, 4)).await;
    assert_eq!(spread(control_plane, name).await.into_keys().collect::<Vec<_>>(), ["n1"]);
}

async fn assert_left(control_plane: &ControlPlane, deployment: &str) {
    let after = spread(control_plane, deployment).await;
    assert!(!after.contains_key("n1"), "{after:?}");
}

async fn names_of(control_plane: &ControlPlane, deployment: &str) -> BTreeSet<String> {
    pods_of(control_plane, deployment).await.iter().map(name).collect()
}

fn container_status(restarts: u32) -> Value {
    let started = json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}});
    let status = json!({
        "name": "main", "image": "main", "imageID": "", "ready": true, "restartCount": restarts,
        "state": started,
    });
    json!({"containerStatuses": [status]})
}

/// Sets a pod's status, as a kubelet would.
fn set_status(control_plane: &ControlPlane, pod: &str, status: &Value) {
    let patch = json!({"status": status}).to_string();
    control_plane.kubectl(&[
        "patch",
        "pod",
        pod,
        "--subresource=status",
        "--type=merge",
        "-p",
        &patch,
    ]);
}
