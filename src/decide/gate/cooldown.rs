//! The cooldown: a replacement is not evicted again for a while, and a workload rests if its moves
//! do not help.

use crate::decide::draft::{Candidate, Draft};
use crate::model::ledger::{FULL_BYTES, Rest};
use crate::model::plan::Refusal;

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    let world = draft.world;
    let (pod, planned) = (world.snapshot.pod(candidate.pod), draft.accepted().count());
    let (ledger, cooldown) = (world.ledger, &world.policy.cooldown);
    // Descheduler has no memory between cycles, and a finished pod has no replacement that could
    // rest. Their evictions are recorded nevertheless.
    let full = if world.policy.exact || pod.finished() {
        ledger.is_full_for_finished(planned)
    } else {
        ledger.is_full(planned)
    };
    if !world.policy.exact {
        if ledger.is_under_way(&pod.uid, cooldown, world.now) {
            return Err(Refusal::UnderWay);
        }
        rests(candidate, draft)?;
    }
    if full {
        Err(Refusal::LedgerFull(FULL_BYTES / 1000))
    } else {
        Ok(())
    }
}

fn rests(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    let world = draft.world;
    if world.snapshot.pod(candidate.pod).finished() {
        return Ok(());
    }
    let cooldown = &world.policy.cooldown;
    let rest = world
        .ledger
        .rest(world.snapshot, candidate.pod, cooldown, world.now);
    match rest {
        Some(Rest::Replacement(left)) => Err(Refusal::Resting(left)),
        Some(Rest::Ineffective { times, left }) => Err(Refusal::Ineffective { times, left }),
        None => Ok(()),
    }
}
