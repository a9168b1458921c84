//! A simulated run as one HTML page that loads nothing. Without scripts only the tooltips appear
//! later.
//!
//! The same traces give the same page, byte for byte.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use jiff::SignedDuration;
use maud::{Markup, html};

use crate::policy::Basis;
use crate::simulate::trace::Trace;
use crate::values::text::{age, count as counted};
use crate::view::bar;
use crate::view::figures::{caveats, unknown_objects};
use crate::view::html::{HtmlPage, PALETTE, content_security_policy};
use crate::view::words::usual_first;

use self::axes::TimeAxis;
use self::resource::ResourceSection;

mod axes;
mod bars;
mod envelope;
mod heat;
mod hours;
mod lines;
mod marks;
mod resource;
mod series;
mod summary;
mod tables;
mod usage;

/// The style sheet.
static STYLE: LazyLock<String> = LazyLock::new(|| [PALETTE, bar::STYLE, REPORT].concat());

const REPORT: &str = include_str!("report/style.css");

/// Shows tooltips at once, also on touch screens. Without this script the browser shows its own
/// tooltips after a delay.
const SCRIPT: &str = include_str!("report/script.js");

/// A run and its label on the page.
struct LabelledRun<'t> {
    trace: &'t Trace,
    label: String,
}

/// One run, or several runs to compare.
struct SimulationReport<'t> {
    runs: Vec<LabelledRun<'t>>,
    /// All charts share one time axis.
    time: TimeAxis,
    resources: Vec<&'t str>,
}

/// Returns the page. Several runs are shown side by side.
pub(crate) fn html(traces: &[Trace]) -> String {
    let by_usage = usage::comparable(traces);
    let traces = by_usage.as_deref().unwrap_or(traces);
    let report = SimulationReport::new(traces);
    let policy = content_security_policy(&STYLE, SCRIPT);
    HtmlPage {
        title: traces.first().map_or("no run", |trace| &trace.scenario),
        style: &STYLE,
        script: SCRIPT,
        head: html! { meta http-equiv="Content-Security-Policy" content=(policy); },
        body_class: (traces.len() > 1).then_some("several"),
        body: report.body(),
    }
    .render()
}

impl<'t> SimulationReport<'t> {
    fn new(traces: &'t [Trace]) -> Self {
        let length = traces
            .iter()
            .map(|trace| trace.end.duration_since(trace.start))
            .max()
            .unwrap_or(SignedDuration::ZERO);
        SimulationReport {
            runs: labelled(traces),
            time: TimeAxis { length, roomy: traces.len() == 1 },
            resources: resources(traces),
        }
    }

    fn body(&self) -> Markup {
        html! {
            (self.header())
            @match self.runs.as_slice() {
                [] => p { "There is no run to show." },
                [only] => (summary::tiles(only)),
                several => {
                    (summary::comparison(several))
                    (hours::differing(several))
                }
            }
            (self.events())
            h2 { "Balance" }
            p.hint {
                "Spread over the nodes: lower is more even."
                @if !self.same_basis() {
                    " Measured by actual usage, because these policies balance by different things."
                }
            }
            (summary::balance(&self.runs, self.time, &self.resources))
            @for resource in &self.resources {
                (ResourceSection::new(&self.runs, self.time, resource).draw())
            }
            h2 { "Evictions" }
            (self.each("stack", tables::evictions))
            h2 { "Refusals" }
            p.hint { "Why other candidates stayed: counted over pods and cycles." }
            (self.each("runs", tables::refusals))
            footer { "evenkeel " (env!("CARGO_PKG_VERSION")) " · simulated, not measured" }
        }
    }

    fn same_basis(&self) -> bool {
        self.runs.windows(2).all(|pair| pair[0].trace.basis == pair[1].trace.basis)
    }

    fn header(&self) -> Markup {
        let Some(first) = self.runs.first().map(|run| run.trace) else {
            return html! { h1 { "No run" } };
        };
        let basis = match first.basis {
            _ if !self.same_basis() => "one balances by actual usage, one by requests",
            Basis::Actual => "balances by actual usage",
            Basis::Requests => "balances by requests",
        };
        html! {
            header {
                h1 { (first.scenario) }
                p.about { (first.about) }
                p.facts {
                    "policy "
                    @for (i, run) in self.runs.iter().enumerate() {
                        @if i > 0 { " and " }
                        b { (run.trace.policy) }
                    }
                    " · " (counted(first.nodes.len(), "node"))
                    " · " (age(self.time.length)) " simulated"
                    ", one sample every " (age(first.step))
                    " · " (basis)
                    " · from " (first.start.strftime("%Y-%m-%d %H:%M UTC"))
                }
                @for sentence in unknown_objects(self.runs.iter().map(|run| run.trace)) {
                    p.facts { (sentence) }
                }
                @for run in &self.runs {
                    @for caveat in caveats(run.trace) {
                        p { @if self.runs.len() > 1 { (run.label) ": " } (caveat) }
                    }
                }
            }
        }
    }

    fn events(&self) -> Markup {
        html! {
            @if self.runs.iter().any(|run| !run.trace.events.is_empty()) {
                h3 { "Other changes of the cluster" }
                (self.each("runs", tables::events))
            }
        }
    }

    /// One part for each run. Several runs have their labels above.
    fn each(&self, class: &str, part: fn(&Trace) -> Markup) -> Markup {
        match self.runs.as_slice() {
            [only] => part(only.trace),
            several => html! {
                div class=(class) {
                    @for run in several {
                        div { h3 { (run.label) } (part(run.trace)) }
                    }
                }
            },
        }
    }
}

/// Labels runs by their policies; by scenario and policy if the scenarios differ; by number if the
/// labels are equal.
fn labelled(traces: &[Trace]) -> Vec<LabelledRun<'_>> {
    let one_scenario = traces.windows(2).all(|pair| pair[0].scenario == pair[1].scenario);
    let labels: Vec<String> = traces
        .iter()
        .map(|trace| {
            if one_scenario {
                trace.policy.clone()
            } else {
                format!("{}, {}", trace.scenario, trace.policy)
            }
        })
        .collect();
    traces
        .iter()
        .enumerate()
        .map(|(i, trace)| {
            let equal = labels.iter().filter(|label| **label == labels[i]).count();
            let label =
                if equal > 1 { format!("{} ({})", labels[i], i + 1) } else { labels[i].clone() };
            LabelledRun { trace, label }
        })
        .collect()
}

/// Returns the resources that have a band in any run, else those that are known; cpu and memory
/// first.
fn resources(traces: &[Trace]) -> Vec<&str> {
    let banded: BTreeSet<&str> =
        traces.iter().flat_map(|trace| trace.bands.keys()).map(String::as_str).collect();
    let mut resources: Vec<&str> = if banded.is_empty() {
        ["cpu", "memory"].into_iter().filter(|resource| is_known(traces, resource)).collect()
    } else {
        banded.into_iter().collect()
    };
    usual_first(&mut resources);
    resources
}

fn is_known(traces: &[Trace], resource: &str) -> bool {
    traces
        .iter()
        .flat_map(|trace| &trace.nodes)
        .any(|node| node.actual.contains_key(resource) || node.requests.contains_key(resource))
}

#[cfg(test)]
mod tests;
