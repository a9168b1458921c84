//! Usage and thresholds in the units, and with the rounding, that descheduler's utilization strategies have.

use std::collections::{BTreeMap, BTreeSet};

use crate::decide::draft::Draft;
use crate::model::plan::Idle;
use crate::model::snapshot::facts::Node as NodeFacts;
use crate::model::snapshot::{NodeId, PodId};
use crate::model::usage::{Measure, PodUsage};
use crate::policy::{Basis, Thresholds};
use crate::values::{Amount, Ratio, ResourceId};

use super::Level;

/// One node, measured once.
pub(super) struct Measured {
    pub(super) node: NodeId,
    pub(super) usage: BTreeMap<ResourceId, Amount>,
    pub(super) percent: BTreeMap<ResourceId, f64>,
}

/// What the nodes of a pool are measured by, in percent.
pub(super) struct Marks {
    pub(super) basis: Basis,
    resources: Vec<ResourceId>,
    pub(super) low: BTreeMap<ResourceId, f64>,
    high: BTreeMap<ResourceId, f64>,
}

impl Marks {
    pub(super) fn new(
        draft: &Draft<'_>,
        basis: Basis,
        low: &Thresholds,
        high: &Thresholds,
    ) -> Result<Self, Idle> {
        let known = &draft.world.snapshot.resources;
        let always = [ResourceId::CPU, ResourceId::MEMORY, ResourceId::PODS];
        let percents = |thresholds: &Thresholds| -> BTreeMap<ResourceId, f64> {
            thresholds
                .iter()
                .filter_map(|(name, ratio)| Some((known.find(name)?, in_percent(*ratio))))
                .collect()
        };
        let (low, high) = (percents(low), percents(high));
        let resources: BTreeSet<ResourceId> = low.keys().copied().chain(always).collect();
        match resources
            .iter()
            .find(|r| basis == Basis::Actual && !always.contains(r))
        {
            Some(other) => Err(Idle::Unmeasurable(known.name(*other).to_owned())),
            None => Ok(Marks {
                basis,
                resources: resources.into_iter().collect(),
                low,
                high,
            }),
        }
    }

    /// Thresholds are distances from the mean of the nodes.
    pub(super) fn around_the_mean(&mut self, nodes: &[Measured]) {
        for (resource, low) in &mut self.low {
            let known: Vec<f64> = nodes
                .iter()
                .filter_map(|n| n.percent.get(resource).copied())
                .collect();
            let count = f64::from(u32::try_from(known.len().max(1)).unwrap_or(u32::MAX));
            let mean = known.iter().sum::<f64>() / count;
            *low = (mean - *low).clamp(0.0, 100.0);
            self.high
                .entry(*resource)
                .and_modify(|high| *high = (mean + *high).clamp(0.0, 100.0));
        }
    }

    pub(super) fn measure(&self, draft: &Draft<'_>, node: NodeId) -> Measured {
        let whole = &draft.world.snapshot.node(node).allocatable;
        let usage: BTreeMap<ResourceId, Amount> = self
            .resources
            .iter()
            .map(|r| (*r, used(draft, self.basis, node, *r)))
            .collect();
        let had = usage.iter().filter(|(r, _)| has(draft, node, **r));
        let percent = had
            .map(|(r, used)| (*r, percent(counted(*r, *used), counted(*r, whole[*r]))))
            .collect();
        Measured {
            node,
            usage,
            percent,
        }
    }

    pub(super) fn is_under(&self, it: &Measured) -> bool {
        self.low
            .iter()
            .all(|(r, low)| it.percent.get(r).copied().unwrap_or(0.0) <= *low)
    }

    /// How a node stands against the marks.
    pub(super) fn levels(&self, it: &Measured) -> Vec<Level> {
        let level = |(resource, low): (&ResourceId, &f64)| Level {
            resource: *resource,
            basis: self.basis,
            ratio: it.percent.get(resource).map(|percent| to_ratio(*percent)),
            low: Some(to_ratio(*low)),
            high: self.high.get(resource).map(|high| to_ratio(*high)),
        };
        self.low.iter().map(level).collect()
    }

    /// The resource furthest above its mark, and by how much.
    pub(super) fn over(&self, it: &Measured) -> Option<(ResourceId, f64, f64)> {
        let above = self
            .high
            .iter()
            .filter_map(|(r, high)| Some((*r, *it.percent.get(r)?, *high)));
        above
            .filter(|(_, p, high)| p > high)
            .max_by(|(_, p, x), (_, q, y)| (p - x).total_cmp(&(q - y)))
    }

