//! The benefit of moving one pod for its hot node, as one number by which candidates are compared.

use std::cmp::Ordering;

use crate::decide::draft::Draft;
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::Basis;
use crate::values::{Amount, Ratio, ResourceId};

use super::excess::ResourceExcess;

/// The smallest usage that is worth an eviction, as a share of the node, unless it suffices.
pub(super) const LEAST: f64 = 0.005;
/// The smallest usage of a pod relative to the standard deviation of its node's load.
const NOTICEABLE: f64 = 0.7;
/// A pod of this usage is never too light, as a share of the node.
const MOST_NOTICEABLE: f64 = 0.05;
/// The room below the target that a move should leave, as a share of the node. kube-scheduler soon
/// sends other pods to a node that has lost requests, and without room they would make it hot
/// again.
const MARGIN: f64 = 0.10;
/// The value of usage that leaves the node, relative to a certain and complete relief. It was
/// measured on random clusters of 50 and 150 nodes.
const USAGE_VALUE: f64 = 6.0;
/// The value of usage beyond the margin: it makes the move harder and gains nothing.
const SURPLUS_VALUE: f64 = -0.5;

/// A move that helps at least this probably can be sound.
const SOUND: f64 = 0.95;

/// The order of moves: sound ones come first, then the more valuable ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MoveScore {
    /// Whether the move takes its node one pod closer to the targets and almost certainly helps. A
    /// move that is not sound is tentative.
    pub(super) sound: bool,
    value: i64,
}

/// The benefit of moving a pod for its node. All numbers are shares of the node, summed over the
/// resources above their targets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Benefit {
    /// The part of the excess that leaves with the pod.
    relief: f64,
    excess: f64,
    /// The usage of the pod.
    usage: f64,
    /// The cpu and memory requests of the pod.
    requests: f64,
    /// Whether this one move brings the node below its targets.
    pub(super) suffices: bool,
    /// Whether the node needs one pod less after this move: as few as if its heaviest pod had
    /// moved.
    direct: bool,
    /// Whether the usage of the pod is unknown.
    unknown: bool,
}

impl Benefit {
    pub(super) fn of(
        draft: &Draft<'_>,
        basis: Basis,
        pod: PodId,
        (node, excess): (NodeId, &[ResourceExcess]),
    ) -> Self {
        let whole = &draft.world.snapshot.node(node).allocatable;
        let share =
            |amount: Amount, r: ResourceId| amount.share_of(whole[r]).map_or(0.0, Ratio::get);
        let requests = &draft.world.snapshot.pod(pod).requests;
        let mut benefit = Benefit {
            suffices: true,
            direct: true,
            requests: share(requests[ResourceId::CPU], ResourceId::CPU)
                + share(requests[ResourceId::MEMORY], ResourceId::MEMORY),
            ..Benefit::default()
        };
        for one in excess {
            let resource = one.above.resource;
            let Some(weight) = draft.weight(pod, resource, basis) else {
                benefit.unknown = true;
                continue;
            };
            benefit.relief += share(weight.min(one.amount), resource);
            benefit.excess += share(one.amount, resource);
            benefit.usage += share(weight, resource);
            benefit.suffices &= weight >= one.amount;
            benefit.direct &= weight >= one.step;
        }
        benefit
    }

    /// Returns true if the pod relieves nothing.
    pub(super) fn is_none(&self) -> bool {
        !self.unknown && self.relief <= 0.0
    }

    /// Returns the usage that leaves with the pod and the smallest that is worth an eviction, if
    /// the pod is too light. On a node whose load varies, a pod that suffices must still be
    /// noticed.
    pub(super) fn too_light(&self, variation: Ratio) -> Option<(Ratio, Ratio)> {
        let noticeable = (variation.get() * NOTICEABLE).min(MOST_NOTICEABLE);
        let least = if self.suffices {
            noticeable
        } else {
            noticeable.max(LEAST)
        };
        let leaves = if self.suffices {
            self.usage
        } else {
            self.relief
        };
        let ratio = |share| Ratio::new(share).unwrap_or_default();
        (!self.unknown && leaves < least).then(|| (ratio(leaves), ratio(least)))
    }

    /// Returns true if the plan should say why the pod stays, although it may not be evicted at
    /// all.
    pub(super) fn is_worth_a_note(&self) -> bool {
        self.unknown || self.suffices || self.relief >= self.excess * Ratio::QUARTER.get()
    }

    /// Compares the usage of two pods of one node.
    pub(super) fn by_usage(&self, other: &Self) -> Ordering {
        self.usage.total_cmp(&other.usage)
    }

    /// Returns the part of the node's load that leaves with the pod and was above a target.
    pub(super) fn relief(&self) -> Ratio {
        Ratio::new(self.relief).unwrap_or_default()
    }

    /// Returns the score of the move if it helps with this probability. The value is in hundredths
    /// and a whole number, so that the less important of two pods goes if they are about equally
    /// good.
    ///
    /// A pod is better the more of the excess it takes along and the likelier that is to help. Its
    /// requests count against it, because a node that loses requests attracts the next pods. A pod
    /// of unknown usage comes last, so that the plan can say why it stays.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "shares of a node are far from the bounds, and casts saturate"
    )]
    pub(super) fn score(&self, success: Ratio) -> MoveScore {
        if self.unknown {
            return MoveScore {
                sound: false,
                value: i64::MIN,
            };
        }
        let enough = self.excess + MARGIN;
        let relieved = success.get() * self.relief / self.excess;
        let usage = USAGE_VALUE * self.usage.min(enough);
        let surplus = SURPLUS_VALUE * (self.usage - enough).max(0.0);
        MoveScore {
            sound: self.direct && success.get() >= SOUND,
            value: ((relieved + usage + surplus - self.requests) * 100.0).round() as i64,
        }
    }
}
