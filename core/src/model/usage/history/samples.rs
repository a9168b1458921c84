//! The samples of one pod, 16 bytes each, and the average of these and earlier ones.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};
use smallvec::SmallVec;

use crate::model::usage::average::DecayedAverage;
use crate::model::usage::{ContainerSet, Measure, Sample};
use crate::values::Amount;

use super::course::Course;

/// The room that is added when a window is full. Doubling would waste up to half of it.
const MORE: usize = 4;
/// The time of which most samples must show a change before the course follows it, in milliseconds.
/// A jump of a minute is in half of them.
const JUMP: i64 = 120_000;
/// The fewest samples of which one alone changes nothing.
const FEWEST: usize = 3;
/// The largest stored amount: 281,474 cores in nanocores, and 256 TiB in bytes.
const LARGEST: u64 = (1 << 48) - 1;

/// The samples of one pod, the oldest first. Times are kept in milliseconds, and the period of each
/// sample is not kept.
#[derive(Clone, Debug, Default)]
pub struct PodSamples {
    /// Milliseconds since 1970 from which the times of the samples count.
    start: i64,
    packed: VecDeque<PackedSample>,
    /// Of all samples, including those that have been removed.
    average: DecayedAverage,
    /// The means of the last two hours, if trends decide.
    course: Option<Box<Course>>,
}

/// A sample in 16 bytes.
#[derive(Clone, Copy, Debug)]
struct PackedSample {
    /// Milliseconds since the start: up to 49 days.
    at: u32,
    cpu: [u16; 3],
    memory: [u16; 3],
}

impl PodSamples {
    /// Returns the number of samples.
    pub fn len(&self) -> usize {
        self.packed.len()
    }

    /// Returns true without samples.
    pub fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    /// Returns the samples, the oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Sample> + Clone {
        self.packed.iter().map(|packed| self.unpacked(packed))
    }

    /// Returns the usage in each sample, the oldest first.
    pub fn used(&self) -> impl Iterator<Item = Measure> + Clone {
        self.packed.iter().map(PackedSample::used)
    }

    /// Returns the times of the oldest and of the newest sample; `None` without samples.
    pub fn span(&self) -> Option<(Timestamp, Timestamp)> {
        let at = |packed: &PackedSample| {
            Timestamp::from_millisecond(self.time(packed)).unwrap_or_default()
        };
        Some((at(self.packed.front()?), at(self.packed.back()?)))
    }

    /// Returns the average of all samples, weighted by age.
    pub(super) const fn average(&self) -> &DecayedAverage {
        &self.average
    }

    /// Returns the means of the last periods; `None` unless trends decide.
    pub(super) fn course(&self) -> Option<&Course> {
        self.course.as_deref()
    }

    /// Adds the newest sample to the means of the last periods.
    pub(super) fn follow(&mut self) {
        let Some(newest) = self.packed.back().map(|last| self.time(last)) else {
            return;
        };
        let newest_first = self.packed.iter().rev().enumerate();
        let new = newest_first.take_while(|(position, packed)| {
            *position < FEWEST || newest - self.time(packed) <= JUMP
        });
        let used = without_outliers(new.map(|(_, packed)| packed.used()));
        let at = Timestamp::from_millisecond(newest).unwrap_or_default();
        self.course.get_or_insert_with(|| Box::new(Course::new())).add(at, used);
    }

    /// Adds a sample unless it is known already: polls are more frequent than samples. Returns true
    /// if it is new.
    pub(super) fn push(&mut self, sample: Sample, half_life: SignedDuration) -> bool {
        let last = self.packed.back().map(|last| self.time(last));
        let since = last.map_or(0, |last| sample.at.as_millisecond() - last);
        let is_new = self.keep(sample);
        if is_new {
            let since = SignedDuration::from_millis(since);
            self.average.add(sample.used, since, half_life);
        }
        is_new
    }

    /// Keeps a sample unless it is known already.
    fn keep(&mut self, sample: Sample) -> bool {
        let at = sample.at.as_millisecond();
        if self.packed.is_empty() {
            self.start = at;
        } else if self.packed.back().is_some_and(|last| self.time(last) >= at) {
            return false;
        }
        if u32::try_from(at - self.start).is_err() {
            self.restart(at);
        }
        if self.packed.len() == self.packed.capacity() {
            self.packed.reserve_exact(MORE);
        }
        self.packed.push_back(PackedSample {
            at: u32::try_from(at - self.start).unwrap_or(u32::MAX),
            cpu: pack(sample.used.cpu),
            memory: pack(sample.used.memory),
        });
        true
    }

    /// Removes the samples that are older than the newest one by more than the window. It does not
    /// end now: the newest sample of a source is some seconds old, and a window that holds just
    /// enough samples would always lack one.
    pub(super) fn prune(&mut self, window: SignedDuration) {
        let newest = self.packed.back().map_or(0, |last| self.time(last));
        let is_old = |time: i64| SignedDuration::from_millis(newest - time) > window;
        while self.packed.front().is_some_and(|oldest| is_old(self.time(oldest))) {
            self.packed.pop_front();
        }
    }

    /// Counts times from the oldest sample that is near enough to this time.
    fn restart(&mut self, at: i64) {
        let near = at - i64::from(u32::MAX);
        let kept: Vec<Sample> = self.iter().filter(|s| s.at.as_millisecond() >= near).collect();
        self.start = kept.first().map_or(at, |s| s.at.as_millisecond());
        self.packed.clear();
        for sample in kept {
            self.keep(sample);
        }
    }

    fn time(&self, packed: &PackedSample) -> i64 {
        self.start + i64::from(packed.at)
    }

    fn unpacked(&self, packed: &PackedSample) -> Sample {
        Sample {
            at: Timestamp::from_millisecond(self.time(packed)).unwrap_or_default(),
            window: SignedDuration::ZERO,
            containers: ContainerSet::default(),
            used: packed.used(),
        }
    }
}

