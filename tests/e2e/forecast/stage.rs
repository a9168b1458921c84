//! Plays a scenario on a control plane, of which only etcd, the API server and the scheduler run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use evenkeel::policy::KubernetesRelease;
use serde_json::{Value, json};

use crate::e2e::support::{ControlPlane, run};
use crate::shared::placements::case::{Case, RecordedPlacement};

use super::cluster::Scenario;
use super::dice::Dice;
use super::log::{Decision, Log};

/// The plugins that score by default, as kube-scheduler names them.
const PLUGINS: [&str; 7] = [
    "TaintToleration",
    "NodeAffinity",
    "NodeResourcesFit",
    "PodTopologySpread",
    "InterPodAffinity",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
];
/// How many pods of each cluster are replaced at the end.
const REPLACED: usize = 6;
/// How long the scheduler may take to retry a pod that fitted nowhere. Its backoff starts at one
/// second.
const RETRY: Duration = Duration::from_secs(4);
const GONE: &str = "?gracePeriodSeconds=0&propagationPolicy=Background";

pub struct Stage<'b> {
    control_plane: &'b ControlPlane,
    log: Log,
    /// The release of the kube-scheduler, such as 1.36.
    pub release: String,
}

impl<'b> Stage<'b> {
    /// Stops the controllers and simulated kubelets, which would change the scenario's objects.
    pub fn new(control_plane: &'b ControlPlane) -> Self {
        for part in ["metrics-server", "kwok", "kcm"] {
            control_plane.component("stop", part);
        }
        Stage {
            control_plane,
            log: Log::open(&control_plane.dir),
            release: release(&control_plane.dir),
        }
    }

    /// Creates the cluster, schedules one pod after another, and deletes everything.
    pub async fn play(&mut self, mut scenario: Scenario) -> Case {
        for object in scenario.objects.iter_mut().chain(&mut scenario.pods) {
            self.drop_newer_fields(object);
        }
        let objects = self.set_up(scenario.objects).await;
        let mut placements = Vec::new();
        let mut owned = Vec::new();
        let mut in_vain: BTreeMap<String, u32> = BTreeMap::new();
        for pod in scenario.pods {
            let vain =
                in_vain.entry(pod["metadata"]["labels"]["instance"].to_string()).or_default();
            // Further pods of a workload that fits nowhere would show nothing new.
            if *vain == 2 {
                continue;
            }
            let placement = self.place(&pod).await;
            if placement.node.is_none() {
                *vain += 1;
            } else if !pod["metadata"]["ownerReferences"].is_null() {
                owned.push(pod);
            }
            placements.push(placement);
        }
        placements.extend(self.replace(owned, &mut Dice::new(!scenario.seed)).await);
        self.clear(&objects).await;
        let plugins = PLUGINS.map(str::to_owned).to_vec();
        Case {
            name: scenario.name,
            seed: scenario.seed,
            release: self.release.clone(),
            plugins,
            objects,
            placements,
        }
    }

    /// Removes what an API server of the scheduler's release would not store: that of the testbed
    /// may be newer. Before 1.34, resources of a whole pod need a feature gate
    /// (pkg/features/kube_features.go and pkg/api/pod/util.go of Kubernetes 1.33).
    fn drop_newer_fields(&self, object: &mut Value) {
        let release: KubernetesRelease = self.release.parse().unwrap();
        if object["kind"] == "Pod" && release < KubernetesRelease::new(34) {
            object["spec"].as_object_mut().unwrap().remove("resources");
        }
    }

    async fn set_up(&mut self, objects: Vec<Value>) -> Vec<Value> {
        let order = [
            "Namespace",
            "RuntimeClass",
            "Service",
            "ReplicaSet",
            "StatefulSet",
            "PersistentVolume",
            "PersistentVolumeClaim",
        ];
        let rank = |o: &Value| {
            order.iter().position(|k| o["kind"] == *k).unwrap_or(if o["kind"] == "Node" {
                8
            } else {
                9
            })
        };
        let mut objects = objects;
        objects.sort_by_key(rank);
        let mut events = BTreeSet::new();
        for object in &mut objects {
            match object["kind"].as_str().unwrap() {
                "Node" => self.add_node(object, &mut events).await,
                "Pod" => self.add_pod(object, &mut events).await,
                _ => self.add(object).await,
            }
        }
        self.log.knows(events).await;
        // The scheduler logs nothing about services, controllers and volumes. They were created
        // before the nodes.
        tokio::time::sleep(Duration::from_millis(100)).await;
        objects
    }

    async fn add(&self, object: &Value) {
        let path = collection(object);
        let answer = self.control_plane.send("POST", &path, None, object).await;
        let may_exist = ["Namespace", "RuntimeClass"].iter().any(|kind| object["kind"] == *kind);
        let exists = answer.as_ref().is_err_and(|(code, _)| *code == 409);
        assert!(answer.is_ok() || (may_exist && exists), "POST {path}: {answer:?}\n{object}");
    }

