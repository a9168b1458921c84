//! The load of a hot node above its targets.

use crate::decide::projection::Projection;
use crate::model::plan::Expected;
use crate::model::snapshot::{NodeId, PodId};
use crate::model::usage::{Measure, SIGNIFICANT};
use crate::policy::Basis;
use crate::values::{Amount, Ratio, ResourceId};

use super::above::{AboveTarget, load_above};

/// The kind of load that is compared with a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoadBasis {
    /// The average of the last samples.
    Present,
    /// The cpu of an hour that was learned.
    Learned,
    /// The usage that follows from the trend of the node.
    Trend,
}

impl LoadBasis {
    /// Returns what the load of a node in a resource is based on.
    fn of(projection: &Projection<'_>, node: NodeId, resource: ResourceId) -> Self {
        let usage = projection.world.usage;
        match (usage.outlook(), usage.error(node)) {
            (Some(_), _) if resource == ResourceId::CPU => LoadBasis::Learned,
            (_, Some(_)) => LoadBasis::Trend,
            (_, None) => LoadBasis::Present,
        }
    }
}

/// The load of a node above its target in one resource.
#[derive(Clone, Copy, Debug)]
pub struct ResourceExcess {
    /// The resource, its ratio and its target.
    pub above: AboveTarget,
    /// Whether usage or requests are compared with the target.
    pub basis: Basis,
    /// The standard deviation of the node's load, as a share of the node.
    pub variation: Ratio,
    /// The load that must leave.
    pub amount: Amount,
    /// The least load that takes the node one pod closer to its target (see
    /// [`ResourceExcess::with_need`]).
    pub step: Amount,
    /// The fewest pods that must leave; one more than there are if all of them are too light.
    pub need: usize,
    /// The need in parts of pods: of the last one, only the part that is needed counts.
    pub parts: f64,
}

impl ResourceExcess {
    /// The excess after this amount of load is gone; `None` if the node is not above the target.
    pub fn new(
        projection: &Projection<'_>,
        basis: Basis,
        node: NodeId,
        resource: ResourceId,
        target: Ratio,
        gone: Amount,
    ) -> Option<Self> {
        let amount = load_above(projection, node, basis, resource, target)?.minus(gone);
        let ratio = projection.known_ratio(node, resource, basis)?;
        if amount == Amount::ZERO {
            return None;
        }
        let deviation = projection.deviation(node, resource, basis);
        let variation = projection.share(node, resource, deviation);
        Some(ResourceExcess {
            above: AboveTarget { resource, ratio, target },
            basis,
            variation: variation.unwrap_or_default(),
            amount,
            step: amount,
            need: 1,
            parts: 1.0,
        })
    }

    /// Sets need and step for a node whose pods of these loads may move.
    ///
    /// The fewest pods that remove the excess are the heaviest ones. A pod can take the place of
    /// one of them if its load is at least the rest that the others leave. With an excess of 5 and
    /// pods of 4, 3 and 1, two must leave, and the step is 1: each of the three saves an eviction.
    #[must_use]
    pub fn with_need(mut self, mut loads: Vec<Amount>) -> Self {
        loads.sort_unstable_by(|a, b| b.cmp(a));
        for load in loads.into_iter().filter(|load| *load > Amount::ZERO) {
            if load >= self.step {
                let part = self.step.share_of(load).map_or(1.0, Ratio::get);
                self.parts = whole(self.need) - 1.0 + part;
                return self;
            }
            self.step = self.step.minus(load);
            self.need += 1;
        }
        // All pods together are too light, so each of them is needed.
        self.step = Amount::ZERO;
        self.parts = whole(self.need);
        self
    }

    /// The load that leaves with a pod; `None` if its usage is unknown.
    pub fn weight(&self, projection: &Projection<'_>, pod: PodId) -> Option<Amount> {
        projection.weight(pod, self.above.resource, self.basis)
    }

    /// Whether the node needs one eviction less without a pod of this load. A crumb saves none.
    pub fn is_saved_by(&self, load: Amount) -> bool {
        let share = self.amount.as_f64() / whole(self.need);
        load >= self.step && load.as_f64() >= share * CRUMB
    }

