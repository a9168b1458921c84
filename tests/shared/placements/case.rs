//! A recording of a real kube-scheduler in one cluster: the objects, then the placement of one pod after another.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One cluster. The pods are placed one after another: each finds those before it where they landed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) seed: u64,
    /// The plugins that score, in the order of the scores.
    pub(crate) plugins: Vec<String>,
    /// The objects before the first pod is created.
    pub(crate) objects: Vec<Value>,
    pub(crate) placements: Vec<Placement>,
}

/// One decision of the scheduler.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Placement {
    /// The pending pod. A pod that found no node is deleted again.
    pub(crate) pod: Value,
    /// The pod that this one replaces. It was deleted, and ended before or after this pod landed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) replaces: Option<String>,
    /// The node on which the pod landed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) node: Option<String>,
    /// Whether the pod is a replacement that found no node while the old pod ran, and that the scheduler did not retry
    /// when the old pod ended. The scheduler retries a pod only after an event that it considers relevant, or after
    /// minutes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) asleep: bool,
    /// The scheduler's message if it found no node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
    /// The nodes with the best score. The scheduler takes one of them at random.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) equal: Vec<String>,
    /// For each node, the weighted score of each plugin. Empty if only one node passed the filters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) scores: BTreeMap<String, Vec<i64>>,
}

impl Placement {
    /// The pod's namespace and name.
    pub(crate) fn name(&self) -> (String, String) {
        let word = |key: &str| self.pod["metadata"][key].as_str().unwrap().to_owned();
        (word("namespace"), word("name"))
    }
}

/// The folder of the recorded cases.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/placements")
}
