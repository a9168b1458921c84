//! Openings: moves of pods from nodes that are not hot, after which a pod of a hot node lands well.
//!
//! kube-scheduler prefers the nodes with the fewest requests. If such a node is warm or hot, each
//! pod of a hot node would land there or return, and nothing could be moved. A pod with large
//! requests and little usage changes that: its replacement makes the preferred node less
//! attractive, and the node that it leaves becomes more attractive. Where one such pod does not
//! suffice, several leave that node (a chain). The pod of the hot node follows in a later cycle,
//! when they have ended.
//!
//! All these moves together must lower the usage above the targets, or nothing is begun. Where
//! evenkeel steers the scheduler by taints, no opening is needed.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::decide::draft::{Candidate, DestinationLimits, Draft, Prospect};
use crate::decide::gate;
use crate::decide::scheduler::{self, Forecast};
use crate::model::plan::{NoGain, Reason};
use crate::model::snapshot::{NodeId, PodId};
use crate::values::{Amount, Ratio, ResourceId};

use super::benefit::MoveScore;
use super::chain::{Chain, Opening, Target};
use super::hot_node::HotNode;
use super::{LowNodeUtilizationRun, staying};

/// The probability with which the first pod must land on another node.
const LEAVES: f64 = 0.6;
/// The probability with which the pod of the hot node must land well after the opening.
const FOLLOWS: f64 = 0.6;
/// The number of pods of a hot node for which openings are searched, the most promising first.
const HEAVY_PODS: usize = 2;
/// The number of nodes that a pod of a hot node could take, the most attractive first.
const TARGETS: usize = 16;
/// The number of pods of such a node that are tried.
const LIGHT_PODS: usize = 2;
/// The most pods that leave such a node before the pod of the hot node.
const LONGEST_CHAIN: u32 = 4;
/// The most work of the search in one cycle, in forecasts times nodes: about a quarter of a second.
const MOST_WORK: usize = 500_000;
/// The number of hot nodes among which this work is divided. With more hot nodes, each cycle begins
/// with other ones, so that nodes without an opening do not use up all the work for ever.
const NODES_IN_A_CYCLE: usize = 8;

/// Whether a light pod may make the node hot on which it lands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heat {
    /// The node must stay below its targets.
    Forbidden,
    /// The node may become hot if all moves together still lower the usage above the targets.
    Allowed,
}

/// The openings of one cycle.
#[derive(Debug, Default)]
pub(super) struct Openings {
    /// The pods of hot nodes that can move in a later cycle.
    followers: BTreeSet<PodId>,
    work: Cell<usize>,
}

impl LowNodeUtilizationRun<'_> {
    /// The opening of a cycle in which no pod of a hot node can move. If there was no other move,
    /// it may make a node hot, because otherwise nothing would change any more.
    pub(super) fn opening_at_end(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        let heat = if self.pace.is_empty() {
            Heat::Allowed
        } else {
            Heat::Forbidden
        };
        self.next_opening(draft, heat)
    }

    /// The next pod of a node that is not hot whose move lets a pod of a hot node land well.
    pub(super) fn next_opening(&mut self, draft: &Draft<'_>, heat: Heat) -> Option<Candidate> {
        // With the taint on the hot nodes, their pods land elsewhere without an opening.
        if draft.world.policy.steering.hot || self.is_discouraged(draft) {
            return None;
        }
        let heat = if self.pace.is_urgent() {
            Heat::Allowed
        } else {
            heat
        };
        let later = self.after_openings(draft);
        let search = OpeningSearch {
            run: self,
            draft,
            later: &later,
            heat,
            until: Cell::new(0),
        };
        let (follower, opener) = search.find()?;
        self.openings.followers.insert(follower);
        self.pace.count_tentative();
        self.asked.insert(opener.pod);
        self.last = Some(opener.pod);
        Some(opener)
    }

    /// Whether so many moves did not help lately that the forecast should not be relied on for
    /// several moves in a row.
    fn is_discouraged(&self, draft: &Draft<'_>) -> bool {
        draft.world.ledger.resting(draft.world.now) >= 5 * (self.hot.len() + 1)
    }

    /// The cluster after the moves of this cycle and those that its openings make possible.
    fn after_openings<'w>(&self, draft: &Draft<'w>) -> Draft<'w> {
        let mut later = draft.settled();
        for follower in &self.openings.followers {
            if let Some(candidate) = self.candidate_of(draft, *follower)
                && let Ok(landing) = gate::landing(&candidate, &later)
            {
                later.accept(candidate, landing);
                later = later.settled();
            }
        }
        later
    }
}