    /// The API server taints new nodes until a controller finds them ready, so the taints are set
    /// afterwards.
    async fn add_node(&self, node: &Value, events: &mut BTreeSet<(String, String)>) {
        self.send("POST", "/api/v1/nodes", node).await;
        let patch = json!({"spec": {"taints": node["spec"]["taints"]}});
        self.send("PATCH", &format!("/api/v1/nodes/{}", name(node)), &patch).await;
        events.insert(("Update event for node".to_owned(), name(node).to_owned()));
    }

    /// Adds a pod that exists before the first decision.
    async fn add_pod(&self, pod: &mut Value, events: &mut BTreeSet<(String, String)>) {
        let (leaves, status) = (pod["metadata"]["deletionTimestamp"].take(), pod["status"].take());
        let path = format!("{}/{}", collection(pod), name(pod));
        let made = self.send("POST", &collection(pod), pod).await;
        *pod = lean(made);
        let mut event = "Add event for scheduled pod";
        if !leaves.is_null() {
            self.send("DELETE", &path, &json!({"gracePeriodSeconds": 3600})).await;
            pod["metadata"]["deletionTimestamp"] = leaves;
            event = "Update event for scheduled pod";
        } else if !status.is_null() {
            self.send("PATCH", &format!("{path}/status"), &json!({"status": status})).await;
            pod["status"] = status;
            event = "Delete event for scheduled pod";
        }
        events.insert((event.to_owned(), full_name(pod)));
    }

    async fn place(&mut self, pod: &Value) -> RecordedPlacement {
        let made = lean(self.send("POST", &collection(pod), pod).await);
        let decision = self.log.decision(&full_name(pod)).await;
        if decision.node.is_none() {
            self.send("DELETE", &format!("{}/{}{GONE}", collection(pod), name(pod)), &Value::Null)
                .await;
        }
        put(made, decision)
    }

    /// Deletes pods that controllers would replace, and creates the replacements.
    async fn replace(&mut self, mut olds: Vec<Value>, dice: &mut Dice) -> Vec<RecordedPlacement> {
        let mut placements = Vec::new();
        for _ in 0..REPLACED.min(olds.len()) {
            let old = olds.swap_remove(dice.index(olds.len()));
            let mut new = old.clone();
            let in_turn = old["metadata"]["ownerReferences"][0]["kind"] == "StatefulSet";
            if !in_turn {
                new["metadata"]["name"] = json!(format!(
                    "{}-{}",
                    name(&old).rsplit_once('-').unwrap().0,
                    dice.letters(5)
                ));
            }
            let first = in_turn || dice.percent(30);
            placements.push(RecordedPlacement {
                replaces: Some(name(&old).to_owned()),
                ..self.replace_one(&old, &new, first).await
            });
        }
        placements
    }

    /// Schedules the new pod, with the old one gone `first` or still terminating.
    async fn replace_one(&mut self, old: &Value, new: &Value, first: bool) -> RecordedPlacement {
        let path = format!("{}/{}", collection(old), name(old));
        let event = |what: &str| BTreeSet::from([(what.to_owned(), full_name(old))]);
        if first {
            self.send("DELETE", &format!("{path}{GONE}"), &Value::Null).await;
            self.log.knows(event("Delete event for scheduled pod")).await;
            return self.place(new).await;
        }
        self.send("DELETE", &path, &json!({"gracePeriodSeconds": 3600})).await;
        self.log.knows(event("Update event for scheduled pod")).await;
        let made = lean(self.send("POST", &collection(new), new).await);
        let mut decision = self.log.decision(&full_name(new)).await;
        self.send("DELETE", &format!("{path}{GONE}"), &Value::Null).await;
        let mut asleep = false;
        if decision.node.is_some() {
            self.log.knows(event("Delete event for scheduled pod")).await;
        } else {
            // The old pod's end may free resources.
            match self.log.decision_within(RETRY, &full_name(new)).await {
                Some(second) => decision = second,
                None => asleep = true,
            }
        }
        if decision.node.is_none() {
            self.send("DELETE", &format!("{}/{}{GONE}", collection(new), name(new)), &Value::Null)
                .await;
        }
        RecordedPlacement { asleep, ..put(made, decision) }
    }

