//! What a pod uses over time, whatever it requests.

use jiff::SignedDuration;

use crate::model::usage::Measure;
use crate::values::{Amount, Ratio};

use super::random::{mix, unit};

/// What each pod of a workload uses.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Of cpu.
    pub cpu: Curve,
    /// Of memory.
    pub memory: Curve,
}

/// How the use of one resource goes over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Its course.
    pub shape: Shape,
    /// How far single samples lie beside it, up or down, as a share of it.
    pub noise: Ratio,
}

/// The course of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Always the same.
    Steady(Amount),
    /// Up and down as a sine, such as with the hours of a day.
    Wave {
        /// In the middle.
        mean: Amount,
        /// So much more at the top, and less at the bottom.
        swing: Amount,
        /// From one top to the next.
        period: SignedDuration,
        /// The top is so long after the start.
        peak: SignedDuration,
    },
    /// Little, and every now and then much.
    Bursts {
        /// Between bursts.
        base: Amount,
        /// In a burst.
        peak: Amount,
        /// From the begin of a burst to that of the next; the first begins after so long.
        every: SignedDuration,
        /// How long a burst is.
        length: SignedDuration,
    },
    /// Grows for as long as the pod lives.
    Leak {
        /// Of a new pod.
        base: Amount,
        /// So much more with each hour.
        per_hour: Amount,
    },
}

/// When a sample is taken: what a curve depends on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moment {
    /// How long the simulation has run.
    pub elapsed: SignedDuration,
    /// How long the pod has run.
    pub age: SignedDuration,
    /// What tells the noise of one pod and run from that of another.
    pub seed: u64,
}

impl Load {
    /// The same at all times.
    pub const fn steady(used: Measure) -> Self {
        Load {
            cpu: Curve::steady(used.cpu),
            memory: Curve::steady(used.memory),
        }
    }

    /// What a pod uses at a time.
    pub fn at(&self, moment: Moment) -> Measure {
        let other = Moment {
            seed: !moment.seed,
            ..moment
        };
        Measure {
            cpu: self.cpu.at(moment),
            memory: self.memory.at(other),
        }
    }
}

impl Curve {
    /// The same at all times.
    pub const fn steady(amount: Amount) -> Self {
        Curve {
            shape: Shape::Steady(amount),
            noise: Ratio::ZERO,
        }
    }

    /// What is used at a time.
    pub fn at(&self, moment: Moment) -> Amount {
        let used = self.shape.at(moment);
        if self.noise == Ratio::ZERO {
            return used;
        }
        let draw = unit(mix(
            moment.seed ^ mix(moment.elapsed.as_secs().unsigned_abs())
        ));
        Amount::from_f64(used.as_f64() * (1.0 + self.noise.get() * (2.0 * draw - 1.0)))
    }
}

impl Shape {
    fn at(self, Moment { elapsed, age, .. }: Moment) -> Amount {
        match self {
            Shape::Steady(amount) => amount,
            Shape::Wave {
                mean,
                swing,
                period,
                peak,
            } => {
                let turns = (elapsed.as_secs_f64() - peak.as_secs_f64()) / period.as_secs_f64();
                Amount::from_f64(
                    mean.as_f64() + swing.as_f64() * (turns * std::f64::consts::TAU).cos(),
                )
            }
            Shape::Bursts {
                base,
                peak,
                every,
                length,
            } => {
                let since = elapsed.as_secs() % every.as_secs().max(1);
                if elapsed >= every && since < length.as_secs() {
                    peak
                } else {
                    base
                }
            }
            Shape::Leak { base, per_hour } => {
                let hours = age.as_secs_f64().max(0.0) / 3600.0;
                base.plus(Amount::from_f64(per_hour.as_f64() * hours))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milli(shape: Shape, minutes: i64) -> u64 {
        let time = SignedDuration::from_mins(minutes);
        shape
            .at(Moment {
                elapsed: time,
                age: time,
                seed: 0,
            })
            .get()
            / 1_000_000
    }

    #[test]
    fn a_wave_is_at_its_top_when_its_peak_is_and_at_its_bottom_half_a_period_later() {
        let wave = Shape::Wave {
            mean: Amount::millicores(500),
            swing: Amount::millicores(300),
            period: SignedDuration::from_hours(24),
            peak: SignedDuration::from_hours(14),
        };
        assert_eq!(
            [2, 8, 14, 20, 38].map(|hour| milli(wave, hour * 60)),
            [200, 500, 800, 500, 800]
        );
    }

    #[test]
    fn bursts_begin_after_their_interval_and_last_as_long_as_they_are_said_to() {
        let bursts = Shape::Bursts {
            base: Amount::millicores(100),
            peak: Amount::millicores(2000),
            every: SignedDuration::from_mins(30),
            length: SignedDuration::from_mins(5),
        };
        assert_eq!(
            [0, 29, 30, 34, 35, 60].map(|minute| milli(bursts, minute)),
            [100, 100, 2000, 2000, 100, 2000]
        );
    }

    #[test]
    fn a_leak_grows_with_the_age_of_the_pod() {
        let leak = Shape::Leak {
            base: Amount::millicores(100),
            per_hour: Amount::millicores(60),
        };
        assert_eq!(
            [0, 30, 120].map(|minute| milli(leak, minute)),
            [100, 130, 220]
        );
    }

    #[test]
    fn noise_stays_within_its_share_and_differs_from_pod_to_pod() {
        let curve = Curve {
            noise: Ratio::percent(10.0).unwrap(),
            ..Curve::steady(Amount::millicores(1000))
        };
        let at = |seed| {
            curve
                .at(Moment {
                    seed,
                    ..Moment::default()
                })
                .get()
                / 1_000_000
        };
        let drawn: Vec<u64> = (0..100).map(at).collect();
        assert!(drawn.iter().all(|m| (900..=1100).contains(m)), "{drawn:?}");
        assert!(
            drawn.iter().any(|m| *m < 950) && drawn.iter().any(|m| *m > 1050),
            "{drawn:?}"
        );
    }
}
