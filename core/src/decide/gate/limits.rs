//! Limits of evictions: the windows of the policy, and limits per cycle, minute, node, namespace
//! and workload.

use crate::decide::draft::{Candidate, Draft};
use crate::model::ledger::{Entry, key_of};
use crate::model::plan::Temporary;
use crate::policy::Share;

use super::replicas::answers;

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Temporary> {
    let (world, limits) = (draft.world, &draft.world.policy.limits);
    let pod = world.snapshot.pod(candidate.pod);
    // Evictions that another component still has to make count as if they were of this cycle.
    let deferred = |matches: &dyn Fn(&Entry) -> bool| {
        let deferrals = world.ledger.deferrals().filter(|e| matches(e)).count();
        u32::try_from(deferrals).unwrap_or(u32::MAX)
    };
    if let Some(left) = world.policy.windows.closed_for(world.now) {
        return Err(Temporary::OutsideWindow(left));
    }
    let planned = draft.count(|_, _| true);
    let of_cycle = planned + deferred(&|_| true);
    let of_pods =
        |share: Share| share.of(u32::try_from(world.snapshot.pods.len()).unwrap_or(u32::MAX));
    if let Some(most) = limits.per_cycle.map(of_pods).filter(|m| of_cycle >= *m) {
        return Err(Temporary::CycleLimit(most));
    }
    let of_minute = planned + world.ledger.in_last_minute(world.now);
    if let Some(most) = limits.per_minute.map(of_pods).filter(|m| of_minute >= *m) {
        return Err(Temporary::RateLimit(most));
    }
    let node = pod.node.map(|node| world.snapshot.node(node).name.as_str());
    let from_node =
        draft.count(|_, p| p.node == pod.node) + deferred(&|e| Some(e.node.as_str()) == node);
    if let Some(most) = limits.per_node.filter(|most| from_node >= *most) {
        return Err(Temporary::NodeLimit(most));
    }
    let by_strategy = draft.count(|c, p| p.node == pod.node && c.strategy == candidate.strategy);
    let rule = &draft.world.strategy(candidate.strategy).rule;
    if let Some(most) = rule.per_node().filter(|most| by_strategy >= *most) {
        return Err(Temporary::NodeLimit(most));
    }
    let in_namespace = draft.count(|_, p| p.namespace == pod.namespace)
        + deferred(&|e| e.workload.namespace == pod.namespace);
    if let Some(most) = limits.per_namespace.filter(|most| in_namespace >= *most) {
        return Err(Temporary::NamespaceLimit(most));
    }
    workload(candidate, draft)
}

fn workload(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Temporary> {
    let world = draft.world;
    let pod = world.snapshot.pod(candidate.pod);
    let Some((share, workload)) = world.policy.limits.per_workload.zip(pod.workload) else {
        return Ok(());
    };
    // A finished pod is not one of the replicas that stay.
    if pod.finished() {
        return Ok(());
    }
    let most = share.of(world.snapshot.wanted(workload));
    let planned = draft.count(|_, p| p.workload == pod.workload && !p.finished());
    let leaving = world.ledger.away(&key_of(world.snapshot, pod)) + planned;
    // The workload loses nothing with a pod that does not serve, or that ends with its node.
    let away = if answers(pod, world.snapshot) {
        leaving.max(planned + lacking(candidate, draft))
    } else {
        leaving
    };
    if away < most { Ok(()) } else { Err(Temporary::WorkloadLimit { away, leaving, most }) }
}

/// The replicas of the candidate's workload that do not serve, for any reason: missing pods,
/// pods that start or are not Ready, and pods whose node does not answer or is being removed.
/// Planned moves count apart.
fn lacking(candidate: &Candidate, draft: &Draft<'_>) -> u32 {
    let snapshot = draft.world.snapshot;
    let workload = snapshot.pod(candidate.pod).workload;
    let pods = workload.into_iter().flat_map(|w| &snapshot.workload(w).pods);
    let serve = pods.filter(|p| answers(snapshot.pod(**p), snapshot)).count();
    let serve = u32::try_from(serve).unwrap_or(u32::MAX);
    let lost = draft.count(|_, p| p.workload == workload && p.stays() && !answers(p, snapshot));
    let wanted = workload.map_or(0, |workload| snapshot.wanted(workload));
    wanted.saturating_sub(serve).saturating_sub(lost)
}
