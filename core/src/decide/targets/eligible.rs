//! Nodes that can be source or destination.

use crate::decide::projection::Projection;
use crate::model::plan::Class;
use crate::model::snapshot::facts::NodeClosure;
use crate::model::snapshot::{Node, NodeId};
use crate::policy::{Basis, Policy, Thresholds};
use crate::values::{Amount, ResourceId};

/// The nodes that can be source or destination.
pub fn fit(projection: &Projection<'_>, basis: Basis) -> Vec<NodeId> {
    let nodes = projection.world.snapshot.node_ids();
    nodes.filter(|n| unfit(projection, basis, *n).is_none()).collect()
}

/// Why a node can be neither source nor destination; `None` if it can be one of them.
pub fn unfit(projection: &Projection<'_>, basis: Basis, node: NodeId) -> Option<Class> {
    let world = projection.world;
    let facts = world.snapshot.node(node);
    if !world.policy.selects(&facts.labels) {
        return Some(Class::NotSelected);
    }
    if let Some(class) = absent(world.policy, facts) {
        return Some(class);
    }
    if let Some(unreadable) = &facts.unreadable {
        return Some(Class::Unreadable(unreadable.clone()));
    }
    if !world.policy.takes_any_node()
        && let Some(resource) = unreported(facts)
    {
        let name = world.snapshot.resources.name(resource);
        return Some(Class::NoAllocatable(name.to_owned()));
    }
    match basis {
        Basis::Actual => world.usage.unmeasured(node).map(Class::Unknown),
        Basis::Requests => None,
    }
}

/// Why a node does not take part at all: it is not Ready, or it leaves; `None` if it does.
///
/// A node with another closure may still lose pods.
pub fn absent(policy: &Policy, node: &Node) -> Option<Class> {
    let closed_by = |closure| !policy.takes_any_node() && node.is_closed_by(closure);
    if !node.ready || closed_by(NodeClosure::NeverReady) {
        Some(Class::NotReady)
    } else if closed_by(NodeClosure::Deleting) {
        Some(Class::Deleting)
    } else {
        None
    }
}

/// Whether a node has any of the resources that a strategy weighs, or need not have one.
pub fn judged(projection: &Projection<'_>, node: NodeId, weighed: &Thresholds) -> bool {
    let world = projection.world;
    let mut known = world.snapshot.resources.known(weighed);
    world.policy.takes_any_node() || known.any(|(resource, _)| !projection.lacks(node, resource))
}

/// Cpu or memory, if a node reports no allocatable amount of it. Every node has both, so this one's
/// ratios are unknown.
fn unreported(node: &Node) -> Option<ResourceId> {
    let measured = [ResourceId::CPU, ResourceId::MEMORY];
    let mut measured = measured.into_iter();
    measured.find(|resource| node.allocatable[*resource] == Amount::ZERO)
}
