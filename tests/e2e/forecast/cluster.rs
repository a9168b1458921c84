//! Random clusters: nodes, services, volumes, workloads and existing pods.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::dice::Dice;
use super::pods::{Place, Workload};

/// How often each feature occurs in a cluster, in percent.
#[derive(Clone, Copy)]
pub struct Theme {
    pub name: &'static str,
    /// Least and most.
    pub nodes: (u64, u64),
    pub pods: (u64, u64),
    /// Nodes that differ in size.
    pub uneven: u64,
    /// Nodes that are tainted, cordoned or not ready.
    pub closed: u64,
    /// Workloads with tolerations.
    pub tolerating: u64,
    pub node_affinity: u64,
    pub pod_affinity: u64,
    pub spread: u64,
    pub ports: u64,
    pub volumes: u64,
    pub images: u64,
    /// Workloads with a Service.
    pub services: u64,
    /// Workloads whose pods request nothing.
    pub weightless: u64,
    /// Existing pods per node.
    pub existing: u64,
}

const PLAIN: Theme = Theme {
    name: "plain",
    nodes: (3, 16),
    pods: (20, 30),
    uneven: 50,
    closed: 10,
    tolerating: 10,
    node_affinity: 20,
    pod_affinity: 20,
    spread: 10,
    ports: 5,
    volumes: 5,
    images: 30,
    services: 50,
    weightless: 20,
    existing: 1,
};

pub const THEMES: [Theme; 12] = [
    PLAIN,
    Theme {
        name: "mixed",
        closed: 25,
        tolerating: 40,
        node_affinity: 35,
        pod_affinity: 35,
        spread: 35,
        ..PLAIN
    },
    Theme { name: "taints", closed: 60, tolerating: 60, nodes: (4, 20), ..PLAIN },
    Theme { name: "node-affinity", node_affinity: 90, nodes: (5, 24), ..PLAIN },
    Theme { name: "spread", spread: 90, closed: 20, tolerating: 30, node_affinity: 25, ..PLAIN },
    Theme { name: "pod-affinity", pod_affinity: 90, nodes: (4, 20), ..PLAIN },
    Theme {
        name: "sizes",
        uneven: 100,
        weightless: 40,
        existing: 3,
        pod_affinity: 0,
        spread: 0,
        ..PLAIN
    },
    Theme { name: "images", images: 95, weightless: 60, uneven: 10, spread: 5, ..PLAIN },
    Theme { name: "volumes", volumes: 85, nodes: (4, 20), ..PLAIN },
    Theme { name: "ports", ports: 70, nodes: (3, 10), ..PLAIN },
    Theme {
        name: "default-spread",
        services: 90,
        weightless: 50,
        uneven: 5,
        pod_affinity: 0,
        spread: 0,
        ..PLAIN
    },
    Theme { name: "everything", nodes: (12, 30), pods: (30, 42), existing: 2, ..MUCH },
];

const MUCH: Theme = Theme {
    closed: 40,
    tolerating: 60,
    node_affinity: 50,
    pod_affinity: 50,
    spread: 50,
    ports: 15,
    volumes: 20,
    images: 60,
    ..PLAIN
};

/// More nodes than the scheduler scores for one pod.
pub const LARGE: Theme =
    Theme { name: "large", nodes: (150, 150), pods: (12, 12), existing: 0, ..PLAIN };

pub const ZONE: &str = "topology.kubernetes.io/zone";
pub const HOSTNAME: &str = "kubernetes.io/hostname";
pub const IMAGES: [(&str, u64); 8] = [
    ("registry.local/web:v1", 480),
    ("registry.local/web:v2", 510),
    ("registry.local/api:2024", 1250),
    ("registry.local/db", 2100),
    (
        "registry.local/cache@sha256:\
         9f2d8a4c5b1e3f607182930a4b5c6d7e8f901a2b3c4d5e6f708192a3b4c5d6e7",
        90,
    ),
    ("nginx:1.27", 190),
    ("busybox", 4),
    ("registry.local:5000/model", 9000),
];

