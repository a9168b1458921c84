//! How many nodes the pods need at least.

use std::collections::BTreeMap;

use crate::decide::draft::Draft;
use crate::model::plan::{Class, NodesInUse};
use crate::model::snapshot::NodeId;
use crate::policy::Basis;
use crate::values::{Amount, Ratio, ResourceId};

use super::rule::EmptyingRule;

/// The nodes in use, and how many of them would do: none is filled above a ceiling by usage, and
/// none above its size by requests. No placement needs fewer nodes, and the best one may need more.
pub(super) fn in_use(
    draft: &Draft<'_>,
    rule: &EmptyingRule<'_>,
    classes: &BTreeMap<NodeId, Class>,
) -> NodesInUse {
    let counted =
        classes.iter().filter(|(_, class)| matches!(class, Class::Underused | Class::InUse));
    let nodes: Vec<NodeId> = counted.map(|(node, _)| *node).collect();
    let snapshot = draft.world.snapshot;
    let by_usage = rule.ceilings().iter();
    let by_usage = by_usage.map(|(r, most)| (*r, *most, Basis::Actual));
    let requested = [ResourceId::CPU, ResourceId::MEMORY].into_iter();
    let others = rule.thresholds().iter().map(|(r, _)| *r);
    let others = others.filter(|r| ![ResourceId::CPU, ResourceId::MEMORY].contains(r));
    let by_requests = requested.chain(others);
    let by_requests = by_requests.map(|r| (r, Ratio::ONE, Basis::Requests));
    let mut bound = (0, ResourceId::CPU, Basis::Requests);
    for (resource, most, basis) in by_usage.chain(by_requests) {
        let needed = needed(draft, rule, &nodes, resource, most, basis);
        if needed > bound.0 {
            bound = (needed, resource, basis);
        }
    }
    let (needed, resource, basis) = bound;
    NodesInUse {
        in_use: nodes.iter().filter(|n| !rule.is_empty(draft, **n)).count(),
        needed,
        resource: snapshot.resources.name(resource).to_owned(),
        basis,
    }
}

/// The fewest nodes with room for every pod that would have to leave, by one resource.
fn needed(
    draft: &Draft<'_>,
    rule: &EmptyingRule<'_>,
    nodes: &[NodeId],
    resource: ResourceId,
    most: Ratio,
    basis: Basis,
) -> usize {
    let snapshot = draft.world.snapshot;
    let (mut left, mut rooms) = (Amount::ZERO, Vec::new());
    for node in nodes {
        let pods = draft.pods_on(*node);
        let pods = pods.filter(|pod| rule.has_to_leave(snapshot.pod(*pod)));
        let moving = pods.filter_map(|pod| draft.weight(pod, resource, basis)).sum();
        left = left.plus(moving);
        if let Some(load) = draft.load(*node, resource, basis) {
            let whole = snapshot.node(*node).allocatable[resource];
            rooms.push(whole.times(most).minus(load.minus(moving)));
        }
    }
    rooms.sort();
    let mut needed = 0;
    while let Some(room) = rooms.pop().filter(|_| left > Amount::ZERO) {
        left = left.minus(room);
        needed += 1;
    }
    needed
}
