//! A simulated run as one HTML page that needs nothing else: no request is made, and without scripts only the tooltips are
//! slower. The same traces give the same page, byte for byte.

use std::fmt::Write as _;

use jiff::SignedDuration;

use crate::policy::Basis;
use crate::render::PALETTE;
use crate::render::scale::share_ticks;
use crate::render::words::{counted, escaped, span};
use crate::simulate::trace::{Band, NodeTrace, Trace};
use crate::values::Ratio;

use self::bars::Bars;
use self::frame::{Across, Down};
use self::heat::Map;
use self::lines::{Chart, Colours};
use self::series::{Weighed, peak};

mod bars;
mod envelope;
mod frame;
mod heat;
mod lines;
mod marks;
mod series;
mod style;
mod summary;
mod tables;
mod usage;

/// A run and what it is called on the page.
struct Run<'t> {
    trace: &'t Trace,
    label: String,
}

/// What all pictures of a page share.
struct Page<'t> {
    runs: Vec<Run<'t>>,
    across: Across,
    resources: Vec<&'t str>,
}

/// One resource on a page: the same axis and the same rows for every run.
struct Section<'p> {
    page: &'p Page<'p>,
    resource: &'p str,
    top: f64,
    rows: Vec<&'p str>,
    colours: Colours<'p>,
}

/// The page of these runs; several are set beside each other.
pub(crate) fn html(traces: &[Trace]) -> String {
    let by_usage = usage::comparable(traces);
    let traces = by_usage.as_deref().unwrap_or(traces);
    let page = Page::new(traces);
    let title = traces.first().map_or("no run", |t| t.scenario.as_str());
    let class = if traces.len() > 1 {
        " class=\"several\""
    } else {
        ""
    };
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\">\
         <link rel=\"icon\" href=\"data:,\"><title>{} · evenkeel</title><style>{PALETTE}{}</style></head>\n<body{class}>\n{}\
         <script>{}</script></body></html>\n",
        style::POLICY,
        escaped(title),
        style::STYLE,
        page.body(),
        style::SCRIPT
    )
}

impl<'t> Page<'t> {
    fn new(traces: &'t [Trace]) -> Self {
        let length = traces
            .iter()
            .map(|t| t.end.duration_since(t.start))
            .max()
            .unwrap_or(SignedDuration::ZERO);
        Page {
            runs: labelled(traces),
            across: Across {
                length,
                roomy: traces.len() == 1,
            },
            resources: resources(traces),
        }
    }

    fn body(&self) -> String {
        let mut out = self.head();
        match self.runs.as_slice() {
            [] => out.push_str("<p>There is no run to show.</p>"),
            [only] => out.push_str(&summary::tiles(only)),
            several => out.push_str(&summary::comparison(several)),
        }
        out.push_str(&self.events());
        let by = if self.weigh_alike() {
            ""
        } else {
            " By what is really used, for these policies weigh different things."
        };
        let _ = write!(
            out,
            "<h2>Balance</h2><p class=\"hint\">Over the nodes; less is more even.{by}</p>"
        );
        out.push_str(&summary::balance(&self.runs, self.across, &self.resources));
        for resource in &self.resources {
            out.push_str(&self.section(resource).draw());
        }
        out.push_str(&self.tables("Evictions", tables::evictions));
        out.push_str(
            "<h2>Why the rest stayed</h2><p class=\"hint\">Refusals by code, counted over pods and cycles.</p>",
        );
        out.push_str(&self.each("runs", tables::refusals));
        let _ = writeln!(
            out,
            "<footer>evenkeel {} · simulated, not measured</footer>",
            env!("CARGO_PKG_VERSION")
        );
        out
    }

    fn weigh_alike(&self) -> bool {
        self.runs
            .windows(2)
            .all(|pair| pair[0].trace.basis == pair[1].trace.basis)
    }

