//! The search for the next candidate among the pods of all hot nodes.
//!
//! A move is certain if its node then needs one eviction less and the replacement lands well with
//! at least [`CERTAIN`]. The node that needs the fewest evictions comes first: where limits allow
//! few moves in a cycle, most nodes are relieved soonest that way; of nodes with the same need, the
//! hottest. Other orders of these, such as by usage minus requests of the pod that leaves, change
//! two cuts of 300 machines of the contest and random clusters by no more than chance. A node gives
//! the first such pod in the order of [`PodRelief::order`], until it is relieved or has none. Every
//! move changes where kube-scheduler places the next pod, so all nodes are asked again, in another
//! round, until no node has a certain move or the work is used up.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};

use crate::decide::draft::{Candidate, Draft, MOST_WORK};
use crate::decide::gate;
use crate::decide::strategy::importance::Importance;
use crate::decide::targets::whole;
use crate::model::plan::{Reach, Refusal};
use crate::model::snapshot::{NodeId, PodId};
use crate::values::Ratio;

use super::LowNodeUtilizationRun;
use super::hot_node::HotNode;
use super::need::leaves_soon;
use super::relief::PodRelief;

/// The probability from which a move is certain. With 0.8, random clusters of 50 nodes are above
/// their targets for 16 % longer (`tests/arena.sh 50 30 constant stock`), with as many evictions.
const CERTAIN: f64 = 0.95;
/// A cycle makes one move that is not certain, and one more for each of so many hot nodes. With one
/// alone, random clusters of 200 nodes (`tests/arena.sh 200 15 constant stock`) are above their
/// targets for a third longer; with more moves than these, they need up to a third more evictions.
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
    turns: VecDeque<NodeId>,
    /// The number of accepted moves when the round began.
    moves_before: usize,
    /// Pods that were found not to be certain in this round.
    uncertain: BTreeSet<PodId>,
    /// Pods that the forecast refused.
    refused: BTreeSet<PodId>,
    work: usize,
    /// The expected number of moves so far that do not help.
    useless: f64,
    /// The most moves after which one is made that is not certain.
    pace: usize,
}

impl SearchState {
    /// Whether so many moves are uncertain that the rest waits until they have landed.
    pub(super) fn waits_for_landings(&self) -> bool {
        self.useless >= USELESS_FOR_EACH * whole(self.pace)
    }

    /// Whether the search has used up its work.
    pub(super) const fn is_spent(&self) -> bool {
        self.work >= MOST_WORK
    }

    /// Whether another move may follow these moves of the cycle although it is not certain.
    pub(super) const fn may_add_uncertain(&self, moves: usize) -> bool {
        moves < self.pace
    }

    /// Whether the move of a pod is possible and not certain.
    pub(super) fn is_uncertain(&self, pod: PodId) -> bool {
        self.uncertain.contains(&pod)
    }

    /// Counts one forecast.
    fn count(&mut self, draft: &Draft<'_>) {
        self.work += draft.forecast_work();
    }
}

