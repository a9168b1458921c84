//! The nodes: how full they are, and how full they will be.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::model::plan::{Class, NodePicture};
use crate::values::Ratio;

use super::{Ink, Page, Screen, names};

/// With more nodes than twice this, only so many of each end are shown.
const END: usize = 20;
const MOST_NAMES: usize = 8;
const LEAST_BAR: usize = 6;
const LONGEST_BAR: usize = 30;
/// ` 95% →  58%`, with a space in front.
pub(in crate::cli) const FIGURES: usize = 12;

struct Row<'p> {
    before: &'p NodePicture,
    after: &'p NodePicture,
    class: Option<&'p Class>,
}

impl Row<'_> {
    /// How full the node is where it is fullest; what is unknown sorts last.
    fn heat(&self) -> f64 {
        let known = self.before.ratios.values().flatten();
        known
            .map(|r| r.get())
            .max_by(f64::total_cmp)
            .unwrap_or(f64::NEG_INFINITY)
    }
}

/// How wide each column is; no bar where there is no room for one.
#[derive(Clone, Copy)]
struct Widths {
    name: usize,
    class: usize,
    bar: usize,
}

impl Page<'_> {
    pub(super) fn nodes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows();
        let resources: Vec<&str> = rows
            .iter()
            .flat_map(|r| r.before.ratios.keys())
            .map(String::as_str)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let widths = self.widths(&rows, resources.len());
        self.title(
            f,
            "Nodes",
            &format!(
                "by {}, before → after, the fullest first",
                self.plan.before.basis.words()
            ),
        )?;
        let heads: Vec<String> = resources
            .iter()
            .map(|r| self.column_head(r, widths.bar))
            .collect();
        let head = format!(
            "{:name$}  {:class$}  {}",
            "",
            "",
            heads.join("  "),
            name = widths.name,
            class = widths.class
        );
        writeln!(f, "{}", self.screen.paint(Ink::Dim, head.trim_end()))?;
        let (_, left_out) = self.fit(rows.len(), 2 * END);
        let (first, last) = if left_out > 0 {
            rows.split_at(rows.len() - END)
        } else {
            (&rows[..], &[][..])
        };
        for row in &first[..first.len() - left_out] {
            self.node(f, row, &resources, widths)?;
        }
        if left_out > 0 {
            self.more(f, &format!("{left_out} nodes in between"))?;
        }
        for row in last {
            self.node(f, row, &resources, widths)?;
        }
        if widths.bar > 0 {
            self.legend(f)
        } else {
            Ok(())
        }
    }

    fn rows(&self) -> Vec<Row<'_>> {
        let mut classes: BTreeMap<&str, &Class> = BTreeMap::new();
        for verdict in &self.plan.nodes {
            classes.entry(&verdict.node).or_insert(&verdict.class);
        }
        let both = self.plan.before.nodes.iter().zip(&self.plan.after.nodes);
        let class = |node: &NodePicture| classes.get(node.name.as_str()).copied();
        let mut rows: Vec<Row<'_>> = both
            .map(|(before, after)| Row {
                before,
                after,
                class: class(before),
            })
            .collect();
        // Stable: where nodes are alike, they stay in the order of their names.
        rows.sort_by(|a, b| b.heat().total_cmp(&a.heat()));
        rows
    }

    fn widths(&self, rows: &[Row<'_>], resources: usize) -> Widths {
        let name = rows
            .iter()
            .map(|r| r.before.name.chars().count())
            .max()
            .unwrap_or(0);
        let class = rows.iter().map(|r| word(r.class).len()).max().unwrap_or(0);
        let each = self.screen.width.saturating_sub(name + class + 2) / resources.max(1);
        let bar = each.saturating_sub(FIGURES + 2).min(LONGEST_BAR);
        Widths {
            name,
            class,
            bar: if bar < LEAST_BAR { 0 } else { bar },
        }
    }

    fn node(
        &self,
        f: &mut fmt::Formatter<'_>,
        row: &Row<'_>,
        resources: &[&str],
        widths: Widths,
    ) -> fmt::Result {
        let cells: Vec<String> = resources
            .iter()
            .map(|r| self.cell(row, r, widths.bar))
            .collect();
        let class = self.screen.paint_class(
            row.class,
            &format!("{:w$}", word(row.class), w = widths.class),
        );
        let line = format!(
            "{:w$}  {class}  {}",
            row.before.name,
            cells.join("  "),
            w = widths.name
        );
        writeln!(f, "{}", line.trim_end())
    }

    /// `cpu  ┊ 30%  │ 60%`, as wide as the cells below.
    fn column_head(&self, resource: &str, bar: usize) -> String {
        let (threshold, target) = if bar > 0 {
            self.bounds_of(resource)
        } else {
            (None, None)
        };
        let threshold = threshold.map(|ratio| format!("┊ {ratio}"));
        let target = target.map(|ratio| format!("│ {ratio}"));
        let parts: Vec<String> = [Some(resource.to_owned()), threshold, target]
            .into_iter()
            .flatten()
            .collect();
        format!("{:w$}", parts.join("  "), w = bar + FIGURES)
    }

    fn bounds_of(&self, resource: &str) -> (Option<Ratio>, Option<Ratio>) {
        let Some(pool) = self.bounds() else {
            return (None, None);
        };
        (pool.threshold(resource), pool.target(resource))
    }

    fn cell(&self, row: &Row<'_>, resource: &str, bar: usize) -> String {
        let known = |picture: &NodePicture| picture.ratios.get(resource).copied().flatten();
        let (before, after) = (known(row.before), known(row.after));
        let figures = figures(before, after);
        if bar == 0 {
            return figures;
        }
        let (threshold, target) = self.bounds_of(resource);
        let ticks = Ticks {
            low: threshold,
            high: target,
        };
        let drawn = draw(
            before.unwrap_or_default(),
            after.unwrap_or_default(),
            ticks,
            bar,
        );
        format!("{} {figures}", self.screen.paint_class(row.class, &drawn))
    }

    fn legend(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.plan.moves.is_empty() {
            self.hint(f, "█ stays   ░ leaves   ▒ arrives")?;
        }
        if self.bounds().is_some() {
            self.hint(
                f,
                "┊ threshold: below all of them is cold   │ target: above any of them is hot",
            )?;
        }
        Ok(())
    }

    /// Nodes that take part in nothing, each reason once.
    pub(super) fn left_alone(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for verdict in self.plan.nodes.iter().filter(|v| aside(&v.class)) {
            let why = verdict
                .class
                .to_string()
                .trim_start_matches("left alone: ")
                .to_owned();
            let nodes = reasons.entry(why).or_default();
            if !nodes.contains(&verdict.node.as_str()) {
                nodes.push(&verdict.node);
            }
        }
        if reasons.is_empty() {
            return Ok(());
        }
        self.title(
            f,
            "Left alone",
            "nodes that are neither relieved nor filled",
        )?;
        for (why, nodes) in reasons {
            let (shown, _) = self.fit(nodes.len(), MOST_NAMES);
            writeln!(f, "{}: {why}", names(&nodes, shown))?;
        }
        Ok(())
    }
}

