//! One line for each node, where the nodes are few enough to tell apart.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use maud::{Markup, html};

use crate::policy::Basis;
use crate::simulate::trace::{NodeTrace, Trace, TraceBand};
use crate::values::Ratio;
use crate::view::bar::Zone;
use crate::view::scale::{count, number, path};
use crate::view::words::{node_labels, percent};

use super::axes::{ShareAxis, TimeAxis, chart, inner};
use super::marks::marks;
use super::series::{RatioSeries, first, last, peak, thinned, value_at, zone};

/// More lines than this cannot be told apart.
pub(super) const MOST: usize = 15;
/// More points than this are finer than a screen.
const POINTS: usize = 400;
/// The least distance between two node names, in pixels.
const NAME_HEIGHT: f64 = 14.0;

/// A quantity of every node over time.
pub(super) struct LineChart<'t> {
    pub(super) trace: &'t Trace,
    pub(super) resource: &'t str,
    pub(super) basis: Basis,
    pub(super) time: TimeAxis,
    pub(super) share: ShareAxis,
    /// The band; `None` for a quantity that the policy does not balance by.
    pub(super) band: Option<TraceBand>,
    pub(super) colours: &'t Colours<'t>,
}

/// The CSS class of each node's colour, the same in all charts of a resource.
pub(super) type Colours<'t> = BTreeMap<&'t str, String>;

/// Assigns warm colours to nodes that were hot in any run and cool colours to the others, the
/// fullest first.
pub(super) fn colours<'t>(traces: &[&'t Trace], basis: Basis, resource: &str) -> Colours<'t> {
    let mut known: BTreeMap<&str, (Ratio, bool)> = BTreeMap::new();
    for trace in traces {
        let band = trace.bands.get(resource).copied();
        for node in &trace.nodes {
            let peak = peak(node.series(basis, resource)).unwrap_or_default();
            let (highest, hot) = known.entry(&node.name).or_default();
            *hot |= zone(peak, band) == Zone::Hot;
            *highest = if peak > *highest { peak } else { *highest };
        }
    }
    let mut nodes: Vec<_> = known.into_iter().collect();
    nodes.sort_by(|a, b| b.1.0.order(a.1.0).then(a.0.cmp(b.0)));
    // Over all runs, so that a node has one colour in every chart that is compared.
    let (hot, other): (Vec<_>, Vec<_>) = nodes.into_iter().partition(|(_, (_, hot))| *hot);
    let warm = hot.into_iter().enumerate().map(|(i, (name, _))| (name, colour_class("warm", i, 4)));
    let cool =
        other.into_iter().enumerate().map(|(i, (name, _))| (name, colour_class("cool", i, 6)));
    warm.chain(cool).collect()
}

/// Returns the class of the `i`-th node of a family of colours. Repeated colours are dashed.
fn colour_class(family: &str, i: usize, colours: usize) -> String {
    let (colour, round) = (i % colours, i / colours);
    if round == 0 {
        format!("{family}{colour}")
    } else {
        format!("{family}{colour} dash{}", round.min(2))
    }
}

struct NodeLine<'t> {
    node: &'t NodeTrace,
    /// The class of its colour.
    class: &'t str,
    path: String,
    hot: bool,
    tooltip: String,
}

