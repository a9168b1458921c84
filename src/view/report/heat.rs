//! A map of nodes × time: its colours show where nodes are hot, and until when.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use maud::{Markup, html};

use crate::policy::Basis;
use crate::simulate::trace::{NodeTrace, Trace, TraceBand};
use crate::values::Ratio;
use crate::values::text::count as counted;
use crate::view::scale::{count, number, position};
use crate::view::words::{node_labels, percent};

use super::axes::{TimeAxis, chart};
use super::lines::tooltip;
use super::marks::marks;
use super::series::{RatioSeries, first, thinned};

/// Shades: three for idle, two for even, four for hot.
const SHADES: usize = 9;
/// The most cells of one map, so that the page stays small. Time becomes coarser; rows are never
/// left out.
const CELLS: usize = 120_000;
/// Lower rows have no room for names, in pixels.
const NAMED: f64 = 9.0;

/// The shares of all nodes over time.
pub(super) struct HeatMap<'t> {
    pub(super) trace: &'t Trace,
    pub(super) resource: &'t str,
    pub(super) time: TimeAxis,
    pub(super) band: Option<TraceBand>,
    /// The names of the nodes, from the top.
    pub(super) rows: &'t [&'t str],
}

/// Returns the names of the nodes: from the fullest at the start to the emptiest, then nodes that
/// joined later.
///
/// The order is the same for all runs, so that they can be compared row by row.
pub(super) fn rows<'t>(traces: &[&'t Trace], basis: Basis, resource: &str) -> Vec<&'t str> {
    let mut known: BTreeMap<&str, (bool, Ratio)> = BTreeMap::new();
    for node in traces.iter().flat_map(|trace| &trace.nodes) {
        let series = node.series(basis, resource);
        let joined_later = series.first().is_none_or(Option::is_none);
        known
            .entry(&node.name)
            .or_insert_with(|| (joined_later, first(series).unwrap_or_default()));
    }
    let mut rows: Vec<_> = known.into_iter().collect();
    rows.sort_by(|(a, (a_later, a_ratio)), (b, (b_later, b_ratio))| {
        a_later.cmp(b_later).then(b_ratio.order(*a_ratio)).then(a.cmp(b))
    });
    rows.into_iter().map(|(name, _)| name).collect()
}

impl HeatMap<'_> {
    pub(super) fn draw(&self) -> Markup {
        let row = row_height(self.rows.len());
        let height = row * count(self.rows.len());
        let centres: BTreeMap<&str, f64> =
            self.rows.iter().enumerate().map(|(i, name)| (*name, row * (count(i) + 0.5))).collect();
        let radius = (row / 2.0 - 1.5).clamp(1.8, 4.0);
        let nodes = self.nodes();
        let marks = marks(self.trace, self.time, radius, |eviction| {
            centres.get(eviction.from.as_str()).copied()
        });
        let content = html! {
            (self.time.axis(height))
            (self.cells(&nodes, height))
            (self.tooltips(&nodes, row))
            (self.time.events(self.trace, height))
            (marks)
            (self.names(row, height))
        };
        let label =
            format!("map of {} of {} over time", self.resource, counted(self.rows.len(), "node"));
        chart(height, &label, &content)
    }

    fn series<'n>(&self, node: &'n NodeTrace) -> &'n RatioSeries {
        node.series(self.trace.basis, self.resource)
    }

    /// Returns the node of each row; `None` if this run does not have it.
    fn nodes(&self) -> Vec<Option<&NodeTrace>> {
        let nodes: BTreeMap<&str, &NodeTrace> =
            self.trace.nodes.iter().map(|node| (node.name.as_str(), node)).collect();
        self.rows.iter().map(|name| nodes.get(name).copied()).collect()
    }

    /// The cells: one path per shade, with one stroke for each stretch of equal shade.
    fn cells(&self, nodes: &[Option<&NodeTrace>], height: f64) -> Markup {
        // The page has a fixed number of cells, so that a thousand nodes do not make it too large
        // for a browser.
        let columns = (CELLS / nodes.len().max(1)).clamp(60, 240);
        let mut shades: [String; SHADES] = Default::default();
        for (row, node) in nodes.iter().enumerate() {
            let Some(node) = node else { continue };
            let cells = thinned(self.series(node), columns)
                .into_iter()
                .map(|point| point.map(|(_, ratio)| shade(ratio, self.band)));
            strokes(row, cells, &mut shades);
        }
        let class = if self.band.is_none() { "heat plain" } else { "heat" };
        // Rows are strokes of width one along the middle of each row, so the picture starts half a
        // row higher.
        let view = format!("0 -0.5 {} {}", self.width(nodes, columns), nodes.len().max(1));
        html! {
            svg class=(class) width="100%" height=(number(height))
                viewBox=(view) preserveAspectRatio="none" {
                @for (i, path) in shades.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
                    path class={ "h" (i) } d=(path) {}
                }
            }
        }
    }

    /// Returns the number of columns that the whole time axis holds, with two decimals.
    fn width(&self, nodes: &[Option<&NodeTrace>], columns: usize) -> String {
        let samples =
            nodes.iter().flatten().map(|node| self.series(node).len()).max().unwrap_or_default();
        let samples_per_column = count(samples.div_ceil(columns).max(1));
        let steps = self.time.length.as_secs_f64() / self.trace.step.as_secs_f64().max(1.0);
        let width = (steps / samples_per_column * 100.0).round() / 100.0;
        width.max(0.01).to_string()
    }

    /// An invisible strip over each row with the tooltip of its node.
    fn tooltips(&self, nodes: &[Option<&NodeTrace>], row: f64) -> Markup {
        html! {
            @for (i, node) in nodes.iter().enumerate() {
                @if let Some(node) = node {
                    rect.row y=(number(row * count(i))) width="100%" height=(number(row)) {
                        title { (tooltip(node, self.trace.basis, self.resource)) }
                    }
                }
            }
        }
    }

    fn names(&self, row: f64, height: f64) -> Markup {
        let names: Vec<(f64, String)> = if row < NAMED {
            vec![
                (10.0, "fullest at the start".to_owned()),
                (height / 2.0, counted(self.rows.len(), "node")),
                (height - 2.0, "emptiest, or joined".to_owned()),
            ]
        } else {
            node_labels(self.rows, 16)
                .into_iter()
                .enumerate()
                .map(|(i, name)| (row * (count(i) + 0.5) + 4.0, name))
                .collect()
        };
        html! {
            @for (y, name) in names {
                text.note x="100%" dx="8" y=(number(y)) { (name) }
            }
        }
    }
}

