//! The limit of the search for nodes that can be emptied.
//!
//! Whether a node can be emptied takes a forecast for each of its pods, and each emptied node
//! changes the answers for the others. The emptiest nodes come first.

use crate::decide::draft::Draft;
use crate::decide::strategy::node_turns::NodeTurns;
use crate::model::snapshot::NodeId;

/// The nodes that are still to be tried in one round, and the work so far.
#[derive(Debug)]
pub(super) struct Search {
    turns: NodeTurns,
    /// The number of the cycle, which changes where the second half of the work begins.
    cycle: usize,
    work: usize,
    most_work: usize,
}

impl Search {
    pub(super) fn new(order: &[NodeId], draft: &Draft<'_>, position: usize) -> Self {
        Search::in_cycle(order, draft.world.cycle(), draft.work_left(position))
    }

    fn in_cycle(order: &[NodeId], cycle: usize, most_work: usize) -> Self {
        let mut turns = NodeTurns::default();
        turns.begin(order.to_vec());
        Search { turns, cycle, work: 0, most_work }
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
        if self.work >= self.most_work / 2 {
            self.turns.skip(self.cycle);
        }
        self.turns.pop()
    }

    /// Begins another round with these nodes, all of which have had a turn.
    pub(super) fn begin_again(&mut self, nodes: Vec<NodeId>) {
        self.turns.begin(nodes);
        self.turns.stay_in_order();
    }

    /// Whether the work is used up.
    pub(super) const fn is_spent(&self) -> bool {
        self.work >= self.most_work
    }

    /// The nodes without a turn in this round.
    pub(super) fn left(&self) -> impl Iterator<Item = &NodeId> {
        self.turns.left()
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
