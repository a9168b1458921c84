//! The series of a trace: their ends, peaks and thinned versions.

use jiff::Timestamp;

use crate::simulate::trace::{Trace, TraceBand};
use crate::values::Ratio;
use crate::view::bar::Zone;

/// One value per step; `None` while the node did not exist.
pub(super) type RatioSeries = [Option<Ratio>];

/// Returns the zone of a share; [`Zone::Even`] without a band.
pub(super) fn zone(ratio: Ratio, band: Option<TraceBand>) -> Zone {
    Zone::of(ratio, band.map(Into::into).unwrap_or_default())
}

/// Returns the first known value.
pub(super) fn first(series: &RatioSeries) -> Option<Ratio> {
    series.iter().flatten().next().copied()
}

/// Returns the last value; `None` if the node was down at the end.
pub(super) fn last(series: &RatioSeries) -> Option<Ratio> {
    series.last().copied().flatten()
}

/// Returns the largest value.
pub(super) fn peak(series: &RatioSeries) -> Option<Ratio> {
    series.iter().flatten().copied().max_by(|a, b| a.order(*b))
}

/// Returns at most `most` values. Each is the largest of its stretch and keeps its index, so that
/// no peak is lost.
pub(super) fn thinned(series: &RatioSeries, most: usize) -> Vec<Option<(usize, Ratio)>> {
    let width = series.len().div_ceil(most.max(1)).max(1);
    series
        .chunks(width)
        .enumerate()
        .map(|(i, stretch)| {
            stretch
                .iter()
                .enumerate()
                .filter_map(|(j, ratio)| ratio.map(|ratio| (i * width + j, ratio)))
                .reduce(|a, b| if b.1 > a.1 { b } else { a })
        })
        .collect()
}

/// Returns the value of the last known step at or before a time.
pub(super) fn value_at(trace: &Trace, series: &RatioSeries, at: Timestamp) -> Option<Ratio> {
    let step = trace.step.as_secs().max(1);
    let index = at.duration_since(trace.start).as_secs().max(0) / step;
    let index = usize::try_from(index).unwrap_or(usize::MAX).min(series.len().saturating_sub(1));
    let before = series.get(..=index).unwrap_or_default();
    before.iter().rev().flatten().next().copied()
}

/// Returns the value at a quantile, given in tenths; always one of the sorted values.
pub(super) fn quantile(sorted: &[Ratio], tenths: usize) -> Ratio {
    let last = sorted.len().saturating_sub(1);
    sorted.get((last * tenths + 5) / 10).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(percents: &[i32]) -> Vec<Option<Ratio>> {
        percents.iter().map(|p| Ratio::percent(f64::from(*p))).collect()
    }

    #[test]
    fn thinning_keeps_each_peak_at_its_index() {
        let all = series(&[1, 9, 2, 3, -1, -1, 4, 7]);
        let kept: Vec<_> =
            thinned(&all, 4).into_iter().map(|p| p.map(|(i, r)| (i, r.to_string()))).collect();
        let point = |i, text: &str| Some((i, text.to_owned()));
        assert_eq!(kept, [point(1, "9%"), point(3, "3%"), None, point(7, "7%")]);
        assert_eq!(thinned(&all, 100).len(), 8);
    }

    #[test]
    fn quantiles_are_existing_values() {
        let all: Vec<Ratio> =
            series(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]).into_iter().flatten().collect();
        assert_eq!(
            [0, 1, 5, 9, 10].map(|q| quantile(&all, q).to_string()),
            ["1%", "2%", "6%", "10%", "11%"]
        );
    }
}
