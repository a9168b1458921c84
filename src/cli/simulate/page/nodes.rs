//! The nodes of a simulation: bars before → after, or figures under two policies.

use std::fmt;

use crate::cli::show::nodes::{FIGURES, Ticks, draw, figures};
use crate::cli::show::{Ink, columns};
use crate::decide::engine::balance_report::balance;
use crate::policy::Basis;
use crate::simulate::trace::{NodeTrace, Trace};
use crate::values::Ratio;

use super::Page;

/// With more nodes than twice this, only so many of each end are shown.
const END: usize = 20;
const LEAST_BAR: usize = 6;
const LONGEST_BAR: usize = 30;

impl Page<'_> {
    pub(super) fn nodes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(trace) = self.traces.first() else {
            return Ok(());
        };
        // Policies may weigh different things, and are compared by what is really used.
        let basis = if self.traces.len() > 1 {
            Basis::Actual
        } else {
            trace.basis
        };
        let mut rows: Vec<&NodeTrace> = trace.nodes.iter().collect();
        let heat = |n: &NodeTrace| ends(basis, n, "cpu").0.unwrap_or_default();
        // Stable: where nodes are alike, they stay in the order of their names.
        rows.sort_by(|a, b| heat(b).order(heat(a)));
        let note = format!(
            "by {}, at the start → at the end, the fullest first",
            basis.words()
        );
        self.title(f, "Nodes", &note)?;
        let lines = if self.traces.len() > 1 {
            self.compared(&rows)
        } else {
            self.bars(trace, &rows)
        };
        let (shown, left_out) = self.fit(rows.len(), 2 * END);
        let heads = lines.len() - rows.len();
        let first = heads + if left_out > 0 { END } else { shown };
        for line in &lines[..first] {
            writeln!(f, "{line}")?;
        }
        if left_out > 0 {
            self.more(f, left_out, "nodes in between")?;
            lines[lines.len() - END..]
                .iter()
                .try_for_each(|line| writeln!(f, "{line}"))?;
        }
        if self.traces.len() == 1 {
            let legend = "█ stays   ░ left   ▒ arrived";
            writeln!(f, "{}", self.screen.paint(Ink::Dim, legend))?;
        }
        Ok(())
    }

    fn bars(&self, trace: &Trace, rows: &[&NodeTrace]) -> Vec<String> {
        let resources: Vec<&String> = trace.balance.keys().collect();
        let name = rows
            .iter()
            .map(|r| r.name.chars().count())
            .max()
            .unwrap_or(0);
        let each = self.screen.width.saturating_sub(name + 12) / resources.len().max(1);
        let width = each.saturating_sub(FIGURES + 2).min(LONGEST_BAR);
        let width = if width < LEAST_BAR { 0 } else { width };
        let cell = |node: &NodeTrace, resource: &str| {
            let (before, after) = ends(trace.basis, node, resource);
            let text = figures(before, after);
            if width == 0 {
                return text;
            }
            let band = trace.bands.get(resource);
            let ticks = Ticks {
                low: band.map(|b| b.low),
                high: band.map(|b| b.high),
            };
            let drawn = draw(
                before.unwrap_or_default(),
                after.unwrap_or_default(),
                ticks,
                width,
            );
            let hot = |r: Option<Ratio>| ticks.high.is_some_and(|high| r.is_some_and(|r| r > high));
            let ink = if hot(after) { Ink::Hot } else { Ink::Dim };
            let drawn = if hot(before) || hot(after) {
                self.screen.paint(ink, &drawn)
            } else {
                drawn
            };
            format!("{drawn} {text}")
        };
        let head = |resource: &str| {
            let band = trace.bands.get(resource).filter(|_| width > 0);
            let bounds = band.map_or(String::new(), |b| format!("  ┊ {}  │ {}", b.low, b.high));
            let wide = if width == 0 {
                FIGURES
            } else {
                width + 1 + FIGURES
            };
            format!("{:wide$}", format!("{resource}{bounds}"))
        };
        let heads: Vec<String> = resources.iter().map(|r| head(r)).collect();
        let first = format!("{:name$}  {}  pods", "", heads.join("  "));
        let line = |node: &&NodeTrace| {
            let cells: Vec<String> = resources.iter().map(|r| cell(node, r)).collect();
            let pods = change(
                edge(&node.pods, false).unwrap_or(0),
                edge(&node.pods, true).unwrap_or(0),
            );
            format!("{:name$}  {}  {pods}", node.name, cells.join("  "))
        };
        std::iter::once(self.screen.paint(Ink::Dim, &first))
            .chain(rows.iter().map(line))
            .collect()
    }

    /// A column for the start, and one for the end under each policy.
    fn compared(&self, rows: &[&NodeTrace]) -> Vec<String> {
        let mut table = vec![vec![String::new(), "start".to_owned()]];
        table[0].extend(self.traces.iter().map(|t| t.policy.clone()));
        let show = |node: &NodeTrace, last: bool| {
            let of = |resource: &String| {
                let (before, after) = ends(Basis::Actual, node, resource);
                let ratio = if last { after } else { before };
                format!(
                    "{resource} {:>4}",
                    ratio.map_or("-".to_owned(), |r| r.to_string())
                )
            };
            let pods = edge(&node.pods, last).unwrap_or(0);
            let all: Vec<String> = node.actual.keys().map(of).collect();
            format!("{}  {pods:>3} pods", all.join("  "))
        };
        for row in rows {
            let mut cells = vec![row.name.clone()];
            cells.push(show(row, false));
            for trace in self.traces {
                let same = trace.nodes.iter().find(|n| n.name == row.name);
                cells.push(same.map_or(String::new(), |node| show(node, true)));
            }
            table.push(cells);
        }
        columns(&table)
    }
}

/// The first and the last known share of a resource.
fn ends(basis: Basis, node: &NodeTrace, resource: &str) -> (Option<Ratio>, Option<Ratio>) {
    let series = match basis {
        Basis::Actual => node
            .actual
            .get(resource)
            .or_else(|| node.requests.get(resource)),
        Basis::Requests => node.requests.get(resource),
    };
    let known = series.into_iter().flatten().copied();
    let first = known.clone().flatten().next();
    (first, known.last().flatten())
}

/// How even the nodes are at the end by what they really use: the standard deviation.
pub(super) fn evenness(trace: &Trace, resource: &str) -> Option<Ratio> {
    let last = trace
        .nodes
        .iter()
        .filter_map(|n| n.actual.get(resource)?.last().copied().flatten());
    balance(&last.collect::<Vec<_>>(), None).map(|b| b.deviation)
}

fn edge(series: &[u32], last: bool) -> Option<u32> {
    if last { series.last() } else { series.first() }.copied()
}

fn change(before: u32, after: u32) -> String {
    if before == after {
        before.to_string()
    } else {
        format!("{before} → {after}")
    }
}
