//! The trend of a series: what its last two hours say about the time that comes.
//!
//! Two kinds of usage are common, and they need opposite forecasts. Where load follows the time of
//! day, the newest value is the best one, and a rise goes on. Where load jumps up and down, the
//! mean is the best forecast, and the newest value says almost nothing. So the forecast is
//!
//! ```text
//! mean + persistence × (newest − mean) + momentum × slope × minutes
//! ```
//!
//! where the mean covers the last two hours, the slope the last minutes, and persistence and
//! momentum are between zero and one. They are what would have been best for this series: for each
//! earlier period, the mean of the half hour after it is compared with the newest value and the
//! slope of that time, and least squares give the two factors. A series that has not moved yet has
//! the factors of [`PERSISTENCE`] and [`MOMENTUM`], and the others are drawn towards these (ridge
//! regression, A. E. Hoerl and R. W. Kennard, Technometrics 12, 1970).
//!
//! The usage of a minute differs from the forecast in two ways: by the error of the mean of the
//! half hour, which is the root of the mean squared error of the same forecasts, and by its own
//! distance from that mean. Where usage persists, the distance is small: of the variance of the
//! last two hours, the part `1 − persistence²` counts.
//!
//! After a step, the slope is that of a steep rise for some minutes. So only a slope of at most
//! [`AT_ONCE`], or one that most of the last changes between periods have, goes on.
//!
//! A steep step up may be a peak that passes. So for [`MAY_PASS`] periods from its beginning, the
//! error is so large that an excess counts only if the mean is above the target, too. After that,
//! usage is expected to stay where it has been since the step, and the error is no larger than what
//! these periods show, since for two hours the forecasts from before the step were wrong. After a
//! smaller step it is expected to stay once it has stayed for [`STAYS`] periods.
//!
//! An example: cpu rises by 0.1 points a minute, from 48 % to 60 %. The mean is 56.1 %, 3.9 points
//! below the newest value. Every half hour went on as the one before it, so the factors are 1.00
//! and 0.93, and the expected mean of the next half hour is 56.1 + 3.9 + 0.93 × 0.1 × 15 = 61.4 %,
//! with an error of 0.25 points. Had cpu jumped between 40 % and 70 % every three minutes, the
//! factors would be 0.14 and 0.02, and the expected mean after a minute at 70 % would be 57.8 %,
//! with an error of 15.2 points.

use std::sync::LazyLock;

use crate::model::usage::SIGNIFICANT;

use super::course::{Course, Periods};

/// The age at which a period counts half as much for the mean, in minutes.
const OF_MEAN: f64 = 40.0;
/// The age at which a period counts half as much for the slope, in minutes.
const OF_SLOPE: f64 = 3.0;
/// The age at which an earlier forecast counts half as much for the factors, in minutes.
const OF_FACTORS: f64 = 60.0;
/// The number of periods from which the slope is computed.
const SLOPE_PERIODS: usize = 8;
/// The number of periods after an earlier one with which its forecast is compared: half an hour.
const LEAD: usize = 10;
/// The middle of that time, in minutes.
const MIDDLE: f64 = count(LEAD) * Course::MINUTES / 2.0;
/// The newest periods, after which too little has come.
const TOO_NEW: usize = 2;
/// The factors before anything is known. They were chosen with [`PULL`] on 900 nodes of a published
/// cluster trace and on three recorded days of a thousand machines, see `docs/arena.md`.
const PERSISTENCE: f64 = 0.9;
const MOMENTUM: f64 = 0.6;
/// The slope that goes on at once, in shares of a node a minute. A larger one has to last, because
/// it may be a step. For its evidence see `docs/decisions/usage.md`.
const AT_ONCE: f64 = 0.003;
/// The newest periods that show that usage stays where it is: 45 minutes. With an hour, a node that
/// has made a step stays hot for so much longer. With 30 minutes, and a limit of the error on one
/// side only, two recorded days of 50 nodes need 341 instead of 315 evictions (`benchmark/`,
/// PlanetLab).
const STAYS: usize = 15;
/// The rise from one period to the next that makes a step steep, in shares of a node. It is 6.5
/// points where usage rises by 26 points in twelve minutes. With 0.1 or 0.12, more peaks move pods.
/// For its evidence see `docs/decisions/usage.md`.
const STEEP: f64 = 0.08;
/// The periods from its beginning in which a steep step may be a peak that passes: a quarter of an
/// hour. With three, peaks of ten minutes still move pods.
const MAY_PASS: usize = 5;
/// The weight of these factors, relative to those of the series.
const PULL: f64 = 0.3;
/// A squared share of a node that is too small to say anything.
const NOTHING: f64 = 1e-9;

/// The forecast of a series, as factors by which it depends on the series. Being linear, the
/// forecasts of the pods of a node add up to that of the node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Trend {
    persistence: f64,
    momentum: f64,
    /// The standard deviation of the usage from the expectation, in units of the series.
    pub(super) error: f64,
}

