//! Clusters to balance, which stand when they are returned: scheduled, Ready and measured.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::bed::{self, Bed, TESTBED};
use super::usage::{self, used};
use super::wait::{eventually, that};

const LONG: u64 = 120;
/// The name of the node without metrics, where there is one.
pub const MUTE: &str = "mute";
/// What the control plane itself taints nodes with.
const NODE_TAINTS: &str = "node.kubernetes.io/";
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// That many nodes of 8 cores, n1 and up, each with its agent of 100m.
pub async fn nodes(bed: &Bed, count: u32) {
    let nodes = bed::run(Command::new(format!("{TESTBED}/nodes.sh")).arg(count.to_string()));
    let agent = std::fs::read_to_string(format!("{TESTBED}/agent.yaml")).unwrap();
    bed.apply(&format!("{nodes}---\n{agent}"));
    ready(bed).await;
    eventually("an agent on every node", LONG, async || {
        let pods = bed
            .list("/api/v1/namespaces/kube-system/pods?labelSelector=app%3Dagent")
            .await;
        let running = pods
            .iter()
            .filter(|p| p["status"]["phase"] == "Running")
            .count();
        that(running == count as usize, format!("{running} of {count}"))
    })
    .await;
}

/// A Deployment in namespace default whose pods request 100m and use so much CPU; returns when all are Ready.
pub async fn deployment(bed: &Bed, name: &str, replicas: u32, cpu: &str) {
    deployment_with(bed, name, replicas, cpu, &json!({})).await;
}

/// The same, with more in the pods' specification.
pub async fn deployment_with(bed: &Bed, name: &str, replicas: u32, cpu: &str, more: &Value) {
    let resources = json!({"requests": {"cpu": "100m", "memory": "100Mi"}});
    let mut spec =
        json!({"containers": [{"name": "main", "image": "main", "resources": resources}]});
    spec.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let annotations =
        json!({"kwok.x-k8s.io/usage-cpu": cpu, "kwok.x-k8s.io/usage-memory": "200Mi"});
    let manifest = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}, "annotations": annotations}, "spec": spec},
        },
    });
    bed.apply(&manifest.to_string());
    eventually(&format!("Deployment {name}"), LONG, async || {
        let it = bed
            .get(&format!(
                "/apis/apps/v1/namespaces/default/deployments/{name}"
            ))
            .await;
        that(
            it["status"]["availableReplicas"] == replicas,
            it["status"].to_string(),
        )
    })
    .await;
}

