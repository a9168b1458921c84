//! The ledger as it is stored in the cluster.

use serde_json::Value;

use super::control_plane::ControlPlane;

/// The name of the ledger in the manifests.
pub const NAME: &str = "evenkeel-ledger";

/// The entries of the ledger; empty if there is no ledger.
pub async fn entries(control_plane: &ControlPlane) -> Vec<Value> {
    entries_of(NAME, control_plane).await
}

/// The entries of the ledger with this name.
pub async fn entries_of(name: &str, control_plane: &ControlPlane) -> Vec<Value> {
    let maps = control_plane.list("/api/v1/namespaces/kube-system/configmaps").await;
    let map = maps.into_iter().find(|map| map["metadata"]["name"] == name);
    let Some(text) = map.as_ref().and_then(|map| map["data"]["ledger.json"].as_str()) else {
        return Vec::new();
    };
    let ledger: Value = serde_json::from_str(text).unwrap();
    ledger["entries"].as_array().unwrap().clone()
}

/// The evicted pod of an entry.
pub fn pod(entry: &Value) -> String {
    entry["pod"].as_str().unwrap().to_owned()
}
