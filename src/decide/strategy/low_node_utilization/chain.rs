//! The value of an opening: what the pods that move first make possible.

use crate::decide::draft::{Candidate, Draft};
use crate::decide::gate;
use crate::model::snapshot::{NodeId, PodId};
use crate::values::{Ratio, ResourceId};

use super::LowNodeUtilizationRun;
use super::hot_node::HotNode;

/// The part of the relief that all moves together must achieve. A light pod on a hot node loses
/// some.
const LEAST_GAIN: f64 = 0.7;
/// The relief for each pod after the first, as a share of the hot node.
const LEAST_RELIEF: f64 = 0.01;
/// The most pods that are expected to follow one that moved first. Others land there in the
/// meantime.
const MOST_FOLLOWERS: f64 = 6.0;

/// A pod that must move first, so that a pod of a hot node lands well.
pub(super) struct Opening {
    /// How many pods of hot nodes probably land well for each eviction.
    pub(super) value: f64,
    /// The pod of the hot node.
    pub(super) follower: PodId,
    /// The pod that moves first.
    pub(super) opener: Candidate,
}

/// A node that pods leave so that a pod of a hot node lands there.
#[derive(Clone, Copy)]
pub(super) struct Target<'c, 'w> {
    pub(super) run: &'c LowNodeUtilizationRun<'w>,
    /// The pod of the hot node.
    pub(super) follower: &'c Candidate,
    pub(super) node: NodeId,
}

/// The pods that leave a node one after the other until a pod of a hot node probably lands there.
pub(super) struct Chain<'c, 'w, 'd> {
    pub(super) target: Target<'c, 'w>,
    /// The cluster if none of these pods moves.
    pub(super) before: &'c Draft<'d>,
    /// The first pod that leaves the target.
    pub(super) first: PodId,
    /// The number of pods that leave it.
    pub(super) moves: u32,
}

impl Target<'_, '_> {
    /// The most pods like the follower that the node can take if one of these pods leaves it first.
    pub(super) fn most_followers(&self, draft: &Draft<'_>, light: &[PodId]) -> f64 {
        let counts = light.iter().map(|pod| {
            let by_usage = self.by_usage(draft, Some(*pod));
            by_usage.min(self.by_requests(draft, *pod))
        });
        counts.fold(0.0, f64::max).clamp(1.0, MOST_FOLLOWERS)
    }

    /// The number of pods like the follower that the node can take: until it has no room below its
    /// targets, or as many requests as before the first pod left.
    fn followers(&self, after: &Draft<'_>, first: PodId) -> f64 {
        self.by_usage(after, None)
            .min(self.by_requests(after, first))
            .clamp(1.0, MOST_FOLLOWERS)
    }

    fn by_requests(&self, draft: &Draft<'_>, gone: PodId) -> f64 {
        let snapshot = draft.world.snapshot;
        let whole = snapshot.node(self.node).allocatable[ResourceId::CPU];
        let [gone, follower] = [gone, self.follower.pod]
            .map(|pod| snapshot.pod(pod).requests[ResourceId::CPU].share_of(whole));
        quotient(gone, follower)
    }

    /// The number of pods like the follower for which the node has room below its targets, without
    /// a pod that leaves.
    fn by_usage(&self, draft: &Draft<'_>, leaves: Option<PodId>) -> f64 {
        let Some(pool) = self.run.pool(self.node) else {
            return 0.0;
        };
        let basis = self.run.rule.basis;
        let whole = &draft.world.snapshot.node(self.node).allocatable;
        let targets = draft.judged_by(self.node, &pool.band.high);
        let counts = targets.map(|(resource, target)| {
            let share = |pod: PodId| {
                draft
                    .weight(pod, *resource, basis)?
                    .share_of(whole[*resource])
            };
            let gone = leaves.and_then(share).unwrap_or_default();
            let used = draft.ratio(self.node, *resource, basis);
            let room = used.map(|used| target.minus(used.minus(gone)));
            quotient(room, share(self.follower.pod))
        });
        counts.fold(f64::INFINITY, f64::min)
    }
}

impl Chain<'_, '_, '_> {
    /// Returns how many pods of hot nodes probably land well for each eviction, or `None` if the
    /// moves are not worth it.
    ///
    /// `after` is the cluster after the pods of the chain have landed. `success` is the probability
    /// that they and the follower land well.
    pub(super) fn value(&self, hot: &HotNode, after: Draft<'_>, success: f64) -> Option<f64> {
        let followers = self.target.followers(&after, self.first);
        let gains = self.gains(hot, after);
        gains.then(|| success * followers / f64::from(self.moves + 1))
    }

    /// Whether the moves of the chain and of the follower are worth it.
    fn gains(&self, hot: &HotNode, mut after: Draft<'_>) -> bool {
        let Ok(landing) = gate::landing(self.target.follower, &after) else {
            return false;
        };
        after.accept(self.target.follower.clone(), landing);
        let gain = self.excess(self.before) - self.excess(&after);
        let relief = hot.benefit(self.before, self.target.follower.pod);
        let relief = relief.map_or(0.0, |benefit| benefit.relief().get());
        gain >= relief * LEAST_GAIN && relief >= LEAST_RELIEF * f64::from(self.moves - 1)
    }

    /// The load above the targets, summed over the nodes and resources.
    fn excess(&self, draft: &Draft<'_>) -> f64 {
        let basis = self.target.run.rule.basis;
        let of_node = |node: NodeId, targets: &[(ResourceId, Ratio)]| -> f64 {
            let above = |(resource, target): &(ResourceId, Ratio)| {
                Some(draft.ratio(node, *resource, basis)?.minus(*target).get())
            };
            targets.iter().filter_map(above).sum()
        };
        let pools = self.target.run.pools.iter();
        let sums = pools.flat_map(|pool| {
            let nodes = pool.band.nodes.iter();
            nodes.map(|node| of_node(*node, &pool.band.high))
        });
        sums.sum()
    }
}

/// How many times a share fits into another. Without a size, any number of times.
fn quotient(whole: Option<Ratio>, part: Option<Ratio>) -> f64 {
    match (whole, part) {
        (Some(whole), Some(part)) if part > Ratio::ZERO => (whole.get() / part.get()).floor(),
        (None, _) => 0.0,
        _ => f64::INFINITY,
    }
}
