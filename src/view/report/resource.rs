//! The charts of one resource: over time, as a map, and at the start and the end.

use maud::{Markup, html};

use crate::policy::Basis;
use crate::simulate::trace::{NodeTrace, Trace, TraceBand};
use crate::values::Ratio;
use crate::view::scale::share_ticks;

use super::LabelledRun;
use super::axes::{ShareAxis, TimeAxis};
use super::bars::StartEndBars;
use super::heat::{self, HeatMap};
use super::lines::{self, Colours, LineChart};
use super::marks;
use super::series::peak;

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
        let basis = traces.first().map_or(Basis::Actual, |trace| trace.basis);
        ResourceSection {
            runs,
            time,
            resource,
            top: top(&traces, resource),
            rows: heat::rows(&traces, basis, resource),
            colours: lines::colours(&traces, basis, resource),
        }
    }

    pub(super) fn draw(&self) -> Markup {
        html! {
            h2 { (self.resource) }
            @match self.runs {
                [only] => {
                    (self.over_time(only))
                    @if self.few() {
                        div.two { (self.map(only)) (self.other_basis(only)) }
                    } @else {
                        (self.map(only))
                        (self.other_basis(only))
                    }
                    (self.bars(only))
                }
                several => {
                    div.runs { @for run in several { (self.over_time(run)) } }
                    div.runs { @for run in several { (self.map(run)) } }
                    div.runs { @for run in several { (self.other_basis(run)) } }
                    div.runs { @for run in several { (self.bars(run)) } }
                }
            }
        }
    }

    /// Whether the nodes are few enough for one line each.
    fn few(&self) -> bool {
        self.rows.len() <= lines::MOST
    }

    fn band(&self, run: &LabelledRun<'_>) -> Option<TraceBand> {
        run.trace.bands.get(self.resource).copied()
    }

    /// The quantity that the policy balances by, with its band and the evictions.
    fn over_time(&self, run: &LabelledRun<'_>) -> Markup {
        let legend = html! {
            @if !self.few() { span.key { "pale: all nodes; darker: the middle 80 %" } }
            (marks::legend())
        };
        self.lines(run, run.trace.basis, 264.0, self.band(run), &legend)
    }

    /// The quantity that the policy does not balance by.
    fn other_basis(&self, run: &LabelledRun<'_>) -> Markup {
        let (basis, note) = match run.trace.basis {
            Basis::Actual => (Basis::Requests, "visible to the scheduler"),
            Basis::Requests => (Basis::Actual, "not visible to the scheduler"),
        };
        self.lines(run, basis, 150.0, None, &html! { span.key { (note) } })
    }

    /// A line for each node, or the quantiles of many.
    fn lines(
        &self,
        run: &LabelledRun<'_>,
        basis: Basis,
        height: f64,
        band: Option<TraceBand>,
        legend: &Markup,
    ) -> Markup {
        let chart = LineChart {
            trace: run.trace,
            resource: self.resource,
            basis,
            time: self.time,
            share: ShareAxis { ticks: share_ticks(self.top), height },
            band,
            colours: &self.colours,
        };
        let picture = if self.few() { chart.draw() } else { chart.envelope() };
        self.figure(run, &format!("{} over time", basis.weighed()), legend, &picture)
    }

    fn map(&self, run: &LabelledRun<'_>) -> Markup {
        let band = self.band(run);
        let map = HeatMap {
            trace: run.trace,
            resource: self.resource,
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
    [Basis::Actual, Basis::Requests]
        .into_iter()
        .filter_map(|basis| peak(node.series(basis, resource)))
        .map(Ratio::get)
        .fold(0.0, f64::max)
}
