//! The load of a hot node above its targets.

use crate::decide::draft::Draft;
use crate::model::plan::Expected;
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::Basis;
use crate::values::{Amount, Ratio, ResourceId};

use super::nodes::AboveTarget;

/// An excess counts from this part of the standard deviation of the load. It was chosen on recorded
/// usage (`tests/traces.sh`, five seeds at 50 nodes): with 0.35, a fifth fewer pods move and nodes
/// are hot for 5 % longer. At 200 nodes, the difference is within chance.
const SIGNIFICANT: f64 = 0.25;
/// This part if the load is what is expected: the mean of an hour, in which less is left to chance.
const SIGNIFICANT_IF_EXPECTED: f64 = 0.1;
/// This part of the error of a trend: a smaller excess is hardly likelier than none. It was chosen
/// on recorded days of 50 nodes with steering: with 0.25, twice as many pods move, and with 0.75
/// nodes are above the target for longer.
const SIGNIFICANT_BY_TREND: f64 = 0.5;
/// The errors of a trend by which a node must come below its target, so that it stays there: more
/// than the excess must leave. On those days, with 0.3 and with 0.7 more pods moved and nodes were
/// above the target for longer.
const ERRORS_BELOW: f64 = 0.5;
/// A larger excess always counts, as a share of the node.
const LARGEST_INSIGNIFICANT: f64 = 0.05;

/// The kind of load that is compared with a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoadBasis {
    /// The average of the last samples.
    Present,
    /// The usage of an hour that was learned.
    Learned,
    /// The usage that follows from the trend of the node.
    Trend,
}

impl LoadBasis {
    pub(super) fn of(draft: &Draft<'_>, node: NodeId) -> Self {
        let usage = draft.world.usage;
        match (usage.outlook(), usage.error(node)) {
            (Some(_), _) => LoadBasis::Learned,
            (None, Some(_)) => LoadBasis::Trend,
            (None, None) => LoadBasis::Present,
        }
    }
}

/// The load that leaves beyond the excess, so that the node stays below its target although the
/// trend may err.
fn room_for_errors(draft: &Draft<'_>, basis: Basis, node: NodeId, resource: ResourceId) -> Amount {
    match LoadBasis::of(draft, node) {
        LoadBasis::Trend => {
            let error = draft.deviation(node, resource, basis).as_f64();
            Amount::from_f64(ERRORS_BELOW * error)
        }
        LoadBasis::Present | LoadBasis::Learned => Amount::ZERO,
    }
}

/// The load of a node above its target in one resource.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResourceExcess {
    pub(super) above: AboveTarget,
    pub(super) amount: Amount,
    /// The least load that takes the node one pod closer to its target (see
    /// [`ResourceExcess::with_step`]).
    pub(super) step: Amount,
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
        let above_target = load.minus(whole.times(target));
        let ratio = draft.ratio(node, resource, basis)?;
        let above = AboveTarget {
            resource,
            ratio,
            target,
        };
        let amount = above_target.plus(room_for_errors(draft, basis, node, resource));
        (above_target > Amount::ZERO).then_some(ResourceExcess {
            above,
            amount,
            step: amount,
        })
    }

    /// Sets the step for a node whose pods of these loads may move.
    ///
    /// The fewest pods that remove the excess are the heaviest ones. A pod can take the place of
    /// one of them if its load is at least the rest that the others leave.
    pub(super) fn with_step(self, mut loads: Vec<Amount>) -> Self {
        loads.sort_unstable_by(|a, b| b.cmp(a));
        let mut step = self.amount;
        for load in loads.into_iter().filter(|load| *load > Amount::ZERO) {
            if load >= step {
                return ResourceExcess { step, ..self };
            }
            step = step.minus(load);
        }
        // All pods together are too light, so each of them is needed.
        let step = Amount::ZERO;
        ResourceExcess { step, ..self }
    }

    /// The part of the excess that leaves with the pod; `None` if its usage is unknown.
    pub(super) fn relief(&self, draft: &Draft<'_>, basis: Basis, pod: PodId) -> Option<Amount> {
        let weight = draft.weight(pod, self.above.resource, basis)?;
        Some(weight.min(self.amount))
    }

    /// The present ratio, if the decision is based on what is expected.
    pub(super) fn expected(
        &self,
        draft: &Draft<'_>,
        basis: Basis,
        node: NodeId,
    ) -> Option<Expected> {
        let (used, ahead) = draft.world.usage.at_present(node)?;
        let load_basis = LoadBasis::of(draft, node);
        let amount = match (basis, self.above.resource, load_basis) {
            (Basis::Actual, ResourceId::CPU, LoadBasis::Trend | LoadBasis::Learned) => used.cpu,
            (Basis::Actual, ResourceId::MEMORY, LoadBasis::Trend) => used.memory,
            _ => return None,
        };
        let whole = draft.world.snapshot.node(node).allocatable[self.above.resource];
        let now = amount.share_of(whole)?;
        let by_trend = load_basis == LoadBasis::Trend;
        let error = by_trend.then(|| self.variation(draft, basis, node));
        Some(Expected { now, ahead, error })
    }

    /// Whether the load is expected to stay as it is, but for so small a share of the node.
    pub(super) fn stands_still(
        &self,
        draft: &Draft<'_>,
        basis: Basis,
        node: NodeId,
        share: f64,
    ) -> bool {
        let change = self.expected(draft, basis, node).map_or(0.0, |expected| {
            (self.above.ratio.get() - expected.now.get()).abs()
        });
        change + self.variation(draft, basis, node).get() <= share
    }

    /// The standard deviation of the node's load, as a share of the node.
    pub(super) fn variation(&self, draft: &Draft<'_>, basis: Basis, node: NodeId) -> Ratio {
        let whole = draft.world.snapshot.node(node).allocatable[self.above.resource];
        let deviation = draft.deviation(node, self.above.resource, basis);
        deviation.share_of(whole).unwrap_or_default()
    }

    /// Whether the excess is a small part of this variation, so that it may be gone in a few
    /// minutes.
    pub(super) fn is_within(&self, variation: Ratio, basis: LoadBasis) -> bool {
        let significant = match basis {
            LoadBasis::Present => SIGNIFICANT,
            LoadBasis::Learned => SIGNIFICANT_IF_EXPECTED,
            LoadBasis::Trend => SIGNIFICANT_BY_TREND,
        };
        let least = variation.get() * significant;
        self.above.distance().get() < least.min(LARGEST_INSIGNIFICANT)
    }

    pub(super) fn name(&self, draft: &Draft<'_>) -> String {
        let resources = &draft.world.snapshot.resources;
        resources.name(self.above.resource).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether an excess of so many percent is within a variation of ten percent.
    fn is_within(percent: f64, basis: LoadBasis) -> bool {
        let above = AboveTarget {
            resource: ResourceId::CPU,
            ratio: Ratio::percent(60.0 + percent).unwrap(),
            target: Ratio::percent(60.0).unwrap(),
        };
        let (amount, step) = (Amount::new(1), Amount::new(1));
        let excess = ResourceExcess {
            above,
            amount,
            step,
        };
        excess.is_within(Ratio::percent(10.0).unwrap(), basis)
    }

    #[test]
    fn a_quarter_of_the_variation_may_be_gone_in_a_few_minutes() {
        assert!(is_within(2.4, LoadBasis::Present));
        assert!(!is_within(2.6, LoadBasis::Present));
    }

    #[test]
    fn an_expected_excess_counts_from_a_tenth_of_the_variation() {
        assert!(is_within(0.9, LoadBasis::Learned));
        assert!(!is_within(1.1, LoadBasis::Learned));
    }
}
