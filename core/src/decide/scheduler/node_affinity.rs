//! NodeAffinity: the node must match the pod's node selector and one of its required terms. The
//! weights of matching preferred terms add up, and the node with the largest sum scores 100.

use std::collections::BTreeMap;

use crate::model::plan::Misfit;
use crate::model::snapshot::NodeId;
use crate::model::snapshot::facts::{NodeFacts, PodFacts};
use crate::policy::AddedAffinity;
use crate::values::selector::NodeTerm;

use super::normalise::normalise;
use super::question::Question;

/// Returns true if a node matches the pod's selector and required affinity.
pub(super) fn admits(pod: &PodFacts, node: &NodeFacts) -> bool {
    check(pod, node).is_ok()
}

/// Like [`admits`], with the part of the pod's spec that does not match.
pub(super) fn check(pod: &PodFacts, node: &NodeFacts) -> Result<(), Misfit> {
    if !pod.node_selector.iter().all(|(key, value)| node.labels.get(key) == Some(value)) {
        return Err(Misfit::NodeSelector);
    }
    if one_holds(pod.required_nodes.as_deref(), node) { Ok(()) } else { Err(Misfit::NodeAffinity) }
}

/// Returns true if a term matches, or if there are no terms.
pub(super) fn one_holds(terms: Option<&[NodeTerm]>, node: &NodeFacts) -> bool {
    terms.is_none_or(|terms| terms.iter().any(|term| holds(term, node)))
}

/// Returns the sum of the weights of the preferred terms that match the node.
pub(super) fn preference(preferred: &[(i32, NodeTerm)], node: &NodeFacts) -> i64 {
    let held = preferred.iter().filter(|(_, term)| holds(term, node));
    held.map(|(weight, _)| i64::from(*weight)).sum()
}

pub(super) fn score(question: &Question<'_, '_>, nodes: &[NodeId]) -> Option<Vec<i64>> {
    let AddedAffinity { preferred: added, .. } = &question.profile.added_affinity;
    let own = &question.pod.preferred_nodes;
    if own.is_empty() && added.is_empty() {
        return None;
    }
    let sum = |node: &NodeId| {
        preference(own, question.node(*node)) + preference(added, question.node(*node))
    };
    let mut sums: Vec<i64> = nodes.iter().map(sum).collect();
    normalise(&mut sums, false);
    Some(sums)
}

/// A term without requirements matches nothing (documented at `NodeSelectorTerm` in the core API).
fn holds(term: &NodeTerm, node: &NodeFacts) -> bool {
    let fields = || BTreeMap::from([("metadata.name".to_owned(), node.name.clone())]);
    let empty = term.labels.is_empty() && term.fields.is_empty();
    !empty
        && term.labels.matches(&node.labels)
        && (term.fields.is_empty() || term.fields.matches(&fields()))
}