    fn head(&self) -> String {
        let Some(first) = self.runs.first().map(|r| r.trace) else {
            return "<h1>No run</h1>".to_owned();
        };
        let policies: Vec<String> = self
            .runs
            .iter()
            .map(|r| format!("<b>{}</b>", escaped(&r.trace.policy)))
            .collect();
        let weighs = match first.basis {
            _ if !self.weigh_alike() => "one weighs what is really used, one what pods request",
            Basis::Actual => "weighs what is really used",
            Basis::Requests => "weighs what pods request",
        };
        format!(
            "<header><h1>{}</h1><p class=\"about\">{}</p><p class=\"facts\">policy {} · {} · {} simulated, a reading every {} · {weighs} · \
             from {}</p></header>",
            escaped(&first.scenario),
            escaped(&first.about),
            policies.join(" and "),
            counted(first.nodes.len(), "node"),
            span(self.across.length),
            span(first.step),
            first.start.strftime("%Y-%m-%d %H:%M UTC")
        )
    }

    fn events(&self) -> String {
        let lists = self.each("runs", tables::events);
        if self.runs.iter().all(|r| r.trace.events.is_empty()) {
            String::new()
        } else {
            format!("<h3>What happened by itself</h3>{lists}")
        }
    }

    fn tables(&self, title: &str, table: fn(&Trace) -> String) -> String {
        format!("<h2>{title}</h2>{}", self.each("stack", table))
    }

    /// The same of each run, under its name where there are several.
    fn each(&self, class: &str, of: fn(&Trace) -> String) -> String {
        match self.runs.as_slice() {
            [only] => of(only.trace),
            several => {
                let part = |run: &Run<'_>| {
                    format!(
                        "<div><h3>{}</h3>{}</div>",
                        escaped(&run.label),
                        of(run.trace)
                    )
                };
                format!(
                    "<div class=\"{class}\">{}</div>",
                    several.iter().map(part).collect::<String>()
                )
            }
        }
    }

    fn section<'p>(&'p self, resource: &'p str) -> Section<'p> {
        let traces = || self.runs.iter().map(|r| r.trace);
        let weighed = traces()
            .next()
            .map_or(Weighed::Used, |t| Weighed::by(t.basis));
        let of = |node: &NodeTrace| {
            [Weighed::Used, Weighed::Requested]
                .into_iter()
                .filter_map(|w| peak(w.of(node, resource)))
                .map(Ratio::get)
                .fold(0.0, f64::max)
        };
        let most = traces().flat_map(|t| &t.nodes).map(of).fold(0.0, f64::max);
        let highs = traces()
            .filter_map(|t| t.bands.get(resource))
            .map(|b| b.high.get() * 1.08);
        let top = share_ticks(highs.fold(most, f64::max))
            .last()
            .copied()
            .unwrap_or(1.0);
        let all: Vec<&Trace> = traces().collect();
        let colours = lines::colours(&all, weighed, resource);
        Section {
            page: self,
            resource,
            top,
            rows: heat::rows(all, weighed, resource),
            colours,
        }
    }
}

