//! The usage of nodes: the sum over their pods, and what belongs to no pod.

use jiff::Timestamp;

use crate::model::snapshot::{NodeId, Pod, Snapshot};
use crate::model::usage::{Measure, NodeUsage, PodUsage, Sample, Unmeasured};

use super::History;
use super::alignment::since;
use super::samples::{smallest, without_outliers};
use super::series::{NodeSeries, Remainder};
use super::totals::{NodeTotals, by_pods};

/// The usage of a node beside its pods; an error if it is not known.
pub(super) type BesidePods = Result<Beside, Unmeasured>;

/// The usage of a node beside its pods.
#[derive(Clone, Copy)]
pub(super) struct Beside {
    /// The usage that belongs to no pod.
    remainder: Measure,
    /// How much more its pods use, by their own samples, than it does.
    excess: Measure,
}

/// Returns the usage of the nodes, given that of the pods.
pub(super) fn with_pods(
    snapshot: &Snapshot,
    beside: &[BesidePods],
    pods: &[PodUsage],
) -> Vec<NodeUsage> {
    let nodes = snapshot.node_ids().zip(beside);
    nodes
        .map(|(id, beside)| match beside {
            Ok(Beside { remainder, excess }) => {
                NodeUsage::Known(by_pods(snapshot, id, pods).plus(*remainder).minus(*excess))
            }
            Err(why) => NodeUsage::Unknown(why.clone()),
        })
        .collect()
}

impl History {
    /// Returns what the nodes use beside their pods, given what these use now.
    pub(super) fn beside_pods(
        &self,
        snapshot: &Snapshot,
        pods: &[PodUsage],
        now: Timestamp,
    ) -> Vec<BesidePods> {
        let of = |id| {
            let totals = self.totals(snapshot, id, now)?;
            if !self.rules.every_sample {
                totals.check(snapshot, id, pods)?;
            }
            Ok(Beside { remainder: totals.remainder, excess: totals.excess(snapshot, id, pods) })
        };
        snapshot.node_ids().map(of).collect()
    }

    /// Returns true if a pod without samples has run during all samples of its node, so that they
    /// include its usage. Only one reading that counts as a whole window does so: otherwise what a
    /// node uses beside its pods is known from samples without new pods.
    pub(super) fn is_in_node_samples(&self, snapshot: &Snapshot, pod: &Pod) -> bool {
        let series = pod.node.and_then(|node| self.nodes.get(&snapshot.node(node).name));
        let oldest = series.and_then(|series| series.remainders.front()).map(|r| r.sample);
        let begins = oldest.filter(|sample| !sample.window.is_zero());
        let begins = begins.and_then(|sample| sample.at.checked_sub(sample.window).ok());
        let runs = |begins| pod.running_since.is_some_and(|at| at.max(since(pod)) <= begins);
        self.steady && begins.is_some_and(runs)
    }

    fn totals(
        &self,
        snapshot: &Snapshot,
        id: NodeId,
        now: Timestamp,
    ) -> Result<NodeTotals, Unmeasured> {
        let series = self.nodes.get(&snapshot.node(id).name);
        self.smooth_node(series.ok_or(Unmeasured::Missing)?, now)
    }

    /// Returns the usage of a node that belongs to no pod, smoothed over the clean samples.
    ///
    /// Of a node that never had enough of them, because pods come and go all the time, it returns
    /// the smallest sample of a whole window, because each of the mixed samples is too large.
    fn smooth_node(&self, series: &NodeSeries, now: Timestamp) -> Result<NodeTotals, Unmeasured> {
        let newest = series.remainders.back().map(|r| r.sample.at);
        self.fresh(newest, series.flaw.as_ref(), now)?;
        let smooth = |samples: &mut dyn Iterator<Item = Sample>| self.smooth_total(samples);
        let recent = self.recent(series, now);
        match self.enough(series.clean().count().min(recent.clone().count())) {
            Ok(()) => {
                let remainder = smooth(&mut series.clean().map(Remainder::amount));
                Ok(NodeTotals::new(series.clean(), remainder, smooth))
            }
            Err(_) if self.steady || self.is_covered(recent.clone(), now) => {
                let remainder = smallest(recent.clone().map(Remainder::amount));
                Ok(NodeTotals::new(recent, remainder, smooth))
            }
            Err(few) => Err(few),
        }
    }

    /// Smooths samples of a node. Where older samples count less, the newest ones count most, so a
    /// wild one is left out first.
    fn smooth_total(&self, samples: &mut dyn Iterator<Item = Sample>) -> Measure {
        if self.rules.smoothing.half_life().is_none() {
            return self.smooth(samples);
        }
        let samples: Vec<Sample> = samples.collect();
        self.smooth(samples.iter().enumerate().map(|(position, sample)| {
            // The first two count as the third: they may be wild themselves.
            let first = position.saturating_sub(2);
            let three = samples.get(first..first + 3);
            let used = three.map(|three| without_outliers(three.iter().rev().map(|s| s.used)));
            Sample { used: used.unwrap_or(sample.used), ..*sample }
        }))
    }

    /// Returns the remainders of the window, and the newest one of all.
    fn recent<'s>(
        &self,
        series: &'s NodeSeries,
        now: Timestamp,
    ) -> impl Iterator<Item = &'s Remainder> + Clone + use<'s> {
        let start = now.checked_sub(self.rules.window).unwrap_or(Timestamp::MIN);
        let newest = series.remainders.len().saturating_sub(1);
        let all = series.remainders.iter().enumerate();
        all.filter(move |(i, r)| r.sample.at >= start || *i == newest).map(|(_, r)| r)
    }

    /// Returns true if enough samples cover the whole window. A window that is too short for them
    /// holds as many as it can.
    fn is_covered<'s>(
        &self,
        mut samples: impl Iterator<Item = &'s Remainder> + Clone,
        now: Timestamp,
    ) -> bool {
        let (window, poll) = (self.rules.window, self.rules.poll);
        let holds = |samples: i32| window >= poll.saturating_mul(samples);
        let is_short = !holds(i32::try_from(self.rules.min_samples).unwrap_or(i32::MAX));
        (is_short || self.enough(samples.clone().count()).is_ok())
            && samples.next().is_some_and(|oldest| {
                // One poll less than the window is enough, because the next sample would push the
                // oldest one out.
                now.duration_since(oldest.sample.at).saturating_add(poll) >= window
            })
    }
}
