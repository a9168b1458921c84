//! What a real kube-scheduler did in one cluster, as a file: the objects, and then pod after pod where it landed.

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
    /// What is there before the first pod comes.
    pub(crate) objects: Vec<Value>,
    pub(crate) placements: Vec<Placement>,
}

/// One decision of the scheduler.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Placement {
    /// The pod as it waits. One that found no node is taken away again.
    pub(crate) pod: Value,
    /// The pod of the same kind that it replaces, which was told to end and then did: before this one landed, or after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) replaces: Option<String>,
    /// Where it landed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) node: Option<String>,
    /// A replacement that found no node while the old pod was there, and that the scheduler did not try again at once
    /// when that had gone: it wakes a pod only by what it holds for a reason, or else after minutes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) asleep: bool,
    /// What the scheduler said where it found no node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
    /// The nodes that scored best, of which one is taken by chance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) equal: Vec<String>,
    /// By node, what each plugin adds to its score, by weight. Nothing where only one node was left to choose.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) scores: BTreeMap<String, Vec<i64>>,
}

impl Placement {
    /// Namespace and name.
    pub(crate) fn name(&self) -> (String, String) {
        let word = |key: &str| self.pod["metadata"][key].as_str().unwrap().to_owned();
        (word("namespace"), word("name"))
    }
}

/// Where the recorded cases are.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/placements")
}