/// A cluster and the pods to schedule.
pub struct Scenario {
    pub name: String,
    pub seed: u64,
    pub objects: Vec<Value>,
    pub pods: Vec<Value>,
}

/// The cluster of this seed.
pub fn scenario(theme: &Theme, seed: u64) -> Scenario {
    let mut dice = Dice::new(seed);
    let mut objects = lasting();
    let nodes = nodes(theme, &mut dice);
    let place = Place {
        nodes: nodes.iter().map(|n| n["metadata"]["name"].as_str().unwrap().to_owned()).collect(),
    };
    objects.extend(nodes);
    let count = dice.between(3, 7);
    let mut workloads: Vec<Workload> =
        (0..count).map(|i| Workload::roll(theme, &place, &mut dice, seed, i)).collect();
    for workload in &mut workloads {
        objects.append(&mut workload.objects);
    }
    if theme.existing > 0 && dice.percent(50) {
        objects.extend(place.nodes.iter().map(|node| agent(node)));
    }
    add_existing(theme, &place, &mut dice, &mut workloads, &mut objects);
    let mut pods = Vec::new();
    let wanted = dice.between(theme.pods.0, theme.pods.1);
    while (pods.len() as u64) < wanted {
        let workload = dice.index(workloads.len());
        for _ in 0..dice.between(1, 4) {
            pods.push(workloads[workload].pod(&mut dice));
            objects.append(&mut workloads[workload].objects);
        }
    }
    Scenario { name: theme.name.to_owned(), seed, objects, pods }
}

fn add_existing(
    theme: &Theme,
    place: &Place,
    dice: &mut Dice,
    workloads: &mut [Workload],
    objects: &mut Vec<Value>,
) {
    let mut with_ports = BTreeSet::new();
    for _ in 0..theme.existing * place.nodes.len() as u64 {
        let workload = &mut workloads[dice.index(workloads.len())];
        let node = &place.nodes[dice.index(place.nodes.len())];
        let mut pod = workload.pod(dice);
        // Two pods of one node never have the same port, and the scheduler relies on it.
        if !pod["spec"]["containers"][0]["ports"].is_null() && !with_ports.insert(node) {
            continue;
        }
        pod["spec"]["nodeName"] = json!(node);
        match dice.between(0, 19) {
            0 | 1 => pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"),
            2 => pod["status"] = json!({"phase": "Succeeded"}),
            _ => {}
        }
        objects.push(pod);
        objects.append(&mut workload.objects);
    }
}

/// Objects that all clusters share.
fn lasting() -> Vec<Value> {
    let namespace = |name: &str, team: &str| {
        let labels = json!({"kubernetes.io/metadata.name": name, "team": team});
        json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name, "labels": labels}})
    };
    let overhead = json!({"podFixed": {"cpu": "250m", "memory": "160Mi"}});
    let heavy = json!({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass",
        "metadata": {"name": "heavy"},
        "handler": "heavy", "overhead": overhead});
    vec![namespace("shop", "red"), namespace("bank", "blue"), namespace("lab", "red"), heavy]
}

fn nodes(theme: &Theme, dice: &mut Dice) -> Vec<Value> {
    let count = dice.between(theme.nodes.0, theme.nodes.1);
    let zones = dice.pick(&[0, 1, 2, 3, 3, 4]);
    let usual = size(dice);
    let uneven = dice.percent(theme.uneven);
    (1..=count)
        .map(|i| node(theme, dice, i, zones, if uneven { None } else { Some(usual) }))
        .collect()
}

/// Allocatable millicores, MiB and pods.
type Size = (u64, u64, u64);

fn size(dice: &mut Dice) -> Size {
    let sizes = [
        (2000, 4096, 12),
        (3920, 15_000, 58),
        (8000, 16_384, 110),
        (8000, 32_768, 110),
        (15_890, 59_000, 110),
    ];
    dice.pick(&sizes)
}

