//! The cooldown: a replacement is not evicted again for a while, and a workload rests if its moves
//! do not help.

use crate::decide::draft::{Candidate, Draft};
use crate::model::ledger::{MOST_ENTRIES, Rest};
use crate::model::plan::Refusal;

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    let world = draft.world;
    // Descheduler has no memory between cycles.
    if world.policy.exact {
        return Ok(());
    }
    let pod = world.snapshot.pod(candidate.pod);
    if world
        .ledger
        .is_under_way(&pod.uid, &world.policy.cooldown, world.now)
    {
        return Err(Refusal::UnderWay);
    }
    // A finished pod has no replacement that could rest.
    if !world.snapshot.pod(candidate.pod).finished() {
        let cooldown = &world.policy.cooldown;
        let ledger = world.ledger;
        match ledger.rest(world.snapshot, candidate.pod, cooldown, world.now) {
            Some(Rest::Replacement(left)) => return Err(Refusal::Resting(left)),
            Some(Rest::Ineffective { times, left }) => {
                return Err(Refusal::Ineffective { times, left });
            }
            None => {}
        }
    }
    if world.ledger.is_full(draft.accepted().count()) {
        Err(Refusal::LedgerFull(MOST_ENTRIES))
    } else {
        Ok(())
    }
}
