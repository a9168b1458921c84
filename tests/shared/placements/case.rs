//! Decisions of a real kube-scheduler in one cluster, as a file: the objects, and then the node of
//! each pod.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One cluster. The scheduler places one pod after the other, and each placement affects the next.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) seed: u64,
    /// The release of Kubernetes whose scheduler decided, such as 1.36.
    pub(crate) release: String,
    /// The scoring plugins, in the order of the scores.
    pub(crate) plugins: Vec<String>,
    /// The objects before the first pod.
    pub(crate) objects: Vec<Value>,
    pub(crate) placements: Vec<RecordedPlacement>,
}

/// One decision of the scheduler.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RecordedPlacement {
    /// The pending pod. A pod without a node was deleted again.
    pub(crate) pod: Value,
    /// The pod of the same kind that it replaces, which terminated before or after this one landed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) replaces: Option<String>,
    /// The node where it landed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) node: Option<String>,
    /// Whether a replacement found no node while the old pod existed, and the scheduler did not
    /// retry at once afterwards. The scheduler retries a pod only on events that concern its
    /// reason, or after minutes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) asleep: bool,
    /// The message of the scheduler if it found no node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
    /// The nodes with the best score, of which the scheduler chose one at random.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) equal: Vec<String>,
    /// By node, the weighted score of each plugin. Empty if only one node was feasible.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) scores: BTreeMap<String, Vec<i64>>,
}

impl RecordedPlacement {
    /// Returns namespace and name.
    pub(crate) fn name(&self) -> (String, String) {
        let word = |key: &str| self.pod["metadata"][key].as_str().unwrap().to_owned();
        (word("namespace"), word("name"))
    }
}

/// Returns the folder of the recorded cases, with one folder for each release.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/placements")
}
