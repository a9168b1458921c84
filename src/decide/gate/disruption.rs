//! PodDisruptionBudgets, checked in advance. The API server decides, and this check spares it the
//! request.
//!
//! The rules are those of kube-apiserver's eviction handler.

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::Refusal;
use crate::model::snapshot::facts::PodPhase;
use crate::model::snapshot::{Budget, BudgetId, Pod};

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    let snapshot = draft.world.snapshot;
    let pod = snapshot.pod(candidate.pod);
    if pod.finished() || pod.phase == PodPhase::Pending {
        return Ok(());
    }
    match pod.budgets.as_slice() {
        [] => Ok(()),
        [one] => covered(pod, *one, draft),
        several => Err(Refusal::SeveralBudgets(
            several
                .iter()
                .map(|b| snapshot.budgets[b.0].name.clone())
                .collect(),
        )),
    }
}

fn covered(pod: &Pod, id: BudgetId, draft: &Draft<'_>) -> Result<(), Refusal> {
    let budget = &draft.world.snapshot.budgets[id.0];
    if !pod.ready && free_to_leave(budget) {
        return Ok(());
    }
    if budget.stale {
        return Err(Refusal::StaleBudget(budget.name.clone()));
    }
    let planned = draft
        .count(|_, moved| moved.budgets.contains(&id) && (moved.ready || !free_to_leave(budget)));
    if planned < budget.allowed {
        Ok(())
    } else {
        Err(Refusal::Budget {
            name: budget.name.clone(),
            planned,
        })
    }
}

/// Whether the eviction of a pod that is not Ready does not use up the budget
/// (`unhealthyPodEvictionPolicy`).
fn free_to_leave(budget: &Budget) -> bool {
    budget.always_unhealthy
        || (budget.desired > 0 && budget.healthy >= budget.desired && !budget.stale)
}