fn node(theme: &Theme, dice: &mut Dice, i: u64, zones: u64, usual: Option<Size>) -> Value {
    let name = format!("n{i:02}");
    let (cpu, memory, pods) = usual.unwrap_or_else(|| size(dice));
    let mut labels =
        json!({HOSTNAME: name, "kubernetes.io/os": "linux", "cores": (cpu / 1000).to_string()});
    if zones > 0 && !dice.percent(4) {
        labels[ZONE] = json!(format!("z{}", i % zones + 1));
        labels["topology.kubernetes.io/region"] =
            json!(if i % zones < 2 { "west" } else { "east" });
    }
    labels["disk"] = json!(dice.pick(&["ssd", "hdd"]));
    if dice.percent(60) {
        labels["pool"] = json!(dice.pick(&["a", "b", "c"]));
    }
    let mut allocatable = json!({"cpu": format!("{cpu}m"), "memory": format!("{memory}Mi"),
        "pods": pods.to_string()});
    if dice.percent(35) {
        allocatable["example.com/gpu"] = json!("4");
    }
    if dice.percent(85) {
        allocatable["ephemeral-storage"] = json!("50Gi");
    }
    let ready = !(dice.percent(theme.closed) && dice.percent(10));
    let mut node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
        "spec": {},
        "status": {
            "capacity": allocatable, "allocatable": allocatable,
            "conditions": [{"type": "Ready", "status": if ready { "True" } else { "Unknown" }}],
        },
    });
    close(theme, dice, &mut node, ready);
    if theme.images > 0 && dice.percent(70) {
        let mut images = IMAGES.to_vec();
        images.retain(|_| dice.percent(theme.images / 2 + 20));
        let images: Vec<Value> = images.iter().map(|(name, size)| image(name, *size)).collect();
        node["status"]["images"] = json!(images);
    }
    node
}

/// An image as a kubelet reports it: with its tag, even where the pods leave that out.
fn image(name: &str, mebibytes: u64) -> Value {
    let last = name.rsplit('/').next().unwrap();
    let full = if last.contains([':', '@']) { name.to_owned() } else { format!("{name}:latest") };
    json!({"names": [full], "sizeBytes": mebibytes * 1024 * 1024})
}

fn close(theme: &Theme, dice: &mut Dice, node: &mut Value, ready: bool) {
    let mut taints = Vec::new();
    if !ready {
        taints.push(json!({"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}));
        taints.push(json!({"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}));
    }
    if dice.percent(theme.closed) && dice.percent(20) {
        node["spec"]["unschedulable"] = json!(true);
        taints.push(json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}));
    }
    for (key, value) in
        [("dedicated", "batch"), ("dedicated", "web"), ("spot", "true"), ("gpu", "")]
    {
        if dice.percent(theme.closed) && dice.percent(35) {
            let effect = dice.pick(&[
                "NoSchedule",
                "PreferNoSchedule",
                "PreferNoSchedule",
                "PreferNoSchedule",
                "NoExecute",
            ]);
            if !taints.iter().any(|t| t["key"] == key && t["effect"] == effect) {
                taints.push(json!({"key": key, "value": value, "effect": effect}));
            }
        }
    }
    if !taints.is_empty() {
        node["spec"]["taints"] = json!(taints);
    }
}

/// A DaemonSet's pod.
fn agent(node: &str) -> Value {
    let requests = json!({"cpu": "20m", "memory": "50Mi"});
    let owner = json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent",
        "controller": true,
        "uid": "00000000-0000-0000-0000-000000000001"}]);
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("agent-{node}"), "namespace": "lab",
            "labels": {"app": "agent"}, "ownerReferences": owner},
        "spec": {
            "nodeName": node, "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "main", "image": "agent", "resources": {"requests": requests}}],
        },
    })
}
