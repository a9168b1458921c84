//! Whether samples are fresh and enough, and the one value that they become.

use jiff::{SignedDuration, Timestamp};
use statrs::statistics::{Data, Max, OrderStatistics, Statistics};

use crate::model::usage::average::DecayedAverage;
use crate::model::usage::{Measure, Sample, Unmeasured};
use crate::policy::Smoothing;
use crate::values::Amount;

use super::{History, PodSamples};

impl History {
    /// Checks that the newest sample is fresh. `flaw` is the reason why a newer one is not used.
    pub(super) fn fresh(
        &self,
        newest: Option<Timestamp>,
        flaw: Option<&Unmeasured>,
        now: Timestamp,
    ) -> Result<(), Unmeasured> {
        let or_flaw = |why: Unmeasured| flaw.cloned().unwrap_or(why);
        let newest = newest.ok_or_else(|| or_flaw(Unmeasured::Missing))?;
        let age = now.duration_since(newest);
        if age > self.rules.stale_after {
            return Err(or_flaw(Unmeasured::Stale(age)));
        }
        if age < -self.rules.stale_after { Err(Unmeasured::Future(-age)) } else { Ok(()) }
    }

    pub(super) fn enough(&self, samples: usize) -> Result<(), Unmeasured> {
        // A steady record has one reading that stands for a whole window.
        let have = u32::try_from(samples).unwrap_or(u32::MAX);
        let need = if self.steady { 1 } else { self.rules.min_samples };
        if have < need { Err(Unmeasured::Few { have, need }) } else { Ok(()) }
    }

    pub(super) fn smooth_pod(&self, samples: &PodSamples) -> Measure {
        if self.rules.smoothing.half_life().is_some() {
            samples.average().mean().unwrap_or_default()
        } else {
            self.smooth(samples.iter())
        }
    }

    pub(super) fn smooth(&self, samples: impl Iterator<Item = Sample>) -> Measure {
        smooth(samples, self.rules.smoothing)
    }
}

/// Smooths cpu and memory separately. The samples are in the order of time. Returns zero without
/// samples.
fn smooth(samples: impl Iterator<Item = Sample>, by: Smoothing) -> Measure {
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
