//! Whether the workload of a pod has enough replicas.
//!
//! The check is that of descheduler's DefaultEvictor plugin, with a defect corrected: replicas are
//! counted over the top controller, or over the Job of the pod, and only those that stay.

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::{Disruption, Refusal};
use crate::model::snapshot::{Pod, PodId, Snapshot};
use crate::policy::Evictable;

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    let snapshot = draft.world.snapshot;
    let pod = snapshot.pod(candidate.pod);
    // The workload loses nothing with a finished pod, or with a machine that migrates.
    let loses_nothing = pod.finished() || snapshot.migrates(pod);
    if pod.workload.is_none() || pod.annotations.asks_for_eviction() || loses_nothing {
        return Ok(());
    }
    let least = least_replicas(pod, candidate.rules(draft.world), draft);
    // No more of them are counted than are needed: a workload may have thousands.
    let needed = usize::try_from(least).unwrap_or(usize::MAX);
    let replicas = snapshot.alike(pod).filter(|(_, pod)| pod.stays()).take(needed).count();
    enough(u32::try_from(replicas).unwrap_or(u32::MAX), least)?;
    Ok(ready_replicas(candidate.pod, least.saturating_sub(1), draft)?)
}

/// Refuses a pod of a workload that has too few replicas.
pub(super) const fn enough(have: u32, least: u32) -> Result<(), Disruption> {
    if have < least { Err(Disruption::TooFewReplicas { have, least }) } else { Ok(()) }
}

/// Returns the replicas that the pod's workload needs. Its owner may admit a short downtime.
///
/// A budget admits one only if the policy says so: many charts contain a budget with
/// `maxUnavailable: 1`, whether or not the workload has a second replica.
fn least_replicas(pod: &Pod, rules: &Evictable, draft: &Draft<'_>) -> u32 {
    let allows_one = match pod.budgets[..] {
        [only] => draft.world.snapshot.budgets[only.0].allowed > 0,
        _ => false,
    };
    let by_budget = !rules.protected.single_replicas_with_budget && allows_one;
    if pod.annotations.evict_single_replica || by_budget {
        rules.min_replicas.min(1)
    } else {
        rules.min_replicas
    }
}

/// Refuses a serving pod if fewer than `least` other replicas would stay Ready.
fn ready_replicas(pod: PodId, least: u32, draft: &Draft<'_>) -> Result<(), Disruption> {
    let snapshot = draft.world.snapshot;
    let asked = snapshot.pod(pod);
    // The workload loses nothing with a pod that does not serve.
    if least == 0 || !answers_now(asked, snapshot) {
        return Ok(());
    }
    // A pod that ends with its node may go before the others that do, but not with all of them.
    let counts = if answers(asked, snapshot) { answers } else { answers_now };
    let (mut leaving, mut left) = (0_u32, 0_u32);
    for (id, other) in snapshot.alike(asked) {
        if id == pod || !counts(other, snapshot) {
            continue;
        }
        if draft.moves(id) || draft.world.is_under_way(other) {
            leaving += 1;
        } else {
            left += 1;
            if left >= least {
                return Ok(());
            }
        }
    }
    // Without the evictions there would be too few as well, so they are not the cause.
    if left.saturating_add(leaving) < least {
        leaving = 0;
    }
    Err(Disruption::LastReady { left, least, leaving })
}

/// Whether a pod serves on a node that exists, answers and stays. The pods of others are Ready for
/// a while.
pub(super) fn answers(pod: &Pod, snapshot: &Snapshot) -> bool {
    answers_now(pod, snapshot) && pod.node.is_some_and(|node| !snapshot.node(node).is_going())
}

fn answers_now(pod: &Pod, snapshot: &Snapshot) -> bool {
    pod.serves() && pod.node.is_some_and(|node| snapshot.node(node).ready)
}