/// Waits until metrics-server shows of every running pod what its annotation says, and every node's CPU is what its pods come to.
pub async fn settle(bed: &Bed) {
    eventually("the usage to settle", LONG, async || {
        let pods = bed
            .list("/api/v1/pods?fieldSelector=status.phase%3DRunning")
            .await;
        let used = used(bed).await;
        let mut sums: BTreeMap<String, f64> = BTreeMap::new();
        for pod in pods.iter().filter(|p| node_of(p) != MUTE) {
            let name = usage::full_name(pod);
            let cpu = used.pods.get(&name).ok_or(format!("{name} has no usage"))?;
            let meant =
                usage::millicores(&pod["metadata"]["annotations"]["kwok.x-k8s.io/usage-cpu"]);
            that(
                (cpu - meant).abs() <= meant * 0.05 + 5.0,
                format!("{name} uses {cpu} for {meant}"),
            )?;
            *sums.entry(node_of(pod)).or_default() += cpu;
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

/// Makes a running pod use so much, from the next scrape on.
pub fn make_use(bed: &Bed, pod: &Value, millicores: u32) {
    let usage = format!("kwok.x-k8s.io/usage-cpu={millicores}m");
    let namespace = pod["metadata"]["namespace"].as_str().unwrap();
    bed.kubectl(&[
        "annotate",
        "--overwrite",
        "pod",
        "-n",
        namespace,
        &usage::name(pod),
        &usage,
    ]);
}

/// A node that metrics-server cannot read.
async fn mute_node(bed: &Bed) {
    let node = bed::run(Command::new(format!("{TESTBED}/nodes.sh")).args(["1", "8", "32Gi", MUTE]));
    let node = node
        .replace(&format!("{MUTE}1"), MUTE)
        .replace(&format!("nodes/{MUTE}/metrics"), "nowhere");
    bed.apply(&node);
    ready(bed).await;
}

/// Waits until every node takes pods: one that does so before the others would get all of them.
pub async fn ready(bed: &Bed) {
    eventually("every node to be Ready", LONG, async || {
        let nodes = bed.list("/api/v1/nodes").await;
        let late: Vec<String> = nodes
            .iter()
            .filter(|n| !takes_pods(n))
            .map(usage::name)
            .collect();
        that(late.is_empty(), format!("not {late:?}"))
    })
    .await;
}

/// Whether a node is Ready, and no taint of the time before keeps pods away; one that was cordoned on purpose may.
fn takes_pods(node: &Value) -> bool {
    let conditions = node["status"]["conditions"].as_array();
    let ready = conditions.is_some_and(|all| {
        all.iter()
            .any(|c| c["type"] == "Ready" && c["status"] == "True")
    });
    let unready = |key: &&String| key.starts_with(NODE_TAINTS) && *key != UNSCHEDULABLE;
    ready && !taint_keys(node).iter().any(|key| unready(&key))
}

fn taint_keys(node: &Value) -> Vec<String> {
    let taints = node["spec"]["taints"].as_array().into_iter().flatten();
    taints
        .filter_map(|taint| taint["key"].as_str())
        .map(str::to_owned)
        .collect()
}

pub fn node_of(pod: &Value) -> String {
    pod["spec"]["nodeName"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// Closes these nodes to new pods.
pub async fn cordon(bed: &Bed, nodes: &[String]) {
    schedulable(bed, false, nodes).await;
}

/// Opens these nodes to new pods.
pub async fn uncordon(bed: &Bed, nodes: &[String]) {
    schedulable(bed, true, nodes).await;
}

async fn schedulable(bed: &Bed, yes: bool, nodes: &[String]) {
    let mut args = vec![if yes { "uncordon" } else { "cordon" }];
    args.extend(nodes.iter().map(String::as_str));
    bed.kubectl(&args);
    // The taint that goes with it comes and goes a moment later, by another hand.
    eventually("the taint to follow", LONG, async || {
        let all = bed.list("/api/v1/nodes").await;
        let its = all.iter().filter(|n| nodes.contains(&usage::name(n)));
        let late: Vec<_> = its
            .filter(|n| taint_keys(n).iter().any(|key| key == UNSCHEDULABLE) == yes)
            .collect();
        that(late.is_empty(), format!("{} nodes", late.len()))
    })
    .await;
}

/// The names n`from` to n`to`.
pub fn names(from: u32, to: u32) -> Vec<String> {
    (from..=to).map(|i| format!("n{i}")).collect()
}

/// 20 heavy pods start on three nodes; seven nodes come late, and then 60 light pods everywhere. Eleven moves of heavy
/// pods bring every node to 50 % of its CPU or less; moves of light pods change nothing.
pub async fn late_nodes(bed: &Bed) {
    nodes(bed, 10).await;
    cordon(bed, &names(4, 10)).await;
    deployment(bed, "hot", 20, "1000m").await;
    uncordon(bed, &names(4, 10)).await;
    deployment(bed, "cold", 60, "50m").await;
    settle(bed).await;
}

/// Four nodes, n1 with six heavy pods at 76 %, the others idle: three moves bring it to 39 %.
pub async fn lopsided(bed: &Bed) {
    lopsided_by(bed, 6).await;
}

/// The same with so many heavy pods: all but three have to move.
pub async fn lopsided_by(bed: &Bed, heavy: u32) {
    nodes(bed, 4).await;
    cordon(bed, &names(2, 4)).await;
    deployment(bed, "hot", heavy, "1000m").await;
    uncordon(bed, &names(2, 4)).await;
    settle(bed).await;
}

/// The same, and as much on a node that nobody can measure.
pub async fn lopsided_beside_a_mute_node(bed: &Bed) {
    nodes(bed, 4).await;
    mute_node(bed).await;
    cordon(bed, &names(2, 4)).await;
    cordon(bed, &[MUTE.to_owned()]).await;
    deployment(bed, "hot", 6, "1000m").await;
    cordon(bed, &names(1, 1)).await;
    uncordon(bed, &[MUTE.to_owned()]).await;
    deployment(bed, "silent", 6, "1000m").await;
    uncordon(bed, &names(1, 4)).await;
    settle(bed).await;
}

/// Seven heavy pods that prefer n1, the hot node: an evicted one comes back to n1. No eviction helps.
pub async fn dead_loop(bed: &Bed) {
    nodes(bed, 10).await;
    let n1 = json!({"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}]});
    let preferred = json!([{"weight": 100, "preference": n1}]);
    let affinity =
        json!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}});
    deployment_with(bed, "hot", 7, "1000m", &json!({"affinity": affinity})).await;
    settle(bed).await;
}

/// The names of the pods in namespace default.
pub async fn pods(bed: &Bed) -> BTreeSet<String> {
    bed.list("/api/v1/namespaces/default/pods")
        .await
        .iter()
        .map(usage::name)
        .collect()
}

/// All that a plan is made of, in a file, and the time of its newest metrics.
pub async fn snapshot(bed: &Bed) -> (PathBuf, String) {
    let kinds =
        "nodes,pods,poddisruptionbudgets,replicasets.apps,nodes.metrics.k8s.io,pods.metrics.k8s.io";
    let text = bed.kubectl(&["get", kinds, "-A", "-o", "yaml"]);
    let metrics = bed.list("/apis/metrics.k8s.io/v1beta1/nodes").await;
    let newest = metrics
        .iter()
        .map(|m| m["timestamp"].as_str().unwrap())
        .max()
        .unwrap();
    (bed.write("cluster.yaml", &text), newest.to_owned())
}

/// The program's ServiceAccount with exactly the rights that the project gives it.
pub fn rights(bed: &Bed) {
    let all = manifests("base");
    let kept: Vec<&str> = all
        .split("\n---\n")
        .filter(|m| !m.contains("kind: Deployment\n"))
        .collect();
    bed.apply(&kept.join("\n---\n"));
}

/// The same with the component that lets it steer the scheduler, as somebody's own kustomization would put it together.
pub fn rights_to_steer(bed: &Bed) {
    let folder = bed.dir.join("kustomization");
    std::fs::create_dir_all(&folder).unwrap();
    // kustomize takes relative paths alone.
    let up = "../".repeat(folder.components().count() - 1);
    let deploy = format!(
        "{up}{}/deploy",
        env!("CARGO_MANIFEST_DIR").trim_start_matches('/')
    );
    let text = format!(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n\
         resources: [{deploy}/base]\ncomponents: [{deploy}/components/steering]\n"
    );
    std::fs::write(folder.join("kustomization.yaml"), text).unwrap();
    let all = bed::run(Command::new("kubectl").arg("kustomize").arg(&folder));
    let kept: Vec<&str> = all
        .split("\n---\n")
        .filter(|m| !m.contains("kind: Deployment\n"))
        .collect();
    bed.apply(&kept.join("\n---\n"));
}

/// Has the control plane's scheduler pack: it prefers nodes that are full, and spreads no replicas unasked. Returns its
/// configuration, the file that the program is given too.
pub fn packing_scheduler(bed: &Bed) -> PathBuf {
    const PROFILES: &str = "\
profiles:
- schedulerName: default-scheduler
  plugins: {score: {enabled: [{name: NodeResourcesFit, weight: 5}]}}
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]}}
  - name: PodTopologySpread
    args: {defaultingType: List, defaultConstraints: []}
";
    let config = std::fs::read_to_string(bed.dir.join("scheduler.yaml")).unwrap();
    let path = bed.write("scheduler.yaml", &(config + PROFILES));
    bed.component("restart", "scheduler");
    path
}

/// The taints of a node, as kubectl writes them.
pub async fn taints(bed: &Bed, node: &str) -> Vec<String> {
    let node = bed.get(&format!("/api/v1/nodes/{node}")).await;
    let word = |taint: &Value, field: &str| taint[field].as_str().unwrap_or_default().to_owned();
    let taints = node["spec"]["taints"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    taints
        .iter()
        .map(|t| {
            format!(
                "{}={}:{}",
                word(t, "key"),
                word(t, "value"),
                word(t, "effect")
            )
        })
        .collect()
}

/// What `kubectl apply -k` would apply of this folder of deploy/.
pub fn manifests(folder: &str) -> String {
    let path = format!("{}/deploy/{folder}", env!("CARGO_MANIFEST_DIR"));
    bed::run(Command::new("kubectl").args(["kustomize", &path]))
}
