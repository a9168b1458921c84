//! Nodes × time as a map of colours: where it is hot, and when it stopped.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::render::scale::{Scale, count, number};
use crate::render::words::{counted, escaped, node_labels, percent};
use crate::simulate::trace::{Band, NodeTrace, Trace};
use crate::values::Ratio;

use super::frame::{Across, picture};
use super::lines::told;
use super::marks::marks;
use super::series::{Weighed, first, thinned};

/// Shades: three for idle, two for even, four for hot.
const SHADES: usize = 9;
/// Cells of one map, so that a page stays small; rows are never left out.
const CELLS: usize = 120_000;
/// Rows that are lower than this have no names.
const NAMED: f64 = 9.0;

/// What is drawn.
pub(super) struct Map<'t> {
    pub(super) trace: &'t Trace,
    pub(super) resource: &'t str,
    pub(super) weighed: Weighed,
    pub(super) across: Across,
    pub(super) band: Option<Band>,
    /// The rows, from the top.
    pub(super) rows: &'t [&'t str],
}

/// Rows from the node that is fullest at the start to the one that is emptiest, then those that joined later; the same
/// order for all runs, so that they can be compared row by row.
pub(super) fn rows<'t>(
    traces: impl IntoIterator<Item = &'t Trace>,
    weighed: Weighed,
    resource: &str,
) -> Vec<&'t str> {
    let mut known: BTreeMap<&str, (bool, Ratio)> = BTreeMap::new();
    for node in traces.into_iter().flat_map(|t| &t.nodes) {
        let series = weighed.of(node, resource);
        let late = series.first().is_none_or(Option::is_none);
        known
            .entry(&node.name)
            .or_insert_with(|| (late, first(series).unwrap_or_default()));
    }
    let mut rows: Vec<_> = known.into_iter().collect();
    rows.sort_by(|a, b| {
        a.1.0
            .cmp(&b.1.0)
            .then(b.1.1.order(a.1.1))
            .then(a.0.cmp(b.0))
    });
    rows.into_iter().map(|(name, _)| name).collect()
}

impl Map<'_> {
    /// The picture.
    pub(super) fn draw(&self) -> String {
        let row = row_height(self.rows.len());
        let height = row * count(self.rows.len());
        let by_name: BTreeMap<&str, &NodeTrace> = self
            .trace
            .nodes
            .iter()
            .map(|n| (n.name.as_str(), n))
            .collect();
        let nodes: Vec<Option<&NodeTrace>> = self
            .rows
            .iter()
            .map(|name| by_name.get(name).copied())
            .collect();
        let node_addresses: BTreeMap<&str, f64> = self
            .rows
            .iter()
            .enumerate()
            .map(|(i, n)| (*n, row * (count(i) + 0.5)))
            .collect();
        let parts = [
            self.across.axis(height),
            self.cells(&nodes, height),
            self.titles(&nodes, row),
            self.across.events(self.trace, height),
            marks(
                self.trace,
                self.across,
                (row / 2.0 - 1.5).clamp(1.8, 4.0),
                |e| node_addresses.get(e.from.as_str()).copied(),
            ),
            self.names(row, height),
        ];
        picture(
            height,
            &format!(
                "map of {} of {} over time",
                self.resource,
                counted(self.rows.len(), "node")
            ),
            &parts,
        )
    }

    /// One path per shade: a stroke for each stretch of equal shade.
    fn cells(&self, nodes: &[Option<&NodeTrace>], height: f64) -> String {
        let columns = (CELLS / nodes.len().max(1)).clamp(60, 240);
        let mut shades: [String; SHADES] = Default::default();
        let samples = nodes
            .iter()
            .flatten()
            .map(|n| self.weighed.of(n, self.resource).len())
            .max()
            .unwrap_or_default();
        for (row, node) in nodes.iter().enumerate() {
            let Some(node) = node else { continue };
            let shades_of = thinned(self.weighed.of(node, self.resource), columns);
            let cells = shades_of
                .iter()
                .map(|p| p.map(|(_, ratio)| shade(ratio, self.band)));
            strokes(row, cells, &mut shades);
        }
        let width = samples.div_ceil(columns).max(1);
        let (length, step) = (
            self.across.length.as_secs_f64(),
            self.trace.step.as_secs_f64().max(1.0),
        );
        let wide = hundredths(length / step / count(width));
        let mut out = format!(
            "<svg class=\"heat{}\" width=\"100%\" height=\"{}\" viewBox=\"0 -0.5 {wide} {}\" preserveAspectRatio=\"none\">",
            if self.band.is_none() { " plain" } else { "" },
            number(height),
            nodes.len().max(1)
        );
        for (i, d) in shades.iter().enumerate().filter(|(_, d)| !d.is_empty()) {
            let _ = write!(out, "<path class=\"h{i}\" d=\"{d}\"/>");
        }
        out + "</svg>"
    }

    /// An invisible strip over each row that tells whose it is.
    fn titles(&self, nodes: &[Option<&NodeTrace>], row: f64) -> String {
        let mut out = String::new();
        for (i, node) in nodes.iter().enumerate() {
            let Some(node) = node else { continue };
            let (y, title) = (
                number(row * count(i)),
                escaped(&told(node, self.weighed, self.resource)),
            );
            let _ = write!(
                out,
                "<rect class=\"row\" y=\"{y}\" width=\"100%\" height=\"{}\"><title>{title}</title></rect>",
                number(row)
            );
        }
        out
    }

    fn names(&self, row: f64, height: f64) -> String {
        let note = |y: f64, text: &str| {
            format!(
                "<text class=\"note\" x=\"100%\" dx=\"8\" y=\"{}\">{}</text>",
                number(y),
                escaped(text)
            )
        };
        if row < NAMED {
            return note(10.0, "fullest at the start")
                + &note(height / 2.0, &counted(self.rows.len(), "node"))
                + &note(height - 2.0, "emptiest, or joined");
        }
        let names = node_labels(self.rows, 16);
        names
            .iter()
            .enumerate()
            .map(|(i, name)| note(row * (count(i) + 0.5) + 4.0, name))
            .collect()
    }
}

