//! The usage of a pod over time, independent of its requests.

use std::sync::Arc;

use jiff::SignedDuration;

use crate::model::usage::Measure;
use crate::values::{Amount, Ratio};

use super::random::{mix, unit};
use super::rows::UsageRows;

/// The usage of each pod of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Usage of cpu.
    pub cpu: Curve,
    /// Usage of memory.
    pub memory: Curve,
}

/// The usage of one resource over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The shape without noise.
    pub shape: Shape,
    /// The largest deviation of a sample from the shape, as a share of it.
    pub noise: Ratio,
}

/// The shape of a curve.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Constant.
    Steady(Amount),
    /// A sine, for example over the hours of a day.
    Wave {
        /// The mean.
        mean: Amount,
        /// The difference between the mean and the maximum.
        swing: Amount,
        /// The time from one maximum to the next.
        period: SignedDuration,
        /// The time of the first maximum after the start.
        peak: SignedDuration,
    },
    /// Low, with regular bursts.
    Bursts {
        /// Usage between bursts.
        base: Amount,
        /// Usage in a burst.
        peak: Amount,
        /// The time from the start of one burst to the next. The first burst starts after this
        /// time.
        every: SignedDuration,
        /// The duration of a burst.
        length: SignedDuration,
    },
    /// Growth over the life of the pod.
    Leak {
        /// Usage of a new pod.
        base: Amount,
        /// Growth per hour.
        per_hour: Amount,
    },
    /// Recorded usage.
    Trace {
        /// The recording.
        rows: Arc<UsageRows>,
        /// The row of the pod.
        row: usize,
        /// The time from one value of the row to the next.
        step: SignedDuration,
        /// The amount that a value of one stands for.
        unit: Amount,
    },
}

/// The parameters of a sample.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moment {
    /// The time since the start of the simulation.
    pub elapsed: SignedDuration,
    /// The age of the pod.
    pub age: SignedDuration,
    /// A seed that differs between pods and runs.
    pub seed: u64,
}

impl Load {
    /// Creates a constant load.
    pub const fn steady(used: Measure) -> Self {
        Load { cpu: Curve::steady(used.cpu), memory: Curve::steady(used.memory) }
    }

    /// Returns the usage of one of several pods: each has its own row of a recording.
    #[must_use]
    pub fn of_replica(&self, replica: usize) -> Self {
        Load { cpu: self.cpu.of_replica(replica), memory: self.memory.of_replica(replica) }
    }

    /// Returns true if the pods of a workload differ in their usage.
    pub const fn differs_between_replicas(&self) -> bool {
        self.cpu.is_recorded() || self.memory.is_recorded()
    }

    /// Returns the usage of a pod at a moment.
    pub fn at(&self, moment: Moment) -> Measure {
        let other = Moment {
            // Another seed, so that noise of cpu and of memory is independent.
            seed: !moment.seed,
            ..moment
        };
        Measure { cpu: self.cpu.at(moment), memory: self.memory.at(other) }
    }
}

impl Curve {
    /// Creates a constant curve.
    pub const fn steady(amount: Amount) -> Self {
        Curve { shape: Shape::Steady(amount), noise: Ratio::ZERO }
    }

    const fn is_recorded(&self) -> bool {
        matches!(self.shape, Shape::Trace { .. })
    }

    fn of_replica(&self, replica: usize) -> Self {
        let mut curve = self.clone();
        if let Shape::Trace { row, .. } = &mut curve.shape {
            *row = row.saturating_add(replica);
        }
        curve
    }

    /// Returns the usage at a moment.
    pub fn at(&self, moment: Moment) -> Amount {
        let used = self.shape.at(moment);
        if self.noise == Ratio::ZERO {
            return used;
        }
        // The draw depends only on the pod and the time, so a sample does not depend on how often
        // usage is read.
        let draw = unit(mix(moment.seed ^ mix(moment.elapsed.as_secs().unsigned_abs())));
        Amount::from_f64(used.as_f64() * (1.0 + self.noise.get() * (2.0 * draw - 1.0)))
    }
}

impl Shape {
    fn at(&self, Moment { elapsed, age, .. }: Moment) -> Amount {
        match *self {
            Shape::Steady(amount) => amount,
            Shape::Wave { mean, swing, period, peak } => {
                let turns = (elapsed.as_secs_f64() - peak.as_secs_f64()) / period.as_secs_f64();
                Amount::from_f64(
                    mean.as_f64() + swing.as_f64() * (turns * std::f64::consts::TAU).cos(),
                )
            }
            Shape::Bursts { base, peak, every, length } => {
                let since = elapsed.as_secs() % every.as_secs().max(1);
                if elapsed >= every && since < length.as_secs() { peak } else { base }
            }
            Shape::Leak { base, per_hour } => {
                let hours = age.as_secs_f64().max(0.0) / 3600.0;
                base.plus(Amount::from_f64(per_hour.as_f64() * hours))
            }
            Shape::Trace { ref rows, row, step, unit } => {
                let steps = elapsed.as_secs_f64() / step.as_secs_f64();
                Amount::from_f64(unit.as_f64() * rows.at(row, steps))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milli(shape: &Shape, minutes: i64) -> u64 {
        let time = SignedDuration::from_mins(minutes);
        shape.at(Moment { elapsed: time, age: time, seed: 0 }).get() / 1_000_000
    }

    #[test]
    fn a_wave_has_its_maximum_at_its_peak_and_its_minimum_half_a_period_later() {
        let wave = Shape::Wave {
            mean: Amount::millicores(500),
            swing: Amount::millicores(300),
            period: SignedDuration::from_hours(24),
            peak: SignedDuration::from_hours(14),
        };
        assert_eq!(
            [2, 8, 14, 20, 38].map(|hour| milli(&wave, hour * 60)),
            [200, 500, 800, 500, 800]
        );
    }

    #[test]
    fn bursts_start_after_their_interval_and_last_for_their_duration() {
        let bursts = Shape::Bursts {
            base: Amount::millicores(100),
            peak: Amount::millicores(2000),
            every: SignedDuration::from_mins(30),
            length: SignedDuration::from_mins(5),
        };
        assert_eq!(
            [0, 29, 30, 34, 35, 60].map(|minute| milli(&bursts, minute)),
            [100, 100, 2000, 2000, 100, 2000]
        );
    }

    #[test]
    fn a_leak_grows_with_the_age_of_the_pod() {
        let leak = Shape::Leak { base: Amount::millicores(100), per_hour: Amount::millicores(60) };
        assert_eq!([0, 30, 120].map(|minute| milli(&leak, minute)), [100, 130, 220]);
    }

    #[test]
    fn noise_stays_within_its_share_and_differs_between_pods() {
        let curve = Curve {
            noise: Ratio::percent(10.0).unwrap(),
            ..Curve::steady(Amount::millicores(1000))
        };
        let at = |seed| curve.at(Moment { seed, ..Moment::default() }).get() / 1_000_000;
        let drawn: Vec<u64> = (0..100).map(at).collect();
        assert!(drawn.iter().all(|m| (900..=1100).contains(m)), "{drawn:?}");
        assert!(drawn.iter().any(|m| *m < 950) && drawn.iter().any(|m| *m > 1050), "{drawn:?}");
    }
}
