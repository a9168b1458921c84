//! Sequences that begin with pods of another node, so that kube-scheduler prefers that node for a
//! heavy pod of a hot one.

use std::rc::Rc;

use crate::decide::draft::{Candidate, DestinationLimits, Draft, Prospect};
use crate::decide::gate;
use crate::decide::scheduler::Forecast;
use crate::model::plan::{NoGain, Reason};
use crate::model::snapshot::{NodeId, PodId};
use crate::values::{Ratio, ResourceId};

use super::hot_node::HotNode;
use super::relief::requests;
use super::sequence::{MOST_PODS, Moves, SequenceSearch, Uncertain};

/// The score that a node gains by default for requests of its whole cpu, or memory, that leave:
/// `LeastAllocated` is the mean of both free shares, in percent.
const SCORE_OF_REQUESTS: f64 = 50.0;

impl<'d> SequenceSearch<'_, '_, 'd> {
    /// The heaviest pods of a hot node that would relieve it, if none of them lands well.
    pub(super) fn followers(&self, hot: &HotNode) -> Vec<Candidate> {
        let mut followers = self.by_usage(hot);
        followers.retain(|follower| {
            let relief = hot.judge(self.later, follower.pod);
            relief.is_ok_and(|relief| relief.saves > 0)
        });
        followers.truncate(MOST_PODS);
        // Such a pod only has to wait until other pods have ended.
        let waits = |follower: &Candidate| self.prospect(self.later, follower).is_some();
        if followers.iter().any(waits) {
            followers.clear();
        }
        followers
    }

    /// Pods that leave another node first, so that these heavy pods of a hot node land there, and
    /// then perhaps others.
    pub(super) fn pods_of_others(
        &self,
        followers: &[Candidate],
        others: &[Candidate],
    ) -> Option<Uncertain> {
        let mut best = None;
        for follower in followers {
            for node in self.nodes_for(follower) {
                best = self.better(best, self.opens(follower, node, others));
            }
        }
        best
    }

    /// The nodes where a pod would land well, the one first that would be most attractive for
    /// kube-scheduler without its lightest pod.
    fn nodes_for(&self, follower: &Candidate) -> Vec<NodeId> {
        let forecast = self.forecast(self.later, follower.pod);
        let scored = forecast.scored.iter();
        let good = scored.filter(|scored| gate::lands_well(follower, self.later, scored.node));
        let mut nodes: Vec<(f64, NodeId)> = good
            .filter_map(|scored| {
                let light = self.light_pods(scored.node, self.later);
                let gain = SCORE_OF_REQUESTS * requests(self.draft, scored.node, *light.first()?);
                Some((score(scored.total) + gain, scored.node))
            })
            .collect();
        nodes.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        nodes.into_iter().map(|(_, node)| node).collect()
    }

    /// The pods that must leave a node one after the other until the follower lands well.
    fn opens(&self, follower: &Candidate, node: NodeId, others: &[Candidate]) -> Option<Uncertain> {
        let mut moves = Moves::none();
        for _ in 1..=MOST_PODS {
            let (opener, prospect) = self.opener(follower, node, moves.now(self))?;
            moves.add(self, opener, prospect);
            let followers = 1 + MOST_PODS;
            if self.is_worse(moves.success, followers, moves.made + followers) {
                return None;
            }
            if let Some(lands) = self.prospect(moves.later(self), follower) {
                moves.add(self, follower.clone(), lands);
                let saves = moves.saving(None);
                return Some(Uncertain {
                    worth: self.with_more(&mut moves, others)?,
                    first: Candidate {
                        saves,
                        ..moves.first?
                    },
                    follower: Some(follower.pod),
                });
            }
        }
        None
    }

