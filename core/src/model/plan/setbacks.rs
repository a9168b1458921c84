//! Which rejected evictions of a plan keep its other pods from being tried.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::ledger::RestCause;
use crate::model::snapshot::facts::OwnerKey;

use super::{Move, Outcome, Plan, Refusal, Untried};

/// As many rejections have one cause. One may be due to the pod and two to a coincidence, and each
/// request that is saved is one less for a server or a webhook that is in trouble.
const SAME_CAUSE: usize = 3;

/// The rejected evictions of one plan.
#[derive(Clone, Debug, Default)]
pub struct Setbacks {
    /// Rejected pods of each workload, of which none was evicted since.
    rejected: BTreeMap<OwnerKey, usize>,
    /// Workloads whose evictions have failed since the last eviction.
    failing: BTreeSet<OwnerKey>,
    /// Namespaces whose pods may not be evicted.
    forbidden: BTreeSet<String>,
}

impl Setbacks {
    /// Records the outcome of a move.
    pub fn note(&mut self, planned: &Move, outcome: &Outcome) {
        let workload = planned.ledger_key();
        match outcome {
            Outcome::Evicted | Outcome::Deferred(_) => {
                self.rejected.remove(&workload);
                self.failing.clear();
            }
            Outcome::Refused(_) => *self.rejected.entry(workload).or_default() += 1,
            Outcome::Failed(_) => {
                *self.rejected.entry(workload.clone()).or_default() += 1;
                self.failing.insert(workload);
            }
            Outcome::Forbidden(_) => drop(self.forbidden.insert(planned.namespace.clone())),
            Outcome::OverBudget(_)
            | Outcome::Throttled(..)
            | Outcome::Unauthorized(_)
            | Outcome::Gone
            | Outcome::Changed
            | Outcome::Unanswered(_)
            | Outcome::Untried(_) => {}
        }
    }

    /// Returns the reason why a move is not tried; `None` if it may be.
    pub fn obstacle(&self, planned: &Move) -> Option<Untried> {
        let rejected = self.rejected.get(&planned.ledger_key());
        if self.are_everywhere() {
            Some(Untried::FailingEverywhere(SAME_CAUSE))
        } else if self.forbidden.contains(&planned.namespace) {
            Some(Untried::Forbidden(planned.namespace.clone()))
        } else if rejected.is_some_and(|pods| *pods >= SAME_CAUSE) {
            Some(Untried::WorkloadRejected(SAME_CAUSE))
        } else {
            None
        }
    }

    /// Returns true if the evictions of so many workloads fail that the fault is not theirs.
    pub fn are_everywhere(&self) -> bool {
        self.failing.len() >= SAME_CAUSE
    }
}

impl Move {
    /// Returns the key of the pod in the ledger: its workload, or the pod itself if it has none.
    pub fn ledger_key(&self) -> OwnerKey {
        self.workload.clone().unwrap_or_else(|| OwnerKey {
            namespace: self.namespace.clone(),
            kind: "Pod".to_owned(),
            name: self.pod.clone(),
        })
    }
}

impl Plan {
    /// Returns why a missing right kept every eviction of this plan from being made; `None` if one
    /// was made, or if no right was missing.
    pub fn denied(&self, outcomes: &[Outcome]) -> Option<String> {
        if outcomes.iter().any(Outcome::is_made) {
            return None;
        }
        let missing = outcomes.iter().find(|outcome| outcome.lacks_right());
        let resting = || {
            let mut kept = self.kept.iter().filter(|_| self.moves.is_empty());
            kept.find(|k| matches!(&k.refusal, Refusal::Rest(r) if r.cause == RestCause::NoRight))
        };
        let missing = missing.map(Outcome::to_string);
        missing.or_else(|| resting().map(|kept| kept.refusal.to_string()))
    }
}
