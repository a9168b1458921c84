//! The cooldown: a replacement is not evicted again for a while, a workload rests if its moves do
//! not help, and a pod rests if the API server rejects its eviction. With a ramp, a workload also
//! waits for the result of its first eviction.

use crate::decide::draft::{Candidate, Draft};
use crate::model::ledger::{FULL_BYTES, key_of};
use crate::model::plan::{Refusal, Stop, Temporary};

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    let world = draft.world;
    let pod = world.snapshot.pod(candidate.pod);
    if world.is_under_way(pod) {
        return Err(Temporary::UnderWay.into());
    }
    rests(candidate, draft)?;
    on_trial(candidate, draft)?;
    // A finished pod has no replacement that could rest. Its eviction is recorded nevertheless.
    recordable(draft, pod.finished())
}

/// Refuses a pod whose eviction the ledger could not record, which needs more room if the
/// replacement may have to rest.
pub(super) fn recordable(draft: &Draft<'_>, never_rests: bool) -> Result<(), Refusal> {
    let planned = draft.accepted().count();
    let full = if never_rests {
        draft.ledger_size().is_full_for_finished(planned)
    } else {
        draft.ledger_size().is_full(planned)
    };
    if full { Err(Stop::LedgerFull(FULL_BYTES / 1000).into()) } else { Ok(()) }
}

fn rests(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    let world = draft.world;
    let (snapshot, ledger) = (world.snapshot, world.ledger);
    let rest = ledger.rest(snapshot, candidate.pod, &world.policy.cooldown, world.now);
    if let Some(rest) = rest {
        return Err(rest.into());
    }
    let workload = key_of(snapshot, snapshot.pod(candidate.pod));
    let is_tried = || draft.count(|_, pod| key_of(snapshot, pod) == workload) > 0;
    if ledger.is_suspect(&workload) && is_tried() {
        return Err(Stop::WorkloadRejected.into());
    }
    Ok(())
}

/// Refuses a second pod of a workload whose first eviction is a trial without a result.
fn on_trial(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    let world = draft.world;
    let pod = world.snapshot.pod(candidate.pod);
    // Nothing replaces a finished pod, so its eviction tells nothing about the workload.
    let (Some(ramp), false) = (world.policy.ramp, pod.finished()) else {
        return Ok(());
    };
    let (workload, watch) = (key_of(world.snapshot, pod), ramp.watch);
    if pod.workload.is_none() || world.ledger.is_proven(&workload) {
        return Ok(());
    }
    let is_tried = || draft.count(|_, p| p.workload == pod.workload && !p.finished()) > 0;
    let earlier = world.ledger.result_within(&workload, watch, &world.policy.cooldown);
    let trial = earlier.or_else(|| is_tried().then_some(watch));
    trial.map_or(Ok(()), |within| Err(Temporary::Trial { watch, within }.into()))
}