    /// The worth of the moves if other pods follow, as long as each of them adds to it.
    fn with_more(&self, moves: &mut Moves<'d>, others: &[Candidate]) -> Option<f64> {
        let mut worth = moves.worth(self)?;
        for _ in 1..=MOST_PODS {
            let next = others.iter().find_map(|other| {
                let prospect = self.follows(other, moves.later(self))?;
                Some((other.clone(), prospect))
            });
            let Some((other, prospect)) = next else {
                break;
            };
            moves.add(self, other, prospect);
            match moves.worth(self) {
                Some(more) if more > worth => worth = more,
                _ => break,
            }
        }
        Some(worth)
    }

    /// The prospect of a pod that still saves an eviction and may move.
    fn follows(&self, other: &Candidate, now: &Draft<'_>) -> Option<Prospect> {
        if now.moves(other.pod) {
            return None;
        }
        let hot = self
            .run
            .need_of(now, now.world.snapshot.pod(other.pod).node?)?;
        let relief = hot.judge(now, other.pod).ok()?;
        if relief.saves == 0 {
            return None;
        }
        self.prospect(now, other)
    }

    /// The next pod that leaves a node, with its prospect.
    fn opener(
        &self,
        follower: &Candidate,
        node: NodeId,
        now: &Draft<'_>,
    ) -> Option<(Candidate, Prospect)> {
        let snapshot = self.draft.world.snapshot;
        let hot = snapshot.pod(follower.pod).node?;
        // Replicas of one workload are not moved one after the other.
        let differs =
            |pod: &PodId| snapshot.pod(*pod).workload != snapshot.pod(follower.pod).workload;
        let light = self.light_pods(node, now).into_iter();
        light.filter(differs).find_map(|pod| {
            if self.is_spent() {
                return None;
            }
            let reason = Reason::Opening {
                node: snapshot.node(hot).name.clone(),
                pod: snapshot.pod(follower.pod).name.clone(),
            };
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
        let here = |pod: &PodId| !now.moves(*pod);
        let remaining = self.run.remaining(self.draft, node).filter(here);
        let mut pods: Vec<(f64, PodId)> = remaining
            .map(|pod| (self.lightness(node, pod), pod))
            .collect();
        pods.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        pods.truncate(MOST_PODS);
        pods.into_iter().map(|(_, pod)| pod).collect()
    }

    /// The requests of a pod minus its cpu usage, as shares of its node.
    fn lightness(&self, node: NodeId, pod: PodId) -> f64 {
        let whole = self.draft.world.snapshot.node(node).allocatable[ResourceId::CPU];
        let usage = self.draft.weight(pod, ResourceId::CPU, self.run.rule.basis);
        let usage = usage.unwrap_or_default().share_of(whole);
        requests(self.draft, node, pod) - usage.map_or(0.0, Ratio::get)
    }

    /// The nodes where a pod may land first: wherever the forecast sees it. A node that becomes
    /// hot by it needs an eviction more, which counts.
    fn destinations(
        &self,
        pod: PodId,
        now: &Draft<'_>,
        forecast: &Forecast,
    ) -> Option<DestinationLimits> {
        let pool = self.run.pool(self.draft.world.snapshot.pod(pod).node?)?;
        let basis = self.run.rule.basis;
        let possible_nodes = forecast.possible_nodes.iter();
        let mut nodes: Vec<NodeId> = possible_nodes.map(|possible| possible.node).collect();
        nodes.sort_unstable();
        let targets = pool.in_force.targets.iter().map(|(resource, target)| {
            let more = self.draft.weight(pod, *resource, basis).unwrap_or_default();
            let with_pod = |n: &NodeId| now.ratio_with(*n, *resource, basis, more);
            let ratios = nodes.iter().filter_map(with_pod);
            let highest = ratios.fold(*target, |a, b| if b > a { b } else { a });
            (*resource, highest)
        });
        Some(DestinationLimits {
            targets: targets.collect(),
            nodes: nodes.into(),
            basis,
            usage_targets: Rc::default(),
            others: NoGain::NotOpening,
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "scores are small")]
const fn score(total: i64) -> f64 {
    total as f64
}