    /// How much the node may carry; a resource without a target may be used up.
    pub(super) fn ceiling(&self, draft: &Draft<'_>, node: NodeId) -> BTreeMap<ResourceId, i128> {
        let whole = &draft.world.snapshot.node(node).allocatable;
        let of = |r: &ResourceId| match self.high.get(r) {
            Some(percent) => part(*r, whole[*r], *percent),
            None => whole[*r],
        };
        self.resources
            .iter()
            .map(|r| (*r, i128::from(of(r).get())))
            .collect()
    }

    /// The room that the nodes have together.
    pub(super) fn room(
        &self,
        draft: &Draft<'_>,
        nodes: &[&Measured],
    ) -> BTreeMap<ResourceId, i128> {
        let mut room: BTreeMap<ResourceId, i128> = self.resources.iter().map(|r| (*r, 0)).collect();
        for it in nodes {
            for (resource, most) in self.ceiling(draft, it.node) {
                room.entry(resource)
                    .and_modify(|sum| *sum += most - i128::from(it.usage[&resource].get()));
            }
        }
        room
    }
}

impl Measured {
    /// Millicores, bytes and counts in one sum.
    pub(super) fn raw_sum(&self) -> u128 {
        self.usage
            .iter()
            .map(|(r, used)| u128::from(counted(*r, *used).get()))
            .sum()
    }
}

/// What a node uses: a reading, or what its pods request, those on their way out included.
fn used(draft: &Draft<'_>, basis: Basis, node: NodeId, resource: ResourceId) -> Amount {
    let reading = || draft.world.usage.reading(node).unwrap_or_default();
    match (basis, resource) {
        (Basis::Actual, ResourceId::CPU) => reading().cpu,
        (Basis::Actual, ResourceId::MEMORY) => reading().memory,
        _ => {
            let snapshot = draft.world.snapshot;
            snapshot
                .node(node)
                .pods
                .iter()
                .map(|p| snapshot.pod(*p).requests[resource])
                .sum()
        }
    }
}

/// What a pod uses by its own readings, or requests.
pub(super) fn weight(
    draft: &Draft<'_>,
    basis: Basis,
    pod: PodId,
    resource: ResourceId,
) -> Option<Amount> {
    let reading = || match draft.world.usage.pods.get(pod.0) {
        Some(PodUsage::Known(used)) => Some(*used),
        _ => None::<Measure>,
    };
    match (basis, resource) {
        (Basis::Actual, ResourceId::CPU) => reading().map(|m| m.cpu),
        (Basis::Actual, ResourceId::MEMORY) => reading().map(|m| m.memory),
        _ => Some(draft.world.snapshot.pod(pod).requests[resource]),
    }
}

fn has(draft: &Draft<'_>, node: NodeId, resource: ResourceId) -> bool {
    let facts: &NodeFacts = draft.world.snapshot.node(node);
    let name = draft.world.snapshot.resources.name(resource);
    facts.allocatable.iter().any(|(n, _)| n == name)
}

/// In the unit that descheduler counts in: millicores, rounded up, else the base unit.
const fn counted(resource: ResourceId, amount: Amount) -> Amount {
    match resource {
        ResourceId::CPU => Amount::new(amount.get().div_ceil(MILLI)),
        _ => amount,
    }
}

/// This share of the whole, rounded down in the unit that descheduler counts in, and multiplied in its order.
fn part(resource: ResourceId, whole: Amount, percent: f64) -> Amount {
    let part = Amount::from_f64((percent * 0.01 * counted(resource, whole).as_f64()).floor());
    if resource == ResourceId::CPU {
        Amount::new(part.get().saturating_mul(MILLI))
    } else {
        part
    }
}

fn percent(used: Amount, whole: Amount) -> f64 {
    if whole == Amount::ZERO {
        0.0
    } else {
        used.as_f64() / whole.as_f64() * 100.0
    }
}

/// The figure that stood in the policy: a ratio multiplied by 100 may be off in the last digit.
fn in_percent(ratio: Ratio) -> f64 {
    (ratio.get() * 100.0 * 1e9).round() / 1e9
}

pub(super) fn to_ratio(percent: f64) -> Ratio {
    Ratio::percent(percent).unwrap_or_default()
}

/// Nanocores in a millicore.
const MILLI: u64 = Amount::NANOS / 1000;
