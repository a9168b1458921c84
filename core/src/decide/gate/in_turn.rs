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

use super::landing_flaw::check;
use super::preference::Preferences;

/// A replacement with more possible nodes than these lands on another one of them.
const FEW: usize = 2;

/// Checks that earlier replacements, of this cycle or of the ones before, still land well after
/// this one has landed.
pub(super) fn admit(
    candidate: &Candidate,
    draft: &Draft<'_>,
    landing: &Landing,
) -> Result<(), BadLanding> {
    let before: &Projection<'_> = draft.other_case().projection().unwrap_or(draft);
    for later in Later::all(draft) {
        let shared = landing.possible_nodes.iter().filter(|node| later.nodes.contains(node));
        for node in shared {
            // It hardly ever lands badly, so its forecast without this move comes second.
            if !later.lands_well(&after(before, candidate.pod, *node)) && later.lands_well(before) {
                return Err(BadLanding::WouldDisplace {
                    node: draft.world.snapshot.node(*node).name.clone(),
                    pod: draft.world.snapshot.pod(later.pod).name.clone(),
                });
            }
        }
    }
    Ok(())
}

/// The projection in which the replacement of a pod has landed on a node.
fn after<'w>(before: &Projection<'w>, pod: PodId, node: NodeId) -> Projection<'w> {
    let mut after = before.clone();
    after.book(pod, &Landing { on: Some(node), possible_nodes: vec![node], starts: None });
    after
}

/// A pod whose replacement is still to be created.
struct Later<'d> {
    pod: PodId,
    /// The few nodes where it was to land.
    nodes: Vec<NodeId>,
    /// Its move, if it is of this cycle.
    candidate: Option<&'d Candidate>,
}

impl<'d> Later<'d> {
    fn all(draft: &'d Draft<'_>) -> Vec<Self> {
        let world = draft.world;
        let is_later = |pod: PodId, nodes: usize| {
            let pod = world.snapshot.pod(pod);
            nodes <= FEW && pod.node.is_some() && scheduler::in_turn(world.snapshot, pod)
        };
        let ours = draft.accepted().zip(draft.landings());
        let ours = ours.filter(|(one, landing)| is_later(one.pod, landing.possible_nodes.len()));
        let ours = ours.map(|(one, landing)| Later {
            pod: one.pod,
            nodes: landing.possible_nodes.clone(),
            candidate: Some(one),
        });
        let earlier = world.ledger.pending_replacements(world.snapshot);
        let earlier = earlier.filter(|(pod, names)| is_later(*pod, names.len()));
        let earlier = earlier.map(|(pod, names)| {
            let nodes = names.iter().filter_map(|name| world.snapshot.find_node(name));
            Later { pod, nodes: nodes.collect(), candidate: None }
        });
        ours.chain(earlier).collect()
    }

    /// Whether it lands well wherever the scheduler may place it. Why a pod of an earlier cycle
    /// left is not known any more, so it lands well where it was to land.
    fn lands_well(&self, projection: &Projection<'_>) -> bool {
        let forecast = scheduler::forecast(projection, self.pod);
        let preferences = Preferences::of(projection, self.pod);
        let is_good = |node: NodeId| match self.candidate {
            Some(candidate) => check(candidate, projection, &preferences, node).is_ok(),
            None => self.nodes.contains(&node),
        };
        forecast.possible_nodes.iter().all(|possible| is_good(possible.node))
    }
}
