//! Moves that are not certain: single ones, and sequences of moves after which a hot node needs
//! fewer evictions.
//!
//! kube-scheduler prefers the nodes with the fewest requests. If such a node is warm or hot, each
//! heavy pod of a hot node would land there or return. Then pods with large requests and little
//! usage leave another node first, so that the scheduler prefers that one for the heavy pod. If
//! nothing else is left, several lighter pods of the hot node go. Only the first move of a sequence
//! is made: the next cycle knows its landing, and looks again.
//!
//! All of them compare by the evictions that they probably save for each one that they make. For
//! example, a node needs one eviction. Its heavy pod lands well with 60 %: worth 0.6. If one pod of
//! another node moves first with 90 %, it lands well with 100 %: worth 0.9 × 1 ÷ 2 = 0.45. So the
//! heavy pod goes at once. Where it would return for sure, the other pod moves first.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::decide::draft::{Candidate, Draft, MOST_WORK, Prospect};
use crate::decide::gate;
use crate::decide::scheduler::{self, Forecast};
use crate::decide::targets::whole;
use crate::model::plan::{FallingNeed, SavedEvictions};
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
pub(super) struct Uncertain {
    pub(super) worth: f64,
    /// The first move.
    pub(super) first: Candidate,
    /// The pod of a hot node that follows in a later cycle, if the first one is of another node.
    pub(super) follower: Option<PodId>,
}

impl LowNodeUtilizationRun<'_> {
    /// The best move that is not certain, while the cycle has made few moves.
    pub(super) fn next_uncertain(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        let own = draft.accepted().filter(|c| c.strategy == self.position);
        if !self.search.may_add_uncertain(own.count()) {
            return None;
        }
        let single = self.best_single(draft);
        // With the taint on the hot nodes, their pods land elsewhere anyway. With sequences, three
        // recorded days of 50 nodes need a fifth more evictions.
        if draft.world.policy.steering.hot {
            return Some(single?.first);
        }
        let later = self.after_sequences(draft);
        let search = SequenceSearch {
            run: self,
            draft,
            later: &later,
            least: Cell::new(single.as_ref().map_or(0.0, |single| single.worth)),
            work: Cell::new(self.sequence_work),
            until: Cell::new(MOST_WORK),
        };
        let best = better(single, search.opening());
        let own = || search.own_pods();
        let first = best.as_ref().map(|best| best.first.clone()).or_else(own);
        self.sequence_work = search.work.get();
        self.followers.extend(best.and_then(|best| best.follower));
        first
    }

    /// The single move of a pod that saves an eviction most probably.
    ///
    /// The probabilities are those of the last forecasts of the pods. Each move changes them a
    /// little, so new forecasts begin with the most probable one, until none of the others was more
    /// probable than the best of these.
    fn best_single(&mut self, draft: &Draft<'_>) -> Option<Uncertain> {
        let pods = self.hot.values().flat_map(|hot| hot.pods.iter());
        let uncertain =
            pods.filter(|(pod, _)| self.search.is_uncertain(*pod) && !self.asked.contains(pod));
        let mut before: Vec<(Ratio, PodId)> = uncertain
            .filter_map(|(pod, _)| Some((draft.success_of(self.position, *pod)?, *pod)))
            .collect();
        before.sort_by(|(a, _), (b, _)| b.order(*a));
        let mut best: Option<Uncertain> = None;
        for (success, pod) in before {
            let is_enough = best
                .as_ref()
                .is_some_and(|best| best.worth >= success.get());
            if is_enough || self.sequence_work >= MOST_WORK {
                break;
            }
            best = better(best, self.single(draft, pod));
            self.sequence_work += draft.forecast_work();
        }
        best
    }

    /// The move of a pod of a hot node, if the gates admit it.
    fn single(&self, draft: &Draft<'_>, pod: PodId) -> Option<Uncertain> {
        let first = self.candidate_of(draft, pod)?;
        gate::admit_before_landing(&first, draft).ok()?;
        let prospect = gate::prospect(&first, draft).ok()?;
        Some(Uncertain {
            worth: prospect.success.get(),
            first: self.alone(draft, first, prospect.success),
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
                later.accept(candidate, landing);
                later = later.later();
            }
        }
        later
    }
}

/// The one that is worth more; the first if both are equal.
fn better(a: Option<Uncertain>, b: Option<Uncertain>) -> Option<Uncertain> {
    match (a, b) {
        (Some(a), Some(b)) if b.worth > a.worth + 1e-9 => Some(b),
        (Some(a), _) => Some(a),
        (None, b) => b,
    }
}

