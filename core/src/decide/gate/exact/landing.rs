//! Descheduler's check instead of a forecast: another node has room for the pod (`nodeFit`).

use crate::decide::draft::{Candidate, DestinationLimits, Draft};
use crate::decide::placement::Landing;
use crate::decide::scheduler;
use crate::model::plan::{Misfit, Refusal, Replacement};
use crate::model::snapshot::NodeId;
use crate::policy::Basis;
use crate::values::{Amount, Ratio, ResourceId};

/// The node with room that is least loaded afterwards.
///
/// If the strategy does not limit the destinations, the profile decides whether a node with room is
/// required.
pub(super) fn find(candidate: &Candidate, draft: &Draft<'_>) -> Result<Landing, Refusal> {
    let best = match &candidate.destinations {
        Some(destinations) => best(candidate, draft, destinations.nodes.iter().copied())?,
        None if candidate.rules(draft.world).node_fit => {
            best(candidate, draft, draft.world.snapshot.node_ids())?
        }
        None => return Ok(Landing::default()),
    };
    // Only those strategies of descheduler that count the remaining room expect the pod to land
    // somewhere.
    let counts = candidate
        .destinations
        .as_ref()
        .is_some_and(|destinations| !destinations.targets.is_empty());
    Ok(Landing {
        on: counts.then_some(best),
        ..Landing::default()
    })
}

fn best(
    candidate: &Candidate,
    draft: &Draft<'_>,
    nodes: impl Iterator<Item = NodeId>,
) -> Result<NodeId, Refusal> {
    let home = draft.world.snapshot.pod(candidate.pod).node;
    let mut best: Option<(Ratio, NodeId)> = None;
    let mut misfits: Vec<Misfit> = Vec::new();
    for node in nodes.filter(|n| Some(*n) != home) {
        match load_after(candidate, draft, node) {
            Ok(after) if best.is_none_or(|(least, _)| after.order(least).is_lt()) => {
                best = Some((after, node));
            }
            Ok(_) => {}
            Err(why) => misfits.push(why),
        }
    }
    best.map(|(_, node)| node)
        .ok_or_else(|| Replacement::NoRoom(misfits.into_iter().collect()).into())
}

/// The largest ratio of a node with the replacement, or why the node cannot take it.
fn load_after(candidate: &Candidate, draft: &Draft<'_>, node: NodeId) -> Result<Ratio, Misfit> {
    let rules = candidate.rules(draft.world);
    let excludes = rules.destinations.as_ref().filter(|_| rules.node_fit);
    if excludes.is_some_and(|s| !s.matches(&draft.world.snapshot.node(node).labels)) {
        return Err(Misfit::Excluded);
    }
    scheduler::fits_today(draft, candidate.pod, node)?;
    match &candidate.destinations {
        Some(destinations) if !destinations.targets.is_empty() => {
            below_targets(candidate, destinations, draft, node)
        }
        Some(_) | None => Ok(requested_after(candidate, draft, node)),
    }
}

fn below_targets(
    candidate: &Candidate,
    destinations: &DestinationLimits,
    draft: &Draft<'_>,
    node: NodeId,
) -> Result<Ratio, Misfit> {
    let mut most = Ratio::ZERO;
    for &(resource, target) in destinations.targets.iter() {
        let more = draft
            .weight(candidate.pod, resource, destinations.basis)
            .unwrap_or(Amount::ZERO);
        let name = draft.world.snapshot.resources.name(resource).to_owned();
        let after =
            with(draft, node, resource, more, destinations.basis).ok_or(Misfit::UnknownUsage)?;
        if after > target {
            return Err(Misfit::AboveTarget(name));
        }
        most = after.at_least(most);
    }
    Ok(most)
}

/// The larger ratio of cpu and memory requests with the replacement. Without a target, requests
/// are the only basis.
fn requested_after(candidate: &Candidate, draft: &Draft<'_>, node: NodeId) -> Ratio {
    let after = |resource: ResourceId| {
        let more = draft
            .weight(candidate.pod, resource, Basis::Requests)
            .unwrap_or(Amount::ZERO);
        with(draft, node, resource, more, Basis::Requests).unwrap_or(Ratio::ONE)
    };
    let (cpu, memory) = (after(ResourceId::CPU), after(ResourceId::MEMORY));
    cpu.at_least(memory)
}

/// The ratio of a node with `more` load. To descheduler, a node without a resource is empty of it.
fn with(
    draft: &Draft<'_>,
    node: NodeId,
    resource: ResourceId,
    more: Amount,
    basis: Basis,
) -> Option<Ratio> {
    if draft.lacks(node, resource) && more == Amount::ZERO {
        Some(Ratio::ZERO)
    } else {
        draft.ratio_with(node, resource, basis, more)
    }
}
