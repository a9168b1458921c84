//! The order in which nodes are tried, and the limit of that search.
//!
//! Whether a node can be emptied takes a forecast for each of its pods, and each emptied node
//! changes the answers for the others. In a large cluster, not all nodes can be asked in a cycle.
//! Half of the work goes to the emptiest nodes. These may be the ones that can never be emptied, so
//! the other half goes to nodes that change from cycle to cycle.

use std::collections::VecDeque;

use crate::decide::draft::Draft;
use crate::model::snapshot::NodeId;

/// The nodes that are still to be tried in one round, and the work so far.
#[derive(Debug)]
pub(super) struct Search {
    turns: VecDeque<NodeId>,
    /// The number of the cycle, which changes where the second half begins.
    cycle: usize,
    /// How many nodes have had a turn.
    tried: usize,
    /// Whether the nodes that come first have used up their half of the work.
    is_halfway: bool,
    work: usize,
    most_work: usize,
}

impl Search {
    pub(super) fn new(order: &[NodeId], draft: &Draft<'_>, position: usize) -> Self {
        Search::in_cycle(order, draft.world.cycle(), draft.work_left(position))
    }

    fn in_cycle(order: &[NodeId], cycle: usize, most_work: usize) -> Self {
        Search {
            turns: order.iter().copied().collect(),
            cycle,
            tried: 0,
            is_halfway: false,
            work: 0,
            most_work,
        }
    }

    /// Counts work, in forecasts times nodes.
    pub(super) const fn spend(&mut self, work: usize) {
        self.work += work;
    }

    /// The work so far.
    pub(super) const fn work(&self) -> usize {
        self.work
    }

    /// The next node to try; `None` at the end of the round, or when the work is used up.
    pub(super) fn next(&mut self) -> Option<NodeId> {
        if self.is_spent() {
            return None;
        }
        if self.work >= self.most_work / 2 && !self.is_halfway {
            self.is_halfway = true;
            self.skip();
        }
        let next = self.turns.pop_front()?;
        self.tried += 1;
        Some(next)
    }

    /// Begins another round with these nodes, all of which have had a turn.
    pub(super) fn begin_again(&mut self, nodes: Vec<NodeId>) {
        self.turns = nodes.into();
        self.is_halfway = true;
    }

    /// Whether the work is used up.
    pub(super) const fn is_spent(&self) -> bool {
        self.work >= self.most_work
    }

    /// The nodes without a turn in this round.
    pub(super) fn left(&self) -> impl Iterator<Item = &NodeId> {
        self.turns.iter()
    }

    /// Continues where the last cycle is likely to have ended.
    fn skip(&mut self) {
        let behind = self.cycle.wrapping_mul(self.tried);
        if let Some(start) = behind.checked_rem(self.turns.len()) {
            self.turns.rotate_left(start);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Search;
    use crate::decide::scheduler::MOST_WORK;
    use crate::model::snapshot::NodeId;

    /// The nodes that get a turn in a cycle if each takes this work.
    fn tried(nodes: usize, cycle: usize, work: usize) -> Vec<NodeId> {
        let order: Vec<NodeId> = (0..nodes).map(NodeId).collect();
        let mut search = Search::in_cycle(&order, cycle, MOST_WORK);
        let mut tried = Vec::new();
        while let Some(node) = search.next() {
            tried.push(node);
            search.spend(work);
        }
        tried
    }

    #[test]
    fn a_small_cluster_is_tried_in_order() {
        let all: Vec<NodeId> = (0..100).map(NodeId).collect();
        assert_eq!(tried(100, 7, MOST_WORK / 300), all);
    }

    #[test]
    fn half_of_the_work_goes_to_the_emptiest_and_the_other_half_to_others_in_each_cycle() {
        let mut seen = BTreeSet::new();
        for cycle in 0..20 {
            let tried = tried(100, cycle, MOST_WORK / 20);
            let first: Vec<NodeId> = (0..10).map(NodeId).collect();
            assert_eq!((&tried[..10], tried.len()), (&*first, 20));
            seen.extend(tried);
        }
        assert_eq!(seen.len(), 100);
    }
}
