//! Clusters to balance. When a function returns, all pods are scheduled, Ready and measured.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::control_plane::{self, ControlPlane, TESTBED, with_control_plane};
use super::usage::{self, Asked, asked, used};
use super::wait::{eventually, that};

const LONG: u64 = 120;
/// The name of the node without metrics.
pub const MUTE: &str = "mute";
/// The cpu of a heavy pod. Three of them and the agent are 43 % of a node, four 56 %, so that a busy
/// machine, which measures some percent less, decides the same about a target of 50 %.
pub const HEAVY: &str = "1100m";
/// The prefix of taints that the control plane sets.
const NODE_TAINTS: &str = "node.kubernetes.io/";
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// Runs a test on a control plane on which the program has the rights of `deploy/base`.
pub fn with_rights(test: impl AsyncFnOnce(&ControlPlane)) {
    with_control_plane(async |control_plane| {
        rights(control_plane);
        test(control_plane).await;
    });
}

/// Does the same on a cluster that this function creates.
pub fn with(scene: impl AsyncFnOnce(&ControlPlane), test: impl AsyncFnOnce(&ControlPlane)) {
    with_rights(async |control_plane| {
        scene(control_plane).await;
        test(control_plane).await;
    });
}

/// Creates nodes n1 to n`count` of 8 cores, each with an agent that uses 100m.
pub async fn nodes(control_plane: &ControlPlane, count: u32) {
    let nodes =
        control_plane::run(Command::new(format!("{TESTBED}/nodes.sh")).arg(count.to_string()));
    let agent = std::fs::read_to_string(format!("{TESTBED}/agent.yaml")).unwrap();
    control_plane.apply(&format!("{nodes}---\n{agent}"));
    ready(control_plane).await;
    eventually("an agent on every node", LONG, async || {
        let pods = control_plane
            .list("/api/v1/namespaces/kube-system/pods?labelSelector=app%3Dagent")
            .await;
        let running = pods.iter().filter(|p| p["status"]["phase"] == "Running").count();
        that(running == count as usize, format!("{running} of {count}"))
    })
    .await;
}

/// Creates a Deployment in namespace default whose pods request 100m and use `cpu`, and waits until
/// all are Ready.
pub async fn deployment(control_plane: &ControlPlane, name: &str, replicas: u32, cpu: &str) {
    deployment_with(control_plane, name, replicas, cpu, &json!({})).await;
}

/// Does the same with more fields in the pod specification.
pub async fn deployment_with(
    control_plane: &ControlPlane,
    name: &str,
    replicas: u32,
    cpu: &str,
    more: &Value,
) {
    control_plane.apply(&manifest(name, replicas, cpu, more).to_string());
    eventually(&format!("Deployment {name}"), LONG, async || {
        let deployment = control_plane
            .get(&format!("/apis/apps/v1/namespaces/default/deployments/{name}"))
            .await;
        that(
            deployment["status"]["availableReplicas"] == replicas,
            deployment["status"].to_string(),
        )
    })
    .await;
}

/// The manifest of such a Deployment.
pub fn manifest(name: &str, replicas: u32, cpu: &str, more: &Value) -> Value {
    let resources = json!({"requests": {"cpu": "100m", "memory": "100Mi"}});
    let mut spec =
        json!({"containers": [{"name": "main", "image": "main", "resources": resources}]});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let annotations =
        json!({"kwok.x-k8s.io/usage-cpu": cpu, "kwok.x-k8s.io/usage-memory": "200Mi"});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}, "annotations": annotations},
                "spec": spec},
        },
    })
}

/// Waits until metrics-server reports the annotated usage of every running pod, and for every node
/// the sum of its pods.
pub async fn usage_is_steady(control_plane: &ControlPlane) {
    eventually("steady usage", LONG, async || {
        let (used, asked) = (used(control_plane).await, asked(control_plane).await);
        let mut sums: BTreeMap<String, f64> = BTreeMap::new();
        for Asked { node, pod, cpu: asked } in asked {
            let cpu = used.pods.get(&pod).ok_or(format!("{pod} has no usage"))?;
            that(
                (cpu - asked).abs() <= asked * 0.05 + 5.0,
                format!("{pod} uses {cpu} for {asked}"),
            )?;
            *sums.entry(node).or_default() += cpu;
        }
        for (node, sum) in &sums {
            let total = used.nodes.get(node).copied().unwrap_or_default();
            that(
                (total - sum).abs() <= sum * 0.05 + 10.0,
                format!("{node} uses {total}, its pods {sum}"),
            )?;
        }
        Ok(())
    })
    .await;
}

/// Makes a running pod use this much, from the next scrape on.
pub fn make_use(control_plane: &ControlPlane, pod: &Value, millicores: u32) {
    let usage = format!("kwok.x-k8s.io/usage-cpu={millicores}m");
    let namespace = pod["metadata"]["namespace"].as_str().unwrap();
    control_plane.kubectl(&[
        "annotate",
        "--overwrite",
        "pod",
        "-n",
        namespace,
        &usage::name(pod),
        &usage,
    ]);
}

