//! Nodes at the start and at the end: one bar each, or sorted profiles of many nodes.

use maud::{Markup, html};

use crate::simulate::trace::{NodeTrace, Trace, TraceBand};
use crate::values::Ratio;
use crate::values::text::count as counted;
use crate::view::bar::{Bar, ReferenceMark, Zone, place};
use crate::view::scale::{count, number, share_ticks};
use crate::view::words::{change, node_labels, percent};

use super::axes::{ShareAxis, WIDTH, chart, inner};
use super::series::{RatioSeries, first, last, zone};

/// The height of a profile, in pixels.
const PROFILE_HEIGHT: f64 = 120.0;

/// The shares of all nodes at the start and at the end.
pub(super) struct StartEndBars<'t> {
    pub(super) trace: &'t Trace,
    pub(super) resource: &'t str,
    pub(super) band: Option<TraceBand>,
    /// The share at the end of the axis.
    pub(super) top: f64,
    /// The names of the nodes, from the top.
    pub(super) rows: &'t [&'t str],
}

impl StartEndBars<'_> {
    /// One bar for each node.
    pub(super) fn table(&self) -> Markup {
        let labels = node_labels(self.rows, 24);
        html! {
            table.bars {
                thead {
                    tr {
                        th { "node" }
                        th { (self.head()) }
                        th.figure { "start → end" }
                        th.figure { "pods" }
                    }
                }
                tbody {
                    @for (name, label) in self.rows.iter().zip(labels) {
                        @if let Some(node) = self.node(name) {
                            (self.row(node, &label))
                        }
                    }
                }
            }
        }
    }

    fn series<'n>(&self, node: &'n NodeTrace) -> &'n RatioSeries {
        node.series(self.trace.basis, self.resource)
    }

    fn node(&self, name: &str) -> Option<&NodeTrace> {
        self.trace.nodes.iter().find(|node| node.name == name)
    }

    /// The edges of the band as a column head, or the name of the resource without a band.
    fn head(&self) -> Markup {
        let Some(band) = self.band else {
            return html! { (self.resource) };
        };
        html! {
            svg.bar width="100%" height="14" {
                @for (ratio, class) in [(band.threshold, "idle"), (band.target, "hot")] {
                    text class={ "edge-name " (class) } x=(place(ratio, self.top)) y="11"
                        text-anchor="middle" {
                        (percent(ratio.get()))
                    }
                }
            }
        }
    }

    fn row(&self, node: &NodeTrace, label: &str) -> Markup {
        let series = self.series(node);
        let (before, after) = (first(series), last(series));
        let band = self.band.map(Into::into).unwrap_or_default();
        let bar = Bar::change(before, after, band);
        html! {
            tr {
                th title=(node.name) { (label) }
                td { (bar.svg(self.top, ReferenceMark::Outline)) }
                td.figure { (figure(before, "?")) " → " (figure(after, "down")) }
                td.figure { (pods(node)) }
            }
        }
    }

    /// All nodes from the fullest to the emptiest, at the start and at the end.
    pub(super) fn profiles(&self) -> Markup {
        html! {
            div.two.profiles {
                div { h5 { "at the start" } (self.profile("at the start", &self.sorted(first))) }
                div { h5 { "at the end" } (self.profile("at the end", &self.sorted(last))) }
            }
        }
    }

    fn sorted(&self, pick: fn(&RatioSeries) -> Option<Ratio>) -> Vec<Ratio> {
        let mut ratios: Vec<Ratio> =
            self.trace.nodes.iter().filter_map(|node| pick(self.series(node))).collect();
        ratios.sort_by(|a, b| b.order(*a));
        ratios
    }

    fn profile(&self, when: &str, ratios: &[Ratio]) -> Markup {
        let axis = ShareAxis { ticks: share_ticks(self.top), height: PROFILE_HEIGHT };
        let hot = ratios.iter().filter(|ratio| zone(**ratio, self.band) == Zone::Hot).count();
        let content = html! {
            (axis.band(self.band))
            (axis.axis())
            (inner(PROFILE_HEIGHT, "profile", &html! {
                @for zone in [Zone::Idle, Zone::Even, Zone::Hot] {
                    @let bars = self.profile_path(zone, ratios, &axis);
                    path class={ "fill " (zone.class()) } d=(bars) {}
                }
            }))
            (axis.edges(self.band))
            (axis.edge_names(self.band, true))
            text.note x="100%" y="138" text-anchor="end" {
                (counted(ratios.len(), "node")) ", " (hot) " hot"
            }
        };
        chart(PROFILE_HEIGHT, &format!("{} of all nodes {when}, sorted", self.resource), &content)
    }

    /// Returns one path for all bars of a zone: a thousand nodes stay one element.
    fn profile_path(&self, wanted: Zone, ratios: &[Ratio], axis: &ShareAxis) -> String {
        let width = WIDTH / count(ratios.len().max(1));
        ratios
            .iter()
            .enumerate()
            .filter(|(_, ratio)| zone(**ratio, self.band) == wanted)
            .map(|(i, ratio)| {
                let (x, y) = (width * count(i), number(axis.y(ratio.get())));
                // The rest of the width is the gap between two bars.
                format!("M{x:.2} 120V{y}h{:.2}V120Z", width * 0.86)
            })
            .collect::<Vec<_>>()
            .concat()
    }
}

fn figure(ratio: Option<Ratio>, missing: &str) -> String {
    ratio.map_or_else(|| missing.to_owned(), |ratio| percent(ratio.get()))
}

fn pods(node: &NodeTrace) -> String {
    match (node.pods.first(), node.pods.last()) {
        (Some(before), Some(after)) => change(before, after),
        _ => String::new(),
    }
}
