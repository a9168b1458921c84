//! Moves that are not certain: single ones, and sequences of moves after which a hot node needs
//! fewer evictions.
//!
//! kube-scheduler prefers the nodes with the fewest requests. If such a node is warm or hot, each
//! heavy pod of a hot node would land there or return. Then pods with large requests and little
//! usage leave another node first, so that the scheduler prefers that one for the heavy pod. Only
//! the first move of a sequence is made: the next cycle knows its landing, and looks again.
//!
//! All of them compare by the evictions that they probably save for each one that they make. For
//! example, a node needs one eviction. Its heavy pod lands well with 60 %: it saves 0.6. If one pod
//! of another node moves first with 90 %, it lands well with 100 %: each saves 0.9 × 1 ÷ 2 = 0.45.
//! So the heavy pod goes at once. Where it would return for sure, the other pod moves first.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::vec::IntoIter;

use crate::decide::draft::{Candidate, Draft, Prospect};
use crate::decide::gate;
use crate::decide::scheduler::{self, Forecast};
use crate::decide::targets::whole;
use crate::model::plan::SavedEvictions;
use crate::model::snapshot::{NodeId, PodId};
use crate::values::Ratio;

use super::LowNodeUtilizationRun;
use super::hot_node::HotNode;
use super::need::staying;

/// The least part of an eviction that an opening must save. With less, pods take turns on a node
/// that stays hot: with none, 15 random clusters of 200 nodes (`tests/arena.sh 200 15 constant
/// stock`) need 723 instead of 701 evictions.
const LEAST_SAVED: f64 = 0.5;
/// The most pods that leave before the pod of the hot node, that follow it, and that are tried for
/// each of these. With 3 and 5, random clusters of 50 nodes (`tests/arena.sh 50 30 constant
/// stock`) need 300 and 302 evictions, and with two that are tried of five 304.
pub(super) const MOST_PODS: usize = 3;
/// The most forecasts of the search for one hot node. With 600, a random cluster of 1,000 nodes is
/// above its targets for 4 % longer. With 100, five random clusters of 200 nodes need 250 instead
/// of 244 evictions, in half of the time (`tests/arena.sh 200 5 constant stock`). With more hot
/// nodes than the work allows, each cycle begins with other ones, so that nodes without a sequence
/// do not use up all the work for ever.
const FORECASTS_OF_A_NODE: usize = 300;

/// A move that is not certain, and how many evictions it probably saves for each one.
#[derive(Debug)]
pub(super) struct Uncertain {
    /// The evictions that it probably saves for each one that it makes.
    pub(super) saves: f64,
    /// The first move.
    pub(super) first: Candidate,
    /// The pod of a hot node that follows in a later cycle, if the first one is of another node.
    pub(super) follower: Option<PodId>,
}

impl Uncertain {
    /// Takes the place of the best move if it saves more.
    pub(super) fn compete(self, best: &mut Option<Self>) {
        let most = best.as_ref().map(|best| best.saves);
        if most.is_none_or(|most| self.saves > most + 1e-9) {
            *best = Some(self);
        }
    }
}

