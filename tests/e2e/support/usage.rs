//! The usage of nodes and pods, from metrics.k8s.io.

use std::collections::BTreeMap;

use serde_json::Value;

use super::control_plane::ControlPlane;

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
