//! Pods on nodes that are not known, such as those that a file lacks.

use std::collections::BTreeSet;

use super::Snapshot;
use crate::values::text::{agree, count, list};

/// The most names in the sentence.
const MOST_NAMES: usize = 3;

impl Snapshot {
    /// Says how many pods are on nodes that are not known; `None` if there are none.
    pub fn on_unknown_nodes(&self) -> Option<String> {
        let lost = self.pods.iter().filter(|pod| pod.node.is_none() && !pod.finished());
        let nodes: Vec<&String> = lost.filter_map(|pod| pod.facts.node.as_ref()).collect();
        let (pods, have) = (count(nodes.len(), "pod"), agree(nodes.len(), "has", "have"));
        let names: BTreeSet<&String> = nodes.into_iter().collect();
        let names: Vec<&String> = names.into_iter().collect();
        let sentence =
            || format!("{pods} {have} a node that is not known: {}", list(&names, MOST_NAMES));
        (!names.is_empty()).then(sentence)
    }
}
