//! Openings: pods of another node leave first, so that kube-scheduler prefers that node for a heavy
//! pod of a hot one.
//!
//! kube-scheduler prefers the nodes with the fewest requests. If such a node is warm or hot, each
//! heavy pod of a hot node would land there or return. Then pods with large requests and little
//! usage leave another node first. Only the first move of an opening is made: the next cycle knows
//! its landing, and looks again.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::decide::draft::{Candidate, DestinationLimits, Draft, Prospect};
use crate::decide::gate;
use crate::decide::targets::whole;
use crate::model::plan::{NoGain, Reason, SavedEvictions};
use crate::model::snapshot::{NodeId, PodId};
use crate::values::{Ratio, ResourceId};

use super::LowNodeUtilizationRun;
use super::relief::requests;
use super::uncertain::{Uncertain, descending};

/// The least part of an eviction that an opening must save. With less, pods take turns on a node
/// that stays hot: with none, 15 random clusters of 200 nodes (`tests/arena.sh 200 15 constant
/// stock`) need 723 instead of 701 evictions.
const LEAST_SAVED: f64 = 0.5;
/// The most pods that leave before the pod of the hot node, and that are tried for each of these.
/// With 3 and 5, random clusters of 50 nodes (`tests/arena.sh 50 30 constant stock`) need 300 and
/// 302 evictions, and with two that are tried of five 304.
const MOST_PODS: usize = 3;
/// The most forecasts of the search for one hot node. With 600, a random cluster of 1,000 nodes is
/// above its targets for 4 % longer. With 100, five random clusters of 200 nodes need 250 instead
/// of 244 evictions, in half of the time (`tests/arena.sh 200 5 constant stock`). With more hot
/// nodes than the work allows, each cycle begins with other ones, so that nodes without an opening
/// do not use up all the work for ever.
const FORECASTS_OF_A_NODE: usize = 300;

/// The moves of an opening so far.
type Moves = Vec<(Candidate, Prospect)>;

/// The search for an opening.
pub(super) struct OpeningSearch<'s, 'w, 'd> {
    run: &'s mut LowNodeUtilizationRun<'w>,
    draft: &'s Draft<'d>,
    /// The draft after everything that moves has landed and ended.
    later: &'s Draft<'d>,
    /// The work after which the search for the present hot node ends.
    until: usize,
}

impl LowNodeUtilizationRun<'_> {
    /// Looks for an opening that saves more than the best move so far.
    pub(super) fn improve_by_opening(&mut self, draft: &Draft<'_>, best: &mut Option<Uncertain>) {
        let later = self.after_openings(draft);
        OpeningSearch { run: self, draft, later: &later, until: 0 }.improve(best);
    }

    /// The draft after everything that moves has landed and ended, and after the pods that the
    /// openings of this cycle are for have followed, so that no other pod is promised their place.
    fn after_openings<'w>(&self, draft: &Draft<'w>) -> Draft<'w> {
        let followers = self.followers.iter().filter_map(|pod| self.candidate_of(draft, *pod));
        followers.fold(draft.later(), |later, follower| match gate::prospect(&follower, &later) {
            Ok(prospect) => later.later_after(follower, prospect.landing),
            Err(_) => later,
        })
    }
}

impl<'d> OpeningSearch<'_, '_, 'd> {
    /// Tries openings for the pods of a few hot nodes.
    fn improve(&mut self, best: &mut Option<Uncertain>) {
        let most_work = self.run.search.most_work;
        self.until = most_work;
        let share = FORECASTS_OF_A_NODE * self.draft.world.snapshot.nodes.len();
        let left = most_work.saturating_sub(self.run.uncertain_work);
        let few = left.checked_div(share).unwrap_or_default().max(1);
        let hot = self.hot_of_this_cycle(few).into_iter();
        let followers: Vec<Vec<Candidate>> = hot.map(|hot| self.followers(hot)).collect();
        let others = followers.concat();
        for followers in followers {
            self.until = most_work.min(self.run.uncertain_work + share);
            for follower in followers {
                for node in self.nodes_for(&follower) {
                    if let Some(opening) = self.opens(&follower, node, &others) {
                        Uncertain { follower: Some(follower.pod), ..opening }.compete(best);
                    }
                }
            }
        }
    }

