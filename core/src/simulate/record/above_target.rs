//! The time that nodes spend above their targets, counted in every step.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::model::snapshot::Snapshot;
use crate::policy::Basis;
use crate::simulate::metrics::Used;
use crate::simulate::trace::{TimeAbove, TraceBand, hour_since};
use crate::values::Ratio;

/// Counts the nodes above a target and adds up their time.
pub(super) struct HotTimeCount {
    /// The target of each measured resource.
    targets: Vec<(String, Ratio)>,
    start: Timestamp,
    /// The last step, and how many nodes were above each target then.
    last: Option<(Timestamp, Vec<u32>)>,
    time: BTreeMap<String, TimeAbove>,
    relief: ReliefTime,
}

/// When most of the excess was gone. The excess is the sum of what nodes use above their targets,
/// as shares of their size, over nodes and resources.
#[derive(Default)]
struct ReliefTime {
    /// The excess of the first step.
    first: Option<f64>,
    /// The first step with at most [`REMAINS`] of it.
    reached: Option<Timestamp>,
}

/// The share of the excess that remains when a cluster counts as relieved.
const REMAINS: f64 = 0.1;

impl HotTimeCount {
    /// Counts nothing if the policy does not balance by usage.
    pub(super) fn new(start: Timestamp, basis: Basis, bands: &BTreeMap<String, TraceBand>) -> Self {
        let counted = bands.iter().filter(|(name, band)| {
            let measured = ["cpu", "memory"].contains(&name.as_str());
            basis == Basis::Actual && measured && band.target < Ratio::ONE
        });
        let targets = counted.map(|(name, band)| (name.clone(), band.target));
        let targets: Vec<(String, Ratio)> = targets.collect();
        HotTimeCount {
            time: targets.iter().map(|(name, _)| (name.clone(), TimeAbove::default())).collect(),
            targets,
            start,
            last: None,
            relief: ReliefTime::default(),
        }
    }

    /// Counts the nodes of this step. Each counts until the next step.
    pub(super) fn note(&mut self, now: Timestamp, snapshot: &Snapshot, used: &Used) {
        let targets = self.targets.iter();
        let excesses: Vec<Vec<f64>> = targets
            .map(|(name, target)| excesses(name, *target, snapshot, used).collect())
            .collect();
        self.relief.note(now, excesses.iter().flatten().sum());
        let count = |above: &Vec<f64>| u32::try_from(above.len()).unwrap_or(u32::MAX);
        let counts = excesses.iter().map(count).collect();
        let Some((last, counts)) = self.last.replace((now, counts)) else {
            return;
        };
        let hour = hour_since(self.start, last);
        for ((name, _), count) in self.targets.iter().zip(counts) {
            let time = now.duration_since(last).saturating_mul(count.cast_signed());
            if let Some(sum) = self.time.get_mut(name) {
                sum.add(hour, time);
            }
        }
    }

    /// Returns the time from the start until a tenth of the first excess was left: zero without an
    /// excess, `None` if more remained.
    pub(super) fn relieved_after(&self) -> Option<SignedDuration> {
        Some(self.relief.reached?.duration_since(self.start))
    }

    pub(super) fn finish(mut self) -> BTreeMap<String, TimeAbove> {
        let at_end = self.last.map(|(_, counts)| counts).unwrap_or_default();
        for ((name, _), count) in self.targets.iter().zip(at_end) {
            if let Some(time) = self.time.get_mut(name) {
                time.nodes_at_end = count;
            }
        }
        self.time
    }
}

impl ReliefTime {
    fn note(&mut self, now: Timestamp, excess: f64) {
        let first = *self.first.get_or_insert(excess);
        if excess <= first * REMAINS {
            self.reached = self.reached.or(Some(now));
        }
    }
}

/// Returns how far each node that is above the target is above it.
fn excesses<'s>(
    resource: &'s str,
    target: Ratio,
    snapshot: &'s Snapshot,
    used: &'s Used,
) -> impl Iterator<Item = f64> {
    let id = snapshot.resources.find(resource);
    let nodes = snapshot.nodes.iter().zip(&used.nodes);
    let ratios = nodes.filter_map(move |(node, used)| {
        let used = (*used)?;
        let amount = if resource == "cpu" { used.cpu } else { used.memory };
        amount.share_of(node.allocatable[id?])
    });
    let above = ratios.filter(move |ratio| *ratio > target);
    above.map(move |ratio| ratio.get() - target.get())
}

impl TimeAbove {
    fn add(&mut self, hour: usize, time: SignedDuration) {
        if self.by_hour.len() <= hour {
            self.by_hour.resize(hour + 1, SignedDuration::ZERO);
        }
        self.total = self.total.saturating_add(time);
        self.by_hour[hour] = self.by_hour[hour].saturating_add(time);
    }
}
