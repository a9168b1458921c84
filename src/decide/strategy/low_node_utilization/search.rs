//! The search for the next candidate among the pods of all hot nodes.

use std::cmp::Ordering;

use crate::decide::draft::{Candidate, Draft};
use crate::decide::gate;
use crate::decide::strategy::importance::Importance;
use crate::model::plan::{Reach, Refusal};
use crate::model::snapshot::{NodeId, PodId};
use crate::values::{Amount, Ratio, ResourceId};

use super::benefit::Benefit;
use super::hot_node::HotNode;
use super::pace::Pace;
use super::queue::QueuedPod;
use super::{LowNodeUtilizationRun, leaves_soon};

/// The expected number of useless moves in one cycle. Beyond it, later moves wait for the next
/// cycle, which knows where the replacements have landed.
const MOST_DOUBT: f64 = 0.5;
/// The success of a less important pod may be this much less probable than that of the best pod.
const ABOUT_EQUAL: f64 = 0.1;
/// The probability of a certain success, but for rounding.
const CERTAIN: f64 = 1.0 - 1e-9;

/// The most promising pod.
pub(super) enum NextPod {
    /// Its move is sound.
    Sound(PodId),
    /// Its move is tentative.
    Tentative(QueuedPod),
    /// A gate refuses the pod.
    Refused(PodId),
}