impl LineChart<'_> {
    pub(super) fn draw(&self) -> Markup {
        let lines = self.lines();
        let class = if self.basis == Basis::Requests && self.band.is_none() {
            "lines faint"
        } else {
            "lines"
        };
        let curves = html! {
            @if let Some(band) = self.band {
                // A halo behind hot lines, cut off at the target: only the part above the target
                // glows.
                @let hot = paths("line", lines.iter().filter(|line| line.hot));
                (inner(self.share.y(band.target.get()), "halo", &hot))
            }
            (inner(self.share.height, class, &html! {
                (paths("line", lines.iter().filter(|line| !line.hot)))
                (paths("line was-hot", lines.iter().filter(|line| line.hot)))
            }))
        };
        let label = "of each node over time, as a share of allocatable";
        self.framed(label, &curves, 4.5, &self.names(&lines))
    }

    /// Curves with the band, the axes, the events, their names, and marks of this radius.
    pub(super) fn framed(&self, of: &str, curves: &Markup, radius: f64, names: &Markup) -> Markup {
        let height = self.share.height;
        let content = html! {
            (self.share.band(self.band))
            (self.share.axis())
            (self.time.axis(height))
            (self.share.edges(self.band))
            (curves)
            (self.share.edge_names(self.band, false))
            (self.time.events(self.trace, height))
            @if self.basis == self.trace.basis { (self.marks(radius)) }
            (names)
        };
        let label = format!("{} {} {of}", self.resource, self.basis.weighed());
        chart(height, &label, &content)
    }

    pub(super) fn series<'n>(&self, node: &'n NodeTrace) -> &'n RatioSeries {
        node.series(self.basis, self.resource)
    }

    /// Returns the lines, the fullest node first.
    fn lines(&self) -> Vec<NodeLine<'_>> {
        let mut nodes: Vec<(Ratio, &NodeTrace)> = self
            .trace
            .nodes
            .iter()
            .map(|node| {
                let series = self.series(node);
                (peak(series).unwrap_or_default(), node)
            })
            .collect();
        nodes.sort_by(|a, b| b.0.order(a.0).then_with(|| a.1.name.cmp(&b.1.name)));
        nodes
            .into_iter()
            .map(|(peak, node)| NodeLine {
                node,
                class: self.colours.get(node.name.as_str()).map(String::as_str).unwrap_or_default(),
                path: self.path(node),
                hot: zone(peak, self.band) == Zone::Hot,
                tooltip: tooltip(node, self.basis, self.resource),
            })
            .collect()
    }

    fn path(&self, node: &NodeTrace) -> String {
        let step = self.trace.step.as_secs_f64();
        let points = thinned(self.series(node), POINTS);
        path(points.into_iter().map(|point| {
            let (i, ratio) = point?;
            let at = SignedDuration::from_secs_f64(step * count(i));
            Some((self.time.x(at), self.share.y(ratio.get())))
        }))
    }

    fn marks(&self, radius: f64) -> Markup {
        let nodes = self.trace.nodes.iter();
        let nodes: BTreeMap<&str, &NodeTrace> = nodes.map(|n| (n.name.as_str(), n)).collect();
        marks(self.trace, self.time, radius, |eviction| {
            let node = nodes.get(eviction.from.as_str())?;
            let series = self.series(node);
            let ratio = value_at(self.trace, series, eviction.at)?;
            Some(self.share.y(ratio.get()))
        })
    }

    /// A name at the end of each line. Names keep their distance; a short stroke leads back to the
    /// line.
    fn names(&self, lines: &[NodeLine<'_>]) -> Markup {
        let names: Vec<&str> = lines.iter().map(|line| line.node.name.as_str()).collect();
        let labels = node_labels(&names, 15);
        let mut ends: Vec<(usize, f64)> = lines
            .iter()
            .enumerate()
            .filter_map(|(i, line)| Some((i, self.end(line.node)?)))
            .collect();
        // `spread` needs the heights in order, and equal heights must give the same page each time.
        ends.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        let wanted: Vec<f64> = ends.iter().map(|(_, y)| *y).collect();
        let spread = spread(&wanted, self.share.height);
        html! {
            @for ((i, end), y) in ends.into_iter().zip(spread) {
                @let line = &lines[i];
                svg class={ "name " (line.class) } x="100%" {
                    title { (line.tooltip) }
                    path d={ "M3 " (number(end)) "L13 " (number(y)) } {}
                    text x="17" y=(number(y + 4.0)) {
                        (labels[i])
                        @if last(self.series(line.node)).is_none() { " down" }
                    }
                }
            }
        }
    }

    /// Returns the height of the last known value of a node.
    fn end(&self, node: &NodeTrace) -> Option<f64> {
        let series = self.series(node);
        let ratio = series.iter().rev().flatten().next()?;
        Some(self.share.y(ratio.get()))
    }
}

fn paths<'l>(class: &str, lines: impl Iterator<Item = &'l NodeLine<'l>>) -> Markup {
    html! {
        @for line in lines {
            path class={ (class) " " (line.class) } d=(line.path) { title { (line.tooltip) } }
        }
    }
}

/// Returns the course of a node in words.
pub(super) fn tooltip(node: &NodeTrace, basis: Basis, resource: &str) -> String {
    let series = node.series(basis, resource);
    let [first, last, peak] = [first(series), last(series), peak(series)]
        .map(|ratio| ratio.map_or("down".to_owned(), |ratio| percent(ratio.get())));
    format!("{}: {resource} {first} → {last}, peak {peak}", node.name)
}

/// Moves the sorted heights of names apart and, as far as they fit, within `height`.
pub(super) fn spread(wanted: &[f64], height: f64) -> Vec<f64> {
    let mut positions = Vec::with_capacity(wanted.len());
    let mut least = f64::MIN;
    for position in wanted {
        let position = position.max(least);
        positions.push(position);
        least = position + NAME_HEIGHT;
    }
    let mut most = height;
    for position in positions.iter_mut().rev() {
        *position = position.min(most);
        most = *position - NAME_HEIGHT;
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_their_distance_and_stay_inside() {
        assert_eq!(spread(&[10.0, 11.0, 90.0], 100.0), [10.0, 24.0, 90.0]);
        assert_eq!(spread(&[95.0, 99.0, 100.0], 100.0), [72.0, 86.0, 100.0]);
    }

    #[test]
    fn colours_repeat_with_another_dash() {
        let classes: Vec<_> = (0..5).map(|i| colour_class("cool", i, 2)).collect();
        assert_eq!(classes, ["cool0", "cool1", "cool0 dash1", "cool1 dash1", "cool0 dash2"]);
    }
}
