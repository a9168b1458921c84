//! Room for the pods of a node that is to be emptied, wherever the scheduler would place them.

use crate::decide::draft::{Candidate, Draft};
use crate::decide::placement::Landing;
use crate::decide::{gate, scheduler};
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::HighNodeUtilization;

/// Whether a node has room for a pod, and its usage stays below the limits of this strategy and of
/// the others.
pub fn takes(
    draft: &Draft<'_>,
    position: usize,
    rule: &HighNodeUtilization,
    pod: PodId,
    node: NodeId,
) -> bool {
    stays_cool(draft, position, rule, pod, node) && scheduler::fits(draft, pod, node).is_ok()
}

/// Whether the node's usage with the pod is at most its ceilings and the targets of the other
/// strategies. Unknown usage counts as below.
pub fn stays_cool(
    draft: &Draft<'_>,
    position: usize,
    rule: &HighNodeUtilization,
    pod: PodId,
    node: NodeId,
) -> bool {
    let resources = &draft.world.snapshot.resources;
    let ceilings = rule.ceilings.iter();
    let ceilings = ceilings.filter_map(|(name, most)| Some((resources.find(name)?, *most)));
    gate::stays_cool(pod, position, draft, node, ceilings.collect())
}

/// Moves a pod to a node in a draft that only counts room.
pub fn place(draft: &mut Draft<'_>, position: usize, pod: PodId, node: NodeId) {
    let landing = Landing {
        on: Some(node),
        ..Landing::default()
    };
    draft.accept(Candidate::counted(pod, position), landing);
}