impl LowNodeUtilizationRun<'_> {
    /// Finds the need of the hot nodes.
    pub(super) fn begin(&mut self, draft: &Draft<'_>) {
        let pools = self.pools.iter();
        let hot: Vec<NodeId> = pools.flat_map(|pool| &pool.hot).copied().collect();
        self.search.pace = 1 + hot.len().div_ceil(NODES_FOR_EACH);
        for node in hot {
            self.renew(draft, node);
        }
        self.begin_round(draft);
    }

    /// Finds the need of a candidate's node again if the answer has changed it.
    pub(super) fn take_answer(&mut self, draft: &Draft<'_>, pod: PodId, refusal: Option<&Refusal>) {
        if let Some(success) = draft.success_of(self.position, pod)
            && refusal.is_none()
        {
            self.search.useless += 1.0 - success.get();
        }
        let has_changed =
            refusal.is_none_or(|why| why.reach() != Reach::Pod || leaves_soon(draft, why));
        if let Some(node) = draft.world.snapshot.pod(pod).node
            && has_changed
        {
            self.renew(draft, node);
        }
    }

    /// Computes the excess and the need of a node again.
    fn renew(&mut self, draft: &Draft<'_>, node: NodeId) {
        self.hot.remove(&node);
        if let Ok(excess) = self.excess(draft, node)
            && !draft.is_closed(self.position, node)
        {
            let mut hot = self.hot_node(draft, node, excess);
            hot.pods = self.in_order(draft, &hot);
            self.hot.insert(node, hot);
        }
    }

    fn begin_round(&mut self, draft: &Draft<'_>) {
        let mut turns: Vec<&HotNode> = self.hot.values().collect();
        turns.sort_by_key(|hot| (hot.need(), Reverse(hot.worst_distance())));
        self.search.turns = turns.into_iter().map(|hot| hot.node).collect();
        self.search.moves_before = draft.accepted().count();
        self.search.uncertain.clear();
    }

    /// The next pod whose move is certain, or that a gate other than the landing gate refuses, so
    /// that the plan says why it stays.
    pub(super) fn next_certain(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        loop {
            let Some(node) = self.search.turns.front().copied() else {
                let is_same = draft.accepted().count() == self.search.moves_before;
                if is_same || self.search.is_spent() {
                    return None;
                }
                self.search.refused.clear();
                self.begin_round(draft);
                continue;
            };
            match self.certain_on(draft, node) {
                Some(candidate) => return Some(candidate),
                None => {
                    self.search.turns.pop_front();
                }
            }
        }
    }

    /// The first pod of a node whose move is certain, or that a gate refuses before there is a
    /// forecast.
    fn certain_on(&mut self, draft: &Draft<'_>, node: NodeId) -> Option<Candidate> {
        let pods = self.hot.get(&node)?.pods.clone();
        for (pod, relief) in pods {
            let known = &self.search;
            if self.asked.contains(&pod)
                || known.uncertain.contains(&pod)
                || known.refused.contains(&pod)
            {
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
            self.search.count(draft);
            match gate::prospect(&candidate, draft) {
                Ok(prospect) if prospect.success.get() >= CERTAIN => {
                    return Some(self.alone(draft, candidate, prospect.success));
                }
                Ok(_) => self.search.uncertain.insert(pod),
                Err(_) => self.search.refused.insert(pod),
            };
        }
        None
    }

    /// A candidate with the evictions that its move alone saves with this probability.
    pub(super) fn alone(
        &self,
        draft: &Draft<'_>,
        candidate: Candidate,
        success: Ratio,
    ) -> Candidate {
        let node = draft.world.snapshot.pod(candidate.pod).node;
        let hot = node.and_then(|node| self.hot.get(&node));
        let saves = hot.and_then(|hot| hot.saved_by(draft, candidate.pod, success));
        Candidate { saves, ..candidate }
    }

    /// The pods of a hot node that are worth asking for, in order. A heavy pod that may not be
    /// evicted is among them, so that the plan says why it stays. All pods are, if no other one is
    /// and none may be evicted.
    fn in_order(&self, draft: &Draft<'_>, hot: &HotNode) -> Vec<(PodId, PodRelief)> {
        // In the order of positions, as the pods of a node are.
        let remaining: Vec<PodId> = self.remaining(draft, hot.node).collect();
        let movable = self.evictable(draft, remaining.iter().copied());
        let is_noted = |pod: &PodId| {
            let relief = hot.relief(draft, *pod);
            relief.is_ok_and(|relief| relief.is_worth_a_note())
        };
        let silent = movable.is_empty() && !remaining.iter().any(is_noted);
        let worth_asking = remaining.into_iter().filter_map(|pod| {
            let relief = if movable.binary_search(&pod).is_ok() {
                hot.judge(draft, pod).ok()
            } else {
                let relief = hot.relief(draft, pod).ok();
                relief.filter(|relief| silent || relief.is_worth_a_note())
            };
            Some((pod, relief?))
        });
        let mut pods: Vec<(PodId, PodRelief)> = worth_asking.collect();
        pods.sort_by_cached_key(|(pod, relief)| {
            let importance = Importance::of(draft.world.snapshot.pod(*pod));
            (relief.order(importance), *pod)
        });
        pods
    }

    /// The pods that the forecast refuses, when no more moves are proposed. A later move may have
    /// made a place for one of the last round, which the next cycle then considers. Once the work
    /// is used up, the answer at that time counts.
    pub(super) fn refused_before(&mut self, draft: &Draft<'_>) -> Vec<(Candidate, Refusal)> {
        let mut refused = Vec::new();
        while let Some(pod) = self.search.refused.pop_first() {
            let Some(candidate) = self.candidate_of(draft, pod) else {
                continue;
            };
            let refusal = if self.search.is_spent() {
                draft.remembered_refusal(self.position, pod)
            } else {
                self.search.count(draft);
                gate::admit(&candidate, draft).err()
            };
            if let Some(refusal) = refusal {
                self.asked.insert(pod);
                refused.push((candidate, refusal));
            }
        }
        refused
    }

    /// A pod of a hot node as a candidate. A pod of a node that has been relieved is none.
    pub(super) fn candidate_of(&self, draft: &Draft<'_>, pod: PodId) -> Option<Candidate> {
        let node = draft.world.snapshot.pod(pod).node?;
        let reason = self.hot.get(&node)?.reason(draft)?;
        Some(self.candidate_because(draft, pod, reason))
    }
}
