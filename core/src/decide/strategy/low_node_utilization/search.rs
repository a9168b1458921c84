//! The search for the next candidate among the pods of all hot nodes.
//!
//! A move is certain if its node then needs one eviction less and the replacement lands well with
//! at least [`CERTAIN`]. The node that needs the fewest evictions comes first: where limits allow
//! few moves in a cycle, most nodes are relieved soonest that way; of nodes with the same need, the
//! hottest. Other orders of these, such as by usage minus requests of the pod that leaves, change
//! two cuts of 300 machines of the contest and random clusters by no more than chance. A node gives
//! the first such pod in the order of [`PodRelief::order`], until it is relieved or has none. Every
//! move changes where kube-scheduler places the next pod, so all nodes are asked again, in another
//! round, until no node has a certain move or the work is used up. If half of the work finds no
//! move, the nodes that come first may stay hot for ever, and the other half is for others
//! (`node_turns`). If a cycle finds no move at all, the pods that would land badly no longer count,
//! so that lighter ones relieve their nodes.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::decide::draft::{Candidate, Draft};
use crate::decide::gate;
use crate::decide::strategy::importance::Importance;
use crate::decide::strategy::node_turns::NodeTurns;
use crate::decide::targets::whole;
use crate::model::snapshot::{NodeId, PodId};

use super::LowNodeUtilizationRun;
use super::hot_node::HotNode;
use super::need::staying;
use super::relief::PodRelief;

/// The probability from which a move is certain. With 0.8, random clusters of 50 nodes are above
/// their targets for 16 % longer (`tests/arena.sh 50 30 constant stock`), with as many evictions.
const CERTAIN: f64 = 0.95;
/// Moves that are not certain wait once the cycle has made one move, and one more for each of so
/// many hot nodes. With one alone, random clusters of 200 nodes (`tests/arena.sh 200 15 constant
/// stock`) are above their targets for a third longer; with more moves than these, they need up to
/// a third more evictions.
const NODES_FOR_EACH: usize = 40;
/// The expected number of useless moves for each of these few. Beyond it, later moves wait for the
/// next cycle, which knows where the replacements have landed. Without this limit, two recorded
/// days of 50 nodes need 17 and 41 % more evictions. If it did not grow with the number of hot
/// nodes, a random cluster of 1,000 nodes would be above its targets for 9 % longer.
const USELESS_FOR_EACH: f64 = 0.25;

/// The state of the search.
#[derive(Debug, Default)]
pub(super) struct SearchState {
    /// The hot nodes that are still to be asked in this round.
    turns: NodeTurns,
    /// The number of accepted moves when the round began.
    moves_before: usize,
    /// Pods that a forecast of this round refused, or found not to be certain.
    pub(super) asked: BTreeSet<PodId>,
    /// Pods that the forecast refused, and whose nodes are relieved by others.
    pub(super) given_up: BTreeSet<PodId>,
    /// The work so far, in forecasts times nodes.
    pub(super) work: usize,
    /// The most work of this search, and of the one for moves that are not certain.
    pub(super) most_work: usize,
    /// The expected number of moves of hot nodes' pods so far that do not help.
    pub(super) useless: f64,
    /// The number of moves of this cycle from which on those that are not certain wait.
    pub(super) pace: usize,
}

impl SearchState {
    /// A search among so many hot nodes.
    pub(super) fn new(hot_nodes: usize, most_work: usize) -> Self {
        let pace = 1 + hot_nodes.div_ceil(NODES_FOR_EACH);
        SearchState { most_work, pace, ..SearchState::default() }
    }

    /// Whether so many moves are uncertain that the rest waits until they have landed.
    pub(super) fn waits_for_landings(&self) -> bool {
        self.useless >= USELESS_FOR_EACH * whole(self.pace)
    }

    /// Whether the search has used up its work.
    pub(super) const fn is_spent(&self) -> bool {
        self.work >= self.most_work
    }
}

