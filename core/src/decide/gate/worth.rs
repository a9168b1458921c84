//! The worth of a move: a pod stays if its node is below its target again before the replacement
//! would have paid for its start.

use jiff::SignedDuration;

use crate::decide::draft::{Candidate, Draft};
use crate::model::ledger::key_of;
use crate::model::plan::{Refusal, Stop};
use crate::values::NodeMinutes;

/// A faster start always pays, because a node that is above its target for less than a minute is
/// not relieved at all.
const SHORTEST: SignedDuration = SignedDuration::from_mins(1);

/// Compares the time for which the node is expected to be above its target in the next hour, which
/// is the most that the move can save, with the time for which its workload lacks a pod. If that
/// is not known, the move goes.
pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    let snapshot = draft.world.snapshot;
    let pod = snapshot.pod(candidate.pod);
    let start = draft.world.ledger.expected_start(&key_of(snapshot, pod));
    let (Some(start), Some(node)) = (start.filter(|start| *start >= SHORTEST), pod.node) else {
        return Ok(());
    };
    match draft.time_above(candidate) {
        Some(above) if above < NodeMinutes::of(start) => {
            Err(Stop::NotWorthIt { node: snapshot.node(node).name.clone(), above, start }.into())
        }
        _ => Ok(()),
    }
}
