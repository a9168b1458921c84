//! Descheduler's check instead of a forecast: another node has room for the pod (`nodeFit`).

use crate::decide::draft::{Candidate, Draft};
use crate::decide::scheduler;
use crate::model::plan::{Misfit, Refusal, Replacement};
use crate::model::snapshot::NodeId;
use crate::values::selector::Selector;

/// Requires a node with room among those of the strategy, if it limits them, and the same or
/// another one among those of the profile, if it asks for `nodeFit`.
pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    if let Some(destinations) = &candidate.destinations {
        some_fits(candidate, draft, destinations.nodes.iter().copied(), None)?;
    }
    let rules = candidate.rules(draft.world);
    if rules.node_fit {
        let nodes = draft.world.snapshot.node_ids();
        some_fits(candidate, draft, nodes, rules.destinations.as_ref())?;
    }
    Ok(())
}

/// Requires that one of these nodes can take the pod. Its own node and those that the selector
/// excludes do not count.
fn some_fits(
    candidate: &Candidate,
    draft: &Draft<'_>,
    nodes: impl Iterator<Item = NodeId>,
    selector: Option<&Selector>,
) -> Result<(), Refusal> {
    let snapshot = draft.world.snapshot;
    let home = snapshot.pod(candidate.pod).node;
    let mut misfits: Vec<Misfit> = Vec::new();
    for node in nodes.filter(|n| Some(*n) != home) {
        if selector.is_some_and(|s| !s.matches(&snapshot.node(node).labels)) {
            misfits.push(Misfit::Excluded);
            continue;
        }
        match scheduler::fits_today(draft, candidate.pod, node) {
            Ok(()) => return Ok(()),
            Err(why) => misfits.push(why),
        }
    }
    Err(Replacement::NoRoom(misfits.into_iter().collect()).into())
}