impl LowNodeUtilizationRun<'_> {
    /// The best move that is not certain, while the cycle has made few moves.
    pub(super) fn next_uncertain(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        if self.is_paced(draft) {
            return None;
        }
        let single = self.best_single(draft);
        // With the taint on the hot nodes, their pods land elsewhere anyway. With sequences, three
        // recorded days of 50 nodes need a fifth more evictions.
        if draft.world.policy.steering.hot {
            return Some(single?.first);
        }
        let later = self.after_sequences(draft);
        let until = self.search.most_work;
        let mut search = SequenceSearch { run: self, draft, later: &later, best: single, until };
        search.openings();
        let best = search.best?;
        self.followers.extend(best.follower);
        Some(best.first)
    }

    /// Whether the cycle has made so many moves that others than certain ones wait.
    pub(super) fn is_paced(&self, draft: &Draft<'_>) -> bool {
        self.moves(draft) >= self.search.pace
    }

    /// The number of moves that the strategy makes in this cycle.
    pub(super) fn moves(&self, draft: &Draft<'_>) -> usize {
        draft.accepted().filter(|c| c.strategy == self.position).count()
    }

    /// The single move of a pod that saves an eviction most probably.
    ///
    /// The probabilities are those of the last forecasts of the pods. Each move changes them a
    /// little, so new forecasts begin with the most probable one, until none of the others was more
    /// probable than the best of these.
    fn best_single(&mut self, draft: &Draft<'_>) -> Option<Uncertain> {
        let pods = self.hot.values().flat_map(|hot| &hot.pods);
        let asked = pods
            .map(|(pod, _)| *pod)
            .filter(|pod| self.search.asked.contains(pod) && !self.is_answered(draft, *pod));
        let known = asked.filter_map(|pod| {
            let success = draft.success_of(self.position, pod)?;
            Some((success.get(), pod))
        });
        let mut best: Option<Uncertain> = None;
        for (success, pod) in descending(known) {
            let is_enough = best.as_ref().is_some_and(|best| best.saves >= success);
            if is_enough || self.uncertain_work >= self.search.most_work {
                break;
            }
            if let Some(single) = self.single(draft, pod) {
                single.compete(&mut best);
            }
            self.uncertain_work += draft.forecast_work();
        }
        best
    }

    /// The move of a pod of a hot node, if the gates admit it.
    fn single(&self, draft: &Draft<'_>, pod: PodId) -> Option<Uncertain> {
        let first = self.candidate_of(draft, pod)?;
        gate::admit_before_landing(&first, draft).ok()?;
        Some(Uncertain {
            saves: gate::prospect(&first, draft).ok()?.success.get(),
            first,
            follower: None,
        })
    }

    /// The cluster after the moves of this cycle and those that they make possible.
    fn after_sequences<'w>(&self, draft: &Draft<'w>) -> Draft<'w> {
        let mut later = draft.later();
        for follower in &self.followers {
            if let Some(candidate) = self.candidate_of(draft, *follower)
                && let Ok(landing) = gate::landing(&candidate, &later)
            {
                later = later.later_after(candidate, landing);
            }
        }
        later
    }
}

/// The search for one sequence.
pub(super) struct SequenceSearch<'s, 'w, 'd> {
    pub(super) run: &'s mut LowNodeUtilizationRun<'w>,
    pub(super) draft: &'s Draft<'d>,
    /// The draft after everything that moves has landed and ended.
    pub(super) later: &'s Draft<'d>,
    /// The best move so far. A sequence must save more.
    pub(super) best: Option<Uncertain>,
    /// The work after which the search for the present hot node ends.
    pub(super) until: usize,
}

impl<'s, 'd> SequenceSearch<'s, '_, 'd> {
    /// The pods of a hot node that save an eviction and stay only because of where they would land,
    /// the heaviest first.
    pub(super) fn by_usage(&self, hot: &HotNode) -> Vec<Candidate> {
        let here = staying(self.draft, hot.node).filter(|pod| !self.later.moves(*pod));
        let may_go = here.filter_map(|pod| {
            let relief = hot.judge(self.later, pod).ok();
            let relief = relief.filter(|relief| relief.saves > 0)?;
            let candidate = self.run.candidate_of(self.draft, pod)?;
            gate::admit_before_landing(&candidate, self.draft).ok()?;
            Some((relief.usage.get(), candidate))
        });
        descending(may_go).map(|(_, candidate)| candidate).collect()
    }

    /// The hot nodes that the rest of the work suffices for, and the work for each of them.
    pub(super) fn hot_of_this_cycle(&self) -> (Vec<HotNode>, usize) {
        let hot = self.run.hot.keys();
        let far = hot.filter_map(|node| Some((self.run.distance(self.later, *node)?, *node)));
        let mut hot: Vec<(u64, NodeId)> = far.collect();
        hot.sort_by_key(|(distance, _)| Reverse(*distance));
        let share = FORECASTS_OF_A_NODE * self.draft.world.snapshot.nodes.len();
        let left = self.run.search.most_work.saturating_sub(self.run.uncertain_work);
        let few = left.checked_div(share).unwrap_or_default().max(1);
        if hot.len() > few {
            let first = self.draft.world.cycle() * few % hot.len();
            hot.rotate_left(first);
        }
        let few = hot.into_iter().take(few);
        let needs = few.filter_map(|(_, node)| self.run.need_of(self.later, node));
        (needs.collect(), share)
    }

    /// The forecast of a move that the landing gate admits; `None` if it refuses the move, or the
    /// work is used up.
    pub(super) fn prospect(&mut self, draft: &Draft<'_>, pod: &Candidate) -> Option<Prospect> {
        if self.is_spent() {
            return None;
        }
        self.run.uncertain_work += draft.forecast_work();
        gate::prospect(pod, draft).ok()
    }

    pub(super) fn forecast(&mut self, draft: &Draft<'_>, pod: PodId) -> Forecast {
        self.run.uncertain_work += draft.forecast_work();
        scheduler::forecast(draft, pod)
    }

    pub(super) const fn is_spent(&self) -> bool {
        self.run.uncertain_work >= self.until
    }

    /// The beginning of a sequence.
    pub(super) const fn no_moves(&self) -> Moves<'s, 'd> {
        Moves { made: Vec::new(), draft: self.draft, before: self.later, after: None }
    }
}