/// The search for one opening.
struct OpeningSearch<'s, 'w, 'd> {
    run: &'s LowNodeUtilizationRun<'w>,
    draft: &'s Draft<'d>,
    /// The draft after everything that moves has landed and ended.
    later: &'s Draft<'d>,
    heat: Heat,
    /// The work after which the search for the present hot node ends.
    until: Cell<usize>,
}

impl<'w> OpeningSearch<'_, 'w, '_> {
    /// Returns a pod of a hot node and the pod that must move before it. The hottest node comes
    /// first, as long as there are few.
    fn find(&self) -> Option<(PodId, Candidate)> {
        let hot = self.run.hot.keys().copied();
        let mut hot: Vec<HotNode> = hot.filter_map(|node| self.unrelieved(node)).collect();
        hot.sort_by_key(|hot| Reverse(hot.worst_distance()));
        if hot.len() > NODES_IN_A_CYCLE {
            let first = self.cycle() * NODES_IN_A_CYCLE % hot.len();
            hot.rotate_left(first);
        }
        let work = &self.run.openings.work;
        let most = match self.heat {
            Heat::Forbidden => MOST_WORK,
            Heat::Allowed => 2 * MOST_WORK,
        };
        let mut affordable = hot.iter().take_while(|_| work.get() < most);
        affordable.find_map(|hot| {
            self.until.set(work.get() + MOST_WORK / NODES_IN_A_CYCLE);
            self.opening_for_node(hot)
        })
    }

    /// A number that grows by one from cycle to cycle.
    fn cycle(&self) -> usize {
        let world = self.draft.world;
        let cycles = world.now.as_second() / world.policy.interval.as_secs().max(1);
        usize::try_from(cycles).unwrap_or_default()
    }

    /// The hot node if it needs relief now and also after the moves of this cycle.
    fn unrelieved(&self, node: NodeId) -> Option<HotNode> {
        self.run.excess(self.draft, node).ok()?;
        let excess = self.run.excess(self.later, node).ok()?;
        if self.run.is_closed(self.draft, node) {
            return None;
        }
        // Also pods that were refused: they may follow an opening.
        let movable = self.run.evictable(self.draft, staying(self.draft, node));
        let basis = self.run.rule.basis;
        Some(HotNode::new(self.later, basis, node, excess, &movable))
    }

    fn opening_for_node(&self, hot: &HotNode) -> Option<(PodId, Candidate)> {
        let followers = self.followers(hot);
        let lands_well = |follower: &Candidate| self.success(self.later, follower) >= FOLLOWS;
        // Such a pod only has to wait until other pods have ended.
        if followers.iter().any(lands_well) {
            return None;
        }
        let mut best: Option<Opening> = None;
        for follower in &followers {
            for target in self.targets(follower) {
                let least = best.as_ref().map_or(0.0, |best| best.value);
                best = self.chain(hot, follower, target, least).or(best);
            }
        }
        best.map(|opening| (opening.follower, opening.opener))
    }

