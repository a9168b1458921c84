//! Smoothing of the samples of a window into one value.

use jiff::SignedDuration;
use statrs::statistics::{Data, Max, OrderStatistics, Statistics};

use crate::policy::Smoothing;
use crate::values::Amount;

use super::average::DecayedAverage;
use super::{Measure, Sample};

/// Smooths cpu and memory separately. The samples are in the order of time. Returns zero without
/// samples.
pub(super) fn smooth(samples: impl Iterator<Item = Sample>, by: Smoothing) -> Measure {
    if let Some(half) = by.half_life() {
        return weighted_by_age(samples, half);
    }
    let samples: Vec<Measure> = samples.map(|s| s.used).collect();
    let of = |part: fn(&Measure) -> Amount| {
        Amount::from_f64(statistic(samples.iter().map(|m| part(m).as_f64()).collect(), by))
    };
    Measure { cpu: of(|m| m.cpu), memory: of(|m| m.memory) }
}

/// Returns an average in which the weight of a sample halves with each such period of age; zero
/// without samples.
fn weighted_by_age(samples: impl Iterator<Item = Sample>, half: SignedDuration) -> Measure {
    let mut average = DecayedAverage::default();
    let mut last = None;
    for sample in samples {
        let since = sample.at.duration_since(last.replace(sample.at).unwrap_or(sample.at));
        average.add(sample.used, since, half);
    }
    average.mean().unwrap_or_default()
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