impl LowNodeUtilizationRun<'_> {
    /// Whether so many moves are uncertain that the rest waits until they have landed.
    pub(super) fn waits_for_landings(&self) -> bool {
        self.pace.has_ended() || self.doubt >= MOST_DOUBT
    }

    /// Puts the pods of the hot nodes into the queue, first of all nodes, later of the node whose
    /// excess the last candidate has changed.
    pub(super) fn refresh(&mut self, draft: &Draft<'_>) {
        if !self.started {
            self.started = true;
            let hot: Vec<NodeId> = self
                .pools
                .iter()
                .flat_map(|pool| &pool.hot)
                .copied()
                .collect();
            self.pace = Pace::of_cycle(hot.len());
            self.queued_after = draft.accepted().count();
            for node in hot {
                self.renew(draft, node);
            }
            return;
        }
        let Some(last) = self.last.take() else {
            return;
        };
        if let Some(success) = draft.success_of(self.position, last)
            && draft.moves(last)
        {
            self.doubt += 1.0 - success.get();
        }
        if let Some(node) = draft.world.snapshot.pod(last).node
            && self.has_changed(draft, last)
        {
            self.renew(draft, node);
        }
    }

    /// Whether the decision about a candidate has changed what its node needs.
    fn has_changed(&self, draft: &Draft<'_>, pod: PodId) -> bool {
        let refusal = draft.refusal(self.position, pod);
        refusal.is_none_or(|why| why.reach() != Reach::Pod || leaves_soon(draft, why))
    }

    /// Computes the excess of a node again, and queues its pods by what moving them would gain now.
    /// A heavy pod that may not be evicted comes in its turn as well, so that the plan says why it
    /// stays. If there is neither such a pod nor one that may be evicted, all pods come.
    fn renew(&mut self, draft: &Draft<'_>, node: NodeId) {
        self.queue.renew(node);
        self.hot.remove(&node);
        let Ok(excess) = self.excess(draft, node) else {
            return;
        };
        if self.is_closed(draft, node) {
            return;
        }
        // In the order of positions, as the pods of a node are.
        let remaining: Vec<PodId> = self.remaining(draft, node).collect();
        let movable = self.evictable(draft, remaining.iter().copied());
        let hot = HotNode::new(draft, self.rule.basis, node, excess, &movable);
        let is_noted = |pod: &PodId| {
            let benefit = hot.benefit(draft, *pod);
            benefit.is_ok_and(|benefit| benefit.is_worth_a_note())
        };
        let silent = movable.is_empty() && !remaining.iter().any(is_noted);
        for pod in remaining {
            let benefit = if movable.binary_search(&pod).is_ok() {
                hot.judge(draft, pod).ok()
            } else {
                let benefit = hot.benefit(draft, pod).ok();
                benefit.filter(|benefit| silent || benefit.is_worth_a_note())
            };
            if let Some(benefit) = benefit {
                let score = benefit.score(Ratio::ONE);
                self.queue.push(draft, node, pod, score);
            }
        }
        self.hot.insert(node, hot);
    }

    /// The next pod that is worth asking the gates about. Pods that a gate other than the landing
    /// gate refuses come in their turn as well, so that the plan says why they stay.
    pub(super) fn search(&mut self, draft: &Draft<'_>) -> Option<NextPod> {
        let moves = draft.accepted().count();
        loop {
            let entry = self.queue.pop();
            let judged = |entry: &QueuedPod| entry.forecast_after == Some(moves);
            if !entry.is_some_and(|entry| entry.score.sound || !judged(&entry))
                && self.queue_again(draft, moves)
            {
                continue;
            }
            let Some(entry) = entry else {
                if self.queue.is_spent() {
                    return None;
                }
                let refused = self.queue.pop_refused()?;
                self.queue.count(draft);
                return Some(NextPod::Refused(refused));
            };
            if judged(&entry) && entry.score.sound {
                return Some(NextPod::Sound(self.least_important(draft, entry)));
            }
            if judged(&entry) {
                return Some(NextPod::Tentative(entry));
            }
            let Some(candidate) = self.candidate_of(draft, entry.pod()) else {
                continue;
            };
            if gate::admit_before_landing(&candidate, draft).is_err() {
                return Some(NextPod::Refused(entry.pod()));
            }
            // Then the best pod of those with a forecast goes.
            if self.queue.is_spent() {
                continue;
            }
            self.queue.count(draft);
            match (
                gate::prospect(&candidate, draft),
                self.benefit(draft, entry),
            ) {
                (Ok(prospect), Some(benefit)) => {
                    let score = benefit.score(prospect.success);
                    self.queue.push_forecast(entry, score, moves);
                }
                (Err(_), _) => self.queue.refuse(entry.pod()),
                (Ok(_), None) => {}
            }
        }
    }

    /// The next pod that the forecast refuses, in a cycle that proposes no more moves: the plan
    /// then says why it stays.
    pub(super) fn next_refused(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        while !self.queue.is_spent() {
            let pod = self.queue.pop_refused()?;
            let Some(candidate) = self.candidate_of(draft, pod) else {
                continue;
            };
            self.queue.count(draft);
            // A later move may have made a place for it. Then the next cycle considers it.
            if gate::landing(&candidate, draft).is_err() {
                self.asked.insert(pod);
                self.last = Some(pod);
                return Some(candidate);
            }
        }
        None
    }

    /// The other pods that the forecast refused, with the answer at that time. There are such pods
    /// only if the search has used up its work.
    pub(super) fn refused_before(&mut self, draft: &Draft<'_>) -> Vec<(Candidate, Refusal)> {
        let mut refused = Vec::new();
        while let Some(pod) = self.queue.pop_refused() {
            let refusal = draft.remembered_refusal(self.position, pod);
            if let Some(one) = self.candidate_of(draft, pod).zip(refusal) {
                self.asked.insert(pod);
                refused.push(one);
            }
        }
        refused
    }

    /// Queues all pods again if moves were accepted since: such a move may have filled the node on
    /// which a pod would have landed, and it moves the scheduler's search on. Returns whether it
    /// did.
    fn queue_again(&mut self, draft: &Draft<'_>, moves: usize) -> bool {
        if self.queued_after == moves || self.queue.is_spent() {
            return false;
        }
        self.queued_after = moves;
        self.queue.clear();
        for node in self.hot.keys().copied().collect::<Vec<_>>() {
            self.renew(draft, node);
        }
        true
    }

    /// The pod that goes instead of the best one of its node: the least important pod that suffices
    /// as well, and then the lightest one whose move certainly helps, because a light pod is easier
    /// to place and leaves the heavy ones for nodes that need them. Where usage does not stand
    /// still, the heavier one goes, because the relief lasts longer.
    pub(super) fn least_important(&self, draft: &Draft<'_>, best: QueuedPod) -> PodId {
        let node = best.node;
        let Some(of_best) = self.sufficient(draft, node, best.pod()) else {
            return best.pod();
        };
        let own = Importance::of(draft.world.snapshot.pod(best.pod()));
        let stands_still = self
            .hot
            .get(&node)
            .is_some_and(|hot| hot.stands_still(draft));
        let sufficient = self.remaining(draft, node).filter_map(|pod| {
            let benefit = self.sufficient(draft, node, pod)?;
            Some((Importance::of(draft.world.snapshot.pod(pod)), benefit, pod))
        });
        let mut others: Vec<(Importance, Benefit, PodId)> = sufficient
            .filter(
                |(importance, benefit, _)| match importance.rank().cmp(&own.rank()) {
                    Ordering::Less => true,
                    Ordering::Equal => stands_still && benefit.by_usage(&of_best).is_lt(),
                    Ordering::Greater => false,
                },
            )
            .collect();
        others.sort_by(|(a, light, _), (b, heavy, _)| {
            let by_rank = a.rank().cmp(&b.rank());
            by_rank.then(light.by_usage(heavy)).then(a.cmp(b))
        });
        let about_equal = self.success(draft, best.pod()) - ABOUT_EQUAL;
        let goes = others.into_iter().find(|(importance, _, pod)| {
            let less_important = importance.rank() < own.rank();
            let least = if less_important { about_equal } else { CERTAIN };
            (less_important || self.stays_unattractive(draft, node, *pod))
                && self.success(draft, *pod) >= least
        });
        goes.map_or(best.pod(), |(_, _, pod)| pod)
    }

    /// Whether a quarter of the pool's nodes have fewer requests than this node when the pod
    /// leaves. kube-scheduler then prefers those, so that the node needs no room below its target.
    fn stays_unattractive(&self, draft: &Draft<'_>, node: NodeId, pod: PodId) -> bool {
        let requested = |node: NodeId, gone: Amount| {
            let requests = draft.reserved(node)[ResourceId::CPU].minus(gone);
            requests.share_of(draft.world.snapshot.node(node).allocatable[ResourceId::CPU])
        };
        let left = requested(
            node,
            draft.world.snapshot.pod(pod).requests[ResourceId::CPU],
        );
        let pool = self.pool(node);
        let nodes = pool.map_or(&[][..], |pool| &pool.band.nodes);
        let emptier = nodes.iter().filter(|n| requested(**n, Amount::ZERO) < left);
        emptier.count() * 4 >= nodes.len().max(1)
    }

    /// The benefit of moving a pod; `None` unless this one move brings the node below its targets.
    fn sufficient(&self, draft: &Draft<'_>, node: NodeId, pod: PodId) -> Option<Benefit> {
        let benefit = self.hot.get(&node)?.judge(draft, pod).ok()?;
        benefit.suffices.then_some(benefit)
    }

    /// The probability that moving a pod helps; zero if a gate refuses the move.
    fn success(&self, draft: &Draft<'_>, pod: PodId) -> f64 {
        let prospect = self.candidate_of(draft, pod).and_then(|candidate| {
            gate::admit_before_landing(&candidate, draft).ok()?;
            gate::prospect(&candidate, draft).ok()
        });
        prospect.map_or(0.0, |prospect| prospect.success.get())
    }

    fn benefit(&self, draft: &Draft<'_>, entry: QueuedPod) -> Option<Benefit> {
        self.hot.get(&entry.node)?.judge(draft, entry.pod()).ok()
    }

    /// A pod of a hot node as a candidate.
    pub(super) fn candidate_of(&self, draft: &Draft<'_>, pod: PodId) -> Option<Candidate> {
        let node = draft.world.snapshot.pod(pod).node?;
        let reason = self.hot.get(&node)?.reason(draft)?;
        Some(self.candidate_because(draft, pod, reason))
    }
}
