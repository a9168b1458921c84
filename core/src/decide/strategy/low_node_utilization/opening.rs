//! Sequences that begin with pods of another node, so that kube-scheduler prefers that node for a
//! heavy pod of a hot one.

use crate::decide::draft::{Candidate, DestinationLimits, Draft, Prospect};
use crate::decide::gate;
use crate::decide::scheduler::Forecast;
use crate::decide::targets::whole;
use crate::model::plan::{NoGain, Reason};
use crate::model::snapshot::{NodeId, PodId};
use crate::values::{Ratio, ResourceId};

use super::hot_node::HotNode;
use super::relief::requests;
use super::sequence::{MOST_PODS, Moves, SequenceSearch, Uncertain, descending};

/// The score that a node gains by default for requests of its whole cpu, or memory, that leave:
/// `LeastAllocated` is the mean of both free shares, in percent.
const SCORE_OF_REQUESTS: f64 = 50.0;

impl<'d> SequenceSearch<'_, '_, 'd> {
    /// Looks for the opening that saves most: pods that leave another node first, so that a
    /// heavy pod of a hot node lands there, and then perhaps others. The hottest node comes first,
    /// as long as there are few.
    pub(super) fn openings(&mut self) {
        let (hot, share) = self.hot_of_this_cycle();
        let followers: Vec<Vec<Candidate>> = hot.iter().map(|hot| self.followers(hot)).collect();
        let others = followers.concat();
        for followers in followers {
            self.until = self.run.search.most_work.min(self.run.uncertain_work + share);
            for follower in followers {
                for node in self.nodes_for(&follower) {
                    if let Some(opening) = self.opens(&follower, node, &others) {
                        opening.compete(&mut self.best);
                    }
                }
            }
        }
    }

    /// The heaviest pods of a hot node that would relieve it, if none of them lands well.
    fn followers(&mut self, hot: &HotNode) -> Vec<Candidate> {
        let mut followers = self.by_usage(hot);
        followers.truncate(MOST_PODS);
        // Such a pod only has to wait until other pods have ended.
        let waits = |follower: &Candidate| self.prospect(self.later, follower).is_some();
        if followers.iter().any(waits) {
            followers.clear();
        }
        followers
    }

    /// The nodes where a pod would land well, the one first that would be most attractive for
    /// kube-scheduler without its lightest pod.
    fn nodes_for(&mut self, follower: &Candidate) -> Vec<NodeId> {
        let forecast = self.forecast(self.later, follower.pod);
        let scored = forecast.scored.iter();
        let good = scored.filter(|scored| gate::lands_well(follower, self.later, scored.node));
        let attractive = good.filter_map(|scored| {
            let light = self.light_pods(scored.node, self.later);
            let requests = requests(self.draft, scored.node, *light.first()?);
            let score = i32::try_from(scored.total).map_or(f64::MAX, f64::from);
            Some((score + SCORE_OF_REQUESTS * requests.get(), scored.node))
        });
        descending(attractive).map(|(_, node)| node).collect()
    }

    /// The pods that must leave a node one after the other until the follower lands well.
    fn opens(
        &mut self,
        follower: &Candidate,
        node: NodeId,
        others: &[Candidate],
    ) -> Option<Uncertain> {
        let mut moves = self.no_moves();
        for _ in 1..=MOST_PODS {
            let (opener, prospect) = self.opener(follower, node, moves.now())?;
            moves.add(opener, prospect);
            if self.is_beaten(&moves) {
                return None;
            }
            if let Some(lands) = self.prospect(moves.later(), follower) {
                moves.add(follower.clone(), lands);
                return Some(Uncertain {
                    first: moves.first()?,
                    saves: self.with_more(moves, others)?,
                    follower: Some(follower.pod),
                });
            }
        }
        None
    }

    /// Whether another move saves as much even if all pods that may follow save an eviction.
    fn is_beaten(&self, moves: &Moves<'_, '_>) -> bool {
        let followers = 1 + MOST_PODS;
        let most = moves.success() * whole(followers) / whole(moves.made.len() + followers);
        most <= self.best.as_ref().map_or(0.0, |best| best.saves)
    }

    /// The evictions that the moves save if other pods follow, as long as each of them saves more.
    fn with_more(&mut self, mut moves: Moves<'_, 'd>, others: &[Candidate]) -> Option<f64> {
        let mut saves = moves.saves(self.run)?;
        for _ in 1..=MOST_PODS {
            let mut others = others.iter();
            let next = others.find_map(|other| Some((other, self.follows(other, moves.later())?)));
            let Some((other, prospect)) = next else {
                break;
            };
            moves.add(other.clone(), prospect);
            match moves.saves(self.run) {
                Some(more) if more > saves => saves = more,
                _ => break,
            }
        }
        Some(saves)
    }

    /// The prospect of a pod that still saves an eviction and may move.
    fn follows(&mut self, other: &Candidate, now: &Draft<'_>) -> Option<Prospect> {
        if now.moves(other.pod) {
            return None;
        }
        let home = now.world.snapshot.pod(other.pod).node?;
        let relief = self.run.need_of(now, home)?.judge(now, other.pod).ok()?;
        if relief.saves == 0 {
            return None;
        }
        self.prospect(now, other)
    }

    /// The next pod that leaves a node, with its prospect.
    fn opener(
        &mut self,
        follower: &Candidate,
        node: NodeId,
        now: &Draft<'_>,
    ) -> Option<(Candidate, Prospect)> {
        let snapshot = self.draft.world.snapshot;
        let heavy = snapshot.pod(follower.pod);
        let hot = heavy.node?;
        let mut light = self.light_pods(node, now);
        // Replicas of one workload are not moved one after the other.
        light.retain(|pod| snapshot.pod(*pod).workload != heavy.workload);
        light.into_iter().find_map(|pod| {
            if self.is_spent() {
                return None;
            }
            let reason =
                Reason::Opening { node: snapshot.node(hot).name.clone(), pod: heavy.name.clone() };
            let mut opener = Candidate::new(pod, self.run.position, reason);
            gate::admit_before_landing(&opener, self.draft).ok()?;
            let forecast = self.forecast(now, pod);
            opener.destinations = Some(self.destinations(pod, now, &forecast)?);
            let prospect = gate::prospect_by(&opener, now, &forecast).ok()?;
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

    /// The nodes where a pod may land first: wherever the forecast sees it. A node that becomes
    /// hot by it needs an eviction more, which counts.
    fn destinations(
        &self,
        pod: PodId,
        now: &Draft<'_>,
        forecast: &Forecast,
    ) -> Option<DestinationLimits> {
        let home = now.world.snapshot.pod(pod).node?;
        let usual = &self.run.pool(home)?.destinations;
        let possible_nodes = forecast.possible_nodes.iter();
        let mut nodes: Vec<NodeId> = possible_nodes.map(|possible| possible.node).collect();
        nodes.sort_unstable();
        let highest = |&(resource, target): &(ResourceId, Ratio)| {
            let more = now.weight(pod, resource, usual.basis).unwrap_or_default();
            let with_pod = |node: &NodeId| now.ratio_with(*node, resource, usual.basis, more);
            let ratios = nodes.iter().filter_map(with_pod);
            (resource, ratios.fold(target, Ratio::at_least))
        };
        Some(DestinationLimits {
            targets: usual.targets.iter().map(highest).collect(),
            nodes: nodes.into(),
            others: NoGain::NotOpening,
            ..usual.clone()
        })
    }
}
