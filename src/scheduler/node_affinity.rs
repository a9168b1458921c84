//! NodeAffinity: the pod's node selector, and one of its required terms, must match the node.

use std::collections::BTreeMap;

use crate::selector::NodeTerm;
use crate::snapshot::{Node, Pod};

/// Whether the pod's selector and required affinity admit the node.
pub(super) fn admits(pod: &Pod, node: &Node) -> bool {
    let selected = pod.node_selector.iter().all(|(key, value)| node.labels.get(key) == Some(value));
    selected && pod.required_nodes.as_ref().is_none_or(|terms| terms.iter().any(|term| holds(term, node)))
}

/// The sum of the weights of the preferred terms that match the node.
pub(super) fn preference(pod: &Pod, node: &Node) -> i64 {
    let held = pod.preferred_nodes.iter().filter(|(_, term)| holds(term, node));
    held.map(|(weight, _)| i64::from(*weight)).sum()
}

/// A term without any requirement matches nothing (documented at `NodeSelectorTerm` in the core API).
fn holds(term: &NodeTerm, node: &Node) -> bool {
    let fields = || BTreeMap::from([("metadata.name".to_owned(), node.name.clone())]);
    let empty = term.labels.is_empty() && term.fields.is_empty();
    !empty && term.labels.matches(&node.labels) && (term.fields.is_empty() || term.fields.matches(&fields()))
}