/// The search for one sequence.
pub(super) struct SequenceSearch<'s, 'w, 'd> {
    pub(super) run: &'s LowNodeUtilizationRun<'w>,
    pub(super) draft: &'s Draft<'d>,
    /// The draft after everything that moves has landed and ended.
    pub(super) later: &'s Draft<'d>,
    /// The worth of the best move so far. A sequence must be worth more.
    pub(super) least: Cell<f64>,
    work: Cell<usize>,
    /// The work after which the search for the present hot node ends.
    until: Cell<usize>,
}

impl SequenceSearch<'_, '_, '_> {
    /// The opening that is worth most. The hottest node comes first, as long as there are few.
    fn opening(&self) -> Option<Uncertain> {
        let (hot, share) = self.hot_of_this_cycle();
        let followers: Vec<Vec<Candidate>> = hot.iter().map(|hot| self.followers(hot)).collect();
        let others: Vec<Candidate> = followers.iter().flatten().cloned().collect();
        followers.iter().fold(None, |best, followers| {
            self.until.set(MOST_WORK.min(self.work.get() + share));
            self.better(best, self.pods_of_others(followers, &others))
        })
    }

    /// The first of several pods of one hot node after which it needs fewer evictions, if none of
    /// them alone saves one. The heaviest that land well go.
    ///
    /// It is the last choice, and not compared with the others: where those exist, recorded days of
    /// 50 nodes need 5 % fewer evictions without it. Where none exists, the node would stay hot.
    fn own_pods(&self) -> Option<Candidate> {
        self.until.set(MOST_WORK);
        let (hot, _) = self.hot_of_this_cycle();
        hot.iter().find_map(|hot| {
            let (pods, mut moves) = (self.by_usage(hot), Moves::none());
            while moves.made <= MOST_PODS {
                let lands = pods.iter().find_map(|candidate| {
                    let gone = moves.now(self).moves(candidate.pod);
                    // A pod that was refused in this cycle stays refused.
                    let refused = moves.made == 0 && self.run.asked.contains(&candidate.pod);
                    let may_go = !gone && !refused;
                    let prospect = may_go.then(|| self.prospect(moves.now(self), candidate))??;
                    Some((candidate.clone(), prospect))
                });
                let (candidate, prospect) = lands?;
                moves.add(self, candidate, prospect);
                let later = self.run.need_of(moves.later(self), hot.node);
                let needed = hot.need();
                let saved = needed.saturating_sub(later.map_or(0, |hot| hot.need()));
                if saved > 0 {
                    return Some(Candidate {
                        saves: moves.saving(Some(FallingNeed { saved, needed })),
                        ..moves.first?
                    });
                }
            }
            None
        })
    }

    /// The pods of a hot node that stay only because of where they would land, the heaviest first.
    pub(super) fn by_usage(&self, hot: &HotNode) -> Vec<Candidate> {
        let here = staying(self.draft, hot.node).filter(|pod| !self.later.moves(*pod));
        let useful = here.filter_map(|pod| Some((hot.judge(self.later, pod).ok()?.usage, pod)));
        let may_go = useful.filter_map(|(usage, pod)| {
            let candidate = self.run.candidate_of(self.draft, pod)?;
            gate::admit_before_landing(&candidate, self.draft).ok()?;
            Some((usage, candidate))
        });
        let mut pods: Vec<(f64, Candidate)> = may_go.collect();
        pods.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        pods.into_iter().map(|(_, candidate)| candidate).collect()
    }

    /// The hot nodes that the rest of the work suffices for, and the work for each of them.
    fn hot_of_this_cycle(&self) -> (Vec<HotNode>, usize) {
        let hot = self.run.hot.keys().copied();
        let mut hot: Vec<HotNode> = hot.filter_map(|node| self.unrelieved(node)).collect();
        hot.sort_by_key(|hot| Reverse(hot.worst_distance()));
        let share = FORECASTS_OF_A_NODE * self.draft.world.snapshot.nodes.len();
        let left = MOST_WORK.saturating_sub(self.work.get());
        let few = left.checked_div(share).unwrap_or_default().max(1);
        if hot.len() > few {
            let first = self.draft.world.cycle() * few % hot.len();
            hot.rotate_left(first);
        }
        hot.truncate(few);
        (hot, share)
    }

    /// The one that is worth more. From now on, others must be worth more than it.
    pub(super) fn better(&self, a: Option<Uncertain>, b: Option<Uncertain>) -> Option<Uncertain> {
        let best = better(a, b);
        let worth = best.as_ref().map_or(0.0, |best| best.worth);
        self.least.set(self.least.get().max(worth));
        best
    }

    /// Whether a sequence that saves so many evictions with this probability, and makes so many,
    /// would be worth less than another one.
    pub(super) fn is_worse(&self, success: f64, saved: usize, made: usize) -> bool {
        success * whole(saved) / whole(made) <= self.least.get()
    }

    /// The hot node if it needs relief now and also after the moves of this cycle.
    fn unrelieved(&self, node: NodeId) -> Option<HotNode> {
        self.run.excess(self.draft, node).ok()?;
        if self.draft.is_closed(self.run.position, node) {
            return None;
        }
        let hot = self.run.need_of(self.later, node)?;
        (hot.need() > 0).then_some(hot)
    }

    /// The forecast of a move that the landing gate admits; `None` if it refuses the move, or the
    /// work is used up.
    pub(super) fn prospect(&self, draft: &Draft<'_>, candidate: &Candidate) -> Option<Prospect> {
        if self.is_spent() {
            return None;
        }
        self.count(draft);
        gate::prospect(candidate, draft).ok()
    }

    pub(super) fn forecast(&self, draft: &Draft<'_>, pod: PodId) -> Forecast {
        self.count(draft);
        scheduler::forecast(draft, pod)
    }

    /// Counts one forecast.
    fn count(&self, draft: &Draft<'_>) {
        self.work.set(self.work.get() + draft.forecast_work());
    }

    pub(super) fn is_spent(&self) -> bool {
        self.work.get() >= self.until.get()
    }
}

