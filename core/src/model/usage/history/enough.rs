//! Whether samples are fresh and enough, and the one value that they become.

use jiff::Timestamp;

use crate::model::usage::{Measure, Sample, Unmeasured, smoothing};
use crate::policy::Smoothing;

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
        match self.rules.smoothing {
            Smoothing::HalfLife(_) | Smoothing::Trend => {
                samples.average().mean().unwrap_or_default()
            }
            Smoothing::Mean | Smoothing::Max | Smoothing::Percentile(_) => {
                self.smooth(samples.iter())
            }
        }
    }

    pub(super) fn smooth(&self, samples: impl Iterator<Item = Sample>) -> Measure {
        smoothing::smooth(samples, self.rules.smoothing)
    }
}