    /// The most promising pods of a hot node that stay only because of where they would land.
    fn followers(&self, hot: &HotNode) -> Vec<Candidate> {
        let here = |pod: &PodId| self.draft.world.snapshot.pod(*pod).node == Some(hot.node);
        let pods = self.later.pods_on(hot.node).filter(here);
        let mut pods: Vec<(MoveScore, PodId)> = pods
            .filter_map(|pod| Some((hot.judge(self.later, pod).ok()?.score(Ratio::ONE), pod)))
            .collect();
        pods.sort_by_key(|(score, pod)| (Reverse(*score), *pod));
        let candidates = pods.into_iter().filter_map(|(_, pod)| {
            let candidate = self.run.candidate_of(self.draft, pod)?;
            gate::admit_before_landing(&candidate, self.draft).ok()?;
            Some(candidate)
        });
        candidates.take(HEAVY_PODS).collect()
    }

    /// The nodes that may take a pod of a hot node after an opening, the one with room for most
    /// such pods first.
    fn targets(&self, follower: &Candidate) -> Vec<NodeId> {
        let forecast = self.forecast(self.later, follower.pod);
        let nodes = forecast.scored.iter().map(|scored| scored.node);
        let good = nodes.filter(|node| gate::lands_well(follower, self.later, *node));
        let room = |node: NodeId| {
            let light = self.light_pods(node, self.draft);
            self.target(follower, node)
                .most_followers(self.later, &light)
        };
        let mut targets: Vec<(f64, NodeId)> =
            good.take(TARGETS).map(|node| (room(node), node)).collect();
        targets.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        targets.into_iter().map(|(_, node)| node).collect()
    }

    /// The pods that must leave a node one after the other until the follower probably lands there,
    /// if that is worth more than `least`.
    fn chain(
        &self,
        hot: &HotNode,
        follower: &Candidate,
        node: NodeId,
        least: f64,
    ) -> Option<Opening> {
        let target = self.target(follower, node);
        let (mut first, mut success) = (None, 1.0);
        let mut after: Option<Draft<'_>> = None;
        for moves in 1..=LONGEST_CHAIN {
            let now = after.as_ref().unwrap_or(self.draft);
            let light = self.light_pods(node, now);
            let leave = first.as_ref().map_or(&light[..], |first: &Candidate| {
                std::slice::from_ref(&first.pod)
            });
            let settled = after.as_ref().unwrap_or(self.later);
            if success * target.most_followers(settled, leave) / f64::from(moves + 1) <= least {
                return None;
            }
            let (opener, prospect) = self.opener(hot, follower, light, now)?;
            success *= prospect.success.get();
            let settled = settled.settled_after(opener.clone(), prospect.landing);
            self.count();
            let first = first.get_or_insert(opener);
            let follows = self.success(&settled, follower);
            if follows >= FOLLOWS {
                let chain = Chain {
                    target,
                    before: self.later,
                    first: first.pod,
                    moves,
                };
                let value = chain.value(hot, settled, success * follows)?;
                return (value > least).then(|| Opening {
                    value,
                    follower: follower.pod,
                    opener: first.clone(),
                });
            }
            after = Some(settled);
        }
        None
    }

