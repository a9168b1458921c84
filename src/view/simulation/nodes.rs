//! The nodes of a simulation: bars for one policy, figures for two.

use std::collections::BTreeMap;
use std::fmt;

use crate::decide::engine::balance_report::balance;
use crate::model::plan::TargetBand;
use crate::policy::Basis;
use crate::simulate::trace::{NodeTrace, Trace};
use crate::values::Ratio;
use crate::view::bar::{Bar, FIGURES_WIDTH, Zone};
use crate::view::screen::Ink;
use crate::view::table::Table;
use crate::view::words;

use super::SimulationText;

const LONGEST_BAR: usize = 30;

impl SimulationText<'_> {
    pub(super) fn nodes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(trace) = self.traces.first() else {
            return Ok(());
        };
        // Two policies may balance by different things: actual usage compares them.
        let basis = if self.traces.len() > 1 { Basis::Actual } else { trace.basis };
        let mut rows: Vec<&NodeTrace> = trace.nodes.iter().collect();
        // The sort is stable: nodes with equal usage stay sorted by name.
        rows.sort_by(|a, b| {
            let cpu = |node| ends(basis, node, "cpu").0.unwrap_or_default();
            cpu(b).order(cpu(a))
        });
        let note = format!("by {}, start → end, fullest first", words::basis(basis));
        let note = if self.traces.len() > 1 {
            let resources = trace.nodes.first().into_iter().flat_map(|node| node.actual.keys());
            let cells: Vec<&str> = resources.map(String::as_str).chain(["pods"]).collect();
            format!("{} {note}", cells.join(", "))
        } else {
            note
        };
        self.screen.title(f, "Nodes", &note)?;
        let lines =
            if self.traces.len() > 1 { self.compared(&rows) } else { self.bars(trace, &rows) };
        let (heads, lines) = lines.split_at(lines.len() - rows.len());
        heads.iter().try_for_each(|head| writeln!(f, "{head}"))?;
        self.screen.ends(f, self.all, lines, String::clone)?;
        if self.traces.len() == 1 {
            let legend = "█ stayed   ░ left   ▒ arrived";
            writeln!(f, "{}", self.screen.paint(Ink::Dim, legend))?;
        }
        Ok(())
    }

    fn bars(&self, trace: &Trace, rows: &[&NodeTrace]) -> Vec<String> {
        let resources: Vec<&String> = trace.balance.keys().collect();
        let name_width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        let room = self.screen.width.saturating_sub(name_width + 12);
        let width = Bar::width(room, resources.len(), FIGURES_WIDTH, LONGEST_BAR);
        let heads: Vec<String> =
            resources.iter().map(|resource| column_head(trace, resource, width)).collect();
        let head = format!("{:name_width$}  {}  pods", "", heads.join("  "));
        let mut lines = vec![self.screen.paint(Ink::Dim, &head)];
        lines.extend(rows.iter().map(|node| {
            let cells: Vec<String> =
                resources.iter().map(|resource| self.cell(trace, node, resource, width)).collect();
            let pods = words::change(
                node.pods.first().copied().unwrap_or(0),
                node.pods.last().copied().unwrap_or(0),
            );
            format!("{:name_width$}  {}  {pods}", node.name, cells.join("  "))
        }));
        lines
    }

    fn cell(&self, trace: &Trace, node: &NodeTrace, resource: &str, width: usize) -> String {
        let (before, after) = ends(trace.basis, node, resource);
        let band: TargetBand =
            trace.bands.get(resource).copied().map(TargetBand::from).unwrap_or_default();
        let bar = Bar::change(before, after, band);
        if width == 0 {
            return bar.figures();
        }
        let drawn = match (is_hot(before, band), is_hot(after, band)) {
            (_, true) => self.screen.paint(Ink::Hot, &bar.text(width)),
            (true, false) => self.screen.paint(Ink::Dim, &bar.text(width)),
            (false, false) => bar.text(width),
        };
        format!("{drawn} {}", bar.figures())
    }

    /// Lines with a column for the start and one for the end under each policy.
    fn compared(&self, rows: &[&NodeTrace]) -> Vec<String> {
        let mut table = vec![vec![String::new(), "start".to_owned()]];
        table[0].extend(self.traces.iter().map(|t| t.policy.clone()));
        let nodes = self.traces.iter().map(|trace| trace.nodes.iter());
        let traces: Vec<BTreeMap<&str, &NodeTrace>> =
            nodes.map(|nodes| nodes.map(|node| (node.name.as_str(), node)).collect()).collect();
        for row in rows {
            let [start, _] = start_and_end(row);
            let mut cells = vec![row.name.clone(), start];
            cells.extend(traces.iter().map(|nodes| {
                let same = nodes.get(row.name.as_str());
                same.map_or(String::new(), |node| start_and_end(node)[1].clone())
            }));
            table.push(cells);
        }
        Table::new(table).lines()
    }
}

/// Returns the resource and its band, as wide as the cells below: `cpu  ┊ 30%  │ 60%`.
fn column_head(trace: &Trace, resource: &str, bar_width: usize) -> String {
    let edges = trace
        .bands
        .get(resource)
        .filter(|_| bar_width > 0)
        .map_or(String::new(), |band| format!("  ┊ {}  │ {}", band.threshold, band.target));
    let width = if bar_width == 0 { FIGURES_WIDTH } else { bar_width + 1 + FIGURES_WIDTH };
    format!("{:width$}", format!("{resource}{edges}"))
}

fn is_hot(ratio: Option<Ratio>, band: TargetBand) -> bool {
    ratio.is_some_and(|ratio| Zone::of(ratio, band) == Zone::Hot)
}

/// Returns what a node uses at the start and at the end, and its pods: ` 55%   12%   11`.
fn start_and_end(node: &NodeTrace) -> [String; 2] {
    let ratios = node.actual.keys().map(|resource| ends(Basis::Actual, node, resource));
    let (first, last): (Vec<_>, Vec<_>) = ratios.unzip();
    [(first, node.pods.first()), (last, node.pods.last())].map(|(ratios, pods)| {
        let text = |ratio: Option<Ratio>| ratio.map_or("-".to_owned(), |ratio| ratio.to_string());
        let cells: Vec<String> =
            ratios.into_iter().map(|ratio| format!("{:>4}", text(ratio))).collect();
        format!("{}  {:>3}", cells.join("  "), pods.copied().unwrap_or(0))
    })
}

/// Returns the first known share and the last share of a resource.
fn ends(basis: Basis, node: &NodeTrace, resource: &str) -> (Option<Ratio>, Option<Ratio>) {
    let series = match basis {
        Basis::Actual => node.actual.get(resource).or_else(|| node.requests.get(resource)),
        Basis::Requests => node.requests.get(resource),
    };
    let shares = series.into_iter().flatten().copied();
    let first = shares.clone().flatten().next();
    (first, shares.last().flatten())
}

/// Returns the standard deviation of actual usage over the nodes at the end of a run.
pub(super) fn evenness(trace: &Trace, resource: &str) -> Option<Ratio> {
    let last =
        trace.nodes.iter().filter_map(|node| node.actual.get(resource)?.last().copied().flatten());
    balance(&last.collect::<Vec<_>>(), None).map(|balance| balance.deviation)
}
