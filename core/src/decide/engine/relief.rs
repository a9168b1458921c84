//! The relief that moves achieve: the engine watches their nodes for an hour.

use jiff::Timestamp;

use crate::model::plan::{Move, Reason};
use crate::model::relief::{CycleRelief, RelievingMove};
use crate::values::ResourceId;

use super::Engine;

impl Engine {
    /// Watches what a move achieves whose eviction was just made, if that was predicted.
    pub(super) fn watch_relief(&mut self, done: &Move) {
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
