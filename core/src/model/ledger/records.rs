//! Facts that are not known to be in the record yet.
//!
//! A fact is stored together with the state that it follows from, so a crash loses neither and
//! makes none twice. A line is written only once its fact is stored. The fact is removed when the
//! line is known to be written, so one that is read from a stored ledger may have been written.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::model::record::{EVICTION, EvictionDetails, Fact, OUTCOME, REFUSAL};

use super::capacity::MOST_BYTES;
use super::{Entry, Ledger, Settled, State};

/// The most bytes of facts, which a sink that is down leaves in the ledger. They are those of more
/// than 400 lines.
pub const MOST_RECORD_BYTES: usize = 250_000;

/// The facts, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Records(Vec<Fact>);

impl Records {
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.iter().map(fact_bytes).sum()
    }

    /// Adds a fact, unless it is there.
    pub(super) fn add(&mut self, fact: Fact) {
        if self.0.iter().all(|known| known.id != fact.id) {
            self.0.push(fact);
        }
    }

    /// Joins the facts of two ledgers that grew from `base`. One that either has removed since is
    /// written. Each of the others may be written by now, because another process had it too.
    pub(super) fn merged(&self, base: &Self, theirs: &Self) -> Self {
        let ids = |records: &Self| -> BTreeSet<String> {
            records.0.iter().map(|fact| fact.id.clone()).collect()
        };
        let (own, known, other) = (ids(self), ids(base), ids(theirs));
        let stays = |fact: &&Fact| {
            let in_both = own.contains(&fact.id) && other.contains(&fact.id);
            in_both || !known.contains(&fact.id)
        };
        let mut merged = Records::default();
        for fact in self.0.iter().chain(&theirs.0).filter(stays) {
            merged.add(Fact { possibly_repeated: true, ..fact.clone() });
        }
        merged.0.sort_by(|a, b| (a.time, &a.id).cmp(&(b.time, &b.id)));
        merged
    }
}

/// The size of the stored text with a comma.
fn fact_bytes(fact: &Fact) -> usize {
    serde_json::to_string(fact).map_or(0, |text| text.len() + 1)
}

impl Ledger {
    /// Adds a fact to those that are not in the record yet, unless it is there.
    pub fn add_fact(&mut self, fact: Fact) {
        self.records.add(fact);
    }

    /// Returns the facts that are not known to be in the record, oldest first.
    pub fn facts(&self) -> &[Fact] {
        &self.records.0
    }

    /// Removes facts that are in the record.
    pub fn recorded(&mut self, ids: &BTreeSet<String>) {
        self.records.0.retain(|fact| !ids.contains(&fact.id));
    }

    /// Drops the oldest facts if all of them take too much room, and returns how many. Evictions
    /// have precedence, so facts never fill the ledger.
    pub fn limit_facts(&mut self) -> usize {
        let room = MOST_BYTES.saturating_sub(self.size().bytes());
        let mut excess = self.records.bytes().saturating_sub(room.min(MOST_RECORD_BYTES));
        let mut dropped = 0;
        while excess > 0 && dropped < self.records.0.len() {
            excess = excess.saturating_sub(fact_bytes(&self.records.0[dropped]));
            dropped += 1;
        }
        self.records.0.drain(..dropped);
        dropped
    }

    /// Removes all facts, because there is no record.
    pub fn forget_facts(&mut self) {
        self.records = Records::default();
    }

    /// Returns the entry of this pod whose eviction is about to be made.
    pub fn intention(&self, uid: &str) -> Option<&Entry> {
        let mut entries = self.entries.iter();
        entries.find(|e| e.uid == uid && e.state == State::Intended)
    }
}

impl Entry {
    /// Returns what the ledger knows of the eviction, with this code of its result.
    pub fn details(&self, outcome: &str) -> EvictionDetails {
        EvictionDetails {
            namespace: self.workload.namespace.clone(),
            pod: self.pod.clone(),
            uid: self.uid.clone(),
            workload: self.workload.clone(),
            node: self.node.clone(),
            decided: self.at,
            outcome: outcome.to_owned(),
            message: None,
            strategy: None,
            reason: None,
            relief: None,
            trial: self.trial.is_some(),
            may_land: self.possible_nodes.clone(),
            to: None,
            forecast: None,
        }
    }

    /// The fact that a request without a known response did not evict the pod.
    pub(super) fn unanswered(&self) -> Fact {
        let message = "no response is known, and the pod still runs".to_owned();
        let details = EvictionDetails { message: Some(message), ..self.details("unanswered") };
        details.fact(REFUSAL, self.at)
    }

    /// The fact that the pod is evicted, of which there was no response.
    pub(super) fn gone(&self, message: &str, time: Timestamp) -> Fact {
        let details =
            EvictionDetails { message: Some(message.to_owned()), ..self.details("evicted") };
        details.fact(EVICTION, time)
    }

    /// The fact that the effect of the eviction is known.
    pub(super) fn outcome(&self, settled: &Settled, now: Timestamp) -> Fact {
        let details = EvictionDetails {
            message: Some(settled.ending.to_string()),
            to: settled.to.clone(),
            forecast: settled.landed.map(|landed| landed.code().to_owned()),
            ..self.details(settled.ending.code())
        };
        details.fact(OUTCOME, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(number: usize) -> Fact {
        Fact {
            id: format!("id-{number}"),
            kind: EVICTION.to_owned(),
            time: Timestamp::from_second(i64::try_from(number).unwrap()).unwrap(),
            subject: "shop/web-1".to_owned(),
            data: serde_json::json!({"reason": "r".repeat(500)}),
            possibly_repeated: false,
        }
    }

    fn ledger(numbers: impl IntoIterator<Item = usize>) -> Ledger {
        let mut ledger = Ledger::default();
        numbers.into_iter().for_each(|n| ledger.add_fact(fact(n)));
        ledger
    }

    fn ids(ledger: &Ledger) -> Vec<&str> {
        ledger.facts().iter().map(|fact| fact.id.as_str()).collect()
    }

    #[test]
    fn the_oldest_facts_give_way_and_evictions_never_do() {
        let mut ledger = ledger(0..1000);
        assert_eq!(ledger.size().bytes(), Ledger::default().size().bytes());
        let dropped = ledger.limit_facts();
        assert!((200..600).contains(&dropped), "{dropped}");
        assert_eq!(ids(&ledger)[0], format!("id-{dropped}"));
        let written = ledger.write().len();
        assert!(written <= ledger.bytes() && written > 200_000, "{written}");
        assert_eq!(ledger.limit_facts(), 0);
    }

    #[test]
    fn a_ledger_without_facts_is_stored_as_before() {
        let before = r#"{"entries":[],"resting":{},"version":1}"#;
        assert_eq!(Ledger::default().write(), before);
        assert_eq!(Ledger::parse(before).unwrap(), Ledger::default());
    }

    #[test]
    fn stored_facts_are_read_back_as_possibly_repeated() {
        let read = Ledger::parse(&ledger([1]).write()).unwrap();
        assert!(read.facts()[0].possibly_repeated);
        assert_eq!(read.write(), ledger([1]).write());
    }

    #[test]
    fn of_two_ledgers_facts_stay_that_neither_has_recorded() {
        let base = ledger([1, 2, 3]);
        // 1 is recorded here and 2 there; 4 and 5 are new.
        let (own, theirs) = (ledger([2, 3, 5]), ledger([1, 3, 4]));
        let merged = own.merged(&base, &theirs);
        assert_eq!(ids(&merged), ["id-3", "id-4", "id-5"]);
        assert!(merged.facts().iter().all(|fact| fact.possibly_repeated));
    }
}