/// What the shades mean.
pub(super) fn legend(band: Option<Band>) -> String {
    let swatches = |shades: std::ops::Range<usize>| {
        let mut out = String::new();
        for shade in shades {
            let _ = write!(out, "<i class=\"h{shade}\"></i>");
        }
        out
    };
    match band {
        Some(band) => {
            let (low, high) = (percent(band.low.get()), percent(band.high.get()));
            format!(
                "<span class=\"key\"><b class=\"shades\">{}</b>idle, up to {low}</span><span class=\"key\"><b class=\"shades\">{}</b>in the band</span>\
                 <span class=\"key\"><b class=\"shades\">{}</b>hot, above {high}</span>",
                swatches(0..3),
                swatches(3..5),
                swatches(5..SHADES)
            )
        }
        None => format!(
            "<span class=\"key\"><b class=\"shades plain\">{}</b>0 % to 100 %</span>",
            swatches(0..SHADES)
        ),
    }
}

/// How high a row is, in pixels.
fn row_height(rows: usize) -> f64 {
    match rows {
        0..=15 => 15.0,
        16..=60 => 10.0,
        61..=150 => 5.0,
        151..=350 => 2.0,
        _ => 1.0,
    }
}

/// The shade of a ratio: the further from the band, the deeper.
fn shade(ratio: Ratio, band: Option<Band>) -> usize {
    let within = |low: f64, high: f64, first: usize, shades: usize| {
        let place = Scale::new((low, high), (0.0, count(shades))).at(ratio.get());
        let steps = (1..shades).filter(|i| place >= count(*i)).count();
        first + steps
    };
    match band {
        None => within(0.0, 1.0, 0, SHADES),
        Some(band) if ratio > band.high => {
            within(band.high.get(), band.high.get().max(0.0) + 0.2, 5, 4)
        }
        Some(band) if ratio <= band.low => within(0.0, band.low.get(), 0, 3),
        Some(band) => within(band.low.get(), band.high.get(), 3, 2),
    }
}

/// A row's cells, with those that follow each other in one shade as one stroke.
fn strokes(row: usize, cells: impl Iterator<Item = Option<usize>>, shades: &mut [String; SHADES]) {
    let mut open: Option<(usize, usize, usize)> = None;
    let mut close = |open: Option<(usize, usize, usize)>| {
        if let Some((shade, from, to)) = open {
            let _ = write!(shades[shade.min(SHADES - 1)], "M{from} {row}h{}", to - from);
        }
    };
    for (i, cell) in cells.enumerate() {
        match (cell, &mut open) {
            (Some(shade), Some((same, _, to))) if *same == shade => *to = i + 1,
            (cell, _) => {
                close(open.take());
                open = cell.map(|shade| (shade, i, i + 1));
            }
        }
    }
    close(open);
}

fn hundredths(value: f64) -> String {
    format!("{}", ((value * 100.0).round() / 100.0).max(0.01))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_one_shade_are_one_stroke() {
        let mut shades: [String; SHADES] = Default::default();
        strokes(
            7,
            [Some(1), Some(1), None, Some(1), Some(2)].into_iter(),
            &mut shades,
        );
        assert_eq!(
            (shades[1].as_str(), shades[2].as_str()),
            ("M0 7h2M3 7h1", "M4 7h1")
        );
    }

    #[test]
    fn shades_change_at_the_edges_of_the_band() {
        let band = Some(Band {
            low: Ratio::percent(30.0).unwrap(),
            high: Ratio::percent(70.0).unwrap(),
        });
        let of = |percents: &[f64]| {
            percents
                .iter()
                .map(|p| shade(Ratio::percent(*p).unwrap(), band))
                .collect::<Vec<_>>()
        };
        assert_eq!(of(&[0.0, 15.0, 30.0]), [0, 1, 2]);
        assert_eq!(of(&[30.1, 50.1, 70.0]), [3, 4, 4]);
        assert_eq!(of(&[70.1, 76.0, 81.0, 85.1, 300.0]), [5, 6, 7, 8, 8]);
        assert_eq!(shade(Ratio::ONE, None), SHADES - 1);
    }
}
