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
}

impl HotTimeCount {
    /// Counts nothing if the policy does not balance by usage.
    pub(super) fn new(start: Timestamp, basis: Basis, bands: &BTreeMap<String, TraceBand>) -> Self {
        let counted = bands.iter().filter(|(name, band)| {
            let measured = ["cpu", "memory"].contains(&name.as_str());
            basis == Basis::Actual && measured && band.high < Ratio::ONE
        });
        let targets = counted.map(|(name, band)| (name.clone(), band.high));
        let targets: Vec<(String, Ratio)> = targets.collect();
        HotTimeCount {
            time: targets
                .iter()
                .map(|(name, _)| (name.clone(), TimeAbove::default()))
                .collect(),
            targets,
            start,
            last: None,
        }
    }

    /// Counts the nodes of this step. Each counts until the next step.
    pub(super) fn note(&mut self, now: Timestamp, snapshot: &Snapshot, used: &Used<'_>) {
        let counts = self.targets.iter().map(|(name, target)| {
            let count = nodes_above(name, *target, snapshot, used);
            u32::try_from(count).unwrap_or(u32::MAX)
        });
        let counts = counts.collect();
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

    pub(super) fn finish(self) -> BTreeMap<String, TimeAbove> {
        self.time
    }
}

fn nodes_above(resource: &str, target: Ratio, snapshot: &Snapshot, used: &Used<'_>) -> usize {
    let Some(id) = snapshot.resources.find(resource) else {
        return 0;
    };
    let ratios = snapshot.nodes.iter().filter_map(|node| {
        let used = used.nodes.get(node.name.as_str())?;
        let amount = if resource == "cpu" {
            used.cpu
        } else {
            used.memory
        };
        amount.share_of(node.allocatable[id])
    });
    ratios.filter(|ratio| *ratio > target).count()
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
