//! What the ledger comes to: for pages, figures and explanations, which decide nothing by it.

use jiff::Timestamp;

use crate::model::snapshot::facts::OwnerKey;
use crate::policy::Cooldown;

use super::{Entry, Ledger, State};

impl Ledger {
    /// How many workloads rest since their moves did not help.
    pub fn resting(&self, now: Timestamp) -> usize {
        self.standings.values().filter(|s| s.until > now).count()
    }

    /// The workloads that rest since their moves did not help: how many did not in a row, and until when they rest.
    pub fn rests(&self, now: Timestamp) -> impl Iterator<Item = (&OwnerKey, u32, Timestamp)> {
        let resting = self.standings.iter().filter(move |(_, s)| s.until > now);
        resting.map(|(workload, s)| (workload, s.useless, s.until))
    }

    /// How often in a row the moves of a workload did not help, and until when it rests for it; `None` where the last one
    /// helped, or none is remembered.
    pub fn useless(&self, workload: &OwnerKey) -> Option<(u32, Timestamp)> {
        self.standings
            .get(workload)
            .map(|standing| (standing.useless, standing.until))
    }

    /// How many workloads have had moves that did not help twice in a row or more.
    pub fn repeat_offenders(&self) -> usize {
        self.standings.values().filter(|s| s.useless > 1).count()
    }

    /// How many evictions stand how: `open` until it is known how they went, `resting` while the replacement is left
    /// alone, `settled` while they are still remembered.
    pub fn by_standing(&self, cooldown: &Cooldown, now: Timestamp) -> [(&'static str, usize); 3] {
        let settled = |e: &&Entry| matches!(e.state, State::Settled(_));
        let rests = |e: &&Entry| settled(e) && now.duration_since(e.at) < cooldown.rest;
        let all_settled = self.entries.iter().filter(settled).count();
        let resting = self.entries.iter().filter(rests).count();
        [
            ("open", self.entries.len() - all_settled),
            ("resting", resting),
            ("settled", all_settled - resting),
        ]
    }
}
