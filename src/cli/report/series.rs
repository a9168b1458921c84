//! Series of a trace, as pictures want them.

use jiff::{SignedDuration, Timestamp};

use crate::policy::Basis;
use crate::render::scale::count;
use crate::simulate::trace::{Band, NodeTrace, Trace};
use crate::values::Ratio;

/// One value per step; `None` while a node was not there.
pub(super) type Series = [Option<Ratio>];

/// What a series tells of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weighed {
    /// What was really used.
    Used,
    /// What its pods requested.
    Requested,
}

impl Weighed {
    /// What a policy weighs.
    pub(super) const fn by(basis: Basis) -> Self {
        match basis {
            Basis::Actual => Weighed::Used,
            Basis::Requests => Weighed::Requested,
        }
    }

    pub(super) const fn other(self) -> Self {
        match self {
            Weighed::Used => Weighed::Requested,
            Weighed::Requested => Weighed::Used,
        }
    }

    pub(super) const fn words(self) -> &'static str {
        match self {
            Weighed::Used => "really used",
            Weighed::Requested => "requested by pods",
        }
    }

    /// The series of a node; empty where the trace has none.
    pub(super) fn of<'t>(self, node: &'t NodeTrace, resource: &str) -> &'t Series {
        let series = match self {
            Weighed::Used => &node.actual,
            Weighed::Requested => &node.requests,
        };
        series.get(resource).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Where a ratio is, seen from a band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Idle,
    Even,
    Hot,
}

impl Place {
    pub(super) fn of(ratio: Ratio, band: Option<Band>) -> Self {
        match band {
            Some(band) if ratio > band.high => Place::Hot,
            Some(band) if ratio <= band.low => Place::Idle,
            _ => Place::Even,
        }
    }

    pub(super) const fn class(self) -> &'static str {
        match self {
            Place::Idle => "idle",
            Place::Even => "even",
            Place::Hot => "hot",
        }
    }
}

/// The first value that is known.
pub(super) fn first(series: &Series) -> Option<Ratio> {
    series.iter().flatten().next().copied()
}

/// The last value; `None` where the node was gone at the end.
pub(super) fn last(series: &Series) -> Option<Ratio> {
    series.last().copied().flatten()
}

/// The largest value.
pub(super) fn peak(series: &Series) -> Option<Ratio> {
    series.iter().flatten().copied().max_by(|a, b| a.order(*b))
}

/// No more than `most` values, each the largest of its stretch and at its own position: no peak is lost.
pub(super) fn thinned(series: &Series, most: usize) -> Vec<Option<(usize, Ratio)>> {
    let width = series.len().div_ceil(most.max(1)).max(1);
    let largest = |(i, part): (usize, &Series)| {
        let known = part
            .iter()
            .enumerate()
            .filter_map(|(j, r)| r.map(|r| (i * width + j, r)));
        known.reduce(|a, b| if b.1 > a.1 { b } else { a })
    };
    series.chunks(width).enumerate().map(largest).collect()
}

/// The value at a time: that of the step before.
pub(super) fn value_at(trace: &Trace, series: &Series, at: Timestamp) -> Option<Ratio> {
    let step = trace.step.as_secs().max(1);
    let index = at.duration_since(trace.start).as_secs().max(0) / step;
    let index = usize::try_from(index)
        .unwrap_or(usize::MAX)
        .min(series.len().saturating_sub(1));
    let before = series.get(..=index).unwrap_or_default();
    before.iter().rev().flatten().next().copied()
}

/// How long nodes were above the band, summed over nodes; `None` where there is no band.
pub(super) fn hot_time(trace: &Trace, resource: &str) -> Option<SignedDuration> {
    let band = trace.bands.get(resource)?;
    let weighed = Weighed::by(trace.basis);
    let hot = |node: &NodeTrace| {
        weighed
            .of(node, resource)
            .iter()
            .flatten()
            .filter(|r| **r > band.high)
            .count()
    };
    let steps: usize = trace.nodes.iter().map(hot).sum();
    Some(SignedDuration::from_secs_f64(
        count(steps) * trace.step.as_secs_f64(),
    ))
}

/// The value that such a share of the values does not exceed; the values are sorted and there is one.
pub(super) fn quantile(sorted: &[Ratio], tenths: usize) -> Ratio {
    let last = sorted.len().saturating_sub(1);
    sorted
        .get((last * tenths + 5) / 10)
        .copied()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(percents: &[i32]) -> Vec<Option<Ratio>> {
        percents
            .iter()
            .map(|p| Ratio::percent(f64::from(*p)))
            .collect()
    }

    #[test]
    fn thinning_keeps_each_peak_where_it_was() {
        let all = series(&[1, 9, 2, 3, -1, -1, 4, 7]);
        let kept: Vec<_> = thinned(&all, 4)
            .into_iter()
            .map(|p| p.map(|(i, r)| (i, r.to_string())))
            .collect();
        let point = |i, text: &str| Some((i, text.to_owned()));
        assert_eq!(kept, [point(1, "9%"), point(3, "3%"), None, point(7, "7%")]);
        assert_eq!(thinned(&all, 100).len(), 8);
    }

    #[test]
    fn at_the_edges_of_the_band_a_node_is_idle_below_and_even_above() {
        let band = Band {
            low: Ratio::QUARTER,
            high: Ratio::percent(70.0).unwrap(),
        };
        let place = |p: f64| Place::of(Ratio::percent(p).unwrap(), Some(band)).class();
        assert_eq!(
            [25.0, 25.1, 70.0, 70.1].map(place),
            ["idle", "even", "even", "hot"]
        );
    }

    #[test]
    fn quantiles_are_values_that_are_there() {
        let all: Vec<Ratio> = series(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
            .into_iter()
            .flatten()
            .collect();
        assert_eq!(
            [0, 1, 5, 9, 10].map(|q| quantile(&all, q).to_string()),
            ["1%", "2%", "6%", "10%", "11%"]
        );
    }
}
