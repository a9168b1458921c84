//! The usage of a node in the next hour, and how long it is above a target.
//!
//! Now the node uses what it uses at present, and in the middle of the period that decides what is
//! expected of that period. Usage follows the line through both until the end of the period, and
//! then stands still, because the trend says nothing about later. Without a trend it stands still
//! from now on. Each minute differs from that line by chance, with the standard deviation of the
//! node. That of a trend is for half an hour, and grows with the root of the time, as errors that
//! add up do. So the time above a target is the sum of the probabilities of the sixty minutes.
//!
//! An example: a node uses 66 % and will use 62 % in two minutes, the middle of a period of four.
//! With a target of 60 % and no deviation it is above it for three minutes. With a deviation of
//! 3 points, each of the later minutes is above it with 25 %, so that the sum is 17 minutes.

use jiff::SignedDuration;
use statrs::function::erf::erfc;

use crate::model::ledger::key_of;
use crate::model::plan::{MoveWorth, Reason};
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::{Basis, LowNodeUtilization};
use crate::values::{Amount, NodeMinutes, Ratio, ResourceId};

use super::{Candidate, Draft};

/// The minutes for which the relief of a move counts.
const MINUTES: u32 = 60;
/// The deviation of an hour, as a multiple of that of half an hour.
const GROWTH: f64 = std::f64::consts::SQRT_2;

/// The expected usage of a node, in shares of its allocatable.
#[derive(Clone, Copy, Debug)]
struct NextHour {
    now: f64,
    /// The change in a minute, as long as the trend lasts.
    slope: f64,
    /// The minutes for which the trend lasts.
    lasts: f64,
    /// The standard deviation of a minute.
    deviation: f64,
}

impl NextHour {
    /// Returns the time above a target if the node uses this share more.
    fn above(self, target: Ratio, more: f64) -> NodeMinutes {
        let minutes = (0..MINUTES).map(|minute| {
            let at = (f64::from(minute) + 0.5).min(self.lasts);
            let distance = self.now + more + self.slope * at - target.get();
            probability_above(distance, self.deviation)
        });
        NodeMinutes::new(minutes.sum()).unwrap_or_default()
    }
}

