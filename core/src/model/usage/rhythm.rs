//! The cpu of one pod by hour of day, learned from the past.
//!
//! Working days and weekends are learned separately. Each hour has a mean and a deviation, in which
//! a day counts half as much as the day after it.
//!
//! An example: an hour has a mean of 265m and a deviation of 100m, so 265 + 0.35 × 100 = 300m is
//! usual. The pod uses 100m more than usual now. So far the same hour of earlier days was a better
//! forecast than the hour before: its squared errors are a third. So 300 + 0.25 × 100 = 325m is
//! expected.

use jiff::{SignedDuration, Timestamp};

use crate::values::Amount;

use super::compact::Compact;
use super::hindsight::EndedHour;

const HOURS: usize = 24;
const HOUR: i64 = 3600;
/// The weight of the newest day.
const NEWEST: f64 = 0.5;
/// The part of its deviation that is added to the mean of an hour: the pods of a node do not all
/// deviate at the same time. It was chosen on two weeks of office hours (`tests/it/learning.rs`):
/// with a quarter, nodes are above the target for longer, and with a half, more pods are evicted
/// than without learning.
const CAUTION: f64 = 0.35;
/// The least weight of the present in the hour that has begun, in which it still holds.
const THIS_HOUR: f64 = 0.5;
/// The end of an hour that decides nothing any more, in seconds.
const ALMOST_OVER: i64 = HOUR / 4;
/// The part of an hour that must have been observed.
const OBSERVED: i64 = HOUR / 2;

/// The usage of one pod by hour of day.
#[derive(Clone, Debug)]
pub(super) struct Rhythm {
    /// Hours of working days, then hours of weekends.
    slots: [Slot; 2 * HOURS],
    current: CurrentHour,
    /// The mean of the last complete hour.
    last: Compact,
    /// The squared errors of two forecasts of each hour, with the weights of its days: the usage at
    /// this hour of earlier days, and the usage of the hour before.
    by_day: f32,
    by_hour: f32,
}

/// One hour of the day.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    mean: Compact,
    deviation: Compact,
    /// Whether the hour has been observed.
    known: bool,
}

/// The hour that is observed now.
#[derive(Clone, Copy, Debug, Default)]
struct CurrentHour {
    /// The start, in hours since 1970.
    hour: i64,
    /// The time of the first and of the last sample, in seconds of the hour.
    first: u16,
    last: u16,
    count: u32,
    sum: f64,
    squares: f64,
}

impl Default for Rhythm {
    fn default() -> Self {
        Rhythm {
            slots: [Slot::default(); 2 * HOURS],
            current: CurrentHour::default(),
            last: Compact::default(),
            by_day: 0.0,
            by_hour: 0.0,
        }
    }
}

impl Rhythm {
    /// Adds a sample. Samples come in the order of time. Returns the hour before, if this is the
    /// first sample after it and if that hour had been learned earlier.
    pub(super) fn take(&mut self, at: Timestamp, cpu: Amount) -> Option<EndedHour> {
        let seconds = at.as_second();
        let hour = seconds.div_euclid(HOUR);
        let mut ended = None;
        if hour != self.current.hour {
            ended = self.close();
            self.current = CurrentHour { hour, ..CurrentHour::default() };
        }
        let second = u16::try_from(seconds.rem_euclid(HOUR)).unwrap_or_default();
        let current = &mut self.current;
        if current.count == 0 {
            current.first = second;
        }
        current.last = second;
        current.count += 1;
        current.sum += cpu.as_f64();
        current.squares += cpu.as_f64() * cpu.as_f64();
        ended
    }

    /// Returns the usage that is expected in an hour that comes, given the present usage; `None` if
    /// one of the two hours is unknown.
    ///
    /// The present counts as much as it was the better forecast in the past, and at least
    /// [`THIS_HOUR`] in the hour that has begun.
    pub(super) fn expected(&self, now: Timestamp, hour: i64, present: Amount) -> Option<Amount> {
        let usual = self.usual(hour)?;
        let this_hour = now.as_second().div_euclid(HOUR);
        let surprise = present.as_f64() - self.slot(this_hour)?.mean.get();
        let weight = if hour == this_hour {
            self.weight_of_present().max(THIS_HOUR)
        } else {
            self.weight_of_present()
        };
        Some(Amount::from_f64(usual.as_f64() + surprise * weight))
    }

    /// Returns the usage that is usual at an hour; `None` if the hour is unknown.
    pub(super) fn usual(&self, hour: i64) -> Option<Amount> {
        let slot = self.slot(hour)?;
        let usual = slot.mean.get() + CAUTION * slot.deviation.get();
        Some(Amount::from_f64(usual))
    }

