//! The ledger's word: what replaces an evicted pod rests, and so does a workload whose moves do not help.

use crate::decide::draft::{Candidate, Draft};
use crate::model::ledger::{MOST_ENTRIES, Rest};
use crate::model::plan::Refusal;

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    let world = draft.world;
    // descheduler has no memory.
    if world.policy.exact {
        return Ok(());
    }
    // Clearing away what has finished moves nothing, so there is nothing to rest from.
    let moves = !world.snapshot.pod(candidate.pod).finished();
    let rest = || {
        world.ledger.rest(
            world.snapshot,
            candidate.pod,
            &world.policy.cooldown,
            world.now,
        )
    };
    match moves.then(rest).flatten() {
        Some(Rest::Replacement(left)) => return Err(Refusal::Resting(left)),
        Some(Rest::Ineffective { times, left }) => {
            return Err(Refusal::Ineffective { times, left });
        }
        None => {}
    }
    let full = world.ledger.is_full(draft.accepted().count());
    if full {
        Err(Refusal::LedgerFull(MOST_ENTRIES))
    } else {
        Ok(())
    }
}
