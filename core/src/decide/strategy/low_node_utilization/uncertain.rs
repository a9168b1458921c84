//! Moves that are not certain: single ones, and those that begin an opening.
//!
//! All of them compare by the evictions that they probably save for each one that they make. For
//! example, a node needs one eviction. Its heavy pod lands well with 60 %: it saves 0.6. If one pod
//! of another node moves first with 90 %, it lands well with 100 %: each saves 0.9 × 1 ÷ 2 = 0.45.
//! So the heavy pod goes at once. Where it would return for sure, the other pod moves first.

use std::vec::IntoIter;

use crate::decide::draft::{Candidate, Draft};
use crate::decide::gate;
use crate::model::snapshot::PodId;

use super::LowNodeUtilizationRun;

/// A move that is not certain, and how many evictions it probably saves for each one.
#[derive(Debug)]
pub(super) struct Uncertain {
    /// The evictions that it probably saves for each one that it makes.
    pub(super) saves: f64,
    /// The first move.
    pub(super) first: Candidate,
    /// The pod that an opening is for.
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
        let mut best = self.best_single(draft);
        // With the taint on the hot nodes, their pods land elsewhere anyway. With openings, three
        // recorded days of 50 nodes need a fifth more evictions.
        if !draft.world.policy.steering.hot {
            self.improve_by_opening(draft, &mut best);
        }
        let best = best?;
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
        let asked = self.hot.values().flat_map(|hot| self.asked_on(draft, hot));
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
        let saves = gate::prospect(&first, draft).ok()?.success.get();
        Some(Uncertain { saves, first, follower: None })
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
