//! Past cycles: a chart of the imbalance and a table of outcomes.

use std::collections::BTreeSet;

use maud::{Markup, html};

use crate::view::scale::{number, path, position, share_ticks};
use crate::view::words::percent;

use super::super::StatusView;
use super::super::facts::CycleSummary;
use super::parts::{ago, folding, wide_table};

const OPEN: usize = 8;
const HEADS: [&str; 6] = ["time", "outcome", "evicted", "hot nodes", "duration", "message"];
/// The height of the chart, in pixels.
const HEIGHT: f64 = 110.0;
/// More lines than these classes could not be told apart.
const LINES: [&str; 4] = ["line l0", "line l1", "line l2", "line l3"];

pub(super) fn section(view: &StatusView<'_>) -> Markup {
    let newest: Vec<&CycleSummary> = view.history.iter().rev().copied().collect();
    html! {
        section aria-labelledby="h-history" {
            h2 #h-history { "Cycles" }
            @if newest.is_empty() {
                p { "No cycle has finished yet." }
            }
            @if let Some(chart) = DeviationChart::of(&view.history) { (chart.figure()) }
            (folding(&newest, OPEN, "cycles", "earlier cycles", |cycles, id| {
                wide_table(id, &HEADS, &rows(view, cycles))
            }))
        }
    }
}

/// The standard deviation of each resource over the last cycles.
struct DeviationChart<'h> {
    cycles: &'h [&'h CycleSummary],
    first: &'h CycleSummary,
    last: &'h CycleSummary,
    resources: Vec<&'h str>,
    /// The share at the top of the chart.
    top: f64,
}

impl<'h> DeviationChart<'h> {
    /// Returns `None` for fewer than two cycles, or if no deviation is known.
    fn of(cycles: &'h [&'h CycleSummary]) -> Option<Self> {
        let [first, .., last] = cycles else {
            return None;
        };
        let deviations = || cycles.iter().flat_map(|cycle| &cycle.deviation);
        let resources: BTreeSet<&str> =
            deviations().map(|(resource, _)| resource.as_str()).collect();
        let largest = deviations().map(|(_, ratio)| ratio.get()).fold(0.01, f64::max);
        (!resources.is_empty()).then(|| DeviationChart {
            cycles,
            first,
            last,
            resources: resources.into_iter().take(LINES.len()).collect(),
            top: share_ticks(largest).last().copied().unwrap_or(1.0),
        })
    }

    fn figure(&self) -> Markup {
        html! {
            figure {
                figcaption {
                    "Standard deviation over the nodes"
                    @for (resource, line) in self.resources.iter().zip(LINES) {
                        " " span.key {
                            svg width="26" height="8" aria-hidden="true" {
                                path class=(line) d="M0 4H26" {}
                            }
                            (resource)
                        }
                    }
                    " " span.key {
                        svg width="10" height="10" aria-hidden="true" {
                            circle.mark cx="5" cy="5" r="4" {}
                        }
                        "pods evicted"
                    }
                }
                div.plot { (self.chart()) }
            }
        }
    }

    fn chart(&self) -> Markup {
        html! {
            svg.chart width="100%" height=(HEIGHT) role="img" aria-label=(self.label()) {
                @for share in [0.0, self.top / 2.0, self.top] {
                    @let y = number(self.y(share));
                    line.grid x2="100%" y1=(y) y2=(y) {}
                    text x="-8" dy="4" text-anchor="end" y=(y) { (percent(share)) }
                }
                // Lines are drawn in a stretched picture, so that their points fit any width.
                svg width="100%" height=(HEIGHT)
                    viewBox={ "0 0 1000 " (HEIGHT) } preserveAspectRatio="none" {
                    @for (resource, line) in self.resources.iter().zip(LINES) {
                        path class=(line) d=(self.line(resource)) {}
                    }
                }
                @for cycle in self.cycles.iter().filter(|cycle| cycle.evicted > 0) {
                    circle.mark r="4" cy=(HEIGHT) cx={ (number(self.x(cycle) / 10.0)) "%" } {}
                }
                text y="130" { (self.first.at.strftime("%H:%M:%S")) }
                text y="130" x="100%" text-anchor="end" { (self.last.at.strftime("%H:%M:%S UTC")) }
            }
        }
    }

    /// Describes the chart for screen readers.
    fn label(&self) -> String {
        self.resources
            .iter()
            .map(|resource| {
                let (first, last) =
                    (deviation(self.first, resource), deviation(self.last, resource));
                format!("{resource} from {first} to {last}. ")
            })
            .collect::<Vec<_>>()
            .concat()
    }

    fn line(&self, resource: &str) -> String {
        path(self.cycles.iter().map(|cycle| {
            let ratio = cycle.deviation.get(resource)?;
            Some((self.x(cycle), self.y(ratio.get())))
        }))
    }

    /// The position of a cycle, in thousandths of the width.
    fn x(&self, cycle: &CycleSummary) -> f64 {
        let seconds = |at: &CycleSummary| at.at.duration_since(self.first.at).as_secs_f64();
        position(seconds(cycle), (0.0, seconds(self.last)), (0.0, 1000.0))
    }

    fn y(&self, share: f64) -> f64 {
        position(share, (0.0, self.top), (HEIGHT, 0.0))
    }
}

fn deviation(cycle: &CycleSummary, resource: &str) -> String {
    cycle.deviation.get(resource).map_or("unknown".to_owned(), ToString::to_string)
}

fn outcome_class(outcome: &str) -> &'static str {
    match outcome {
        "failed" | "halted" | "waiting" => "bad",
        _ => "plain",
    }
}

fn rows(view: &StatusView<'_>, cycles: &[&CycleSummary]) -> Markup {
    html! {
        @for cycle in cycles {
            tr {
                th.when scope="row" { (ago(view, cycle.at)) }
                td { span class=(outcome_class(cycle.outcome)) { (cycle.outcome) } }
                td {
                    (cycle.evicted)
                    @if cycle.planned != cycle.evicted { "\u{a0}of\u{a0}" (cycle.planned) }
                }
                td { (cycle.hot) }
                td { (cycle.took_ms) "\u{a0}ms" }
                td { (cycle.message) }
            }
        }
    }
}
