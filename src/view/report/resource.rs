//! The charts of one resource: over time, as a map, and at the start and the end.

use maud::{Markup, html};

use crate::simulate::trace::{NodeTrace, Trace, TraceBand};
use crate::values::Ratio;
use crate::view::scale::share_ticks;

use super::LabelledRun;
use super::axes::{ShareAxis, TimeAxis};
use super::bars::StartEndBars;
use super::heat::{self, HeatMap};
use super::lines::{self, Colours, LineChart};
use super::marks;
use super::series::{ShareKind, peak};

/// More rows than this need no legend below the bars: they are drawn as profiles.
const MOST_BARS: usize = 40;

/// One resource. Every run has the same axes and the same rows, so that runs can be compared.
pub(super) struct ResourceSection<'r> {
    runs: &'r [LabelledRun<'r>],
    time: TimeAxis,
    resource: &'r str,
    /// The share at the top of the axis.
    top: f64,
    /// The names of the nodes, from the top.
    rows: Vec<&'r str>,
    colours: Colours<'r>,
}

impl<'r> ResourceSection<'r> {
    pub(super) fn new(runs: &'r [LabelledRun<'r>], time: TimeAxis, resource: &'r str) -> Self {
        let traces: Vec<&Trace> = runs.iter().map(|run| run.trace).collect();
        let kind = traces.first().map_or(ShareKind::Usage, |trace| ShareKind::of(trace.basis));
        ResourceSection {
            runs,
            time,
            resource,
            top: top(&traces, resource),
            rows: heat::rows(&traces, kind, resource),
            colours: lines::colours(&traces, kind, resource),
        }
    }

    pub(super) fn draw(&self) -> Markup {
        html! {
            h2 { (self.resource) }
            @match self.runs {
                [only] => {
                    (self.over_time(only))
                    @if self.few() {
                        div.two { (self.map(only)) (self.other_kind(only)) }
                    } @else {
                        (self.map(only))
                        (self.other_kind(only))
                    }
                    (self.bars(only))
                }
                several => {
                    div.runs { @for run in several { (self.over_time(run)) } }
                    div.runs { @for run in several { (self.map(run)) } }
                    div.runs { @for run in several { (self.other_kind(run)) } }
                    div.runs { @for run in several { (self.bars(run)) } }
                }
            }
        }
    }

    /// Whether the nodes are few enough for one line each.
    fn few(&self) -> bool {
        self.rows.len() <= lines::MOST
    }

    fn line_chart(&self, chart: &LineChart<'_>) -> Markup {
        if self.few() { chart.draw() } else { chart.envelope() }
    }

    fn share_axis(&self, height: f64) -> ShareAxis {
        ShareAxis { ticks: share_ticks(self.top), height }
    }

    fn band(&self, run: &LabelledRun<'_>) -> Option<TraceBand> {
        run.trace.bands.get(self.resource).copied()
    }

    /// The quantity that the policy balances by, with its band and the evictions.
    fn over_time(&self, run: &LabelledRun<'_>) -> Markup {
        let kind = ShareKind::of(run.trace.basis);
        let chart = self.line_chart(&LineChart {
            trace: run.trace,
            resource: self.resource,
            kind,
            time: self.time,
            share: self.share_axis(264.0),
            band: self.band(run),
            marked: true,
            colours: &self.colours,
        });
        let legend = html! {
            @if !self.few() { span.key { "pale: all nodes; darker: the middle 80 %" } }
            (marks::legend())
        };
        self.figure(run, &format!("{} over time", kind.words()), &legend, &chart)
    }

    /// The quantity that the policy does not balance by.
    fn other_kind(&self, run: &LabelledRun<'_>) -> Markup {
        let kind = ShareKind::of(run.trace.basis).other();
        let chart = self.line_chart(&LineChart {
            trace: run.trace,
            resource: self.resource,
            kind,
            time: self.time,
            share: self.share_axis(150.0),
            band: None,
            marked: false,
            colours: &self.colours,
        });
        let note = match kind {
            ShareKind::Requests => "visible to the scheduler",
            ShareKind::Usage => "not visible to the scheduler",
        };
        let legend = html! { span.key { (note) } };
        self.figure(run, &format!("{} over time", kind.words()), &legend, &chart)
    }

    fn map(&self, run: &LabelledRun<'_>) -> Markup {
        let band = self.band(run);
        let map = HeatMap {
            trace: run.trace,
            resource: self.resource,
            kind: ShareKind::of(run.trace.basis),
            time: self.time,
            band,
            rows: &self.rows,
        };
        self.figure(run, "of every node over time", &heat::legend(band), &map.draw())
    }

    fn bars(&self, run: &LabelledRun<'_>) -> Markup {
        let bars = StartEndBars {
            trace: run.trace,
            resource: self.resource,
            kind: ShareKind::of(run.trace.basis),
            band: self.band(run),
            top: self.top,
            rows: &self.rows,
        };
        let picture = if self.rows.len() > MOST_BARS { bars.profiles() } else { bars.table() };
        let legend = html! {
            @if self.rows.len() <= MOST_BARS {
                span.key { "filled: at the end; dashed outline: at the start" }
            }
        };
        self.figure(run, "at the start and the end", &legend, &picture)
    }

    fn figure(
        &self,
        run: &LabelledRun<'_>,
        what: &str,
        legend: &Markup,
        picture: &Markup,
    ) -> Markup {
        html! {
            figure {
                figcaption {
                    b.what {
                        @if self.runs.len() > 1 { (run.label) ": " }
                        (self.resource) " " (what)
                    }
                    (legend)
                }
                (picture)
            }
        }
    }
}

/// Returns the top of the axis: above every share of every run and above every target.
fn top(traces: &[&Trace], resource: &str) -> f64 {
    let highest_share = traces
        .iter()
        .flat_map(|trace| &trace.nodes)
        .map(|node| peak_of(node, resource))
        .fold(0.0, f64::max);
    let highest = traces
        .iter()
        .filter_map(|trace| trace.bands.get(resource))
        .map(|band| band.target.get() * 1.08)
        .fold(highest_share, f64::max);
    share_ticks(highest).last().copied().unwrap_or(1.0)
}

/// Returns the highest share of a node, of usage and of requests.
fn peak_of(node: &NodeTrace, resource: &str) -> f64 {
    [ShareKind::Usage, ShareKind::Requests]
        .into_iter()
        .filter_map(|kind| peak(kind.series(node, resource)))
        .map(Ratio::get)
        .fold(0.0, f64::max)
}