/// The moves of a sequence so far.
pub(super) struct Moves<'d> {
    pub(super) first: Option<Candidate>,
    pub(super) made: usize,
    /// The probability that all of them land well.
    pub(super) success: f64,
    /// The nodes that lose or gain a pod.
    nodes: BTreeSet<NodeId>,
    /// The cluster after all of them have landed.
    after: Option<Draft<'d>>,
}

impl<'d> Moves<'d> {
    pub(super) const fn none() -> Self {
        Moves {
            first: None,
            made: 0,
            success: 1.0,
            nodes: BTreeSet::new(),
            after: None,
        }
    }

    /// The draft in which the next pod moves.
    pub(super) fn now<'a>(&'a self, search: &'a SequenceSearch<'_, '_, 'd>) -> &'a Draft<'d> {
        self.after.as_ref().unwrap_or(search.draft)
    }

    /// The draft in which everything that moves has landed and ended.
    pub(super) fn later<'a>(&'a self, search: &'a SequenceSearch<'_, '_, 'd>) -> &'a Draft<'d> {
        self.after.as_ref().unwrap_or(search.later)
    }

    pub(super) fn add(
        &mut self,
        search: &SequenceSearch<'_, '_, 'd>,
        candidate: Candidate,
        prospect: Prospect,
    ) {
        let from = search.draft.world.snapshot.pod(candidate.pod).node;
        self.nodes.extend(from);
        self.nodes.extend(prospect.landing.on);
        self.success *= prospect.success.get();
        self.made += 1;
        self.first.get_or_insert_with(|| candidate.clone());
        let after = self.later(search).later_after(candidate, prospect.landing);
        self.after = Some(after);
    }

    /// The number of these moves and their probability, with the need that falls by them.
    pub(super) fn saving(&self, need: Option<FallingNeed>) -> Option<SavedEvictions> {
        Some(SavedEvictions {
            moves: self.made,
            need,
            success: Ratio::new(self.success)?,
        })
    }

    /// The evictions that they probably save for each one that they make; `None` if they save
    /// hardly any.
    pub(super) fn worth(&self, search: &SequenceSearch<'_, '_, 'd>) -> Option<f64> {
        let need = |draft: &Draft<'_>| {
            let nodes = self.nodes.iter();
            let hot = nodes.filter_map(|node| search.run.need_of(draft, *node));
            hot.fold((0.0, 0.0), |(evictions, parts), hot| {
                (evictions + whole(hot.need()), parts + hot.parts())
            })
        };
        let (before, after) = (need(search.later), need(self.later(search)));
        // A node that comes below its targets needs one less, however small its excess was.
        let saved = (before.0 - after.0).max(before.1 - after.1);
        (saved >= LEAST_SAVED).then(|| self.success * saved / whole(self.made))
    }
}