impl Trend {
    /// Finds the factors that would have been best for a series of shares of a node.
    pub(super) fn of(series: &Periods, newest: &[f64; Course::NEWEST]) -> Self {
        let mut sums = Sums::default();
        let averages = means(series);
        for origin in TOO_NEW..Course::PERIODS - SLOPE_PERIODS {
            let lead = LEAD.min(origin);
            let after = &series[origin - lead..origin];
            let (minutes, share) = (count(lead) * Course::MINUTES / 2.0, count(lead) / count(LEAD));
            sums.add(&EarlierForecast {
                deviation: series[origin] - averages[origin],
                drift: slope(&series[origin..]) * minutes,
                change: after.iter().sum::<f64>() / count(lead) - averages[origin],
                weight: share * halved(count(origin) * Course::MINUTES, OF_FACTORS),
            });
        }
        let step = Step::of(newest);
        let last = &series[..if step.ended < MAY_PASS { STAYS } else { step.ended }];
        let state = SeriesState::of(series);
        let trend = sums.trend().limited(state.slope, lasting(newest));
        let trend = trend.kept_by(last, averages[0]);
        let squares = series.map(|value| (value - averages[0]).powi(2));
        let spread = means(&squares)[0] * (1.0 - trend.persistence.powi(2));
        let expected = trend.after(MIDDLE, state);
        let far = last.iter().map(|value| (value - expected).abs()).fold(0.0, f64::max);
        let error = trend.error.hypot(spread.sqrt()).min(far / SIGNIFICANT);
        let peak = if step.began < MAY_PASS { expected - averages[0] } else { 0.0 };
        Trend { error: error.max(peak / SIGNIFICANT), ..trend }
    }

    /// Keeps at least the part of the newest deviation from the mean that all of the last values
    /// have.
    fn kept_by(self, last: &[f64], mean: f64) -> Self {
        let newest = last[0] - mean;
        let deviations = last.iter().map(|value| (value - mean) * newest.signum());
        let kept = deviations.fold(f64::INFINITY, f64::min) / newest.abs();
        // Not a number if there is no deviation, which leaves the persistence as it is.
        Trend { persistence: self.persistence.max(kept), ..self }
    }

    /// Takes of the slope only what is no step.
    fn limited(self, slope: f64, lasting: f64) -> Self {
        let largest = f64::max(AT_ONCE, lasting * slope.signum());
        let share = if slope.abs() > largest { largest / slope.abs() } else { 1.0 };
        Trend { momentum: self.momentum * share, ..self }
    }

    /// Returns what the series is expected to be after this time. For the mean of a period that
    /// begins now, it is half of its length.
    pub(super) fn after(self, minutes: f64, series: SeriesState) -> f64 {
        let kept = self.persistence * (series.newest - series.mean);
        series.mean + kept + self.momentum * series.slope * minutes
    }
}

/// The whole periods since the newest steep step up has begun, and since it has ended. A step that
/// lasts for several periods is a rise.
struct Step {
    began: usize,
    ended: usize,
}

impl Step {
    fn of(newest: &[f64; Course::NEWEST]) -> Self {
        let is_steep = |means: &[f64]| means[0] - means[1] > STEEP;
        let mut changes = newest.windows(2);
        let ended = changes.position(is_steep).unwrap_or(STAYS);
        let began = ended + changes.take_while(|means| is_steep(means)).count();
        Step { began, ended }
    }
}

/// The state of a series from which it is forecast, in the unit of the series.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeriesState {
    newest: f64,
    mean: f64,
    /// The slope per minute.
    slope: f64,
}

impl SeriesState {
    pub(super) fn of(series: &Periods) -> Self {
        SeriesState {
            newest: series[0],
            mean: weighted(series, &*MEAN_WEIGHTS),
            slope: slope(series),
        }
    }
}

/// A forecast that would have been made earlier, and what came.
struct EarlierForecast {
    deviation: f64,
    drift: f64,
    change: f64,
    weight: f64,
}

/// The sums of the normal equations of least squares.
#[derive(Default)]
struct Sums {
    deviations: f64,
    products: f64,
    drifts: f64,
    by_deviation: f64,
    by_drift: f64,
    changes: f64,
    weight: f64,
}

impl Sums {
    fn add(&mut self, forecast: &EarlierForecast) {
        let EarlierForecast { deviation, drift, change, weight } = *forecast;
        self.deviations += weight * deviation * deviation;
        self.products += weight * deviation * drift;
        self.drifts += weight * drift * drift;
        self.by_deviation += weight * deviation * change;
        self.by_drift += weight * drift * change;
        self.changes += weight * change * change;
        self.weight += weight;
    }