/// The moves of a sequence so far.
pub(super) struct Moves<'s, 'd> {
    pub(super) made: Vec<(Candidate, Prospect)>,
    draft: &'s Draft<'d>,
    /// The cluster without them, after everything else that moves has landed and ended.
    before: &'s Draft<'d>,
    /// The cluster after all of them have landed.
    after: Option<Draft<'d>>,
}

impl<'d> Moves<'_, 'd> {
    /// The draft in which the next pod moves.
    pub(super) fn now(&self) -> &Draft<'d> {
        self.after.as_ref().unwrap_or(self.draft)
    }

    /// The draft in which everything that moves has landed and ended.
    pub(super) fn later(&self) -> &Draft<'d> {
        self.after.as_ref().unwrap_or(self.before)
    }

    pub(super) fn add(&mut self, candidate: Candidate, prospect: Prospect) {
        let landing = prospect.landing.clone();
        self.after = Some(self.later().later_after(candidate.clone(), landing));
        self.made.push((candidate, prospect));
    }

    /// The probability that all of them land well.
    pub(super) fn success(&self) -> f64 {
        let each = self.made.iter();
        each.map(|(_, prospect)| prospect.success.get()).product()
    }

    /// The first of these moves, with the number of all of them and their success.
    pub(super) fn first(&self) -> Option<Candidate> {
        let (first, _) = self.made.first()?;
        let success = Ratio::new(self.success())?;
        let saves = SavedEvictions { moves: self.made.len(), need: None, success };
        Some(Candidate { saves: Some(saves), ..first.clone() })
    }

    /// The evictions that they probably save for each one that they make; `None` if they save
    /// hardly any.
    pub(super) fn saves(&self, run: &LowNodeUtilizationRun<'_>) -> Option<f64> {
        let snapshot = self.draft.world.snapshot;
        let changed = self.made.iter().flat_map(|(candidate, prospect)| {
            [snapshot.pod(candidate.pod).node, prospect.landing.on]
        });
        let changed: BTreeSet<NodeId> = changed.flatten().collect();
        let need = |draft: &Draft<'_>| {
            let hot = changed.iter().filter_map(|node| run.need_of(draft, *node));
            hot.fold((0.0, 0.0), |(evictions, parts), hot| {
                (evictions + whole(hot.need()), parts + hot.parts())
            })
        };
        let (before, after) = (need(self.before), need(self.later()));
        // A node that comes below its targets needs one less, however small its excess was.
        let saved = (before.0 - after.0).max(before.1 - after.1);
        (saved >= LEAST_SAVED).then(|| self.success() * saved / whole(self.made.len()))
    }
}

/// These values, the largest first; equal ones keep their order.
pub(super) fn descending<T>(values: impl Iterator<Item = (f64, T)>) -> IntoIter<(f64, T)> {
    let mut values: Vec<(f64, T)> = values.collect();
    values.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    values.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::plan::Reason;

    /// The pod of the best of moves that save so much, in this order.
    fn best(all: &[f64]) -> Option<usize> {
        let mut best = None;
        for (pod, saves) in all.iter().enumerate() {
            let uncertain = Uncertain {
                saves: *saves,
                first: Candidate::new(PodId(pod), 0, Reason::Counted),
                follower: None,
            };
            uncertain.compete(&mut best);
        }
        best.map(|best| best.first.pod.0)
    }

    #[test]
    fn the_move_that_saves_most_wins_and_of_equal_ones_the_first() {
        assert_eq!(best(&[]), None);
        assert_eq!(best(&[0.5, 0.75, 0.6]), Some(1));
        assert_eq!(best(&[0.5, 0.1 + 0.2 + 0.2, 0.5]), Some(0));
    }

    #[test]
    fn equal_values_keep_their_order() {
        let values = [(0.1, 'a'), (0.4, 'b'), (0.1, 'c'), (-0.2, 'd'), (0.4, 'e')];
        let sorted: String = descending(values.into_iter()).map(|(_, name)| name).collect();
        assert_eq!(sorted, "beacd");
    }
}
