//! Whether the workload of a pod has enough replicas.
//!
//! The check is that of descheduler's DefaultEvictor plugin, with a defect corrected, also in the
//! exact mode: replicas are counted over the top controller, and only those that stay.

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::Refusal;
use crate::model::snapshot::{Pod, PodId, WorkloadId};
use crate::policy::{Evictable, Rule};

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    let pod = draft.world.snapshot.pod(candidate.pod);
    let rules = draft.rules(candidate);
    match pod.workload {
        Some(workload) if !pod.annotations.asks_for_eviction() => {
            of_workload(candidate, workload, rules, draft)
        }
        Some(_) | None => Ok(()),
    }
}

/// Whether descheduler no longer sees a pod: a finished pod is gone as soon as it is evicted.
///
/// Descheduler counts when it lists the pods of a node. PodLifeTime lists the pods of all nodes
/// before it evicts one.
fn gone(pod: PodId, candidate: &Candidate, draft: &Draft<'_>) -> bool {
    let snapshot = draft.world.snapshot;
    let Some((by, _)) = draft.move_of(pod) else {
        return false;
    };
    let by_node = !matches!(
        draft.strategy(candidate.strategy).rule,
        Rule::PodLifeTime(_)
    );
    let same_node = snapshot.pod(pod).node == snapshot.pod(candidate.pod).node;
    let listed_before = by.strategy == candidate.strategy && (same_node || !by_node);
    snapshot.pod(pod).finished() && !listed_before
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
    let admitted = pod.annotations.evict_single_replica || by_budget;
    if admitted && !draft.world.policy.exact {
        rules.min_replicas.min(1)
    } else {
        rules.min_replicas
    }
}

/// Refuses a pod of a workload that has too few replicas, or too few that would stay Ready.
fn of_workload(
    candidate: &Candidate,
    workload: WorkloadId,
    rules: &Evictable,
    draft: &Draft<'_>,
) -> Result<(), Refusal> {
    let (snapshot, exact) = (draft.world.snapshot, draft.world.policy.exact);
    let least = least_replicas(snapshot.pod(candidate.pod), rules, draft);
    let have = match (snapshot.pod(candidate.pod).finished(), exact) {
        // The workload loses nothing with a finished pod.
        (true, false) => return Ok(()),
        // Descheduler checks finished pods as well, and then counts them.
        (true, true) => {
            let seen = snapshot
                .workload(workload)
                .pods
                .iter()
                .filter(|p| !gone(**p, candidate, draft));
            u32::try_from(seen.count()).unwrap_or(u32::MAX)
        }
        (false, _) => snapshot.replicas(workload),
    };
    if have < least {
        return Err(Refusal::TooFewReplicas { have, least });
    }
    if exact {
        return Ok(());
    }
    ready_replicas(candidate.pod, workload, least.saturating_sub(1), draft)
}

/// Refuses a serving pod if fewer than `least` other replicas would stay Ready.
fn ready_replicas(
    pod: PodId,
    workload: WorkloadId,
    least: u32,
    draft: &Draft<'_>,
) -> Result<(), Refusal> {
    let snapshot = draft.world.snapshot;
    // The workload loses nothing with a pod that does not serve.
    if least == 0 || !snapshot.pod(pod).serves() {
        return Ok(());
    }
    let (mut planned, mut left) = (0_u32, 0_u32);
    for other in &snapshot.workload(workload).pods {
        if *other == pod || !snapshot.pod(*other).serves() {
            continue;
        }
        if draft.moves(*other) {
            planned += 1;
        } else {
            left += 1;
            if left >= least {
                return Ok(());
            }
        }
    }
    // Without the planned moves there would be too few as well, so they are not the cause.
    if left.saturating_add(planned) < least {
        planned = 0;
    }
    Err(Refusal::LastReady {
        left,
        least,
        planned,
    })
}
