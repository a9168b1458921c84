//! The average of a node's samples as a running descheduler keeps it.

use jiff::{SignedDuration, Timestamp};

use crate::model::usage::Measure;
use crate::values::Amount;

/// How often descheduler reads the usage of every node from the metrics API
/// (`pkg/descheduler/metricscollector`).
const EVERY: SignedDuration = SignedDuration::from_secs(5);
/// The weight of the earlier average beside a new value.
const EARLIER: f64 = 0.9;
/// The most values that one poll stands for: after as many, only the newest one counts.
const MOST: i64 = 100;
/// Nanocores in a millicore, the unit in which descheduler rounds cpu.
const MILLICORE: u64 = 1_000_000;

/// The average of values that are read every five seconds. The first one counts in full.
///
/// The metrics API changes its answer only with each scrape, so the values between two polls are
/// those of the earlier poll.
#[derive(Clone, Copy, Debug)]
pub(super) struct CollectedAverage {
    mean: Measure,
    /// The value of the last poll.
    held: Measure,
    at: Timestamp,
}

impl CollectedAverage {
    pub(super) fn new(used: Measure, at: Timestamp) -> Self {
        let mean = used.with(used, |_, value| value);
        let held = used;
        CollectedAverage { mean, held, at }
    }

    pub(super) const fn mean(&self) -> Measure {
        self.mean
    }

    /// Adds the value of a poll.
    pub(super) fn add(&mut self, used: Measure, now: Timestamp) {
        let reads = now.duration_since(self.at).as_secs() / EVERY.as_secs();
        if reads < 1 {
            self.held = used;
            return;
        }
        for _ in 1..reads.min(MOST) {
            self.mean = self.mean.with(self.held, weighted);
        }
        self.mean = self.mean.with(used, weighted);
        (self.held, self.at) = (used, now);
    }
}

fn weighted(earlier: f64, value: f64) -> f64 {
    (EARLIER * earlier + (1.0 - EARLIER) * value).round()
}

impl Measure {
    /// Combines two measures in millicores and in bytes.
    fn with(self, value: Self, of: fn(f64, f64) -> f64) -> Self {
        let milli = |cpu: Amount| cpu.as_f64() / Amount::new(MILLICORE).as_f64();
        let cpu = of(milli(self.cpu), milli(value.cpu)) * Amount::new(MILLICORE).as_f64();
        Measure {
            cpu: Amount::from_f64(cpu),
            memory: Amount::from_f64(of(self.memory.as_f64(), value.memory.as_f64())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(millicores: u64) -> Measure {
        Measure { cpu: Amount::new(millicores * MILLICORE), memory: Amount::new(millicores) }
    }

    #[test]
    fn a_poll_every_15_seconds_stands_for_three_reads() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let mut average = CollectedAverage::new(used(1000), at(0));
        // Read at 5, 10 and 15 s: twice the old value, once the new one.
        average.add(used(2000), at(15));
        assert_eq!(average.mean(), used(1100));
        // 0.9³ × 1100 + (1 − 0.9³) × 2000, rounded at each read.
        average.add(used(2000), at(30));
        assert_eq!(average.mean(), used(1344));
    }

    #[test]
    fn the_average_halves_its_distance_in_about_half_a_minute() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let mut average = CollectedAverage::new(used(0), at(0));
        for poll in 1..=7 {
            average.add(used(1000), at(5 * poll));
        }
        assert_eq!(average.mean(), used(522));
    }
}
