//! The order in which a search asks nodes.
//!
//! In a large cluster, not all nodes can be asked in a cycle. Half of the work goes to those that
//! come first. These may be the ones for which nothing can ever be done, so the other half goes to
//! nodes that change from cycle to cycle.

use std::collections::VecDeque;

use crate::model::snapshot::NodeId;

/// The nodes that are still to be asked in one round.
#[derive(Debug, Default)]
pub(super) struct NodeTurns {
    left: VecDeque<NodeId>,
    /// How many nodes have had a turn, in all rounds.
    tried: usize,
    has_skipped: bool,
}

impl NodeTurns {
    /// Begins a round with these nodes.
    pub(super) fn begin(&mut self, nodes: Vec<NodeId>) {
        self.left = nodes.into();
    }

    pub(super) fn first(&self) -> Option<NodeId> {
        self.left.front().copied()
    }

    /// Ends the turn of the first node, and returns it.
    pub(super) fn pop(&mut self) -> Option<NodeId> {
        let node = self.left.pop_front()?;
        self.tried += 1;
        Some(node)
    }

    /// Continues where the last cycle is likely to have ended, once.
    pub(super) fn skip(&mut self, cycle: usize) {
        let behind = cycle.wrapping_mul(self.tried);
        if !std::mem::replace(&mut self.has_skipped, true)
            && let Some(start) = behind.checked_rem(self.left.len())
        {
            self.left.rotate_left(start);
        }
    }

    /// Skips no nodes any more.
    pub(super) const fn stay_in_order(&mut self) {
        self.has_skipped = true;
    }

    /// The nodes without a turn in this round.
    pub(super) fn left(&self) -> impl Iterator<Item = &NodeId> {
        self.left.iter()
    }
}
