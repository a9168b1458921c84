//! Smoothing of the samples of a window into one value.

use jiff::{SignedDuration, Timestamp};
use statrs::statistics::{Data, Max, OrderStatistics, Statistics};

use crate::policy::Smoothing;
use crate::values::Amount;

use super::{Measure, Sample};

/// Smooths cpu and memory separately. Returns zero without samples.
pub(super) fn smooth(
    samples: impl Iterator<Item = Sample>,
    by: Smoothing,
    now: Timestamp,
) -> Measure {
    if let Some(half) = by.half_life() {
        return weighted_by_age(samples, half, now);
    }
    let samples: Vec<Measure> = samples.map(|s| s.used).collect();
    let of = |part: fn(&Measure) -> Amount| {
        Amount::from_f64(statistic(samples.iter().map(|m| part(m).as_f64()).collect(), by))
    };
    Measure { cpu: of(|m| m.cpu), memory: of(|m| m.memory) }
}

/// Returns an average in which the weight of a sample halves with each such period of age; zero
/// without samples.
fn weighted_by_age(
    samples: impl Iterator<Item = Sample>,
    half: SignedDuration,
    now: Timestamp,
) -> Measure {
    let (mut cpu, mut memory, mut sum) = (0.0, 0.0, 0.0);
    for sample in samples {
        let age = now.duration_since(sample.at).as_secs_f64().max(0.0);
        let weight = (-age / half.as_secs_f64()).exp2();
        cpu += sample.used.cpu.as_f64() * weight;
        memory += sample.used.memory.as_f64() * weight;
        sum += weight;
    }
    if sum == 0.0 {
        return Measure::default();
    }
    Measure { cpu: Amount::from_f64(cpu / sum), memory: Amount::from_f64(memory / sum) }
}

/// Returns one statistic of the values; zero without values.
fn statistic(values: Vec<f64>, by: Smoothing) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    match by {
        Smoothing::Mean | Smoothing::HalfLife(_) | Smoothing::Trend => values.mean(),
        Smoothing::Max => Data::new(values).max(),
        Smoothing::Percentile(share) => Data::new(values).quantile(share.get()),
    }
}