    /// The present ratio after the moves so far, if the decision is based on expected usage.
    pub fn expected(&self, projection: &Projection<'_>, node: NodeId) -> Option<Expected> {
        let usage = projection.world.usage;
        let (used, ahead) = usage.at_present(node)?;
        let load_basis = LoadBasis::of(projection, node, self.above.resource);
        let part: fn(Measure) -> Amount = match (self.basis, self.above.resource, load_basis) {
            (Basis::Actual, ResourceId::CPU, LoadBasis::Trend | LoadBasis::Learned) => |m| m.cpu,
            (Basis::Actual, ResourceId::MEMORY, LoadBasis::Trend) => |m| m.memory,
            _ => return None,
        };
        let gone = projection.going(node);
        let gone = gone.filter_map(|pod| usage.pod_at_present(pod)).map(part);
        let now = part(used).minus(gone.sum()).minus(part(projection.assumed(node)));
        let now = projection.share(node, self.above.resource, now)?;
        let by_trend = load_basis == LoadBasis::Trend;
        let error = by_trend.then_some(self.variation);
        let look_ahead = projection.world.policy.usage.look_ahead().filter(|_| by_trend);
        Some(Expected { now, ahead: look_ahead.unwrap_or(ahead), error })
    }

    /// Whether the excess is a small part of the variation, so that it may be gone in a few
    /// minutes.
    pub fn is_within_variation(&self) -> bool {
        self.above.distance().get() < self.variation.get() * SIGNIFICANT
    }
}

/// A crumb is a pod with less than this part of what each of the needed pods has to take along.
/// Without this limit, a node that rose and whose heavy pods could not leave gave away twelve pods
/// of a millicore, one after another, and stayed hot. With a twentieth or a quarter it keeps them,
/// too. Five rows of the benchmark (cuts A of 90 and 300 nodes, PlanetLab 20110303 with steering)
/// are the same without it.
const CRUMB: f64 = 0.1;

/// Converts a number of pods.
#[expect(clippy::cast_precision_loss, reason = "nodes have few pods")]
pub const fn whole(pods: usize) -> f64 {
    pods as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excess(above: AboveTarget, amount: Amount) -> ResourceExcess {
        ResourceExcess {
            above,
            basis: Basis::Actual,
            variation: Ratio::percent(10.0).unwrap(),
            amount,
            step: amount,
            need: 1,
            parts: 1.0,
        }
    }

    /// Whether an excess of so many percent is within a variation of ten percent.
    fn is_within(percent: f64) -> bool {
        let above = AboveTarget {
            resource: ResourceId::CPU,
            ratio: Ratio::percent(60.0 + percent).unwrap(),
            target: Ratio::percent(60.0).unwrap(),
        };
        excess(above, Amount::ONE).is_within_variation()
    }

    #[test]
    fn half_of_the_variation_may_be_gone_in_a_few_minutes() {
        assert!(is_within(4.9));
        assert!(!is_within(5.1));
    }

    /// The need and the step of a node with this excess and pods of these loads.
    fn need(amount: u64, loads: &[u64]) -> (usize, u64) {
        let excess = with_need(amount, loads);
        (excess.need, excess.step.get())
    }

    fn with_need(amount: u64, loads: &[u64]) -> ResourceExcess {
        let above =
            AboveTarget { resource: ResourceId::CPU, ratio: Ratio::ONE, target: Ratio::ZERO };
        let excess = excess(above, Amount::new(amount));
        excess.with_need(loads.iter().map(|load| Amount::new(*load)).collect())
    }

    #[test]
    fn of_the_last_pod_only_the_part_that_is_needed_counts() {
        let parts = |amount| with_need(amount, &[1, 4, 4]).parts;
        assert!((parts(5) - 1.25).abs() < 1e-9);
        assert!((parts(2) - 0.5).abs() < 1e-9);
        assert!((parts(10) - 4.0).abs() < 1e-9);
    }

    #[test]
    fn the_need_is_the_fewest_pods_that_remove_the_excess() {
        assert_eq!(need(5, &[1, 4, 3]), (2, 1));
        assert_eq!(need(4, &[1, 4, 3]), (1, 4));
        assert_eq!(need(8, &[1, 4, 3]), (3, 1));
    }

    #[test]
    fn a_crumb_does_not_take_the_place_of_a_heavy_pod() {
        let excess = with_need(501, &[1, 20, 50, 500]);
        assert_eq!((excess.need, excess.step.get()), (2, 1));
        let is_saved = |load| excess.is_saved_by(Amount::new(load));
        assert_eq!([1, 20, 50, 500].map(is_saved), [false, false, true, true]);
    }

    #[test]
    fn a_node_whose_pods_are_too_light_needs_one_more_than_it_has() {
        assert_eq!(need(9, &[1, 4, 3]), (4, 0));
        assert_eq!(need(9, &[]), (1, 0));
    }
}
