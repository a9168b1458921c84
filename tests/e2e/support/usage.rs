//! The usage of nodes and pods, from metrics.k8s.io.

use std::collections::BTreeMap;

use serde_json::Value;

use super::control_plane::ControlPlane;
use super::scene::MUTE;

/// The CPU of each node in the test clusters.
const NODE_MILLICORES: f64 = 8000.0;

/// CPU in millicores.
#[derive(Debug)]
pub struct Used {
    pub nodes: BTreeMap<String, f64>,
    /// By namespace/name.
    pub pods: BTreeMap<String, f64>,
}

/// Reads metrics.k8s.io once.
pub async fn used(control_plane: &ControlPlane) -> Used {
    let nodes = control_plane.list("/apis/metrics.k8s.io/v1beta1/nodes").await;
    let pods = control_plane.list("/apis/metrics.k8s.io/v1beta1/pods").await;
    Used {
        nodes: nodes.iter().map(|n| (name(n), millicores(&n["usage"]["cpu"]))).collect(),
        pods: pods.iter().map(|p| (full_name(p), containers(p))).collect(),
    }
}

/// The CPU that a running pod's annotation asks kwok for.
#[derive(Debug)]
pub struct Asked {
    pub node: String,
    /// Namespace/name.
    pub pod: String,
    /// In millicores.
    pub cpu: f64,
}

/// Returns what the annotations of all running pods on measured nodes ask for: exact, where a busy
/// machine measures less.
pub async fn asked(control_plane: &ControlPlane) -> Vec<Asked> {
    let pods = control_plane.list("/api/v1/pods?fieldSelector=status.phase%3DRunning").await;
    let asked = |pod: &Value| Asked {
        node: pod["spec"]["nodeName"].as_str().unwrap_or_default().to_owned(),
        pod: full_name(pod),
        cpu: millicores(&pod["metadata"]["annotations"]["kwok.x-k8s.io/usage-cpu"]),
    };
    pods.iter().map(asked).filter(|one| one.node != MUTE).collect()
}

/// Returns the highest share of a node's CPU that its running pods ask for.
pub async fn highest_asked(control_plane: &ControlPlane) -> f64 {
    let mut nodes: BTreeMap<String, f64> = BTreeMap::new();
    for Asked { node, cpu, .. } in asked(control_plane).await {
        *nodes.entry(node).or_default() += cpu;
    }
    nodes.into_values().fold(0.0, f64::max) / NODE_MILLICORES * 100.0
}

impl Used {
    /// Each node's share of its CPU, as a percentage.
    pub fn percentages(&self) -> BTreeMap<String, f64> {
        self.nodes
            .iter()
            .map(|(name, used)| (name.clone(), used / NODE_MILLICORES * 100.0))
            .collect()
    }

    /// The highest share of all nodes.
    pub fn highest(&self) -> f64 {
        self.percentages().into_values().fold(0.0, f64::max)
    }
}

/// The shares as text, in the order of the numbers in the node names.
pub fn in_words(percentages: &BTreeMap<String, f64>) -> String {
    let mut nodes: Vec<_> = percentages.iter().collect();
    nodes.sort_by_key(|(name, _)| (name.len(), (*name).clone()));
    nodes
        .iter()
        .map(|(name, percent)| format!("{name} {percent:.0} %"))
        .collect::<Vec<_>>()
        .join(", ")
}

pub fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

pub fn full_name(object: &Value) -> String {
    format!("{}/{}", object["metadata"]["namespace"].as_str().unwrap_or_default(), name(object))
}

fn containers(pod: &Value) -> f64 {
    pod["containers"].as_array().unwrap().iter().map(|c| millicores(&c["usage"]["cpu"])).sum()
}

/// A quantity of CPU.
pub fn millicores(quantity: &Value) -> f64 {
    let text = quantity.as_str().unwrap();
    let units = [("n", 1e-6), ("u", 1e-3), ("m", 1.0), ("", 1000.0)];
    let (number, unit) =
        units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor))).unwrap();
    number.parse::<f64>().unwrap() * unit
}