    /// Returns the weight of the present, from zero to one, by the inverse of the squared errors.
    fn weight_of_present(&self) -> f64 {
        let (by_day, by_hour) = (f64::from(self.by_day), f64::from(self.by_hour));
        if by_day + by_hour == 0.0 {
            return 0.0;
        }
        by_day / (by_day + by_hour)
    }

    fn slot(&self, hour: i64) -> Option<Slot> {
        Some(self.slots[position(hour)]).filter(|slot| slot.known)
    }

    /// Learns the hour that has ended, unless only a part of it was observed.
    fn close(&mut self) -> Option<EndedHour> {
        let current = self.current;
        if current.count < 2 || i64::from(current.last - current.first) < OBSERVED {
            return None;
        }
        let count = f64::from(current.count);
        let mean = current.sum / count;
        let deviation = (current.squares / count - mean * mean).max(0.0).sqrt();
        let slot = &mut self.slots[position(current.hour)];
        let ended = slot.known.then(|| EndedHour {
            hour: current.hour,
            used: mean,
            usual: slot.mean.get(),
            unchanged: self.last.get(),
        });
        if let Some(ended) = ended {
            let learn = |error: f64, sum: &mut f32| {
                *sum = narrow(f64::from(*sum) * 0.95 + error * error * 0.05);
            };
            learn(ended.used - ended.usual, &mut self.by_day);
            learn(ended.used - ended.unchanged, &mut self.by_hour);
        }
        let newest = if slot.known { NEWEST } else { 1.0 };
        let mix = |old: f64, new: f64| old * (1.0 - newest) + new * newest;
        // Days differ from each other, too.
        let (old, between) = (slot.deviation.get(), mean - slot.mean.get());
        let variance =
            mix(old * old, deviation * deviation) + newest * (1.0 - newest) * between * between;
        *slot = Slot {
            mean: Compact::new(mix(slot.mean.get(), mean)),
            deviation: Compact::new(variance.sqrt()),
            known: true,
        };
        self.last = Compact::new(mean);
        ended
    }
}

/// Returns the hours since 1970 that decide: those of this period after now. An hour that is almost
/// over does not count.
pub(super) fn hours(now: Timestamp, ahead: SignedDuration) -> std::ops::RangeInclusive<i64> {
    let (first, last) = (now.as_second() + ALMOST_OVER, now.as_second() + ahead.as_secs() - 1);
    first.div_euclid(HOUR)..=last.max(first).div_euclid(HOUR)
}

/// Returns the position of an hour since 1970 among the slots.
fn position(hour: i64) -> usize {
    let of_day = usize::try_from(hour.rem_euclid(24)).unwrap_or_default();
    // 1970 began on a Thursday. This is computed for each pod and hour, so it must be cheap.
    let days_after_monday = (hour.div_euclid(24) + 3).rem_euclid(7);
    if days_after_monday >= 5 { HOURS + of_day } else { of_day }
}

#[expect(clippy::cast_possible_truncation, reason = "only the size matters")]
const fn narrow(value: f64) -> f32 {
    value as f32
}

#[cfg(test)]
mod tests {
    use crate::model::usage::ExpectedDay;

    use super::*;

    /// Cpu in millicores at each hour of a day.
    type Day = fn(i64) -> u64;

    fn office(hour: i64) -> u64 {
        if (9..17).contains(&hour) { 800 } else { 100 }
    }

    const fn idle(_: i64) -> u64 {
        100
    }

    /// A Monday at midnight.
    fn monday() -> Timestamp {
        "2026-01-05T00:00:00Z".parse().unwrap()
    }

    fn hours_later(hours: i64) -> Timestamp {
        monday() + SignedDuration::from_hours(hours)
    }

    /// Observes these days, from a Monday on, with a sample every five minutes.
    fn after(days: &[Day]) -> Rhythm {
        let mut rhythm = Rhythm::default();
        for (day, usage) in (0..).zip(days) {
            for minutes in (0..24 * 60).step_by(5) {
                let at = hours_later(day * 24) + SignedDuration::from_mins(minutes);
                rhythm.take(at, Amount::millicores(usage(minutes / 60)));
            }
        }
        rhythm
    }

