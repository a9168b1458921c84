//! The average of all samples of a pod in which older samples count less, and how far the samples
//! are from it.
//!
//! The average needs no samples to be kept, so it can reach further back than the window.

use jiff::SignedDuration;

use crate::model::usage::Measure;
use crate::values::Amount;

/// The average and the variance of cpu and memory, with exponentially decreasing weights.
///
/// After each sample all earlier weights are multiplied by a factor that depends on the time since
/// then. Mean and variance are updated together (D. H. D. West, Communications of the ACM 22,
/// 1979), so that constant usage has exactly its own mean and no variance.
///
/// An example: after 100m, a sample of 200m comes a half-life later. The weights are 0.5 and 1, the
/// mean is 167m, and the deviation √((0.5 × 67² + 33²) ÷ 1.5) = 47m.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DecayedAverage {
    /// The sum of the weights. The newest sample has the weight one.
    weight: f32,
    cpu: Moments,
    memory: Moments,
}

#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    mean: f64,
    variance: f32,
}

impl DecayedAverage {
    /// Adds a sample this long after the last one.
    pub(super) fn add(&mut self, used: Measure, since: SignedDuration, half_life: SignedDuration) {
        let age = since.as_secs_f64().max(0.0) / half_life.as_secs_f64();
        let earlier = self.weight * decay(age);
        self.weight = earlier + 1.0;
        self.cpu.add(used.cpu, earlier, self.weight);
        self.memory.add(used.memory, earlier, self.weight);
    }

    /// Returns the average; `None` without samples.
    pub(super) fn mean(&self) -> Option<Measure> {
        (self.weight > 0.0).then(|| Measure {
            cpu: Amount::from_f64(self.cpu.mean),
            memory: Amount::from_f64(self.memory.mean),
        })
    }

    /// Returns the standard deviation of the samples.
    pub(super) fn deviation(&self) -> Measure {
        let of = |moments: Moments| Amount::from_f64(f64::from(moments.variance).sqrt());
        Measure { cpu: of(self.cpu), memory: of(self.memory) }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a factor between zero and one needs no more digits"
)]
fn decay(half_lives: f64) -> f32 {
    (-half_lives).exp2() as f32
}

impl Moments {
    #[expect(clippy::cast_possible_truncation, reason = "a variance needs no more digits")]
    fn add(&mut self, value: Amount, earlier: f32, weight: f32) {
        let distance = value.as_f64() - self.mean;
        self.mean += distance / f64::from(weight);
        let more = distance * (value.as_f64() - self.mean);
        let sum = f64::from(self.variance) * f64::from(earlier) + more;
        self.variance = (sum / f64::from(weight)) as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: SignedDuration = SignedDuration::from_mins(1);

    fn average(values: &[u64]) -> DecayedAverage {
        let mut average = DecayedAverage::default();
        for value in values {
            let used = Measure { cpu: Amount::new(*value), memory: Amount::new(7) };
            average.add(used, MINUTE, MINUTE);
        }
        average
    }

    #[test]
    fn without_samples_there_is_no_average() {
        assert_eq!(average(&[]).mean(), None);
    }

    #[test]
    fn constant_usage_is_its_own_average_and_does_not_vary() {
        let constant = average(&[1_234_567_891; 500]);
        assert_eq!(constant.mean().unwrap().cpu, Amount::new(1_234_567_891));
        assert_eq!(constant.deviation(), Measure::default());
    }

    #[test]
    fn the_weight_halves_with_each_half_life() {
        // (100 × 1/4 + 200 × 1/2 + 400) / (7/4)
        assert_eq!(average(&[100, 200, 400]).mean().unwrap().cpu, Amount::new(300));
    }

    #[test]
    fn the_deviation_is_that_of_the_weighted_samples() {
        // Weights 1/3 and 2/3: the mean is 200, the variance (200² + 2 × 100²) / 3.
        let varied = average(&[0, 300]);
        assert_eq!(varied.mean().unwrap().cpu, Amount::new(200));
        assert_eq!(varied.deviation().cpu, Amount::new(141));
        assert_eq!(varied.deviation().memory, Amount::ZERO);
    }

    #[test]
    fn forty_bytes_hold_it() {
        assert_eq!(size_of::<DecayedAverage>(), 40);
    }
}
