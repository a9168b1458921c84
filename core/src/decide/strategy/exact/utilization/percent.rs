//! Usage and thresholds with the units and the rounding of descheduler's utilization strategies.

use std::collections::{BTreeMap, BTreeSet};

use crate::decide::draft::Draft;
use crate::model::plan::Idle;
use crate::model::snapshot::facts::NodeFacts;
use crate::model::snapshot::{NodeId, PodId};
use crate::model::usage::{Measure, PodUsage};
use crate::policy::{Basis, SourceKind, Thresholds};
use crate::values::{Amount, Ratio, ResourceId};

use crate::decide::strategy::ResourceLevel;

/// A node's usage, read once.
pub(super) struct MeasuredNode {
    pub(super) node: NodeId,
    pub(super) usage: BTreeMap<ResourceId, Amount>,
    pub(super) percent: BTreeMap<ResourceId, f64>,
}

/// The thresholds of a pool of nodes, in percent.
pub(super) struct PercentThresholds {
    pub(super) basis: Basis,
    resources: Vec<ResourceId>,
    pub(super) low: BTreeMap<ResourceId, f64>,
    high: BTreeMap<ResourceId, f64>,
}

impl PercentThresholds {
    pub(super) fn new(
        draft: &Draft<'_>,
        basis: Basis,
        low: &Thresholds,
        high: &Thresholds,
    ) -> Result<Self, Idle> {
        let known = &draft.world.snapshot.resources;
        let always = [ResourceId::CPU, ResourceId::MEMORY, ResourceId::PODS];
        let [low, high] = [low, high].map(|thresholds| -> BTreeMap<ResourceId, f64> {
            thresholds
                .iter()
                .filter_map(|(name, ratio)| Some((known.find(name)?, in_percent(*ratio))))
                .collect()
        });
        let resources: BTreeSet<ResourceId> = low.keys().copied().chain(always).collect();
        match resources.iter().find(|r| basis == Basis::Actual && !always.contains(r)) {
            Some(other) => Err(Idle::Unmeasurable(known.name(*other).to_owned())),
            None => Ok(PercentThresholds {
                basis,
                resources: resources.into_iter().collect(),
                low,
                high,
            }),
        }
    }

    /// Replaces thresholds that are distances from the mean of the nodes.
    pub(super) fn around_the_mean(&mut self, nodes: &[MeasuredNode]) {
        for (resource, low) in &mut self.low {
            let known: Vec<f64> =
                nodes.iter().filter_map(|n| n.percent.get(resource).copied()).collect();
            let count = f64::from(u32::try_from(known.len().max(1)).unwrap_or(u32::MAX));
            let mean = known.iter().sum::<f64>() / count;
            *low = (mean - *low).clamp(0.0, 100.0);
            self.high.entry(*resource).and_modify(|high| *high = (mean + *high).clamp(0.0, 100.0));
        }
    }

    pub(super) fn measure(&self, draft: &Draft<'_>, node: NodeId) -> MeasuredNode {
        let whole = &draft.world.snapshot.node(node).allocatable;
        let usage: BTreeMap<ResourceId, Amount> =
            self.resources.iter().map(|r| (*r, used(draft, self.basis, node, *r))).collect();
        let existing = usage.iter().filter(|(r, _)| has(draft, node, **r));
        let percent = existing
            .map(|(r, used)| (*r, percent(counted(*r, *used), counted(*r, whole[*r]))))
            .collect();
        MeasuredNode { node, usage, percent }
    }

    pub(super) fn is_under(&self, node: &MeasuredNode) -> bool {
        self.low.iter().all(|(r, low)| node.percent.get(r).copied().unwrap_or(0.0) <= *low)
    }

    /// A node's ratios beside the thresholds.
    pub(super) fn levels(&self, node: &MeasuredNode) -> Vec<ResourceLevel> {
        let levels = self.low.iter().map(|(resource, low)| ResourceLevel {
            resource: *resource,
            basis: self.basis,
            ratio: node.percent.get(resource).map(|percent| to_ratio(*percent)),
            threshold: Some(to_ratio(*low)),
            target: self.high.get(resource).map(|high| to_ratio(*high)),
        });
        levels.collect()
    }

    /// The resource furthest above its target, the node's percentage and the target.
    pub(super) fn over(&self, node: &MeasuredNode) -> Option<(ResourceId, f64, f64)> {
        let above =
            self.high.iter().filter_map(|(r, high)| Some((*r, *node.percent.get(r)?, *high)));
        above
            .filter(|(_, p, high)| p > high)
            .max_by(|(_, p, x), (_, q, y)| (p - x).total_cmp(&(q - y)))
    }

