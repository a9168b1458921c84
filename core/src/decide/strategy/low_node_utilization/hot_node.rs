//! The decision about the pods of one hot node: which of them relieve it, and how much.

use crate::decide::draft::Draft;
use crate::decide::targets::ResourceExcess;
use crate::model::plan::{Expected, FallingNeed, NotSelected, Reason};
use crate::model::snapshot::{NodeId, PodId};
use crate::values::{Amount, Ratio};

use super::relief::PodRelief;

/// The smallest share of an excess that the movable pods of a node must be able to remove together.
/// With less, the node would stay about as hot as it is, so nothing is begun.
const WORTHWHILE: Ratio = Ratio::QUARTER;

/// A hot node, with its excess and the prospect of removing it.
#[derive(Debug)]
pub(super) struct HotNode {
    pub(super) node: NodeId,
    /// At least one, the worst first.
    excess: Vec<ResourceExcess>,
    /// Why nothing is begun on this node; `None` if something is.
    why_not: Option<NotSelected>,
    /// The pods that may be evicted, by position.
    pub(super) movable: Vec<PodId>,
    /// The pods that are worth asking for, in order.
    pub(super) pods: Vec<(PodId, PodRelief)>,
}

impl HotNode {
    pub(super) fn new(
        draft: &Draft<'_>,
        node: NodeId,
        excess: Vec<ResourceExcess>,
        movable: Vec<PodId>,
    ) -> Self {
        let with_need = |one: ResourceExcess| {
            let loads = movable.iter().filter_map(|pod| one.weight(draft, *pod));
            one.with_need(loads.collect())
        };
        let (why_not, excess) = begun(draft, excess, &movable);
        let excess = excess.into_iter().map(with_need).collect();
        HotNode { node, excess, why_not, movable, pods: Vec::new() }
    }

    /// Returns the relief by a pod of this node, or why the pod is not selected.
    pub(super) fn judge(&self, draft: &Draft<'_>, pod: PodId) -> Result<PodRelief, NotSelected> {
        let names = || self.excess.iter().map(|excess| excess.above.name(draft));
        let relief = self.relief(draft, pod);
        let relief = relief.ok_or_else(|| NotSelected::RelievesNothing(names().collect()))?;
        self.why_not.clone().map_or(Ok(relief), Err)
    }

    /// Returns the relief by a pod of this node; `None` if there is none.
    pub(super) fn relief(&self, draft: &Draft<'_>, pod: PodId) -> Option<PodRelief> {
        PodRelief::of(draft, pod, self.node, &self.excess)
    }

    /// The fewest evictions that bring the node below its targets; zero if its excess is too small
    /// to count.
    pub(super) fn need(&self) -> usize {
        if matches!(self.why_not, Some(NotSelected::WithinVariation { .. })) {
            return 0;
        }
        self.excess.iter().map(|one| one.need).max().unwrap_or(0)
    }

    /// The need as it is shown: `None` if nothing is begun on the node, or all its pods together
    /// are too light.
    pub(super) fn needed(&self) -> Option<usize> {
        let too_light = self.excess.iter().any(|one| one.step == Amount::ZERO);
        (self.why_not.is_none() && !too_light).then(|| self.need())
    }

    /// The need in parts of evictions.
    pub(super) fn parts(&self) -> f64 {
        if self.need() == 0 {
            return 0.0;
        }
        self.excess.iter().map(|one| one.parts).fold(0.0, f64::max)
    }

    /// How the need falls without a pod that leaves with this load of each resource; `None` if it
    /// does not.
    pub(super) fn fall_without(
        &self,
        load: impl Fn(&ResourceExcess) -> Option<Amount>,
    ) -> Option<FallingNeed> {
        let needed = self.need();
        let most = self.excess.iter().filter(|one| one.need == needed);
        let mut saved = most.map(|one| load(one).is_some_and(|load| one.is_saved_by(load)));
        saved.all(|saved| saved).then_some(FallingNeed { saved: 1, needed })
    }

    /// Whether the node is above a target at present, and not only soon.
    pub(super) fn is_above_now(&self, draft: &Draft<'_>) -> bool {
        let is_above = |one: &ResourceExcess| {
            one.expected(draft, self.node).is_none_or(|expected| expected.now > one.above.target)
        };
        self.excess.iter().any(is_above)
    }

    /// How far the node is above the target that it exceeds most, in hundredths of a percent.
    pub(super) fn worst_distance(&self) -> u64 {
        let worst = self.excess.first();
        worst.map_or(0, |worst| worst.above.distance().parts(10_000))
    }

    /// Why a pod of this node is evicted: the resource that exceeds its target most.
    pub(super) fn reason(&self, draft: &Draft<'_>) -> Option<Reason> {
        let worst = self.excess.first()?;
        Some(Reason::HotNode {
            resource: worst.above.name(draft),
            ratio: worst.above.ratio,
            target: worst.above.target,
            basis: worst.basis,
            expected: self.expected(draft),
        })
    }

    /// The present ratio of the resource that exceeds its target most, if the decision is based on
    /// expected usage.
    pub(super) fn expected(&self, draft: &Draft<'_>) -> Option<Expected> {
        self.excess.first()?.expected(draft, self.node)
    }
}

