//! Counts over the ledger for the status page, metrics and explanations. Decisions do not use them.

use jiff::Timestamp;

use crate::model::snapshot::Snapshot;
use crate::model::snapshot::facts::OwnerKey;
use crate::policy::Cooldown;

use super::{Decline, Entry, Ledger};

/// A workload that rests because its moves did not help.
#[derive(Clone, Copy, Debug)]
pub struct Resting<'l> {
    /// The workload.
    pub workload: &'l OwnerKey,
    /// The number of consecutive ineffective moves.
    pub moves: u32,
    /// How it got worse by the last one; `None` if it did not.
    pub decline: Option<Decline>,
    /// The end of the rest.
    pub until: Timestamp,
}

impl Ledger {
    /// Returns the number of workloads that rest because their moves did not help.
    pub fn resting(&self, now: Timestamp) -> usize {
        self.rests(now).count()
    }

    /// Returns the workloads that rest because their moves did not help.
    pub fn rests(&self, now: Timestamp) -> impl Iterator<Item = Resting<'_>> {
        let resting = self.streaks.iter().filter(move |(_, s)| s.until > now);
        resting.map(|(workload, streak)| Resting {
            workload,
            moves: streak.moves,
            decline: streak.decline,
            until: streak.until,
        })
    }

    /// Returns the number of consecutive moves of a workload that did not help, and the end of its
    /// rest; `None` if the last move helped or no move is remembered.
    pub fn ineffective_moves(&self, workload: &OwnerKey) -> Option<(u32, Timestamp)> {
        self.streaks.get(workload).map(|streak| (streak.moves, streak.until))
    }

    /// Returns the number of workloads with two or more consecutive ineffective moves.
    pub fn repeatedly_ineffective(&self) -> usize {
        self.streaks.values().filter(|s| s.moves > 1).count()
    }

    /// Counts the evictions by phase: `open` until the outcome is known, `resting` while the
    /// replacement rests, and `settled` while they are remembered. Evictions that are no longer
    /// listed count once per workload.
    pub fn by_phase(
        &self,
        snapshot: &Snapshot,
        cooldown: &Cooldown,
        now: Timestamp,
    ) -> [(&'static str, usize); 3] {
        let settled = self.entries.iter().filter(|e| e.state.is_settled());
        let rests = |e: &&Entry| e.rests_until(snapshot, cooldown).is_some_and(|end| end > now);
        let (all_settled, resting) = (settled.clone().count(), settled.filter(rests).count());
        [
            ("open", self.entries.len() - all_settled),
            ("resting", resting + self.rests.len()),
            ("settled", all_settled - resting),
        ]
    }
}