/// Explains the shades.
pub(super) fn legend(band: Option<TraceBand>) -> Markup {
    let Some(band) = band else {
        return html! { span.key { (swatches("shades plain", 0..SHADES)) "0 % to 100 %" } };
    };
    html! {
        span.key { (swatches("shades", 0..3)) "cold, up to " (percent(band.threshold.get())) }
        span.key { (swatches("shades", 3..5)) "in the band" }
        span.key { (swatches("shades", 5..SHADES)) "hot, above " (percent(band.target.get())) }
    }
}

fn swatches(class: &str, shades: std::ops::Range<usize>) -> Markup {
    html! {
        b class=(class) { @for shade in shades { i class={ "h" (shade) } {} } }
    }
}

/// Returns the height of a row, in pixels.
const fn row_height(rows: usize) -> f64 {
    match rows {
        0..=15 => 15.0,
        16..=60 => 10.0,
        61..=150 => 5.0,
        151..=350 => 2.0,
        _ => 1.0,
    }
}

/// Returns the shade of a share: the further from the band, the deeper.
fn shade(ratio: Ratio, band: Option<TraceBand>) -> usize {
    let Some(TraceBand { threshold, target }) = band else {
        return step(ratio, (0.0, 1.0), SHADES);
    };
    let (low, high) = (threshold.get(), target.get());
    if ratio.get() > high {
        // The deepest shade starts well before 100 %, so that different hot nodes differ in colour.
        5 + step(ratio, (high, high + 0.2), 4)
    } else if ratio.get() <= low {
        step(ratio, (0.0, low), 3)
    } else {
        3 + step(ratio, (low, high), 2)
    }
}

/// Returns in which of `steps` equal parts of a range a share lies, counted from zero.
fn step(ratio: Ratio, range: (f64, f64), steps: usize) -> usize {
    let position = position(ratio.get(), range, (0.0, count(steps)));
    (1..steps).filter(|i| position >= count(*i)).count()
}

/// A stretch of equal cells of a row.
#[derive(Clone, Copy)]
struct Stretch {
    shade: usize,
    from: usize,
    to: usize,
}

/// Appends the cells of a row to the paths of their shades, one stroke for each stretch of equal
/// shade.
fn strokes(row: usize, cells: impl Iterator<Item = Option<usize>>, shades: &mut [String; SHADES]) {
    let mut open: Option<Stretch> = None;
    // The `None` at the end closes the last stretch.
    for (i, cell) in cells.chain([None]).enumerate() {
        match (cell, &mut open) {
            (Some(shade), Some(stretch)) if stretch.shade == shade => stretch.to = i + 1,
            (cell, _) => {
                if let Some(Stretch { shade, from, to }) = open.take() {
                    // Writing to a string cannot fail.
                    let _ = write!(shades[shade.min(SHADES - 1)], "M{from} {row}h{}", to - from);
                }
                open = cell.map(|shade| Stretch { shade, from: i, to: i + 1 });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_cells_of_one_shade_are_one_stroke() {
        let mut shades: [String; SHADES] = Default::default();
        strokes(7, [Some(1), Some(1), None, Some(1), Some(2)].into_iter(), &mut shades);
        assert_eq!((shades[1].as_str(), shades[2].as_str()), ("M0 7h2M3 7h1", "M4 7h1"));
    }

    #[test]
    fn the_shade_changes_at_the_edges_of_the_band() {
        let band = Some(TraceBand {
            threshold: Ratio::percent(30.0).unwrap(),
            target: Ratio::percent(70.0).unwrap(),
        });
        let of = |percents: &[f64]| {
            percents.iter().map(|p| shade(Ratio::percent(*p).unwrap(), band)).collect::<Vec<_>>()
        };
        assert_eq!(of(&[0.0, 15.0, 30.0]), [0, 1, 2]);
        assert_eq!(of(&[30.1, 50.1, 70.0]), [3, 4, 4]);
        assert_eq!(of(&[70.1, 76.0, 81.0, 85.1, 300.0]), [5, 6, 7, 8, 8]);
        assert_eq!(shade(Ratio::ONE, None), SHADES - 1);
    }
}