/// Says that the node is hardly above its targets, compared with how much its load varies.
fn within_variation(draft: &Draft<'_>, excess: &[ResourceExcess]) -> Option<NotSelected> {
    let worst = excess.first()?;
    let within = excess.iter().all(ResourceExcess::is_within_variation);
    within.then(|| NotSelected::WithinVariation {
        resource: worst.above.name(draft),
        above: worst.above.distance(),
        variation: worst.variation,
    })
}

/// Why nothing is begun, and the part of the excess that pods can remove; all of it if they can
/// remove too little.
fn begun(
    draft: &Draft<'_>,
    excess: Vec<ResourceExcess>,
    movable: &[PodId],
) -> (Option<NotSelected>, Vec<ResourceExcess>) {
    let far = |one: &ResourceExcess| out_of_reach(draft, one, movable);
    let within_reach: Vec<_> = excess.iter().filter(|one| far(one).is_none()).copied().collect();
    let none = within_reach.is_empty().then(|| excess.first().and_then(far)).flatten();
    let counted = if within_reach.is_empty() { excess } else { within_reach };
    (within_variation(draft, &counted).or(none), counted)
}

/// Says that the movable pods together can remove too little of an excess.
///
/// The first pod leaves a node only if the node can come below its targets, or much closer to them,
/// even if that takes several cycles. A pod of unknown usage counts as enough.
fn out_of_reach(
    draft: &Draft<'_>,
    worst: &ResourceExcess,
    movable: &[PodId],
) -> Option<NotSelected> {
    let weights = movable.iter().map(|pod| worst.weight(draft, *pod));
    let relief = weights.map(|weight| Some(weight?.min(worst.amount)));
    let relief: Amount = relief.sum::<Option<Amount>>()?;
    (relief < worst.amount.times(WORTHWHILE)).then(|| NotSelected::OutOfReach {
        resource: worst.above.name(draft),
        relief: relief.share_of(worst.amount).unwrap_or_default(),
        least: WORTHWHILE,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::targets::AboveTarget;
    use crate::policy::Basis;
    use crate::values::ResourceId;

    /// A node with an excess of 5 cores, and one of 9 GiB, whose pods use so much.
    fn hot_node(cores: &[u64], gibibytes: &[u64], why_not: Option<NotSelected>) -> HotNode {
        let excess = |resource, percent, amount, loads: &[u64]| {
            let above = AboveTarget {
                resource,
                ratio: Ratio::percent(percent).unwrap(),
                target: Ratio::percent(60.0).unwrap(),
            };
            let excess = ResourceExcess {
                above,
                basis: Basis::Actual,
                variation: Ratio::ZERO,
                amount: Amount::new(amount),
                step: Amount::new(amount),
                need: 1,
                parts: 1.0,
            };
            excess.with_need(loads.iter().map(|load| Amount::new(*load)).collect())
        };
        HotNode {
            node: NodeId(0),
            excess: vec![
                excess(ResourceId::CPU, 72.345, 5, cores),
                excess(ResourceId::MEMORY, 70.0, 9, gibibytes),
            ],
            why_not,
            movable: Vec::new(),
            pods: Vec::new(),
        }
    }

    fn within_variation() -> NotSelected {
        NotSelected::WithinVariation {
            resource: "cpu".to_owned(),
            above: Ratio::ONE_PERCENT,
            variation: Ratio::TENTH,
        }
    }

    #[test]
    fn the_need_of_a_node_is_that_of_the_resource_that_needs_most() {
        let hot = hot_node(&[4, 4], &[3, 3, 4], None);
        assert_eq!((hot.need(), hot.needed()), (3, Some(3)));
        assert!((hot.parts() - (2.0 + 2.0 / 3.0)).abs() < 1e-9);
    }

    #[test]
    fn an_excess_within_the_variation_needs_no_eviction() {
        let hot = hot_node(&[4, 4], &[9], Some(within_variation()));
        assert_eq!((hot.need(), hot.needed()), (0, None));
        assert!(hot.parts() < 1e-9);
    }

    #[test]
    fn no_need_is_shown_where_all_pods_together_are_too_light() {
        let hot = hot_node(&[1, 1], &[9], None);
        assert_eq!((hot.need(), hot.needed()), (3, None));
    }

    #[test]
    fn the_need_falls_without_a_pod_that_saves_an_eviction_where_most_are_needed() {
        let hot = hot_node(&[4, 4], &[9], None);
        let without = |cores, gibibytes| {
            let load = |one: &ResourceExcess| {
                let is_cpu = one.above.resource == ResourceId::CPU;
                Some(Amount::new(if is_cpu { cores } else { gibibytes }))
            };
            hot.fall_without(load).map(|fall| (fall.saved, fall.needed))
        };
        assert_eq!((without(1, 0), without(0, 9)), (Some((1, 2)), None));
    }

    #[test]
    fn the_distance_is_that_of_the_worst_resource_in_hundredths_of_a_percent() {
        assert_eq!(hot_node(&[5], &[9], None).worst_distance(), 1234);
    }
}