    /// Solves the equations for the two factors.
    fn trend(&self) -> Trend {
        let pulls = [self.deviations, self.drifts].map(|sum| PULL * sum + NOTHING);
        let diagonal = [self.deviations + pulls[0], self.drifts + pulls[1]];
        let right =
            [self.by_deviation + pulls[0] * PERSISTENCE, self.by_drift + pulls[1] * MOMENTUM];
        let determinant = diagonal[0] * diagonal[1] - self.products * self.products;
        let persistence = (diagonal[1] * right[0] - self.products * right[1]) / determinant;
        let momentum = (diagonal[0] * right[1] - self.products * right[0]) / determinant;
        let (persistence, momentum) = (persistence.clamp(0.0, 1.0), momentum.clamp(0.0, 1.0));
        Trend { persistence, momentum, error: self.error(persistence, momentum) }
    }

    fn error(&self, persistence: f64, momentum: f64) -> f64 {
        let explained = persistence * self.by_deviation + momentum * self.by_drift;
        let squares = persistence * persistence * self.deviations
            + 2.0 * persistence * momentum * self.products
            + momentum * momentum * self.drifts;
        ((self.changes - 2.0 * explained + squares) / self.weight).max(0.0).sqrt()
    }
}

/// The mean of all values from each one on, weighted by age.
fn means(series: &Periods) -> Periods {
    let decay = halved(Course::MINUTES, OF_MEAN);
    let (mut sum, mut weight) = (0.0, 0.0);
    let mut means = [0.0; Course::PERIODS];
    for (mean, value) in means.iter_mut().zip(series).rev() {
        (sum, weight) = (sum * decay + value, weight * decay + 1.0);
        *mean = sum / weight;
    }
    means
}

/// The slope of the regression line through the first values, weighted by age, per minute.
fn slope(series: &[f64]) -> f64 {
    weighted(series, &*SLOPE_WEIGHTS)
}

/// The median of the last changes between means, per minute. A step is in two of the five.
fn lasting(newest: &[f64; Course::NEWEST]) -> f64 {
    let mut changes: [f64; 5] = std::array::from_fn(|back| newest[back] - newest[back + 1]);
    changes.sort_unstable_by(f64::total_cmp);
    changes[changes.len() / 2] / Course::MINUTES
}

/// The sum of the first values by their weights, of which there is an even number.
fn weighted(series: &[f64], weights: &[f64]) -> f64 {
    // Two sums at once, because each addition waits for the one before it.
    let pairs = series.chunks_exact(2).zip(weights.chunks_exact(2));
    let sums = pairs.fold([0.0, 0.0], |[a, b], (values, weights)| {
        [a + values[0] * weights[0], b + values[1] * weights[1]]
    });
    sums[0] + sums[1]
}

/// The weight of each value in the mean.
static MEAN_WEIGHTS: LazyLock<Periods> = LazyLock::new(|| {
    let weights = std::array::from_fn(|back| halved(count(back) * Course::MINUTES, OF_MEAN));
    let sum: f64 = weights.iter().sum();
    weights.map(|weight| weight / sum)
});

/// The weight of each value in the slope. It is minus the age from the mean age, over the variance
/// of the ages.
static SLOPE_WEIGHTS: LazyLock<[f64; SLOPE_PERIODS]> = LazyLock::new(|| {
    let ages: [f64; SLOPE_PERIODS] = std::array::from_fn(|back| count(back) * Course::MINUTES);
    let weights = ages.map(|age| halved(age, OF_SLOPE));
    let sum = |of: &dyn Fn(f64) -> f64| -> f64 {
        let weighted = ages.iter().zip(&weights);
        weighted.map(|(age, weight)| weight * of(*age)).sum()
    };
    let middle = sum(&|age| age) / sum(&|_| 1.0);
    let variance = sum(&|age| (age - middle) * (age - middle));
    std::array::from_fn(|back| weights[back] * (middle - ages[back]) / variance)
});

/// One half to the power of an age in half-lives.
fn halved(age: f64, half_life: f64) -> f64 {
    (-age / half_life).exp2()
}

