//! The course of a pod's usage: its mean in each of the last periods of three minutes.
//!
//! The courses of the pods that are on a node now add up to what the node would have used with just
//! these pods. So the trend of a node needs no history of the node, and a move changes it at once.

use std::collections::VecDeque;

use jiff::Timestamp;

use crate::model::usage::Measure;
use crate::model::usage::compact::Compact;
use crate::values::{Amount, ResourceId};

/// The length of a period in milliseconds: at least three samples of a source that has one every
/// minute.
const PERIOD: i64 = 180_000;
/// The room that is added when more periods are kept.
const MORE: usize = 8;

/// Usage in the last periods, the newest first. The first value ends now.
pub(super) type Periods = [f64; Course::PERIODS];

/// The means of the last periods, in four bytes each.
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    /// The number of the period that has begun, in periods since 1970.
    current: i64,
    /// The sums over the samples of that period.
    cpu: f64,
    memory: f64,
    samples: u32,
    /// The periods before it, the oldest first.
    ended: VecDeque<[Compact; 2]>,
}

impl Course {
    /// The number of periods: two hours.
    pub(super) const PERIODS: usize = 40;
    /// The length of a period in minutes.
    pub(super) const MINUTES: f64 = 3.0;

    /// Adds a sample. Samples come in the order of time.
    pub(super) fn add(&mut self, at: Timestamp, used: Measure) {
        let period = at.as_millisecond().div_euclid(PERIOD);
        if period != self.current {
            self.end(period);
        }
        self.cpu += used.cpu.as_f64();
        self.memory += used.memory.as_f64();
        self.samples += 1;
    }

    /// Ends the current period, because this one has begun. Periods without a sample repeat the
    /// last one.
    fn end(&mut self, next: i64) {
        if let Some(mean) = self.mean() {
            let most = i64::try_from(Self::PERIODS).unwrap_or(i64::MAX);
            for _ in 0..(next - self.current).clamp(1, most) {
                self.keep(mean.map(Compact::new));
            }
        }
        *self = Course {
            current: next,
            ended: std::mem::take(&mut self.ended),
            ..Course::default()
        };
    }

    fn keep(&mut self, mean: [Compact; 2]) {
        if self.ended.len() == Self::PERIODS {
            self.ended.pop_front();
        }
        if self.ended.len() == self.ended.capacity() {
            self.ended.reserve_exact(MORE);
        }
        self.ended.push_back(mean);
    }

    /// The mean of the current period; `None` without samples.
    fn mean(&self) -> Option<[f64; 2]> {
        let samples = f64::from(self.samples);
        (self.samples > 0).then(|| [self.cpu / samples, self.memory / samples])
    }

    /// Whether a whole period is known, so that there is something to compare the present with.
    pub(super) fn has_past(&self) -> bool {
        !self.ended.is_empty()
    }

    /// Returns the usage of cpu or memory in the periods before now. Periods from before the first
    /// one repeat it. `None` without samples.
    ///
    /// The current period has lasted for a part of its length. Each value mixes two periods by that
    /// part, so that all values are of whole periods that end now.
    pub(super) fn periods(&self, resource: ResourceId, now: Timestamp) -> Option<Periods> {
        let part = usize::from(resource == ResourceId::MEMORY);
        let ended = |back: usize| {
            let position = self.ended.len().checked_sub(back + 1)?;
            Some(self.ended[position][part].get())
        };
        let oldest = self.ended.front().map(|first| first[part].get());
        let current = self.mean().map(|mean| mean[part]).or_else(|| ended(0))?;
        let begun = now.as_millisecond() - self.current * PERIOD;
        let share = (Amount::new(begun.try_into().unwrap_or_default()).as_f64()
            / Amount::new(PERIOD.unsigned_abs()).as_f64())
        .min(1.0);
        let mut newer = current;
        Some(std::array::from_fn(|back| {
            let older = ended(back).or(oldest).unwrap_or(current);
            let mixed = newer * share + older * (1.0 - share);
            newer = older;
            mixed
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
        let mut course = Course::default();
        for second in (0..=660).step_by(every) {
            let cpu = Amount::new(1000 + u64::try_from(second).unwrap());
            let memory = Amount::new(7);
            course.add(at(second.into()), Measure { cpu, memory });
        }
        course
    }

    #[test]
    fn without_samples_there_is_no_course() {
        assert_eq!(Course::default().periods(ResourceId::CPU, at(0)), None);
    }

    #[test]
    fn constant_usage_is_the_same_in_all_periods() {
        let memory = rising(15).periods(ResourceId::MEMORY, at(660)).unwrap();
        assert!(memory.iter().all(|mean| (mean - 7.0).abs() < 1e-9));
    }

    #[test]
    fn each_value_is_the_mean_of_a_whole_period_that_ends_now() {
        let cpu = rising(15).periods(ResourceId::CPU, at(660)).unwrap();
        // The last three minutes begin at 480, so that their middle is 570. The period that ended
        // at 540 counts as if it were the same all the time, which is late by an eighth at most.
        assert!((cpu[0] - 1570.0).abs() < 23.0, "{}", cpu[0]);
        assert!((cpu[1] - 1390.0).abs() < 10.0, "{}", cpu[1]);
        assert!(cpu[5..].iter().all(|mean| (mean - cpu[5]).abs() < 1e-9));
    }

    #[test]
    fn a_source_with_fewer_samples_gives_the_same_course() {
        let dense = rising(15).periods(ResourceId::CPU, at(660)).unwrap();
        for every in [30, 60] {
            let sparse = rising(every).periods(ResourceId::CPU, at(660)).unwrap();
            let off = dense.iter().zip(sparse).map(|(a, b)| (a - b).abs());
            assert!(off.fold(0.0, f64::max) < 25.0, "{every} s");
        }
    }

    #[test]
    fn two_hours_are_kept_and_gaps_repeat_the_last_period() {
        let mut course = rising(15);
        course.add(at(90_000), Measure::default());
        let cpu = course.periods(ResourceId::CPU, at(90_000)).unwrap();
        assert_eq!(course.ended.len(), Course::PERIODS);
        assert!(cpu.iter().all(|mean| (1590.0..1670.0).contains(mean)));
    }
}