    /// How much of each resource may be used on a node. A resource without a target may be used up.
    pub(super) fn targets(&self, draft: &Draft<'_>, node: NodeId) -> BTreeMap<ResourceId, i128> {
        let whole = &draft.world.snapshot.node(node).allocatable;
        let targets = self.resources.iter().map(|resource| {
            let target = match self.high.get(resource) {
                Some(percent) => part(*resource, whole[*resource], *percent),
                None => whole[*resource],
            };
            (*resource, i128::from(target.get()))
        });
        targets.collect()
    }

    /// The room that the destinations have together.
    pub(super) fn free(
        &self,
        draft: &Draft<'_>,
        nodes: &[&MeasuredNode],
    ) -> BTreeMap<ResourceId, i128> {
        let mut free: BTreeMap<ResourceId, i128> = self.resources.iter().map(|r| (*r, 0)).collect();
        for node in nodes {
            for (resource, most) in self.targets(draft, node.node) {
                free.entry(resource)
                    .and_modify(|sum| *sum += most - i128::from(node.usage[&resource].get()));
            }
        }
        free
    }
}

impl MeasuredNode {
    /// The sum of millicores, bytes and counts, as descheduler sorts nodes.
    pub(super) fn raw_sum(&self) -> u128 {
        self.usage.iter().map(|(r, used)| u128::from(counted(*r, *used).get())).sum()
    }
}

/// The usage of a node as descheduler knows it: its average of metrics.k8s.io, the present value
/// of Prometheus, or the requests of its pods including the terminating ones.
fn used(draft: &Draft<'_>, basis: Basis, node: NodeId, resource: ResourceId) -> Amount {
    let (usage, source) = (draft.world.usage, draft.world.policy.usage.source);
    let reading = match source {
        SourceKind::MetricsApi => usage.collected(node),
        SourceKind::Prometheus => usage.reading(node),
    };
    let reading = reading.unwrap_or_default();
    match (basis, resource) {
        (Basis::Actual, ResourceId::CPU) => reading.cpu,
        (Basis::Actual, ResourceId::MEMORY) => reading.memory,
        _ => {
            let snapshot = draft.world.snapshot;
            snapshot.node(node).pods.iter().map(|p| snapshot.pod(*p).requests[resource]).sum()
        }
    }
}

/// The measured usage of a pod, or its requests. Estimates do not count.
pub(super) fn weight(
    draft: &Draft<'_>,
    basis: Basis,
    pod: PodId,
    resource: ResourceId,
) -> Option<Amount> {
    let reading = match draft.world.usage.pods.get(pod.0) {
        Some(PodUsage::Known(used)) => Some(*used),
        _ => None::<Measure>,
    };
    match (basis, resource) {
        (Basis::Actual, ResourceId::CPU) => reading.map(|m| m.cpu),
        (Basis::Actual, ResourceId::MEMORY) => reading.map(|m| m.memory),
        _ => Some(draft.world.snapshot.pod(pod).requests[resource]),
    }
}

/// Whether the node has the resource at all.
fn has(draft: &Draft<'_>, node: NodeId, resource: ResourceId) -> bool {
    let facts: &NodeFacts = draft.world.snapshot.node(node);
    let name = draft.world.snapshot.resources.name(resource);
    facts.allocatable.iter().any(|(n, _)| n == name)
}

/// The amount in the unit in which descheduler counts: cpu in millicores, rounded up; otherwise the
/// base unit.
const fn counted(resource: ResourceId, amount: Amount) -> Amount {
    match resource {
        ResourceId::CPU => Amount::new(amount.get().div_ceil(MILLI)),
        _ => amount,
    }
}

/// A percentage of the whole, rounded down in descheduler's unit. The order of the factors is
/// descheduler's as well.
fn part(resource: ResourceId, whole: Amount, percent: f64) -> Amount {
    let part = Amount::from_f64((percent * 0.01 * counted(resource, whole).as_f64()).floor());
    if resource == ResourceId::CPU { Amount::new(part.get().saturating_mul(MILLI)) } else { part }
}

fn percent(used: Amount, whole: Amount) -> f64 {
    if whole == Amount::ZERO { 0.0 } else { used.as_f64() / whole.as_f64() * 100.0 }
}

/// The percentage as written in the policy. A ratio multiplied by 100 may be off in the last digit.
fn in_percent(ratio: Ratio) -> f64 {
    (ratio.get() * 100.0 * 1e9).round() / 1e9
}

pub(super) fn to_ratio(percent: f64) -> Ratio {
    Ratio::percent(percent).unwrap_or_default()
}

/// Nanocores in a millicore.
const MILLI: u64 = Amount::NANOS / 1000;
