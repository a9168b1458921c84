//! The decision about the pods of one hot node: which of them relieve it, and which goes first.

use std::cmp::Reverse;

use crate::decide::draft::Draft;
use crate::model::plan::{NotSelected, Reason};
use crate::model::snapshot::{NodeId, Pod, PodId};
use crate::policy::Basis;
use crate::values::{Amount, Ratio, ResourceId};

use super::nodes::AboveTarget;

/// The smallest share of an excess that a pod has to relieve if the node cannot be brought below
/// its targets.
const WORTHWHILE: Ratio = Ratio::QUARTER;

/// A hot node, with its excess and the prospect of removing it.
#[derive(Debug)]
pub(super) struct HotNode {
    pub(super) node: NodeId,
    basis: Basis,
    /// At least one, the worst first.
    excess: Vec<ResourceExcess>,
    /// Whether the remaining pods together can bring the node below its targets.
    within_reach: bool,
}

/// The load of a node above its target in one resource.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResourceExcess {
    pub(super) above: AboveTarget,
    amount: Amount,
}

/// How well a pod matches the excess of its node. The best comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ReliefRank {
    /// The pod suffices alone; the surplus in percent of the node.
    Suffices { surplus: i64 },
    /// The pod relieves a part of the excess, in percent of the node.
    Part { relief: Reverse<i64> },
    /// The usage of the pod is unknown. It is selected last, so that the plan can say why it stays.
    Unknown,
}

impl ResourceExcess {
    /// The excess after this amount of load is gone; `None` if the node is not above the target.
    pub(super) fn new(
        draft: &Draft<'_>,
        basis: Basis,
        node: NodeId,
        (resource, target): (ResourceId, Ratio),
        gone: Amount,
    ) -> Option<Self> {
        let whole = draft.world.snapshot.node(node).allocatable[resource];
        let load = draft.load(node, resource, basis)?.minus(gone);
        let amount = load.minus(whole.times(target));
        let ratio = draft.ratio(node, resource, basis)?;
        let above = AboveTarget {
            resource,
            ratio,
            target,
        };
        (amount > Amount::ZERO).then_some(ResourceExcess { above, amount })
    }
}

impl HotNode {
    pub(super) fn new(
        draft: &Draft<'_>,
        basis: Basis,
        node: NodeId,
        excess: Vec<ResourceExcess>,
        remaining: &[PodId],
    ) -> Self {
        let mut hot = HotNode {
            node,
            basis,
            excess,
            within_reach: false,
        };
        hot.within_reach = hot.excess.iter().all(|excess| {
            let pods = remaining.iter();
            let reliefs = pods.filter_map(|p| hot.relief(draft, *p, excess));
            reliefs.sum::<Amount>() >= excess.amount
        });
        hot
    }

    /// Decides about a pod of this node: its rank for eviction, the first being the smallest, or
    /// why it is not selected.
    pub(super) fn judge(
        &self,
        draft: &Draft<'_>,
        pod: PodId,
    ) -> Result<impl Ord + use<>, NotSelected> {
        let facts = draft.world.snapshot.pod(pod);
        still_runs(facts)?;
        let relief = self.relief_rank(draft, pod).ok_or_else(|| {
            let names = self.excess.iter().map(|excess| excess.name(draft));
            NotSelected::RelievesNothing(names.collect())
        })?;
        // Small pods are worth an eviction only if all of them together bring the node below its
        // targets. Otherwise they would only make the plan longer.
        if !self.within_reach && !self.is_worthwhile(draft, pod) {
            return Err(self.too_light(draft, pod));
        }
        Ok((
            relief,
            facts.priority.unwrap_or(i32::MIN),
            facts.qos,
            Reverse(facts.created),
            facts.annotations.deletion_cost,
            pod,
        ))
    }

    /// Why a pod of this node is evicted: the resource that exceeds its target most.
    pub(super) fn reason(&self, draft: &Draft<'_>) -> Option<Reason> {
        let worst = self.excess.first()?;
        Some(Reason::HotNode {
            resource: worst.name(draft),
            ratio: worst.above.ratio,
            target: worst.above.target,
            basis: self.basis,
        })
    }

    /// The part of an excess that leaves with the pod; `None` if its usage is unknown.
    fn relief(&self, draft: &Draft<'_>, pod: PodId, excess: &ResourceExcess) -> Option<Amount> {
        let weight = draft.weight(pod, excess.above.resource, self.basis)?;
        Some(weight.min(excess.amount))
    }

    /// How well the pod matches the excess; `None` if it relieves nothing.
    fn relief_rank(&self, draft: &Draft<'_>, pod: PodId) -> Option<ReliefRank> {
        let whole = &draft.world.snapshot.node(self.node).allocatable;
        let share =
            |amount: Amount, r: ResourceId| amount.share_of(whole[r]).unwrap_or_default().get();
        let (mut relief, mut surplus, mut suffices) = (0.0, 0.0, true);
        for excess in &self.excess {
            let resource = excess.above.resource;
            let Some(weight) = draft.weight(pod, resource, self.basis) else {
                return Some(ReliefRank::Unknown);
            };
            relief += share(weight.min(excess.amount), resource);
            surplus += share(weight.minus(excess.amount), resource);
            suffices &= weight >= excess.amount;
        }
        if relief <= 0.0 {
            return None;
        }
        Some(if suffices {
            let surplus = percent(surplus);
            ReliefRank::Suffices { surplus }
        } else {
            let relief = Reverse(percent(relief));
            ReliefRank::Part { relief }
        })
    }

    /// Whether the pod relieves enough of one excess. Unknown usage counts as enough.
    fn is_worthwhile(&self, draft: &Draft<'_>, pod: PodId) -> bool {
        self.excess.iter().any(|excess| {
            let relief = self.relief(draft, pod, excess);
            relief.is_none_or(|relief| relief >= excess.amount.times(WORTHWHILE))
        })
    }

    fn too_light(&self, draft: &Draft<'_>, pod: PodId) -> NotSelected {
        let shares = self.excess.iter().map(|excess| {
            let relief = self.relief(draft, pod, excess);
            let share = relief.and_then(|relief| relief.share_of(excess.amount));
            (share.unwrap_or_default(), excess)
        });
        let most = shares.max_by(|(a, _), (b, _)| a.order(*b));
        NotSelected::TooLight {
            resource: most.map_or_else(String::new, |(_, excess)| excess.name(draft)),
            relief: most.map_or(Ratio::ZERO, |(share, _)| share),
            least: WORTHWHILE,
        }
    }
}

impl ResourceExcess {
    fn name(&self, draft: &Draft<'_>) -> String {
        let resources = &draft.world.snapshot.resources;
        resources.name(self.above.resource).to_owned()
    }
}

/// Refuses pods that are terminating or have finished.
pub(super) fn still_runs(pod: &Pod) -> Result<(), NotSelected> {
    if pod.terminating {
        Err(NotSelected::Terminating)
    } else if pod.finished() {
        Err(NotSelected::Finished)
    } else {
        Ok(())
    }
}

/// Whole percents, so that among pods that match about equally the least important one goes.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a share of a node is far from the bounds, and casts saturate"
)]
fn percent(share: f64) -> i64 {
    (share * 100.0).round() as i64
}