    fn target<'t>(&'t self, follower: &'t Candidate, node: NodeId) -> Target<'t, 'w> {
        Target {
            run: self.run,
            follower,
            node,
        }
    }

    /// The pods of a node that change its attractiveness most in relation to their usage.
    fn light_pods(&self, node: NodeId, after: &Draft<'_>) -> Vec<PodId> {
        let here = |pod: &PodId| !after.moves(*pod);
        let mut pods: Vec<PodId> = self.run.remaining(self.draft, node).filter(here).collect();
        pods.sort_by(|a, b| {
            self.lightness(node, *b)
                .total_cmp(&self.lightness(node, *a))
        });
        pods.truncate(LIGHT_PODS);
        pods
    }

    /// The cpu and memory requests of a pod minus its cpu usage, as shares of its node.
    fn lightness(&self, node: NodeId, pod: PodId) -> f64 {
        let snapshot = self.draft.world.snapshot;
        let whole = &snapshot.node(node).allocatable;
        let share =
            |amount: Amount, r: ResourceId| amount.share_of(whole[r]).map_or(0.0, Ratio::get);
        let requests = &snapshot.pod(pod).requests;
        let usage = self.draft.weight(pod, ResourceId::CPU, self.run.rule.basis);
        share(requests[ResourceId::CPU], ResourceId::CPU)
            + share(requests[ResourceId::MEMORY], ResourceId::MEMORY)
            - share(usage.unwrap_or_default(), ResourceId::CPU)
    }

    /// The next pod that leaves a node of a chain, with its prospect.
    fn opener(
        &self,
        hot: &HotNode,
        follower: &Candidate,
        light: Vec<PodId>,
        after: &Draft<'_>,
    ) -> Option<(Candidate, Prospect)> {
        let snapshot = self.draft.world.snapshot;
        // Replicas of one workload are not moved one after the other.
        let differs =
            |pod: &PodId| snapshot.pod(*pod).workload != snapshot.pod(follower.pod).workload;
        light.into_iter().filter(differs).find_map(|pod| {
            if self.is_spent() {
                return None;
            }
            let mut opener = Candidate {
                pod,
                strategy: self.run.position,
                reason: Reason::Opening {
                    node: snapshot.node(hot.node).name.clone(),
                    pod: snapshot.pod(follower.pod).name.clone(),
                },
                destinations: None,
            };
            gate::admit_before_landing(&opener, self.draft).ok()?;
            let forecast = self.forecast(after, pod);
            opener.destinations = Some(self.destinations(pod, after, &forecast)?);
            let prospect = gate::prospect_by(&opener, after, &forecast).ok()?;
            (prospect.success.get() >= LEAVES).then_some((opener, prospect))
        })
    }

    /// The nodes where a pod may land: wherever the forecast sees it. Where a node may become hot
    /// by it, [`Chain::value`] weighs that.
    fn destinations(
        &self,
        pod: PodId,
        after: &Draft<'_>,
        forecast: &Forecast,
    ) -> Option<DestinationLimits> {
        let pool = self.run.pool(self.draft.world.snapshot.pod(pod).node?)?;
        let basis = self.run.rule.basis;
        let possible_nodes = forecast.possible_nodes.iter();
        let nodes: Rc<[NodeId]> = possible_nodes.map(|possible| possible.node).collect();
        let targets = pool.band.high.iter().map(|(resource, target)| {
            let more = self.draft.weight(pod, *resource, basis).unwrap_or_default();
            let with_pod = |n: &NodeId| after.ratio_with(*n, *resource, basis, more);
            let ratios = nodes.iter().filter_map(with_pod);
            let highest = ratios.fold(*target, |a, b| if b > a { b } else { a });
            match self.heat {
                Heat::Forbidden => (*resource, *target),
                Heat::Allowed => (*resource, highest),
            }
        });
        Some(DestinationLimits {
            targets: targets.collect(),
            nodes,
            basis,
            usage_targets: Rc::default(),
            others: NoGain::NotOpening,
        })
    }

    /// The probability that a move helps; zero if the landing gate refuses it.
    fn success(&self, draft: &Draft<'_>, candidate: &Candidate) -> f64 {
        self.count();
        gate::prospect(candidate, draft).map_or(0.0, |prospect| prospect.success.get())
    }

    fn forecast(&self, draft: &Draft<'_>, pod: PodId) -> Forecast {
        self.count();
        if draft.open().is_some() {
            self.count();
        }
        scheduler::forecast(draft, pod)
    }

    fn count(&self) {
        let work = &self.run.openings.work;
        work.set(work.get() + self.draft.world.snapshot.nodes.len());
    }

    fn is_spent(&self) -> bool {
        self.run.openings.work.get() >= self.until.get()
    }
}