    /// The expectation for an hour, an hour before it starts.
    fn expected(rhythm: &Rhythm, hour: i64, present: u64) -> Option<i64> {
        expected_at(rhythm, hours_later(hour - 1), hour, present)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the values are small")]
    fn expected_at(rhythm: &Rhythm, at: Timestamp, hour: i64, present: u64) -> Option<i64> {
        let hour = hours_later(hour).as_second().div_euclid(HOUR);
        let expected = rhythm.expected(at, hour, Amount::millicores(present))?;
        Some((expected.as_f64() / 1e7).round() as i64 * 10)
    }

    #[test]
    fn what_a_day_shows_is_expected_on_the_next() {
        let rhythm = after(&[office]);
        let tuesday = |hour: i64| expected(&rhythm, 24 + hour, 0);
        assert_eq!([8, 9, 16, 17].map(tuesday), [100, 800, 800, 100].map(Some));
    }

    #[test]
    fn the_present_counts_for_half_in_the_hour_that_has_begun() {
        let rhythm = after(&[office]);
        let ten = hours_later(24 + 10);
        assert_eq!(expected_at(&rhythm, ten, 24 + 10, 400), Some(600));
        assert_eq!(expected_at(&rhythm, ten, 24 + 11, 400), Some(800));
    }

    #[test]
    fn an_hour_that_has_ended_is_compared_with_the_day_before_and_with_the_hour_before() {
        let mut rhythm = after(&[office]);
        let mut ended = Vec::new();
        for minutes in (0..11 * 60).step_by(5) {
            let at = hours_later(24) + SignedDuration::from_mins(minutes);
            let cpu = if minutes < 540 { 100 } else { 600 };
            ended.extend(rhythm.take(at, Amount::millicores(cpu)));
        }
        let rounded = |hour: &EndedHour| {
            [hour.used, hour.usual, hour.unchanged].map(|cpu| format!("{:.0}", cpu / 1e6))
        };
        // The last hour of the first day had not been learned before.
        assert_eq!(ended.len(), 10);
        assert_eq!(rounded(&ended[8]), ["100", "100", "100"]);
        assert_eq!(rounded(&ended[9]), ["600", "800", "100"]);
    }

    #[test]
    fn an_hour_counts_until_it_is_almost_over() {
        let hours = |minutes: i64, ahead: i64| {
            let now = monday() + SignedDuration::from_mins(minutes);
            let hours = hours(now, SignedDuration::from_mins(ahead));
            let first = monday().as_second().div_euclid(HOUR);
            (hours.start() - first, hours.end() - first)
        };
        assert_eq!(hours(0, 120), (0, 1));
        assert_eq!(hours(30, 120), (0, 2));
        assert_eq!(hours(50, 120), (1, 2));
        assert_eq!(hours(50, 1), (1, 1));
    }

    #[test]
    fn nothing_is_expected_for_hours_that_were_never_observed() {
        let mut rhythm = Rhythm::default();
        for minutes in 0..180 {
            let at = monday() + SignedDuration::from_mins(minutes);
            rhythm.take(at, Amount::millicores(100));
        }
        assert_eq!(expected(&rhythm, 25, 100), Some(100));
        // Hour 2 was not complete.
        assert_eq!(expected(&rhythm, 26, 100), None);
    }

    #[test]
    fn weekends_are_learned_apart_from_working_days() {
        let mut days: Vec<Day> = vec![office; 5];
        let rhythm = after(&days);
        assert_eq!(expected(&rhythm, 5 * 24 + 10, 100), None);
        days.extend([idle as Day; 2]);
        let rhythm = after(&days);
        assert_eq!(expected(&rhythm, 12 * 24 + 10, 100), Some(100));
        assert_eq!(expected(&rhythm, 7 * 24 + 10, 800), Some(800));
    }

    #[test]
    fn the_newest_day_counts_most() {
        let rhythm = after(&[idle, idle, office]);
        // The mean of 800 and 100, and 35% of their deviation. The present agrees with the
        // mean.
        assert_eq!(expected(&rhythm, 3 * 24 + 10, 450), Some(570));
    }

    #[test]
    fn the_present_counts_if_days_do_not_repeat() {
        let mut repeated = after(&[office, office, office]);
        let mut changing = after(&[office, idle, office, idle, office, idle]);
        repeated.close();
        changing.close();
        assert!(repeated.weight_of_present() < 0.1, "{}", repeated.weight_of_present());
        assert!(changing.weight_of_present() > 0.5, "{}", changing.weight_of_present());
    }

    #[test]
    fn a_part_of_the_deviation_is_added() {
        let mut rhythm = Rhythm::default();
        for minutes in 0..240_u32 {
            let at = monday() + SignedDuration::from_mins(minutes.into());
            let cpu = if minutes % 2 == 0 { 300 } else { 500 };
            rhythm.take(at, Amount::millicores(cpu));
        }
        // The mean is 400, and the deviation 100.
        assert_eq!(expected(&rhythm, 25, 400), Some(440));
    }

    #[test]
    fn fifty_thousand_pods_need_less_than_twenty_megabytes() {
        let outlook = size_of::<ExpectedDay<Compact>>();
        let each = size_of::<Rhythm>() + size_of::<Option<Box<Rhythm>>>() + outlook;
        assert!(each * 50_000 < 20_000_000, "{each}");
    }
}
