//! The course of a pod's usage: its mean in each of the last periods of three minutes.
//!
//! The courses of the pods that are on a node now add up to the usage that the node would have had
//! with just these pods. So the trend of a node needs no history of the node, and a move changes it
//! at once.

use jiff::Timestamp;

use crate::model::usage::Measure;
use crate::model::usage::compact::Compact;
use crate::values::{Amount, ResourceId};

/// The length of a period in milliseconds: at least three samples of a source that has one every
/// minute.
const PERIOD: i64 = 180_000;

/// Usage in the last periods, the newest first. The first value ends now.
pub(super) type Periods = [f64; Course::PERIODS];
/// The same for each of [`Course::MEASURED`].
pub(super) type MeasuredPeriods = [Periods; Course::MEASURED.len()];

/// The newest means, each of the samples of one period, the newest first, for each of
/// [`Course::MEASURED`]. Unlike [`Periods`], they show a step in two differences at most.
pub(super) type Newest = [[f64; Course::NEWEST]; Course::MEASURED.len()];

/// The means of the last periods, in two bytes each.
#[derive(Clone, Debug)]
pub(super) struct Course {
    /// The number of the period that has begun, in periods since 1970.
    current: i64,
    /// The sums over the samples of that period.
    sums: [f64; Course::MEASURED.len()],
    samples: u32,
    /// Whether a period has ended.
    has_past: bool,
    /// The periods before it, the newest first. Those from before the first one repeat it.
    ended: [[Compact; Course::PERIODS]; Course::MEASURED.len()],
}

impl Course {
    /// The resources that have a course, in the order of their values.
    pub(super) const MEASURED: [ResourceId; 2] = [ResourceId::CPU, ResourceId::MEMORY];
    /// The number of periods: two hours.
    pub(super) const PERIODS: usize = 40;
    /// The number of the newest means.
    pub(super) const NEWEST: usize = 16;
    /// The length of a period in minutes.
    pub(super) const MINUTES: f64 = 3.0;

    /// A course without samples.
    pub(super) const fn new() -> Self {
        Course {
            current: 0,
            sums: [0.0; Self::MEASURED.len()],
            samples: 0,
            has_past: false,
            ended: [[Compact::ZERO; Self::PERIODS]; Self::MEASURED.len()],
        }
    }

    /// Adds a sample. Samples come in the order of time.
    pub(super) fn add(&mut self, at: Timestamp, used: Measure) {
        let period = at.as_millisecond().div_euclid(PERIOD);
        if period != self.current {
            self.end(period);
        }
        for (sum, used) in self.sums.iter_mut().zip([used.cpu, used.memory]) {
            *sum += used.as_f64();
        }
        self.samples += 1;
    }

    /// Ends the current period, because this one has begun. Periods without a sample repeat the
    /// last one.
    fn end(&mut self, next: i64) {
        if let Some(means) = self.means() {
            let ended = usize::try_from(next - self.current).unwrap_or(1);
            let ended = if self.has_past { ended } else { Self::PERIODS };
            let ended = ended.clamp(1, Self::PERIODS);
            for (periods, mean) in self.ended.iter_mut().zip(means) {
                periods.copy_within(..Self::PERIODS - ended, ended);
                periods[..ended].fill(Compact::new(mean));
            }
            self.has_past = true;
        }
        (self.current, self.samples) = (next, 0);
        self.sums = [0.0; Self::MEASURED.len()];
    }

    /// The means of the current period; `None` without samples.
    fn means(&self) -> Option<[f64; Self::MEASURED.len()]> {
        let samples = f64::from(self.samples);
        (self.samples > 0).then(|| self.sums.map(|sum| sum / samples))
    }

    /// Returns the means of the current period and of the ones before it; `None` if no whole period
    /// is known.
    pub(super) fn newest(&self) -> Option<Newest> {
        let means = self.means().filter(|_| self.has_past)?;
        Some(std::array::from_fn(|resource| {
            let ended = &self.ended[resource];
            std::array::from_fn(
                |back| if back == 0 { means[resource] } else { ended[back - 1].get() },
            )
        }))
    }

    /// Returns the usage of each resource in the periods before now; `None` if no whole period is
    /// known, so that there is nothing to compare the present with.
    ///
    /// The current period has lasted for a part of its length. Each value mixes two periods by that
    /// part, so that all values are of whole periods that end now.
    pub(super) fn periods(&self, now: Timestamp) -> Option<MeasuredPeriods> {
        let means = self.means().filter(|_| self.has_past)?;
        let begun = now.as_millisecond() - self.current * PERIOD;
        let share = (Amount::new(begun.try_into().unwrap_or_default()).as_f64()
            / Amount::new(PERIOD.unsigned_abs()).as_f64())
        .min(1.0);
        Some(std::array::from_fn(|resource| {
            let older = self.ended[resource].map(Compact::get);
            let mut newer = older;
            newer.rotate_right(1);
            newer[0] = means[resource];
            std::array::from_fn(|back| newer[back] * share + older[back] * (1.0 - share))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// A course of ten minutes in which cpu rises by one each second, with a sample every so many
    /// seconds. It ends after two thirds of a period.
    fn rising(every: usize) -> Course {
        let mut course = Course::new();
        for second in (0..=660).step_by(every) {
            let cpu = Amount::new(1000 + u64::try_from(second).unwrap());
            let memory = Amount::new(7);
            course.add(at(second.into()), Measure { cpu, memory });
        }
        course
    }

    #[test]
    fn without_samples_there_is_no_course() {
        assert_eq!(Course::new().periods(at(0)), None);
    }

    #[test]
    fn constant_usage_is_the_same_in_all_periods() {
        let [_, memory] = rising(15).periods(at(660)).unwrap();
        assert!(memory.iter().all(|mean| (mean - 7.0).abs() < 1e-9));
    }

    #[test]
    fn each_value_is_the_mean_of_a_whole_period_that_ends_now() {
        let [cpu, _] = rising(15).periods(at(660)).unwrap();
        // The last three minutes begin at 480, so that their middle is 570. The period that ended
        // at 540 counts as if it were the same all the time, which is late by an eighth at most.
        assert!((cpu[0] - 1570.0).abs() < 23.0, "{}", cpu[0]);
        assert!((cpu[1] - 1390.0).abs() < 10.0, "{}", cpu[1]);
        assert!(cpu[5..].iter().all(|mean| (mean - cpu[5]).abs() < 1e-9));
    }

    #[test]
    fn a_source_with_fewer_samples_gives_the_same_course() {
        let [dense, _] = rising(15).periods(at(660)).unwrap();
        for every in [30, 60] {
            let [sparse, _] = rising(every).periods(at(660)).unwrap();
            let off = dense.iter().zip(sparse).map(|(a, b)| (a - b).abs());
            assert!(off.fold(0.0, f64::max) < 25.0, "{every} s");
        }
    }

    #[test]
    fn a_course_is_as_long_as_the_past_that_a_source_is_asked_for() {
        let policy = crate::policy::Policy::default_native();
        let past = policy.usage.trend_past().unwrap().as_millis();
        assert_eq!(past / i128::from(PERIOD), i128::try_from(Course::PERIODS).unwrap());
    }

    #[test]
    fn two_hours_are_kept_and_gaps_repeat_the_last_period() {
        let mut course = rising(15);
        course.add(at(90_000), Measure::default());
        let [cpu, _] = course.periods(at(90_000)).unwrap();
        assert!(cpu.iter().all(|mean| (1590.0..1670.0).contains(mean)));
    }
}
