//! Many nodes in one chart: the fullest node, the emptiest node and the quantiles between them.

use jiff::SignedDuration;
use maud::{Markup, html};

use crate::values::Ratio;
use crate::view::scale::{count, number, path};

use super::axes::inner;
use super::lines::{LineChart, spread};
use super::series::{RatioSeries, quantile};

/// The number of moments for which quantiles are computed.
const MOMENTS: usize = 240;

/// The quantiles at one moment, from the emptiest node to the fullest.
struct Quantiles {
    at: SignedDuration,
    ratios: [Ratio; 5],
}

/// Indices into [`Quantiles::ratios`].
const EMPTIEST: usize = 0;
const MEDIAN: usize = 2;
const FULLEST: usize = 4;

impl LineChart<'_> {
    pub(super) fn envelope(&self) -> Markup {
        let moments = self.quantiles();
        let height = self.share.height;
        let fullest = self.curve(&moments, FULLEST);
        let curves = html! {
            (inner(height, "spread", &html! {
                path.outer d=(self.area(&moments, EMPTIEST, FULLEST)) {}
                path.inner d=(self.area(&moments, 1, 3)) {}
            }))
            @if let Some(band) = self.band {
                (inner(self.share.y(band.target.get()), "halo", &html! { path.line d=(fullest) {} }))
            }
            (inner(height, "lines", &html! {
                path.line.median d=(self.curve(&moments, MEDIAN)) {}
                path.line.fullest d=(fullest) {}
            }))
        };
        let radius = if self.trace.evictions.len() > 60 { 2.2 } else { 3.2 };
        let names = self.curve_names(&moments);
        self.framed("of all nodes over time, by quantiles", &curves, radius, &names)
    }

    fn quantiles(&self) -> Vec<Quantiles> {
        let all: Vec<&RatioSeries> =
            self.trace.nodes.iter().map(|node| self.series(node)).collect();
        let length = all.iter().map(|series| series.len()).max().unwrap_or_default();
        (0..length)
            .step_by(length.div_ceil(MOMENTS).max(1))
            .filter_map(|i| self.quantiles_at(i, &all))
            .collect()
    }

    /// Returns `None` if no node existed at this step.
    fn quantiles_at(&self, step: usize, all: &[&RatioSeries]) -> Option<Quantiles> {
        let mut ratios: Vec<Ratio> =
            all.iter().filter_map(|series| series.get(step).copied().flatten()).collect();
        ratios.sort_by(|a, b| a.order(*b));
        let seconds = self.trace.step.as_secs_f64() * count(step);
        (!ratios.is_empty()).then(|| Quantiles {
            at: SignedDuration::from_secs_f64(seconds),
            ratios: [0, 1, 5, 9, 10].map(|tenths| quantile(&ratios, tenths)),
        })
    }

    fn point(&self, moment: &Quantiles, which: usize) -> Option<(f64, f64)> {
        let ratio = moment.ratios.get(which)?;
        Some((self.time.x(moment.at), self.share.y(ratio.get())))
    }

    fn curve(&self, moments: &[Quantiles], which: usize) -> String {
        path(moments.iter().map(|moment| self.point(moment, which)))
    }

    fn area(&self, moments: &[Quantiles], low: usize, high: usize) -> String {
        let there = moments.iter().map(|moment| self.point(moment, high));
        let back = moments.iter().rev().map(|moment| self.point(moment, low));
        path(there.chain(back)) + "Z"
    }

    /// The names of the curves at their ends.
    fn curve_names(&self, moments: &[Quantiles]) -> Markup {
        let Some(last) = moments.last() else { return html! {} };
        let names = [(FULLEST, "fullest node"), (MEDIAN, "median"), (EMPTIEST, "emptiest")];
        let ends = names.map(|(which, _)| self.share.y(last.ratios[which].get()));
        html! {
            @for ((_, name), y) in names.iter().zip(spread(&ends, self.share.height)) {
                text.note x="100%" dx="8" y=(number(y + 4.0)) { (name) }
            }
        }
    }
}
