//! Rests of replacements whose evictions the ledger no longer lists.
//!
//! An entry takes a third of a kilobyte, and a rest may last for hours. After many evictions,
//! settled ones are therefore reduced to one short record per workload, which keeps what the rest
//! needs.

use std::collections::{BTreeMap, BTreeSet};

use jiff::fmt::serde::timestamp::second;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::model::snapshot::Snapshot;
use crate::model::snapshot::facts::OwnerKey;
use crate::policy::Cooldown;

use super::capacity::MOST_DETAILED;
use super::entry::may_be_newer;
use super::{Aim, Entry, LIMIT_PERIOD, Ledger, patience};

/// Quotes, brackets, commas, the slash and two times.
const PLAIN_REST: usize = 29;

/// The records by namespace, and by kind and name. Namespaces are stored once, because most records
/// share theirs with others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReplacementRests(BTreeMap<String, BTreeMap<String, ReplacementRest>>);

/// Pods of the workload that were created later than the first time are replacements. The record no
/// longer matters at the second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReplacementRest(
    #[serde(with = "second::required")] Timestamp,
    #[serde(with = "second::required")] Timestamp,
);

impl ReplacementRests {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.values().map(BTreeMap::len).sum()
    }

    /// The size of the stored text.
    pub(super) fn bytes(&self) -> usize {
        let names = |rests: &BTreeMap<String, ReplacementRest>| -> usize {
            rests.keys().map(|name| name.len() + PLAIN_REST).sum()
        };
        self.0.iter().map(|(namespace, rests)| namespace.len() + 6 + names(rests)).sum()
    }

    /// Returns true if a pod of this workload is a replacement by the time of its creation.
    pub(super) fn is_replacement(&self, workload: &OwnerKey, created: Timestamp) -> bool {
        let of_namespace = self.0.get(&workload.namespace);
        let rest = of_namespace.and_then(|rests| rests.get(&name_of(workload)));
        rest.is_some_and(|rest| created > rest.0)
    }

    fn extend<'e>(&mut self, added: impl Iterator<Item = (&'e OwnerKey, ReplacementRest)>) {
        for (workload, rest) in added {
            let namespace = workload.namespace.clone();
            let rests = self.0.entry(namespace).or_default();
            join(rests, name_of(workload), rest);
        }
    }

    /// Joins the records of two ledgers.
    pub(super) fn merged(&self, theirs: &Self) -> Self {
        let mut merged = self.0.clone();
        for (namespace, rests) in &theirs.0 {
            let own = merged.entry(namespace.clone()).or_default();
            for (name, rest) in rests {
                join(own, name.clone(), *rest);
            }
        }
        ReplacementRests(merged)
    }

    /// Limits the ends of the records, and returns how many were later.
    pub(super) fn clamp(&mut self, longest: Timestamp) -> usize {
        let mut clamped = 0;
        let rests = self.0.values_mut().flat_map(BTreeMap::values_mut);
        for rest in rests.filter(|rest| rest.1 > longest) {
            rest.1 = longest;
            clamped += 1;
        }
        clamped
    }

    pub(super) fn prune(&mut self, now: Timestamp) {
        if self.is_empty() {
            return;
        }
        for rests in self.0.values_mut() {
            rests.retain(|_, rest| rest.1 > now);
        }
        self.0.retain(|_, rests| !rests.is_empty());
    }
}

/// Of two records of a workload, the time that covers more pods counts, and the later end.
fn join(rests: &mut BTreeMap<String, ReplacementRest>, name: String, new: ReplacementRest) {
    let kept = rests.entry(name).or_insert(new);
    *kept = ReplacementRest(kept.0.min(new.0), kept.1.max(new.1));
}

fn name_of(workload: &OwnerKey) -> String {
    format!("{}/{}", workload.kind, workload.name)
}

impl Ledger {
    /// Reduces the oldest settled evictions to the rests of their replacements, if all of them take
    /// too much room, and returns them.
    ///
    /// An entry stays while anything else depends on it: the limit per minute, another eviction of
    /// the workload that is not settled, or a pod that still seems to run.
    pub(super) fn reduce(
        &mut self,
        snapshot: &Snapshot,
        cooldown: &Cooldown,
        now: Timestamp,
    ) -> Vec<Entry> {
        let mut excess = self.entry_bytes().saturating_sub(MOST_DETAILED);
        if excess == 0 {
            return Vec::new();
        }
        let settled = |e: &Entry| e.state.is_settled();
        let unsettled: BTreeSet<OwnerKey> =
            self.entries.iter().filter(|e| !settled(e)).map(|e| e.workload.clone()).collect();
        let mut reduced: Vec<Entry> = Vec::new();
        self.entries.retain(|entry| {
            let keep = excess == 0
                || !settled(entry)
                || now.duration_since(entry.at) <= LIMIT_PERIOD
                || unsettled.contains(&entry.workload)
                || entry.evicted_pod(snapshot).is_some();
            if !keep {
                excess = excess.saturating_sub(entry.bytes());
                reduced.push(entry.clone());
            }
            keep
        });
        let replaced = reduced.iter().filter(|e| e.aim != Aim::Clear);
        self.rests.extend(replaced.map(|e| (&e.workload, e.rest(cooldown, now))));
        reduced
    }
}

impl Entry {
    /// Returns the record that keeps the rest of the replacements.
    fn rest(&self, cooldown: &Cooldown, now: Timestamp) -> ReplacementRest {
        // Without the uids of the siblings of the same second, all pods of that second rest.
        let newest = if may_be_newer(self.at, self.newest) {
            let before = self.newest.saturating_sub(SignedDuration::from_secs(1));
            before.unwrap_or(self.newest)
        } else {
            self.newest
        };
        let after = |time: Timestamp, wait| time.saturating_add(wait).unwrap_or(Timestamp::MAX);
        // A settled eviction has its replacement by now. That of a pod that was moved again keeps
        // no longer rest than the others here.
        let latest = now.min(after(self.at, patience(cooldown)));
        ReplacementRest(newest, after(latest, cooldown.rest))
    }
}