impl Section<'_> {
    fn draw(&self) -> String {
        let several = self.page.runs.len() > 1;
        let mut out = format!("<h2>{}</h2>", escaped(self.resource));
        if several {
            out.push_str(&self.across_runs(|run| self.over_time(run)));
            out.push_str(&self.across_runs(|run| self.map(run)));
            out.push_str(&self.across_runs(|run| self.beside(run)));
            out.push_str(&self.across_runs(|run| self.bars(run)));
            return out;
        }
        for run in &self.page.runs {
            let (map, beside) = (self.map(run), self.beside(run));
            out.push_str(&self.over_time(run));
            if self.few() {
                let _ = write!(out, "<div class=\"two\">{map}{beside}</div>");
            } else {
                out.push_str(&map);
                out.push_str(&beside);
            }
            out.push_str(&self.bars(run));
        }
        out
    }

    fn across_runs(&self, of: impl Fn(&Run<'_>) -> String) -> String {
        format!(
            "<div class=\"runs\">{}</div>",
            self.page.runs.iter().map(of).collect::<String>()
        )
    }

    fn few(&self) -> bool {
        self.rows.len() <= lines::MOST
    }

    fn chart<'c>(
        &'c self,
        run: &'c Run<'_>,
        weighed: Weighed,
        height: f64,
        main: bool,
    ) -> Chart<'c> {
        Chart {
            trace: run.trace,
            resource: self.resource,
            weighed,
            across: self.page.across,
            down: Down {
                ticks: share_ticks(self.top),
                height,
            },
            band: self.band(run).filter(|_| main),
            marked: main,
            colours: &self.colours,
        }
    }

    fn band(&self, run: &Run<'_>) -> Option<Band> {
        run.trace.bands.get(self.resource).copied()
    }

    /// What the policy weighs, with its band and the evictions.
    fn over_time(&self, run: &Run<'_>) -> String {
        let weighed = Weighed::by(run.trace.basis);
        let chart = self.chart(run, weighed, 264.0, true);
        let picture = if self.few() {
            chart.draw()
        } else {
            chart.envelope()
        };
        let what = format!("{} over time", weighed.words());
        let spread = if self.few() {
            ""
        } else {
            "<span class=\"key\">pale: all nodes; darker: the middle eight tenths</span>"
        };
        self.figure(run, &what, &(spread.to_owned() + marks::legend()), &picture)
    }

    /// What the policy does not weigh.
    fn beside(&self, run: &Run<'_>) -> String {
        let weighed = Weighed::by(run.trace.basis).other();
        let chart = self.chart(run, weighed, 150.0, false);
        let picture = if self.few() {
            chart.draw()
        } else {
            chart.envelope()
        };
        let note = match weighed {
            Weighed::Requested => "what the scheduler goes by",
            Weighed::Used => "what the scheduler does not see",
        };
        self.figure(
            run,
            weighed.words(),
            &format!("<span class=\"key\">{note}</span>"),
            &picture,
        )
    }

    fn map(&self, run: &Run<'_>) -> String {
        let band = self.band(run);
        let map = Map {
            trace: run.trace,
            resource: self.resource,
            weighed: Weighed::by(run.trace.basis),
            across: self.page.across,
            band,
            rows: &self.rows,
        };
        self.figure(
            run,
            "every node over time",
            &heat::legend(band),
            &map.draw(),
        )
    }

    fn bars(&self, run: &Run<'_>) -> String {
        let bars = Bars {
            trace: run.trace,
            resource: self.resource,
            weighed: Weighed::by(run.trace.basis),
            band: self.band(run),
            top: self.top,
            rows: &self.rows,
        };
        let legend = "<span class=\"key\">filled: at the end; outlined: at the start</span>";
        self.figure(
            run,
            "start and end",
            if self.rows.len() > 40 { "" } else { legend },
            &bars.draw(),
        )
    }

    fn figure(&self, run: &Run<'_>, what: &str, legend: &str, picture: &str) -> String {
        let whose = if self.page.runs.len() > 1 {
            format!("{}: ", run.label)
        } else {
            String::new()
        };
        format!(
            "<figure><figcaption><b class=\"what\">{}{} {}</b>{legend}</figcaption>{picture}</figure>",
            escaped(&whose),
            escaped(self.resource),
            escaped(what)
        )
    }
}

/// The policies tell runs apart; where they are named alike, their scenarios do, and then their order.
fn labelled(traces: &[Trace]) -> Vec<Run<'_>> {
    let alike = traces
        .iter()
        .all(|t| Some(&t.scenario) == traces.first().map(|f| &f.scenario));
    let base = |t: &Trace| {
        if alike {
            t.policy.clone()
        } else {
            format!("{}, {}", t.scenario, t.policy)
        }
    };
    let bases: Vec<String> = traces.iter().map(base).collect();
    let label = |i: usize| {
        let times = bases.iter().filter(|b| **b == bases[i]).count();
        if times > 1 {
            format!("{} ({})", bases[i], i + 1)
        } else {
            bases[i].clone()
        }
    };
    traces
        .iter()
        .enumerate()
        .map(|(i, trace)| Run {
            trace,
            label: label(i),
        })
        .collect()
}

/// What the policies weigh, else cpu and memory; cpu and memory first.
fn resources(traces: &[Trace]) -> Vec<&str> {
    let banded: std::collections::BTreeSet<&str> = traces
        .iter()
        .flat_map(|t| t.bands.keys())
        .map(String::as_str)
        .collect();
    if banded.is_empty() {
        let known = |name: &&str| {
            traces
                .iter()
                .flat_map(|t| &t.nodes)
                .any(|n| n.actual.contains_key(*name) || n.requests.contains_key(*name))
        };
        return ["cpu", "memory"].into_iter().filter(known).collect();
    }
    let basic = ["cpu", "memory"].into_iter().filter(|n| banded.contains(n));
    let others = banded
        .iter()
        .copied()
        .filter(|n| !["cpu", "memory"].contains(n));
    basic.chain(others).collect()
}

#[cfg(test)]
mod tests;
