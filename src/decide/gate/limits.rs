//! Limits of evictions: the windows of the policy, and limits per cycle, minute, node, namespace
//! and workload.

use crate::decide::draft::{Candidate, Draft};
use crate::model::ledger::{Entry, key_of};
use crate::model::plan::Refusal;

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    let (world, limits) = (draft.world, &draft.world.policy.limits);
    let pod = world.snapshot.pod(candidate.pod);
    // Evictions that another component still has to make count as if they were of this cycle.
    let deferred = |matches: &dyn Fn(&Entry) -> bool| {
        let deferrals = world.ledger.deferrals().filter(|e| matches(e)).count();
        u32::try_from(deferrals).unwrap_or(u32::MAX)
    };
    if let Some(left) = world.policy.windows.closed_for(world.now) {
        return Err(Refusal::OutsideWindow(left));
    }
    let planned = draft.count(|_, _| true);
    let of_cycle = planned + deferred(&|_| true);
    if let Some(most) = limits.per_cycle.filter(|most| of_cycle >= *most) {
        return Err(Refusal::CycleLimit(most));
    }
    if let Some(most) = limits
        .per_minute
        .filter(|most| planned + world.ledger.in_last_minute(world.now) >= *most)
    {
        return Err(Refusal::RateLimit(most));
    }
    let node = pod.node.map(|node| world.snapshot.node(node).name.as_str());
    let from_node =
        draft.count(|_, p| p.node == pod.node) + deferred(&|e| Some(e.node.as_str()) == node);
    if let Some(most) = limits.per_node.filter(|most| from_node >= *most) {
        return Err(Refusal::NodeLimit(most));
    }
    let by_strategy = draft.count(|c, p| p.node == pod.node && c.strategy == candidate.strategy);
    let rule = &draft.strategy(candidate.strategy).rule;
    if let Some(most) = rule.per_node().filter(|most| by_strategy >= *most) {
        return Err(Refusal::NodeLimit(most));
    }
    let in_namespace = draft.count(|_, p| p.namespace == pod.namespace)
        + deferred(&|e| e.workload.namespace == pod.namespace);
    if let Some(most) = limits.per_namespace.filter(|most| in_namespace >= *most) {
        return Err(Refusal::NamespaceLimit(most));
    }
    workload(candidate, draft)
}

fn workload(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    let world = draft.world;
    let pod = world.snapshot.pod(candidate.pod);
    let Some((share, workload)) = world.policy.limits.per_workload.zip(pod.workload) else {
        return Ok(());
    };
    // A finished pod is not one of the replicas that stay. Descheduler does not limit evictions per
    // workload.
    if pod.finished() || world.policy.exact {
        return Ok(());
    }
    let most = share.of(world.snapshot.replicas(workload));
    let away = world.ledger.away(&key_of(world.snapshot, pod))
        + draft.count(|_, p| p.workload == pod.workload && !p.finished());
    if away < most {
        Ok(())
    } else {
        Err(Refusal::WorkloadLimit { away, most })
    }
}