impl LowNodeUtilizationRun<'_> {
    /// Computes the excess and the need of a node again.
    pub(super) fn renew(&mut self, draft: &Draft<'_>, node: NodeId) {
        self.hot.remove(&node);
        if !draft.is_closed(self.position, node)
            && let Ok(mut hot) = self.hot_node(draft, node)
        {
            hot.pods = self.in_order(draft, &hot);
            self.hot.insert(node, hot);
        }
    }

    pub(super) fn begin_round(&mut self, draft: &Draft<'_>) {
        let mut turns: Vec<&HotNode> = self.hot.values().collect();
        turns.sort_by_key(|hot| (hot.need(), Reverse(hot.worst_distance())));
        self.search.turns.begin(turns.into_iter().map(|hot| hot.node).collect());
        self.search.moves_before = draft.accepted().count();
        self.search.asked.clear();
    }

    /// The next pod whose move is certain, or that a gate other than the landing gate refuses, so
    /// that the plan says why it stays.
    pub(super) fn next_certain(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        loop {
            while let Some(node) = self.search.turns.first() {
                let certain = self.certain_on(draft, node);
                if certain.is_some() {
                    return certain;
                }
                self.search.turns.pop();
                if self.search.work >= self.search.most_work / 2 && self.moves(draft) == 0 {
                    self.search.turns.skip(draft.world.cycle());
                }
            }
            let is_same = draft.accepted().count() == self.search.moves_before;
            if is_same || self.search.is_spent() {
                return None;
            }
            self.begin_round(draft);
        }
    }

    /// Whether the rest waits until the next cycle, which knows where the replacements of uncertain
    /// moves have landed, and whether heavier pods than these can then go.
    pub(super) fn waits_for_next_cycle(&self, draft: &Draft<'_>) -> bool {
        let are_lighter = !self.search.given_up.is_empty();
        self.search.waits_for_landings() || (are_lighter && self.is_paced(draft))
    }

    /// Begins a round in which the pods that the forecast refused do not count, so that several
    /// lighter ones relieve their nodes, where these are hot now and not only soon. Returns false
    /// if there are none, or the cycle makes another move, which may change where they land.
    pub(super) fn begin_without_refused(&mut self, draft: &Draft<'_>) -> bool {
        if self.moves(draft) > 0 {
            return false;
        }
        let hot = self.hot.values().filter(|hot| hot.is_above_now(draft));
        let asked = hot.flat_map(|hot| self.asked_on(draft, hot).map(|pod| (pod, hot.node)));
        let is_refused =
            |(pod, _): &(PodId, NodeId)| draft.success_of(self.position, *pod).is_none();
        let (refused, nodes): (BTreeSet<PodId>, BTreeSet<NodeId>) =
            asked.filter(is_refused).unzip();
        if refused.is_empty() {
            return false;
        }
        self.search.given_up.extend(refused);
        for node in nodes {
            self.renew(draft, node);
        }
        self.begin_round(draft);
        true
    }

    /// The first pod of a node whose move is certain, or that a gate refuses before there is a
    /// forecast.
    fn certain_on(&mut self, draft: &Draft<'_>, node: NodeId) -> Option<Candidate> {
        let pods = self.hot.get(&node)?.pods.clone();
        for (pod, relief) in pods {
            if self.search.asked.contains(&pod) || self.is_answered(draft, pod) {
                continue;
            }
            let candidate = self.candidate_of(draft, pod)?;
            if gate::admit_before_landing(&candidate, draft).is_err() {
                return Some(candidate);
            }
            if self.search.is_spent() {
                return None;
            }
            if relief.saves == 0 && !relief.unknown {
                continue;
            }
            self.search.work += draft.forecast_work();
            let prospect = gate::prospect(&candidate, draft);
            if prospect.is_ok_and(|prospect| prospect.success.get() >= CERTAIN) {
                return Some(candidate);
            }
            self.search.asked.insert(pod);
        }
        None
    }

    /// The pods of a hot node that are worth asking for, in order. A heavy pod that may not be
    /// evicted is among them, so that the plan says why it stays. All pods are, if no other one is
    /// or was, and none may be evicted.
    fn in_order(&self, draft: &Draft<'_>, hot: &HotNode) -> Vec<(PodId, PodRelief)> {
        let remaining = self.remaining(draft, hot.node);
        let reliefs = remaining.filter_map(|pod| Some((pod, hot.relief(draft, pod)?)));
        let mut pods: Vec<(PodId, PodRelief)> = reliefs.collect();
        let is_silent = hot.movable.is_empty()
            && !pods.iter().any(|(_, relief)| relief.is_worth_a_note())
            && staying(draft, hot.node).all(|pod| self.remains(draft, pod));
        pods.retain(|(pod, relief)| match hot.movable.binary_search(pod) {
            Ok(_) => hot.judge(draft, *pod).is_ok(),
            Err(_) => is_silent || relief.is_worth_a_note(),
        });
        pods.sort_by_cached_key(|(pod, relief)| {
            let importance = Importance::of(draft.world.snapshot.pod(*pod));
            (relief.order(importance), *pod)
        });
        pods
    }

    /// The pods of a hot node that a forecast of this round refused, or found not to be certain.
    pub(super) fn asked_on(&self, draft: &Draft<'_>, hot: &HotNode) -> impl Iterator<Item = PodId> {
        let pods = hot.pods.iter().map(|(pod, _)| *pod);
        pods.filter(|pod| self.search.asked.contains(pod) && !self.is_answered(draft, *pod))
    }

    /// A pod of a hot node as a candidate. A pod of a node that has been relieved is none.
    pub(super) fn candidate_of(&self, draft: &Draft<'_>, pod: PodId) -> Option<Candidate> {
        let node = draft.world.snapshot.pod(pod).node?;
        let reason = self.hot.get(&node)?.reason(draft)?;
        Some(self.candidate_because(draft, pod, reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_hot_nodes_allow_more_moves_that_are_not_certain() {
        let pace = |hot_nodes| SearchState::new(hot_nodes, 0).pace;
        assert_eq!([0, 1, 40, 41, 100].map(pace), [1, 2, 2, 3, 4]);
    }

    #[test]
    fn the_rest_waits_once_a_quarter_of_a_useless_move_is_expected_for_each_of_these() {
        let mut search = SearchState::new(1, 0);
        search.useless = 0.49;
        assert!(!search.waits_for_landings());
        search.useless = 0.5;
        assert!(search.waits_for_landings());
    }
}