impl Screen {
    fn paint_class(self, class: Option<&Class>, text: &str) -> String {
        match class {
            Some(Class::Hot { .. }) => self.paint(Ink::Hot, text),
            Some(Class::Cold) => self.paint(Ink::Cold, text),
            Some(
                Class::Warming { .. } | Class::Unknown(_) | Class::Doubtful(_) | Class::NotReady,
            ) => self.paint(Ink::Doubt, text),
            Some(
                Class::ColdCordoned
                | Class::Even
                | Class::Underused
                | Class::InUse
                | Class::InUseCordoned
                | Class::Leaving
                | Class::NotSelected,
            )
            | None => text.to_owned(),
        }
    }
}

/// One word for a class; the sentences are in a section of their own.
const fn word(class: Option<&Class>) -> &'static str {
    match class {
        Some(Class::Hot { .. }) => "hot",
        Some(Class::Warming { .. }) => "warming",
        Some(Class::Cold) => "cold",
        Some(Class::ColdCordoned) => "cordoned",
        Some(Class::Even) => "even",
        Some(Class::Underused) => "underused",
        Some(Class::InUse | Class::InUseCordoned | Class::Leaving) => "in use",
        Some(Class::Unknown(_) | Class::Doubtful(_)) => "?",
        Some(Class::NotReady) => "not ready",
        Some(Class::NotSelected) | None => "-",
    }
}

const fn aside(class: &Class) -> bool {
    match class {
        Class::Hot { .. } | Class::Cold | Class::Even | Class::Underused | Class::InUse => false,
        Class::Warming { .. }
        | Class::ColdCordoned
        | Class::InUseCordoned
        | Class::Leaving
        | Class::Unknown(_)
        | Class::Doubtful(_)
        | Class::NotReady
        | Class::NotSelected => true,
    }
}

/// `83% →  58%`, or one figure where both are the same.
pub(in crate::cli) fn figures(before: Option<Ratio>, after: Option<Ratio>) -> String {
    let text = |ratio: Option<Ratio>| ratio.map_or("?".to_owned(), |r| r.to_string());
    let (before, after) = (text(before), text(after));
    let after = if after == before {
        String::new()
    } else {
        format!(" → {after:>4}")
    };
    format!("{before:>4}{after:7}")
}

/// Where a bar shows the bounds.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cli) struct Ticks {
    pub(in crate::cli) low: Option<Ratio>,
    pub(in crate::cli) high: Option<Ratio>,
}

/// What stays, what leaves or arrives, and where the bounds are; full at 100 %.
pub(in crate::cli) fn draw(before: Ratio, after: Ratio, ticks: Ticks, width: usize) -> String {
    let (was, will) = (cells(before, width), cells(after, width));
    let change = if will < was { '░' } else { '▒' };
    let tick = |bound: Option<Ratio>| bound.map(|at| cells(at, width).min(width - 1));
    let (low, high) = (tick(ticks.low), tick(ticks.high));
    let cell = |i: usize| match i {
        i if Some(i) == high => '│',
        i if Some(i) == low => '┊',
        i if i < was.min(will) => '█',
        i if i < was.max(will) => change,
        _ => ' ',
    };
    (0..width).map(cell).collect()
}

/// How many cells of a bar a ratio fills.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a bar is some tens of cells wide, and casts saturate"
)]
fn cells(ratio: Ratio, width: usize) -> usize {
    ((ratio.get() * width as f64).round() as usize).min(width)
}