impl PackedSample {
    fn used(&self) -> Measure {
        Measure { cpu: unpack(self.cpu), memory: unpack(self.memory) }
    }
}

fn pack(amount: Amount) -> [u16; 3] {
    let number = amount.get().min(LARGEST);
    [32, 16, 0].map(|shift| u16::try_from(number >> shift & 0xffff).unwrap_or_default())
}

fn unpack(packed: [u16; 3]) -> Amount {
    let number = packed.into_iter().fold(0, |number, part| number << 16 | u64::from(part));
    Amount::new(number)
}

/// Returns the median of samples, of cpu and of memory; of fewer than three, the first. They are
/// the newest ones, the newest first. A wild one changes nothing.
pub(super) fn without_outliers(newest_first: impl Iterator<Item = Measure>) -> Measure {
    let newest: SmallVec<[Measure; 9]> = newest_first.collect();
    Measure {
        cpu: median(newest.iter().map(|used| used.cpu)),
        memory: median(newest.iter().map(|used| used.memory)),
    }
}

/// Returns the middle one of three or more amounts, or the smaller of two middle ones; of fewer
/// than three, the first.
fn median(amounts: impl Iterator<Item = Amount>) -> Amount {
    let mut amounts: SmallVec<[Amount; 9]> = amounts.collect();
    if amounts.len() < FEWEST {
        return amounts.first().copied().unwrap_or_default();
    }
    let middle = (amounts.len() - 1) / 2;
    *amounts.select_nth_unstable(middle).1
}

/// Returns the smallest cpu and the smallest memory of the samples.
pub(super) fn smallest(samples: impl Iterator<Item = Sample> + Clone) -> Measure {
    let cpu = samples.clone().map(|s| s.used.cpu).min();
    let memory = samples.map(|s| s.used.memory).min();
    Measure { cpu: cpu.unwrap_or_default(), memory: memory.unwrap_or_default() }
}

impl Sample {
    /// Returns true if the sample, with its window, is at least as new as this time.
    pub(super) fn reaches(&self, at: Timestamp) -> bool {
        self.at.saturating_add(self.window).is_ok_and(|until| until >= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HALF_LIFE: SignedDuration = SignedDuration::from_mins(10);

    fn sample(at: i64, cpu: u64, memory: u64) -> Sample {
        Sample {
            at: Timestamp::from_millisecond(at).unwrap(),
            window: SignedDuration::ZERO,
            containers: ContainerSet::default(),
            used: Measure { cpu: Amount::new(cpu), memory: Amount::new(memory) },
        }
    }

    #[test]
    fn a_sample_takes_sixteen_bytes() {
        assert_eq!(size_of::<PackedSample>(), 16);
    }

    #[test]
    fn samples_stay_for_the_window_before_the_newest_one() {
        let mut samples = PodSamples::default();
        (0..6).for_each(|at| assert!(samples.push(sample(at, 1, 1), HALF_LIFE)));
        samples.prune(SignedDuration::from_millis(2));
        assert_eq!(samples.len(), 3);
        samples.prune(SignedDuration::ZERO);
        assert_eq!(samples.len(), 1);
    }

    #[test]
    fn one_wild_sample_does_not_change_the_course() {
        let mut samples = PodSamples::default();
        for (at, cpu) in [(0, 100), (60, 100), (120, 9_000), (180, 100), (240, 100)] {
            samples.push(sample(at * 1000, cpu, 1), HALF_LIFE);
            samples.follow();
        }
        let now = Timestamp::from_second(240).unwrap();
        let course = samples.course().unwrap();
        let [cpu, _] = course.periods(now).unwrap();
        assert!(cpu.iter().all(|cpu| (cpu - 100.0).abs() < 1e-9), "{cpu:?}");
    }

    proptest! {
        #[test]
        fn samples_come_back_as_they_were(
            steps in prop::collection::vec((1..100_000_000i64, 0..=LARGEST, 0..=LARGEST), 1..90),
        ) {
            let (mut samples, mut expected, mut at) = (PodSamples::default(), Vec::new(), 0);
            for (step, cpu, memory) in steps {
                at += step;
                samples.push(sample(at, cpu, memory), HALF_LIFE);
                expected.push(sample(at, cpu, memory));
            }
            let found: Vec<Sample> = samples.iter().collect();
            // Samples that are more than 49 days older than the newest may be dropped.
            let kept = &expected[expected.len() - found.len()..];
            prop_assert_eq!(found.as_slice(), kept);
            let days = (at - kept[0].at.as_millisecond()) / 86_400_000;
            prop_assert!(kept.len() == expected.len() || days >= 20, "{} days", days);
        }
    }
}
