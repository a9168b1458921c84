//! PodDisruptionBudgets, checked in advance. The API server decides, and this check spares it the
//! request.
//!
//! The rules are those of kube-apiserver's eviction handler.

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::{BudgetCause, Disruption};
use crate::model::snapshot::facts::PodPhase;
use crate::model::snapshot::objects::ObjectKind;
use crate::model::snapshot::{Budget, BudgetId, Pod};
use crate::values::text::list;

/// The most names in a refusal: a namespace may have thousands of budgets that cover each pod.
const NAMED: usize = 3;

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Disruption> {
    let snapshot = draft.world.snapshot;
    let pod = snapshot.pod(candidate.pod);
    if is_free(pod) || snapshot.migrates(pod) {
        return Ok(());
    }
    match pod.budgets.as_slice() {
        [] => Ok(()),
        [one] => covered(pod, *one, draft),
        several => {
            let names = several.iter().map(|b| snapshot.budgets[b.0].name.as_str());
            let names: Vec<&str> = names.collect();
            Err(Disruption::SeveralBudgets(list(&names, NAMED)))
        }
    }
}

/// Refuses a pod that an unreadable budget may cover: what it selects is unknown, and so is how
/// many disruptions it allows.
pub(super) fn all_known(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Disruption> {
    let snapshot = draft.world.snapshot;
    let pod = snapshot.pod(candidate.pod);
    let skipped = snapshot.skipped_in(ObjectKind::Budget, &pod.namespace);
    let budget = skipped.filter(|_| !is_free(pod));
    budget.map_or(Ok(()), |budget| Err(Disruption::UnreadableBudget(budget.name.clone())))
}

fn covered(pod: &Pod, id: BudgetId, draft: &Draft<'_>) -> Result<(), Disruption> {
    let budget = &draft.world.snapshot.budgets[id.0];
    if !pod.ready && free_to_leave(budget) {
        return Ok(());
    }
    if budget.stale {
        return Err(Disruption::StaleBudget(budget.name.clone()));
    }
    let costs = |moved: &Pod| {
        moved.budgets.contains(&id) && !is_free(moved) && (moved.ready || !free_to_leave(budget))
    };
    let planned = draft.count(|_, moved| costs(moved));
    if planned < budget.allowed {
        return Ok(());
    }
    Err(Disruption::Budget { name: budget.name.clone(), cause: cause(budget, planned) })
}

/// Why a budget allows no disruption beyond the planned ones.
fn cause(budget: &Budget, planned: u32) -> BudgetCause {
    let covered = u32::try_from(budget.pods.len()).unwrap_or(u32::MAX).max(budget.expected);
    if let Some(message) = &budget.sync_failed {
        BudgetCause::SyncFailed(message.clone())
    } else if let Some(rule) = &budget.forbids {
        BudgetCause::Forbids(rule.clone())
    } else if planned > 0 {
        BudgetCause::Planned(planned)
    } else if budget.desired >= covered {
        BudgetCause::NeedsAll { desired: budget.desired, covered }
    } else {
        BudgetCause::Unhealthy
    }
}

/// Whether the eviction of a pod costs no budget, because it does not run: `canIgnorePDB` in
/// kube-apiserver.
fn is_free(pod: &Pod) -> bool {
    pod.finished() || pod.phase == PodPhase::Pending
}

/// Whether the eviction of a pod that is not Ready does not use up the budget
/// (`unhealthyPodEvictionPolicy`).
fn free_to_leave(budget: &Budget) -> bool {
    budget.always_unhealthy
        || (budget.desired > 0 && budget.healthy >= budget.desired && !budget.stale)
}
