//! The size of the stored ledger, which must fit a ConfigMap.
//!
//! Sizes are those of the stored text, rounded up, because the names in it differ in length.

use super::{Entry, Ledger, Streak};
use crate::model::snapshot::facts::OwnerKey;

/// The most bytes of the stored text. A ConfigMap holds 1 MiB, and may have keys of others.
pub(super) const MOST_BYTES: usize = 1_000_000;
/// Bytes that only finished pods may use. Their entries are removed within minutes.
const FOR_FINISHED: usize = 120_000;
/// The bytes at which a ledger is full for pods that are replaced.
pub const FULL_BYTES: usize = MOST_BYTES - FOR_FINISHED;
/// Bytes reserved for an eviction of the same cycle.
const PER_PLANNED: usize = 512;
/// The bytes of entries above which settled ones are reduced to the rests of their replacements.
/// With less, 17 evictions a minute are all watched for half an hour; with more, thirty a minute
/// and a rest of six hours would fill the ledger.
pub(super) const MOST_DETAILED: usize = 240_000;
/// The most siblings of the same second that an entry names.
pub(super) const MOST_TWINS: usize = 64;
/// The most bytes of siblings' uids that all entries may have.
const MOST_TWIN_BYTES: usize = 64 * 1024;
/// A forecast of more nodes than this is too vague to store.
const MOST_FORESEEN: usize = 32;
/// The most bytes of node names that all stored forecasts may have.
pub const MOST_FORESEEN_BYTES: usize = 128 * 1024;

/// Field names, times and the state of an entry.
const PLAIN_ENTRY: usize = 200;
/// The additional bytes of a trial: the number of Ready pods, and a longer state.
const TRIAL: usize = 31;
/// The resource, the ratio and the time of a relief.
const RELIEF: usize = 80;
/// Field names, times and counts of a streak.
const PLAIN_STREAK: usize = 135;
/// The decline of a streak.
const DECLINE: usize = 22;
/// The version and the names of the parts.
const PLAIN_LEDGER: usize = 80;

impl Ledger {
    /// Returns the size of the stored text in bytes, rounded up.
    pub fn bytes(&self) -> usize {
        self.size().bytes() + self.records.bytes()
    }

    /// Returns the size, which tells how many evictions the ledger has room for. Facts for the
    /// record do not count, because they give way.
    pub fn size(&self) -> LedgerSize {
        let streaks = self.streaks.iter().map(|(key, s)| streak_bytes(key, s));
        let resting = self.rests.bytes() + self.rejections.bytes() + streaks.sum::<usize>();
        LedgerSize(PLAIN_LEDGER + self.entry_bytes() + resting)
    }

    pub(super) fn entry_bytes(&self) -> usize {
        self.entries.iter().map(Entry::bytes).sum()
    }

    /// Returns true if a forecast can be stored.
    pub(super) fn has_room_for_forecast(&self, possible_nodes: &[String]) -> bool {
        let kept: usize = self.entries.iter().map(|e| list_bytes(&e.possible_nodes)).sum();
        let bytes = list_bytes(possible_nodes);
        possible_nodes.len() <= MOST_FORESEEN
            && kept + bytes <= MOST_FORESEEN_BYTES
            && self.size().bytes() + bytes <= FULL_BYTES
    }

    /// Returns true if the uids of these siblings can be stored.
    pub(super) fn has_room_for_twins(&self, twins: &[String]) -> bool {
        let kept: usize = self.entries.iter().map(|e| list_bytes(&e.twins)).sum();
        let bytes = list_bytes(twins);
        twins.len() <= MOST_TWINS
            && kept + bytes <= MOST_TWIN_BYTES
            && self.size().bytes() + bytes <= FULL_BYTES
    }
}

/// The size of a ledger. It is computed once for many questions.
#[derive(Clone, Copy, Debug)]
pub struct LedgerSize(usize);

impl LedgerSize {
    pub(super) const fn bytes(self) -> usize {
        self.0
    }

    /// Returns true if the ledger has no room for the eviction of a pod that is replaced, after
    /// `planned` other ones.
    pub const fn is_full(self, planned: usize) -> bool {
        self.0 + (planned + 1) * PER_PLANNED > FULL_BYTES
    }

    /// Returns true if the ledger has no room for any other eviction after `planned` ones, not even
    /// that of a finished pod.
    pub const fn is_full_for_finished(self, planned: usize) -> bool {
        self.0 + (planned + 1) * PER_PLANNED > MOST_BYTES
    }
}

impl Entry {
    /// The size of the stored text, rounded up.
    pub(super) fn bytes(&self) -> usize {
        let names = [&self.pod, &self.uid, &self.node].into_iter();
        let names = names.chain(&self.replacement).map(String::len);
        PLAIN_ENTRY
            + key_bytes(&self.workload)
            + names.sum::<usize>()
            + self.relief.as_ref().map_or(0, |_| RELIEF)
            + self.trial.map_or(0, |_| TRIAL)
            + list_bytes(&self.twins)
            + list_bytes(&self.possible_nodes)
    }
}

fn streak_bytes(workload: &OwnerKey, streak: &Streak) -> usize {
    PLAIN_STREAK + streak.decline.map_or(0, |_| DECLINE) + key_bytes(workload)
}

pub(super) fn key_bytes(key: &OwnerKey) -> usize {
    key.namespace.len() + key.kind.len() + key.name.len() + 2
}

/// Quotes and a comma for each name.
fn list_bytes(names: &[String]) -> usize {
    names.iter().map(|name| name.len() + 3).sum()
}
