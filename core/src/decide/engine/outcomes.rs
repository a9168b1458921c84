//! Outcomes of a plan: the ledger notes them, and keeps facts about them for the record. For an
//! hour, the engine also watches the relief that moves achieve on their nodes.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::model::ledger::{Fault, State};
use crate::model::plan::{Move, Outcome, Reason, Setbacks};
use crate::model::record::{EvictionDetails, Fact};
use crate::model::relief::{CycleRelief, RelievingMove};
use crate::values::ResourceId;

use super::Engine;

impl Engine {
    /// Makes the ledger keep the facts for a record, until they are recorded.
    pub const fn keep_facts(&mut self) {
        self.keeps_facts = true;
    }

    /// Removes facts that are in the record.
    pub fn recorded(&mut self, ids: &BTreeSet<String>) {
        self.ledger.recorded(ids);
    }

    /// Drops the oldest facts if all of them take too much room, and returns how many.
    pub fn limit_facts(&mut self) -> usize {
        self.ledger.limit_facts()
    }

    /// Adds facts to those that the ledger keeps. If there is no record, all are forgotten, also
    /// those of a process that had one.
    pub(super) fn keep(&mut self, facts: Vec<Fact>) {
        if self.keeps_facts {
            for fact in facts {
                self.ledger.add_fact(fact);
            }
        } else {
            self.ledger.forget_facts();
        }
    }

    /// Keeps a fact that is not about one eviction, if there is a record.
    pub fn keep_fact(&mut self, fact: Fact) {
        if self.keeps_facts {
            self.ledger.add_fact(fact);
        }
    }

    /// Returns what the record says about the outcome of a move; `None` if nothing.
    fn fact(&self, done: &Move, outcome: &Outcome) -> Option<Fact> {
        let kind = outcome.record_type().filter(|_| self.keeps_facts)?;
        let entry = self.ledger.intention(&done.uid)?;
        let details = EvictionDetails {
            message: (*outcome != Outcome::Evicted).then(|| outcome.to_string()),
            strategy: Some(done.strategy.to_owned()),
            reason: Some(done.why()),
            relief: done.relief.clone(),
            may_land: done.possible_nodes.clone(),
            ..entry.details(outcome.code())
        };
        Some(details.fact(kind, entry.at))
    }

    /// Records in the ledger the outcome of a move.
    pub fn resolve(&mut self, done: &Move, outcome: &Outcome) {
        // First, because the entry of an eviction that was not made is withdrawn.
        if let Some(fact) = self.fact(done, outcome) {
            self.ledger.add_fact(fact);
        }
        match outcome {
            Outcome::Evicted => {
                self.search_start.expect_one();
                self.watch_relief(done);
                self.ledger.requested(&done.uid, State::Evicted);
            }
            // Unknown for now. The next snapshot shows whether the pod is gone.
            Outcome::Unanswered(_) => {}
            Outcome::Deferred(_) => self.ledger.requested(&done.uid, State::Deferred),
            Outcome::OverBudget(_)
            | Outcome::Refused(_)
            | Outcome::Forbidden(_)
            | Outcome::Unauthorized(_)
            | Outcome::Throttled(..)
            | Outcome::Gone
            | Outcome::Changed
            | Outcome::Failed(_)
            | Outcome::Untried(_) => {
                self.ledger.withdraw(&done.uid);
            }
        }
    }

    /// Records in the ledger which pods of an executed plan rest, because the API server rejected
    /// their evictions.
    pub fn rest_rejected(&mut self, moves: &[Move], outcomes: &[Outcome], now: Timestamp) {
        let mut setbacks = Setbacks::default();
        let done = || moves.iter().zip(outcomes);
        done().for_each(|(planned, outcome)| setbacks.note(planned, outcome));
        for (planned, outcome) in done() {
            let Some(fault) = outcome.fault() else {
                continue;
            };
            let is_shared = fault == Fault::Pod && setbacks.are_everywhere();
            let fault = if is_shared { Fault::Server } else { fault };
            let (workload, cooldown) = (planned.ledger_key(), &self.policy.cooldown);
            self.ledger.rejected(&workload, &planned.uid, fault, cooldown, now);
        }
        // Afterwards, because both may be of one plan.
        for (planned, _) in done().filter(|(_, outcome)| outcome.is_made()) {
            self.ledger.another_goes(&planned.ledger_key());
        }
    }

    /// Watches what a move achieves whose eviction was just made, if that was predicted.
    fn watch_relief(&mut self, done: &Move) {
        let (Some(worth), Some(relief)) = (done.worth, &done.relief) else {
            return;
        };
        let resource = match relief.resource.as_str() {
            "cpu" => ResourceId::CPU,
            "memory" => ResourceId::MEMORY,
            _ => return,
        };
        let (Reason::HotNode { target, .. }, Some(entry)) =
            (&done.reason, self.ledger.intention(&done.uid))
        else {
            return;
        };
        self.relief.add(RelievingMove {
            decided: entry.at,
            uid: done.uid.clone(),
            workload: entry.workload.clone(),
            node: done.node.clone(),
            resource,
            target: *target,
            share: relief.share,
            predicted: worth.relief,
        });
    }

    /// Returns what the moves of cycles have achieved that were decided an hour ago, the oldest
    /// first. Each cycle is returned once.
    pub fn take_reliefs(&mut self, now: Timestamp) -> Vec<CycleRelief> {
        let ended = self.relief.take_ended(now);
        for relief in &ended {
            self.keep_fact(relief.fact(now));
        }
        ended
    }

    /// Forgets the moves that were decided an hour ago, in an instance that no longer leads.
    pub fn forget_reliefs(&mut self, now: Timestamp) {
        self.relief.take_ended(now);
    }
}