#[expect(clippy::cast_precision_loss, reason = "there are a few dozen periods")]
const fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A series by the age of its periods in minutes.
    fn series(value: impl Fn(f64) -> f64) -> Periods {
        std::array::from_fn(|back| value(count(back) * Course::MINUTES))
    }

    /// The expected mean of the next half hour and its error, in percent.
    fn next_half_hour(series: &Periods) -> (f64, f64) {
        let trend = Trend::of(series, &newest(series));
        (trend.after(15.0, SeriesState::of(series)) * 100.0, trend.error * 100.0)
    }

    #[test]
    fn constant_usage_stays_and_is_certain() {
        let (expected, error) = next_half_hour(&series(|_| 0.55));
        assert!((expected - 55.0).abs() < 1e-9);
        assert!(error < 1e-6);
    }

    #[test]
    fn a_steady_rise_goes_on() {
        let rising = series(|age| 0.6 - 0.001 * age);
        let (expected, error) = next_half_hour(&rising);
        assert!((61.3..61.5).contains(&expected), "{expected}");
        assert!(error < 0.3, "{error}");
        let falling = series(|age| 0.6 + 0.001 * age);
        assert!((58.2..59.0).contains(&next_half_hour(&falling).0));
    }

    #[test]
    fn a_step_goes_on_rising_by_little_and_a_steep_rise_in_full_once_it_lasts() {
        let step = series(|age| if age < 4.0 { 0.55 } else { 0.35 });
        assert!((50.0..58.0).contains(&next_half_hour(&step).0), "{:?}", next_half_hour(&step));
        // A point a minute.
        let rising = |since: f64| series(move |age| 0.4 + 0.01 * (since - age).max(0.0));
        assert!(next_half_hour(&rising(6.0)).0 < 49.0, "{:?}", next_half_hour(&rising(6.0)));
        assert!(next_half_hour(&rising(12.0)).0 > 58.0, "{:?}", next_half_hour(&rising(12.0)));
        let falling = series(|age| 0.6 - 0.01 * (12.0 - age).max(0.0));
        assert!(next_half_hour(&falling).0 < 42.0, "{:?}", next_half_hour(&falling));
    }

    #[test]
    fn a_steep_step_may_be_a_peak_and_is_expected_to_stay_after_a_quarter_of_an_hour() {
        let step = |minutes: f64| series(move |age| if age < minutes { 0.75 } else { 0.50 });
        // An excess counts only if the mean is above the target, too: here half of the error is the
        // distance from it.
        let (expected, error) = next_half_hour(&step(15.0));
        assert!((50.0..59.0).contains(&(expected - error / 2.0)), "{expected} {error}");
        let (expected, error) = next_half_hour(&step(18.0));
        assert!((74.0..78.0).contains(&expected) && error < 4.0, "{expected} {error}");
    }

    #[test]
    fn a_steep_rise_that_lasts_is_no_peak() {
        // By three points a minute, until now.
        let rise = |minutes: f64| series(move |age| 0.3 + 0.03 * (minutes - age).max(0.0));
        let may_be_below = |minutes| {
            let (expected, error) = next_half_hour(&rise(minutes));
            expected - error / 2.0 < 60.0
        };
        assert!(may_be_below(12.0) && !may_be_below(18.0));
    }

    #[test]
    fn a_smaller_step_is_expected_to_stay_after_three_quarters_of_an_hour() {
        let after = |minutes: f64| {
            next_half_hour(&series(move |age| if age < minutes { 0.72 } else { 0.65 }))
        };
        assert!(after(42.0).1 > 2.0, "{:?}", after(42.0));
        let (expected, error) = after(45.0);
        assert!((71.9..=72.1).contains(&expected) && error < 0.1, "{expected} {error}");
    }

    #[test]
    fn usage_that_jumps_around_its_mean_returns_to_it() {
        // 70 % and 40 % in turn, for three minutes each. The newest is 70 %.
        let jumping = series(|age| if (age / 3.0) % 2.0 < 1.0 { 0.7 } else { 0.4 });
        let (expected, error) = next_half_hour(&jumping);
        assert!((57.0..58.5).contains(&expected), "{expected}");
        assert!((14.5..16.5).contains(&error), "{error}");
    }

    #[test]
    fn a_saw_tooth_that_was_seen_before_is_expected_to_fall_again() {
        // From 45 % to 65 % within half an hour, and down at once.
        let saw = series(|age| 0.65 - 0.2 * ((age % 30.0) / 30.0));
        assert!(next_half_hour(&saw).0 < 60.0, "{:?}", next_half_hour(&saw));
    }

    #[test]
    fn the_forecasts_of_pods_add_up_to_that_of_their_node() {
        let pods = [
            series(|age| 0.2 - 0.001 * age),
            series(|age| 0.1 + 0.05 * (age / 9.0).sin()),
            series(|age| 0.3 + 0.01 * (age / 5.0).cos()),
        ];
        let node = series_sum(&pods);
        let trend = Trend::of(&node, &newest(&node));
        let sum: f64 = pods.iter().map(|pod| trend.after(15.0, SeriesState::of(pod))).sum();
        assert!((sum - trend.after(15.0, SeriesState::of(&node))).abs() < 1e-12);
    }

    /// The newest means of a series whose last period has just ended.
    fn newest(series: &Periods) -> [f64; Course::NEWEST] {
        std::array::from_fn(|back| series[back])
    }

    fn series_sum(pods: &[Periods]) -> Periods {
        std::array::from_fn(|back| pods.iter().map(|pod| pod[back]).sum())
    }
}
