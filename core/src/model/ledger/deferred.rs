//! Evictions that are under way: requested, and not finished yet.

use jiff::Timestamp;

use crate::policy::Cooldown;

use super::{Entry, Ledger, State};

impl Ledger {
    /// Records that another component evicts this pod later.
    pub fn deferred(&mut self, uid: &str) {
        for entry in self.entries.iter_mut().filter(|e| e.uid == uid && e.state == State::Intended)
        {
            entry.state = State::Deferred;
        }
    }

    /// Returns the evictions that another component carries out later.
    pub fn deferrals(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|e| e.state == State::Deferred)
    }

    /// Returns true if this pod must not be asked for again: its eviction is under way, or it was
    /// evicted lately although it still seems to run.
    pub fn is_under_way(&self, uid: &str, cooldown: &Cooldown, now: Timestamp) -> bool {
        self.entries.iter().any(|e| {
            let settled = matches!(e.state, State::Settled(_));
            e.uid == uid && (!settled || now.duration_since(e.at) < cooldown.rest)
        })
    }
}