impl Draft<'_> {
    /// Returns how long the node of a candidate is expected to be above the target in the next
    /// hour, after the moves so far; `None` as for [`Draft::worth`].
    pub fn time_above(&self, candidate: &Candidate) -> Option<NodeMinutes> {
        let (node, resource, target) = self.target_of(candidate)?;
        Some(self.next_hour(node, resource)?.above(target, 0.0))
    }

    /// Returns what an accepted move is worth, in addition to the moves before it; `None` unless
    /// LowNodeUtilization moves the pod because of usage, and if nothing is known about the next
    /// hour, as where usage by hour of day is learned.
    pub fn worth(&self, candidate: &Candidate) -> Option<MoveWorth> {
        let (node, resource, target) = self.target_of(candidate)?;
        let hour = self.next_hour(node, resource)?;
        let share = |pod: PodId| {
            let weight = self.weight(pod, resource, Basis::Actual)?;
            Some(self.share(node, resource, weight)?.get())
        };
        // All moves are booked, so the later ones are undone.
        let later = self.accepted().skip_while(|c| c.pod != candidate.pod).skip(1);
        let later = later.map(|c| c.pod).filter(|pod| self.node_of(*pod) == Some(node));
        let later: f64 = later.filter_map(share).sum();
        let without = hour.above(target, later + share(candidate.pod)?);
        let snapshot = self.world.snapshot;
        let key = key_of(snapshot, snapshot.pod(candidate.pod));
        Some(MoveWorth {
            relief: without.minus(hour.above(target, later)),
            ready_after: self.world.ledger.expected_start(&key),
            success: self.success_of(candidate.strategy, candidate.pod),
        })
    }

    fn node_of(&self, pod: PodId) -> Option<NodeId> {
        self.world.snapshot.pod(pod).node
    }

    /// The node, the resource and the target of a candidate that leaves because of usage.
    fn target_of(&self, candidate: &Candidate) -> Option<(NodeId, ResourceId, Ratio)> {
        let rule = &self.world.strategy(candidate.strategy).rule;
        LowNodeUtilization::of(rule)?;
        let Reason::HotNode { resource, target, basis: Basis::Actual, .. } = &candidate.reason
        else {
            return None;
        };
        let resource = self.world.snapshot.resources.find(resource)?;
        Some((self.node_of(candidate.pod)?, resource, *target))
    }

    /// The expected usage of a node in the next hour, after the moves so far.
    fn next_hour(&self, node: NodeId, resource: ResourceId) -> Option<NextHour> {
        let usage = self.world.usage;
        // Learned usage is that of the fullest hour, which may be a later one.
        if usage.outlook().is_some() {
            return None;
        }
        let share = |amount: Amount| self.share(node, resource, amount).map(Ratio::get);
        let load = share(self.load(node, resource, Basis::Actual)?)?;
        let before = share(usage.node(node)?.of(resource)?)?;
        let (present, ahead) = match usage.at_present(node) {
            Some((used, ahead)) => (share(used.of(resource)?)?, ahead),
            None => (before, SignedDuration::ZERO),
        };
        let lasts = ahead.as_secs_f64() / 60.0;
        // The mean of a period that begins now is the value in its middle.
        let slope = if lasts > 0.0 { (before - present) / (lasts / 2.0) } else { 0.0 };
        let growth = if usage.error(node).is_some() { GROWTH } else { 1.0 };
        let deviation = share(self.deviation(node, resource, Basis::Actual))?;
        Some(NextHour { now: present + load - before, slope, lasts, deviation: deviation * growth })
    }
}

/// The probability that usage is above a target from which its mean has this distance. The
/// deviations of many pods add up to a normal distribution.
fn probability_above(distance: f64, deviation: f64) -> f64 {
    if deviation <= 0.0 {
        return if distance > 0.0 { 1.0 } else { 0.0 };
    }
    erfc(-distance / deviation / std::f64::consts::SQRT_2) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn above(percent: f64, slope: f64, lasts: f64, deviation: f64) -> f64 {
        let hour = NextHour {
            now: percent / 100.0,
            slope: slope / 100.0,
            lasts,
            deviation: deviation / 100.0,
        };
        hour.above(Ratio::percent(60.0).unwrap(), 0.0).get()
    }

    fn is(found: f64, expected: f64) {
        assert!((found - expected).abs() < 0.05, "{found}");
    }

    #[test]
    fn usage_that_stands_still_is_above_its_target_all_the_time_or_never() {
        is(above(61.0, 0.0, 0.0, 0.0), 60.0);
        is(above(59.0, 0.0, 0.0, 0.0), 0.0);
    }

    #[test]
    fn usage_that_varies_is_above_its_target_for_a_part_of_the_time() {
        is(above(60.0, 0.0, 0.0, 5.0), 30.0);
        is(above(65.0, 0.0, 0.0, 5.0), 60.0 * 0.841_345);
        is(above(55.0, 0.0, 0.0, 5.0), 60.0 * 0.158_655);
    }

    #[test]
    fn usage_that_falls_is_above_its_target_until_it_reaches_it() {
        is(above(66.0, -2.0, 4.0, 0.0), 3.0);
        is(above(66.0, -2.0, 4.0, 3.0), 16.9);
    }

    #[test]
    fn usage_that_rises_is_above_its_target_from_then_on() {
        is(above(58.0, 0.2, 30.0, 0.0), 50.0);
    }

    #[test]
    fn a_trend_that_ends_before_the_target_leaves_the_node_hot() {
        is(above(70.0, -0.2, 30.0, 0.0), 60.0);
    }
}