    /// So many hot nodes, the hottest first, in each cycle other ones.
    fn hot_of_this_cycle(&self, few: usize) -> Vec<NodeId> {
        let mut hot: Vec<NodeId> = self.run.hot.keys().copied().collect();
        hot.sort_by_key(|node| Reverse(self.run.hot[node].worst_distance()));
        if hot.len() > few {
            let first = self.draft.world.cycle() * few % hot.len();
            hot.rotate_left(first);
            hot.truncate(few);
        }
        hot
    }

    /// The heaviest pods of a hot node that save an eviction and stay only because of where they
    /// would land, if none of them lands well. In a large cluster, the work does not suffice to ask
    /// for each of them before.
    fn followers(&mut self, node: NodeId) -> Vec<Candidate> {
        let hot = self.run.hot.get(&node).into_iter();
        let savers = hot.flat_map(|hot| &hot.pods).filter(|(_, relief)| relief.saves > 0);
        let savers = savers.filter_map(|(pod, relief)| {
            let candidate = self.run.candidate_of(self.draft, *pod)?;
            gate::admit_before_landing(&candidate, self.draft).ok()?;
            Some((relief.usage.get(), candidate))
        });
        let followers = descending(savers).take(MOST_PODS);
        let followers: Vec<Candidate> = followers.map(|(_, candidate)| candidate).collect();
        // Such a pod only has to wait until other pods have ended.
        let mut waits = followers.iter().map(|pod| self.prospect(self.later, pod).is_some());
        if waits.any(|waits| waits) { Vec::new() } else { followers }
    }

    /// The nodes where a pod would land well, the one first that kube-scheduler prefers.
    fn nodes_for(&mut self, follower: &Candidate) -> Vec<NodeId> {
        self.run.uncertain_work += self.later.forecast_work();
        let forecast = self.later.forecast(follower.pod);
        let nodes = forecast.scored.iter().map(|scored| scored.node);
        nodes.filter(|node| gate::lands_well(follower, self.later, *node)).collect()
    }

    /// The pods that must leave a node one after the other until the follower lands well.
    fn opens(
        &mut self,
        follower: &Candidate,
        node: NodeId,
        others: &[Candidate],
    ) -> Option<Uncertain> {
        let mut moves = Moves::new();
        let mut after: Option<Draft<'d>> = None;
        for _ in 1..=MOST_PODS {
            let (opener, prospect) =
                self.opener(follower, node, after.as_ref().unwrap_or(self.draft))?;
            let before = after.as_ref().unwrap_or(self.later);
            let later = before.later_after(opener.clone(), prospect.landing.clone());
            moves.push((opener, prospect));
            if let Some(end) = self.follow(&mut moves, &later, follower) {
                return self.with_others(moves, end, others);
            }
            after = Some(later);
        }
        None
    }

    /// These moves, and those of other pods that save more with them.
    fn with_others(
        &mut self,
        mut moves: Moves,
        mut end: Draft<'d>,
        others: &[Candidate],
    ) -> Option<Uncertain> {
        let mut best = self.saved_by(&moves, &end)?;
        for other in others {
            if !end.moves(other.pod)
                && let Some(later) = self.follow(&mut moves, &end, other)
            {
                match self.saved_by(&moves, &later) {
                    Some(more) if more.saves > best.saves => (best, end) = (more, later),
                    _ => break,
                }
            }
        }
        Some(best)
    }