    async fn clear(&mut self, objects: &[Value]) {
        for namespace in ["shop", "bank", "lab"] {
            for path in ["api/v1", "apis/apps/v1"] {
                let kinds: &[&str] =
                    if path == "api/v1" { &["pods"] } else { &["replicasets", "statefulsets"] };
                for kind in kinds {
                    self.send(
                        "DELETE",
                        &format!("/{path}/namespaces/{namespace}/{kind}{GONE}"),
                        &Value::Null,
                    )
                    .await;
                }
            }
        }
        for service in objects.iter().filter(|o| o["kind"] == "Service") {
            self.send(
                "DELETE",
                &format!("{}/{}", collection(service), name(service)),
                &Value::Null,
            )
            .await;
        }
        self.send("DELETE", &format!("/api/v1/nodes{GONE}"), &Value::Null).await;
        let nodes = objects.iter().filter(|o| o["kind"] == "Node");
        self.log
            .knows(
                nodes.map(|n| ("Delete event for node".to_owned(), name(n).to_owned())).collect(),
            )
            .await;
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.control_plane.send(method, path, None, body).await;
        answer.unwrap_or_else(|error| panic!("{method} {path}: {error:?}\n{body}"))
    }
}

/// Asks the kube-scheduler of a control plane for its release. It may be another than that of the
/// API server.
fn release(folder: &Path) -> String {
    let command = std::fs::read_to_string(folder.join("cmd.scheduler")).unwrap();
    let binary = command.split_whitespace().next().unwrap();
    let said = run(Command::new(binary).arg("--version"));
    let version = said.trim().strip_prefix("Kubernetes ").unwrap();
    version.parse::<KubernetesRelease>().unwrap().to_string()
}

fn put(pod: Value, decision: Decision) -> RecordedPlacement {
    let order = |scores: BTreeMap<String, i64>| {
        let unknown: Vec<_> = scores.keys().filter(|p| !PLUGINS.contains(&p.as_str())).collect();
        let silent = unknown.iter().all(|p| scores[p.as_str()] == 0);
        assert!(silent, "unknown plugins have scores: {unknown:?}");
        PLUGINS.iter().map(|p| scores.get(*p).copied().unwrap_or_default()).collect()
    };
    let scores = decision.scores.into_iter().map(|(node, scores)| (node, order(scores))).collect();
    let equal = equal(decision.node.as_ref(), &scores);
    RecordedPlacement {
        pod,
        node: decision.node,
        why: decision.why,
        scores,
        equal,
        ..RecordedPlacement::default()
    }
}

/// The nodes with the best score. The scheduler took one of them. It does not score a node that is
/// the only one left.
fn equal(node: Option<&String>, scores: &BTreeMap<String, Vec<i64>>) -> Vec<String> {
    let total = |scores: &Vec<i64>| scores.iter().sum::<i64>();
    let Some(best) = scores.values().map(total).max() else {
        return node.into_iter().cloned().collect();
    };
    let equal: Vec<String> =
        scores.iter().filter(|(_, s)| total(s) == best).map(|(n, _)| n.clone()).collect();
    assert!(
        node.is_some_and(|n| equal.contains(n)),
        "{node:?} was chosen but is not among the best: {scores:?}"
    );
    equal
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap()
}

fn full_name(object: &Value) -> String {
    format!("{}/{}", object["metadata"]["namespace"].as_str().unwrap(), name(object))
}

/// The API path of the object's collection.
fn collection(object: &Value) -> String {
    let kind = object["kind"].as_str().unwrap().to_lowercase();
    let version = object["apiVersion"].as_str().unwrap();
    let root = if version == "v1" { "/api/v1".to_owned() } else { format!("/apis/{version}") };
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("{root}/namespaces/{namespace}/{kind}s"),
        None => format!("{root}/{kind}{}", if kind.ends_with('s') { "es" } else { "s" }),
    }
}

/// The object without the fields that the scheduler ignores.
fn lean(mut object: Value) -> Value {
    object["apiVersion"] = json!("v1");
    object["kind"] = json!("Pod");
    let keep = |value: &mut Value, keys: &[&str]| {
        if let Some(map) = value.as_object_mut() {
            map.retain(|key, value| {
                keys.contains(&key.as_str()) && *value != json!({}) && *value != json!([])
            });
        }
    };
    keep(&mut object, &["apiVersion", "kind", "metadata", "spec"]);
    keep(&mut object["metadata"], &["name", "namespace", "labels", "ownerReferences"]);
    keep(
        &mut object["spec"],
        &[
            "affinity",
            "containers",
            "initContainers",
            "nodeName",
            "nodeSelector",
            "hostNetwork",
            "overhead",
            "resources",
            "tolerations",
            "topologySpreadConstraints",
            "volumes",
        ],
    );
    for list in ["containers", "initContainers"] {
        for container in object["spec"][list].as_array_mut().into_iter().flatten() {
            keep(container, &["name", "image", "resources", "ports", "restartPolicy"]);
        }
    }
    // The API server adds tolerations for 300 s to every pod. They do not affect scheduling.
    if let Some(tolerations) = object["spec"]["tolerations"].as_array_mut() {
        tolerations.retain(|t| t["tolerationSeconds"] != 300);
    }
    for list in ["containers", "initContainers", "tolerations"] {
        if object["spec"][list].as_array().is_none_or(Vec::is_empty) {
            object["spec"].as_object_mut().unwrap().remove(list);
        }
    }
    object
}
