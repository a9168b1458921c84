//! Nodes that can be source or destination.

use crate::decide::draft::Draft;
use crate::model::plan::Class;
use crate::model::snapshot::NodeId;
use crate::policy::Basis;

/// The nodes that can be source or destination.
pub fn fit(draft: &Draft<'_>, basis: Basis) -> Vec<NodeId> {
    let nodes = draft.world.snapshot.node_ids();
    nodes
        .filter(|n| unfit(draft, basis, *n).is_none())
        .collect()
}

/// Why a node can be neither source nor destination; `None` if it can be one of them.
pub fn unfit(draft: &Draft<'_>, basis: Basis, node: NodeId) -> Option<Class> {
    let world = draft.world;
    let facts = world.snapshot.node(node);
    let selector = world.policy.node_selector.as_ref();
    if selector.is_some_and(|s| !s.matches(&facts.labels)) {
        return Some(Class::NotSelected);
    }
    if !facts.ready {
        return Some(Class::NotReady);
    }
    if let Some(doubt) = &facts.doubt {
        return Some(Class::Doubtful(doubt.clone()));
    }
    match basis {
        Basis::Actual => world.usage.unmeasured(node).map(Class::Unknown),
        Basis::Requests => None,
    }
}
