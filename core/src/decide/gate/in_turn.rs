//! Replacements that are created only after their pods have ended, as those of a StatefulSet.
//!
//! kube-scheduler places them after the replacements of later moves, which exist at once. A move
//! whose replacement could take the place of such a one is refused.

use crate::decide::draft::{Candidate, Draft};
use crate::decide::placement::Landing;
use crate::decide::projection::Projection;
use crate::decide::scheduler;
use crate::model::plan::BadLanding;
use crate::model::snapshot::{NodeId, PodId};

/// A replacement with more possible nodes than these lands on another one of them.
const FEW: usize = 2;

/// Checks that earlier replacements, of this cycle or of the ones before, still land where they are
/// expected after this one has landed.
pub(super) fn admit(
    candidate: &Candidate,
    draft: &Draft<'_>,
    landing: &Landing,
) -> Result<(), BadLanding> {
    let before: &Projection<'_> = draft.without_undecided().unwrap_or(draft);
    for (pod, expected) in expected(draft) {
        let shared = landing.possible_nodes.iter().filter(|node| expected.contains(node));
        for node in shared {
            if lands_on(before, pod, &expected)
                && !lands_on(&after(before, candidate.pod, *node), pod, &expected)
            {
                return Err(BadLanding::WouldDisplace {
                    node: draft.world.snapshot.node(*node).name.clone(),
                    pod: draft.world.snapshot.pod(pod).name.clone(),
                });
            }
        }
    }
    Ok(())
}

/// The pods whose replacements are still to be created, with the few nodes where these may land.
fn expected(draft: &Draft<'_>) -> Vec<(PodId, Vec<NodeId>)> {
    let world = draft.world;
    let ours = draft.accepted().filter_map(|move_| {
        let (_, landing) = draft.move_of(move_.pod)?;
        Some((move_.pod, landing.possible_nodes.clone()))
    });
    let earlier = world.ledger.pending_replacements(world.snapshot).map(|(pod, names)| {
        let nodes = names.iter().filter_map(|name| world.snapshot.find_node(name));
        (pod, nodes.collect())
    });
    let is_later = |(pod, nodes): &(PodId, Vec<NodeId>)| {
        let pod = world.snapshot.pod(*pod);
        nodes.len() <= FEW && pod.node.is_some() && scheduler::in_turn(pod)
    };
    ours.chain(earlier).filter(is_later).collect()
}

/// The projection in which the replacement of a pod has landed on a node.
fn after<'w>(before: &Projection<'w>, pod: PodId, node: NodeId) -> Projection<'w> {
    let mut after = before.clone();
    after.book(pod, &Landing { on: Some(node), possible_nodes: vec![node], starts: None });
    after
}

fn lands_on(projection: &Projection<'_>, pod: PodId, nodes: &[NodeId]) -> bool {
    let forecast = scheduler::forecast(projection, pod);
    forecast.possible_nodes.iter().all(|possible| nodes.contains(&possible.node))
}
