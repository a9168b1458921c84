//! The effect of a landing on the hours of the next day, where usage that repeats has been learned.
//!
//! A node that is almost idle at night may be full during office hours. A pod that leaves a hot
//! node at night should not make that node hot in the morning, because another pod would have to
//! leave then.
//!
//! An example: the pod's node is 5 points above the target in each of four hours, and 1 point
//! without the pod, so the move removes 16. On the new node it adds 3 points in two hours. That is
//! 6, less than half of 16, so it may land there.

use crate::decide::draft::Candidate;
use crate::decide::projection::Projection;
use crate::decide::targets::AboveTarget;
use crate::model::snapshot::{NodeId, PodId};
use crate::model::usage::ExpectedDay;
use crate::values::{Ratio, ResourceId};

/// The most that a landing may add above the target, as a share of the relief of the pod's own node
/// there. Both are sums over the hours. It was chosen on two weeks of office hours and nightly
/// batch (`tests/it/learning.rs`).
const MOST_ADDED: f64 = 0.5;

/// The fullest hour after the move, if the move adds too much above the target. The pods that the
/// load of the node does not count yet or no longer count as well, where `undecided` also the moved
/// pods that may land there. Hours about which nothing is known do not count, and without learned
/// usage nothing is known.
pub(super) fn too_hot(
    candidate: &Candidate,
    projection: &Projection<'_>,
    node: NodeId,
    undecided: bool,
    target: Ratio,
) -> Option<AboveTarget> {
    projection.world.usage.outlook()?;
    let mut waiting = projection.uncounted(node).to_vec();
    if undecided {
        waiting.extend(projection.undecided_pods(node));
    }
    let own = projection.world.snapshot.pod(candidate.pod).node?;
    let and_this: Vec<PodId> = waiting.iter().copied().chain([candidate.pod]).collect();
    let after = projection.day_ahead(node, &and_this, &[]);
    let above_after = above(&after, target);
    if above_after <= 0.0 {
        return None;
    }
    let added = above_after - above(&projection.day_ahead(node, &waiting, &[]), target);
    let without = above(&projection.day_ahead(own, &[], &[candidate.pod]), target);
    let removed = above(&projection.day_ahead(own, &[], &[]), target) - without;
    if added <= MOST_ADDED * removed {
        return None;
    }
    let fullest = after.into_iter().flatten().max_by(|a, b| a.order(*b))?;
    AboveTarget::new(ResourceId::CPU, fullest, target)
}

/// The sum of the usage above the target over the hours.
fn above(day: &ExpectedDay<Option<Ratio>>, target: Ratio) -> f64 {
    let hours = day.iter().flatten();
    hours.map(|ratio| ratio.minus(target).get()).sum()
}