/// Creates a node that metrics-server cannot scrape.
async fn mute_node(control_plane: &ControlPlane) {
    let node = control_plane::run(
        Command::new(format!("{TESTBED}/nodes.sh")).args(["1", "8", "32Gi", MUTE]),
    );
    let node = node
        .replace(&format!("{MUTE}1"), MUTE)
        .replace(&format!("nodes/{MUTE}/metrics"), "nowhere");
    control_plane.apply(&node);
    ready(control_plane).await;
}

/// Waits until every node accepts pods. Otherwise the first node that does would get all of them.
pub async fn ready(control_plane: &ControlPlane) {
    eventually("every node to be Ready", LONG, async || {
        let nodes = control_plane.list("/api/v1/nodes").await;
        let late: Vec<String> = nodes.iter().filter(|n| !takes_pods(n)).map(usage::name).collect();
        that(late.is_empty(), format!("not {late:?}"))
    })
    .await;
}

/// Whether a node is Ready and has no taint of an unready node. A node that a test cordoned counts
/// as ready.
fn takes_pods(node: &Value) -> bool {
    let unready = |key: &&String| key.starts_with(NODE_TAINTS) && *key != UNSCHEDULABLE;
    is_ready(node) && !taint_keys(node).iter().any(|key| unready(&key))
}

/// Whether the condition `Ready` of a node or a pod is true.
pub fn is_ready(object: &Value) -> bool {
    let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|c| c["type"] == "Ready" && c["status"] == "True")
}

fn taint_keys(node: &Value) -> Vec<String> {
    let taints = node["spec"]["taints"].as_array().into_iter().flatten();
    taints.filter_map(|taint| taint["key"].as_str()).map(str::to_owned).collect()
}

pub fn node_of(pod: &Value) -> String {
    pod["spec"]["nodeName"].as_str().unwrap_or_default().to_owned()
}

/// Cordons these nodes.
pub async fn cordon(control_plane: &ControlPlane, nodes: &[String]) {
    schedulable(control_plane, false, nodes).await;
}

/// Uncordons these nodes.
pub async fn uncordon(control_plane: &ControlPlane, nodes: &[String]) {
    schedulable(control_plane, true, nodes).await;
}

async fn schedulable(control_plane: &ControlPlane, yes: bool, nodes: &[String]) {
    let mut args = vec![if yes { "uncordon" } else { "cordon" }];
    args.extend(nodes.iter().map(String::as_str));
    control_plane.kubectl(&args);
    // A controller adds and removes the matching taint a moment later.
    eventually("the taint to follow", LONG, async || {
        let all = control_plane.list("/api/v1/nodes").await;
        let its = all.iter().filter(|n| nodes.contains(&usage::name(n)));
        let late: Vec<_> =
            its.filter(|n| taint_keys(n).iter().any(|key| key == UNSCHEDULABLE) == yes).collect();
        that(late.is_empty(), format!("{} nodes", late.len()))
    })
    .await;
}

/// The names n`from` to n`to`.
pub fn names(from: u32, to: u32) -> Vec<String> {
    (from..=to).map(|i| format!("n{i}")).collect()
}

/// 20 heavy pods start on three nodes; seven nodes come late, and then 60 light pods everywhere.
/// Eleven moves of heavy pods bring every node to 50 % of its CPU or less; moves of light pods
/// change nothing.
pub async fn late_nodes(control_plane: &ControlPlane) {
    nodes(control_plane, 10).await;
    cordon(control_plane, &names(4, 10)).await;
    deployment(control_plane, "hot", 20, "1000m").await;
    uncordon(control_plane, &names(4, 10)).await;
    deployment(control_plane, "cold", 60, "50m").await;
    usage_is_steady(control_plane).await;
}

/// Four nodes, n1 with six heavy pods at 84 %, the others idle: three moves bring it to 43 %.
pub async fn lopsided(control_plane: &ControlPlane) {
    lopsided_by(control_plane, 6).await;
}

/// The same with eight heavy pods, five of which have to move.
pub async fn more_lopsided(control_plane: &ControlPlane) {
    lopsided_by(control_plane, 8).await;
}

async fn lopsided_by(control_plane: &ControlPlane, heavy: u32) {
    on_n1(control_plane, &[("hot", heavy, HEAVY)]).await;
}

/// Creates four nodes, and on n1 Deployments with these numbers of pods that use this cpu.
pub async fn on_n1(control_plane: &ControlPlane, deployments: &[(&str, u32, &str)]) {
    nodes(control_plane, 4).await;
    cordon(control_plane, &names(2, 4)).await;
    for (name, replicas, cpu) in deployments {
        deployment(control_plane, name, *replicas, cpu).await;
    }
    uncordon(control_plane, &names(2, 4)).await;
    usage_is_steady(control_plane).await;
}