    /// The draft after the move of one more pod, if it lands well.
    fn follow(&mut self, moves: &mut Moves, now: &Draft<'d>, pod: &Candidate) -> Option<Draft<'d>> {
        let lands = self.prospect(now, pod)?;
        let later = now.later_after(pod.clone(), lands.landing.clone());
        moves.push((pod.clone(), lands));
        Some(later)
    }

    /// The first of these moves, by the evictions that they probably save for each one that they
    /// make; `None` if they save hardly any.
    fn saved_by(&self, moves: &[(Candidate, Prospect)], end: &Draft<'_>) -> Option<Uncertain> {
        let snapshot = self.draft.world.snapshot;
        let changed = moves.iter().flat_map(|(candidate, prospect)| {
            [snapshot.pod(candidate.pod).node, prospect.landing.on]
        });
        let changed: BTreeSet<NodeId> = changed.flatten().collect();
        let need = |draft: &Draft<'_>| {
            let hot = changed.iter().filter_map(|node| self.run.need_of(draft, *node));
            hot.fold((0.0, 0.0), |(evictions, parts), hot| {
                (evictions + whole(hot.need()), parts + hot.parts())
            })
        };
        let (before, after) = (need(self.later), need(end));
        // A node that comes below its targets needs one less, however small its excess was.
        let saved = (before.0 - after.0).max(before.1 - after.1);
        let success = moves.iter().map(|(_, prospect)| prospect.success.get()).product();
        let (first, _) = moves.first().filter(|_| saved >= LEAST_SAVED)?;
        let (moves, ratio) = (moves.len(), Ratio::new(success)?);
        let first_of = SavedEvictions { moves, need: None, success: ratio };
        Some(Uncertain {
            saves: success * saved / whole(moves),
            follower: None,
            first: Candidate { saves: Some(first_of), ..first.clone() },
        })
    }

    /// The forecast of a move that the landing gate admits; `None` if it refuses the move, or the
    /// work is used up.
    fn prospect(&mut self, draft: &Draft<'_>, pod: &Candidate) -> Option<Prospect> {
        if self.run.uncertain_work >= self.until {
            return None;
        }
        self.run.uncertain_work += draft.forecast_work();
        gate::prospect(pod, draft).ok()
    }

    /// The next pod that leaves a node, with its prospect. It may land on any node of the pool. One
    /// that becomes hot by it needs an eviction more, which counts.
    fn opener(
        &mut self,
        follower: &Candidate,
        node: NodeId,
        now: &Draft<'_>,
    ) -> Option<(Candidate, Prospect)> {
        let snapshot = self.draft.world.snapshot;
        let heavy = snapshot.pod(follower.pod);
        let hot = snapshot.node(heavy.node?).name.clone();
        let pool = self.run.pool(node)?;
        let anywhere = DestinationLimits {
            nodes: pool.in_force.nodes.as_slice().into(),
            targets: Rc::default(),
            others: NoGain::NotOpening,
            ..pool.destinations.clone()
        };
        let mut light = self.light_pods(node, now);
        // Replicas of one workload are not moved one after the other.
        light.retain(|pod| snapshot.pod(*pod).workload != heavy.workload);
        light.into_iter().find_map(|pod| {
            let reason = Reason::Opening { node: hot.clone(), pod: heavy.name.clone() };
            let opener = Candidate::new(pod, self.run.position, reason).within(anywhere.clone());
            gate::admit_before_landing(&opener, self.draft).ok()?;
            let prospect = self.prospect(now, &opener)?;
            Some((opener, prospect))
        })
    }

    /// The pods of a node that change its attractiveness most in relation to their usage.
    fn light_pods(&self, node: NodeId, now: &Draft<'_>) -> Vec<PodId> {
        let remaining = self.run.remaining(self.draft, node);
        let here = remaining.filter(|pod| !now.moves(*pod));
        let light = descending(here.filter_map(|pod| Some((self.lightness(node, pod)?, pod))));
        light.map(|(_, pod)| pod).take(MOST_PODS).collect()
    }

    /// The requests of a pod minus its cpu usage, as shares of its node; `None` if its usage is
    /// unknown.
    fn lightness(&self, node: NodeId, pod: PodId) -> Option<f64> {
        let (draft, cpu) = (self.draft, ResourceId::CPU);
        let usage = draft.share(node, cpu, draft.weight(pod, cpu, self.run.rule.basis)?)?;
        Some(requests(draft, node, pod).get() - usage.get())
    }
}
