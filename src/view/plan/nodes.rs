//! The nodes: their usage before and after the plan, as bars.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::model::plan::{Class, NodePicture, TargetBand};
use crate::model::snapshot::facts::NodeClosure;
use crate::policy::Basis;
use crate::values::text::list;
use crate::values::value_of;
use crate::view::bar::{Bar, FIGURES_WIDTH};
use crate::view::screen::{Ink, shown};
use crate::view::table::display_width;
use crate::view::words;

use super::PlanText;

const MOST_NAMES: usize = 8;
const LONGEST_BAR: usize = 30;

struct NodeRow<'p> {
    before: &'p NodePicture,
    after: &'p NodePicture,
    class: Option<&'p Class>,
}

impl NodeRow<'_> {
    fn code(&self) -> Option<&'static str> {
        self.class.map(Class::code)
    }

    /// The largest ratio of any resource; unknown usage sorts last.
    fn fullest(&self, basis: Basis) -> f64 {
        let ratios = self.before.by(basis).values().flatten();
        ratios.map(|ratio| ratio.get()).max_by(f64::total_cmp).unwrap_or(f64::NEG_INFINITY)
    }
}

/// The widths of the columns. Bars that would be too short have width 0 and are left out.
#[derive(Clone, Copy)]
struct NodeWidths {
    name: usize,
    class: usize,
    bar: usize,
}