/// The same, and as many heavy pods on a node without metrics.
pub async fn lopsided_beside_a_mute_node(control_plane: &ControlPlane) {
    nodes(control_plane, 4).await;
    mute_node(control_plane).await;
    cordon(control_plane, &names(2, 4)).await;
    cordon(control_plane, &[MUTE.to_owned()]).await;
    deployment(control_plane, "hot", 6, HEAVY).await;
    cordon(control_plane, &names(1, 1)).await;
    uncordon(control_plane, &[MUTE.to_owned()]).await;
    deployment(control_plane, "silent", 6, "1000m").await;
    uncordon(control_plane, &names(1, 4)).await;
    usage_is_steady(control_plane).await;
}

/// Seven heavy pods that prefer n1, the hot node. An evicted pod comes back to n1, so no eviction
/// helps.
pub async fn dead_loop(control_plane: &ControlPlane) {
    nodes(control_plane, 10).await;
    let n1 = json!({"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In",
        "values": ["n1"]}]});
    let preferred = json!([{"weight": 100, "preference": n1}]);
    let affinity =
        json!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}});
    deployment_with(control_plane, "hot", 7, HEAVY, &json!({"affinity": affinity})).await;
    usage_is_steady(control_plane).await;
}

/// The names of the pods in namespace default.
pub async fn pods(control_plane: &ControlPlane) -> BTreeSet<String> {
    control_plane.list("/api/v1/namespaces/default/pods").await.iter().map(usage::name).collect()
}

/// Creates the program's ServiceAccount with the rights of `deploy/base`, including steering.
pub fn rights(control_plane: &ControlPlane) {
    apply_rights(control_plane, &manifests("base"));
}

/// Does the same without the right to steer, by a kustomization as users write it.
pub fn rights_without_steering(control_plane: &ControlPlane) {
    let folder = control_plane.dir.join("kustomization");
    apply_rights(control_plane, &kustomized(&folder, "without-steering", ""));
}

/// Builds a kustomization in this folder of the base, a component and more fields, as users write
/// it.
pub fn kustomized(folder: &Path, component: &str, more: &str) -> String {
    std::fs::create_dir_all(folder).unwrap();
    // kustomize accepts only relative paths.
    let up = "../".repeat(folder.components().count() - 1);
    let deploy = format!("{up}{}/deploy", env!("CARGO_MANIFEST_DIR").trim_start_matches('/'));
    let text = format!(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n{more}\
         resources: [{deploy}/base]\ncomponents: [{deploy}/components/{component}]\n"
    );
    std::fs::write(folder.join("kustomization.yaml"), text).unwrap();
    control_plane::run(Command::new("kubectl").arg("kustomize").arg(folder))
}

/// Applies everything but the Deployment.
fn apply_rights(control_plane: &ControlPlane, manifests: &str) {
    let kept: Vec<&str> =
        manifests.split("\n---\n").filter(|m| !m.contains("kind: Deployment\n")).collect();
    control_plane.apply(&kept.join("\n---\n"));
}

/// Restarts the scheduler with a configuration that prefers full nodes and spreads no replicas by
/// default. Returns the configuration file, which the program reads too.
pub fn packing_scheduler(control_plane: &ControlPlane) -> PathBuf {
    const PROFILES: &str = "\
profiles:
- schedulerName: default-scheduler
  plugins: {score: {enabled: [{name: NodeResourcesFit, weight: 5}]}}
  pluginConfig:
  - name: NodeResourcesFit
    args: \
    {scoringStrategy: {type: MostAllocated,
      resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]}}
  - name: PodTopologySpread
    args: {defaultingType: List, defaultConstraints: []}
";
    let config = std::fs::read_to_string(control_plane.dir.join("scheduler.yaml")).unwrap();
    let path = control_plane.write("scheduler.yaml", &(config + PROFILES));
    control_plane.component("restart", "scheduler");
    path
}

/// The taints of a node, as kubectl writes them.
pub async fn taints(control_plane: &ControlPlane, node: &str) -> Vec<String> {
    let node = control_plane.get(&format!("/api/v1/nodes/{node}")).await;
    let word = |taint: &Value, field: &str| taint[field].as_str().unwrap_or_default().to_owned();
    let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
    taints
        .iter()
        .map(|t| format!("{}={}:{}", word(t, "key"), word(t, "value"), word(t, "effect")))
        .collect()
}

/// The manifests that `kubectl apply -k` would apply for this folder of deploy/.
pub fn manifests(folder: &str) -> String {
    let path = format!("{}/deploy/{folder}", env!("CARGO_MANIFEST_DIR"));
    control_plane::run(Command::new("kubectl").args(["kustomize", &path]))
}