impl PlanText<'_> {
    pub(super) fn nodes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.node_rows();
        let basis = self.shown_basis();
        let names = rows.iter().flat_map(|row| row.before.by(basis).keys());
        let resources: BTreeSet<&str> = names.map(String::as_str).collect();
        let resources: Vec<&str> = resources.into_iter().collect();
        let widths = self.node_widths(&rows, resources.len());
        let note = format!("by {}, before → after, fullest first", words::basis(basis));
        self.screen.title(f, "Nodes", &note)?;
        self.node_head(f, &resources, widths)?;
        self.screen.ends(f, self.all, &rows, |row| self.node(row, &resources, widths))?;
        if widths.bar == 0 {
            return Ok(());
        }
        self.legend(f)
    }

    /// The basis of the table: that of the report, or requests if no usage is known at all.
    fn shown_basis(&self) -> Basis {
        let nodes = &self.plan.before.nodes;
        let known = nodes.iter().any(|node| node.ratios.values().any(Option::is_some));
        if known { self.plan.before.basis } else { Basis::Requests }
    }

    fn node_rows(&self) -> Vec<NodeRow<'_>> {
        let mut classes: BTreeMap<&str, &Class> = BTreeMap::new();
        for verdict in &self.plan.nodes {
            // The first strategy of the policy decides the colour.
            classes.entry(&verdict.node).or_insert(&verdict.class);
        }
        let pairs = self.plan.before.nodes.iter().zip(&self.plan.after.nodes);
        let mut rows: Vec<NodeRow<'_>> = pairs
            .map(|(before, after)| NodeRow {
                before,
                after,
                class: classes.get(before.name.as_str()).copied(),
            })
            .collect();
        // The sort is stable: equal nodes stay sorted by name.
        let basis = self.shown_basis();
        rows.sort_by(|a, b| b.fullest(basis).total_cmp(&a.fullest(basis)));
        rows
    }

    fn node_widths(&self, rows: &[NodeRow<'_>], resources: usize) -> NodeWidths {
        let names = rows.iter().map(|row| display_width(&row.before.name));
        let name = names.max().unwrap_or(0);
        let class = rows.iter().map(|row| label(row.class).len()).max().unwrap_or(0);
        let room = self.screen.width.saturating_sub(name + class + 2);
        let bar = Bar::width(room, resources, FIGURES_WIDTH, LONGEST_BAR);
        NodeWidths { name, class, bar }
    }

    fn node_head(
        &self,
        f: &mut fmt::Formatter<'_>,
        resources: &[&str],
        widths: NodeWidths,
    ) -> fmt::Result {
        let heads = resources.iter().map(|resource| self.column_head(resource, widths.bar));
        let heads: Vec<String> = heads.collect();
        let indent = " ".repeat(widths.name + 2 + widths.class + 2);
        let head = format!("{indent}{}", heads.join("  "));
        writeln!(f, "{}", self.screen.paint(Ink::Dim, head.trim_end()))
    }

    fn node(&self, row: &NodeRow<'_>, resources: &[&str], widths: NodeWidths) -> String {
        let cells: Vec<String> =
            resources.iter().map(|resource| self.cell(row, resource, widths.bar)).collect();
        let class = format!("{:w$}", label(row.class), w = widths.class);
        let class = self.screen.paint_class(row.code(), &class);
        let name = &row.before.name;
        let gap = " ".repeat(widths.name.saturating_sub(display_width(name)) + 2);
        let line = format!("{name}{gap}{class}  {}", cells.join("  "));
        line.trim_end().to_owned()
    }

    /// `cpu  ┊ 30%  │ 60%`, as wide as the cells below.
    fn column_head(&self, resource: &str, bar: usize) -> String {
        let band = if bar > 0 { self.band(resource) } else { TargetBand::default() };
        let parts = [
            Some(resource.to_owned()),
            band.threshold.map(|ratio| format!("┊ {ratio}")),
            band.target.map(|ratio| format!("│ {ratio}")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        format!("{:w$}", parts.join("  "), w = bar + FIGURES_WIDTH)
    }

    fn band(&self, resource: &str) -> TargetBand {
        let weighs = self.shown_basis() == self.plan.before.basis;
        let bounds = self.bounds().filter(|_| weighs);
        TargetBand {
            threshold: bounds.and_then(|pool| value_of(&pool.thresholds, resource)),
            target: bounds.and_then(|pool| value_of(&pool.targets, resource)),
        }
    }

    fn cell(&self, row: &NodeRow<'_>, resource: &str, bar: usize) -> String {
        let basis = self.shown_basis();
        if !row.before.by(basis).contains_key(resource) {
            // The node does not have the resource.
            let width = if bar > 0 { bar + 1 } else { 0 };
            return format!("{:width$}   -{:7}", "", "");
        }
        let before = row.before.by(basis).get(resource).copied().flatten();
        let after = row.after.by(basis).get(resource).copied().flatten();
        let change = Bar::change(before, after, self.band(resource));
        let figures = change.figures();
        if bar == 0 {
            return figures;
        }
        let drawn = change.text(bar);
        format!("{} {figures}", self.screen.paint_class(row.code(), &drawn))
    }

    fn legend(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.plan.moves.is_empty() {
            self.screen.hint(f, "█ stays   ░ leaves   ▒ arrives")?;
        }
        if self.plan.nodes.iter().any(|v| needed(&v.class).is_some()) {
            let legend = "needs: evictions until the node is below its targets";
            self.screen.hint(f, legend)?;
        }
        if self.bounds().is_some() && self.shown_basis() == self.plan.before.basis {
            let legend = "┊ threshold: cold if below all   │ target: hot if above any";
            self.screen.hint(f, legend)?;
        }
        Ok(())
    }

    /// The nodes that take no part in moves, grouped by the reason.
    pub(super) fn excluded(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        // Two strategies can exclude a node for the same reason.
        let mut seen = BTreeSet::new();
        let mut strategies = BTreeSet::new();
        for verdict in self.plan.nodes.iter().filter(|v| is_excluded(&v.class)) {
            strategies.insert(verdict.strategy);
            let class = verdict.class.to_string();
            let reason = class.trim_start_matches("left alone: ").to_owned();
            if seen.insert((reason.clone(), &verdict.node)) {
                reasons.entry(reason).or_default().push(&verdict.node);
            }
        }
        if reasons.is_empty() {
            return Ok(());
        }
        let mut note = "nodes that no pod should leave or land on".to_owned();
        if self.policy.strategies.iter().any(|s| !strategies.contains(s.rule.name())) {
            let names: Vec<&str> = strategies.into_iter().collect();
            note = format!("{note} by {}", names.join(" and "));
        }
        self.screen.title(f, "Left alone", &note)?;
        for (reason, nodes) in reasons {
            let (most, _) = shown(self.all, nodes.len(), MOST_NAMES);
            self.screen.line(f, &format!("{}: {reason}", list(&nodes, most)), None)?;
        }
        Ok(())
    }
}

/// The class in a word or two, of a hot node with the evictions that it needs; the section "Left
/// alone" has the sentences.
fn label(class: Option<&Class>) -> Cow<'static, str> {
    match class.and_then(needed) {
        Some(evictions) => format!("hot, needs {evictions}").into(),
        None => word(class).into(),
    }
}

const fn needed(class: &Class) -> Option<usize> {
    if let Class::Hot { needed, .. } = class { *needed } else { None }
}

const fn word(class: Option<&Class>) -> &'static str {
    match class {
        Some(Class::Hot { .. }) => "hot",
        Some(Class::Warming { .. }) => "warming",
        Some(Class::Cold) => "cold",
        Some(Class::ColdClosed(NodeClosure::Cordoned)) => "cordoned",
        Some(Class::ColdClosed(_)) => "closed",
        Some(Class::Even) => "even",
        Some(Class::Underused) => "underused",
        Some(Class::InUse | Class::InUseClosed(_) | Class::Leaving) => "in use",
        Some(Class::Unknown(_) | Class::Unreadable(_) | Class::NoAllocatable(_)) => "?",
        Some(Class::NotReady) => "not ready",
        Some(Class::Deleting) => "leaving",
        Some(Class::Lacks(_) | Class::NotSelected) | None => "-",
    }
}

/// Whether a node of this class takes no part in moves.
const fn is_excluded(class: &Class) -> bool {
    let takes_part = matches!(
        class,
        Class::Hot { .. } | Class::Cold | Class::Even | Class::Underused | Class::InUse
    );
    !takes_part
}
