//! The status as text for the terminal.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::Timestamp;

use crate::values::Ratio;
use crate::values::text::{age, agree, count, list};
use crate::view::bar::Bar;
use crate::view::screen::{Ink, Screen, shown};
use crate::view::table::{Table, display_width};

use super::by_cause;
use super::facts::{GuardStatus, LedgerStatus, Truncated};
use super::shown::{ShownNode, ShownPlan, ShownStatus};

/// Longer lists are cut, unless all is asked for.
const MOST: usize = 15;
/// The most nodes that are named for one reason, unless all is asked for.
const MOST_NAMES: usize = 8;
const LONGEST_BAR: usize = 20;
/// ` 83%` after a bar.
const FIGURE: usize = 5;

/// A status, and how to show it.
pub(crate) struct StatusText<'s> {
    pub(crate) status: &'s ShownStatus,
    /// List everything.
    pub(crate) all: bool,
    pub(crate) screen: Screen,
}

impl fmt::Display for StatusText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head(f)?;
        if let Some(plan) = &self.status.plan {
            self.nodes(f, plan)?;
            self.proposed(f, plan)?;
            self.moves(f, plan)?;
            self.kept(f, plan)?;
            self.guards(f, plan)?;
            self.steering(f, plan)?;
        }
        match &self.status.ledger {
            Some(ledger) => self.ledger(f, ledger),
            None => Ok(()),
        }
    }
}

impl StatusText<'_> {
    fn head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ShownStatus { about, state, .. } = self.status;
        let mut words = vec![format!("evenkeel {}", about.version), about.instance.clone()];
        words.extend(self.role());
        words.extend(about.dry_run.then(|| "dry run".to_owned()));
        self.screen.line(f, &words.join(" · "), Some(Ink::Dim))?;
        let ink = match state.code.as_str() {
            "failed" | "halted" | "stuck" | "uneven" => Ink::Hot,
            "starting" | "waiting" | "warming" | "blind" => Ink::Warning,
            _ => Ink::Bold,
        };
        self.screen.line(f, &state.message, Some(ink))?;
        self.screen.line(f, &self.times().join(" · "), None)?;
        let plan = self.status.plan.as_ref();
        for paused in plan.into_iter().flat_map(|plan| &plan.paused) {
            let line = format!("namespace {} is {}", paused.namespace, paused.pause);
            self.screen.line(f, &line, Some(Ink::Warning))?;
        }
        for stop in plan.into_iter().flat_map(|plan| &plan.guards.items) {
            self.screen.line(f, &stop.message, Some(Ink::Warning))?;
        }
        if let Some(proposal) = plan.and_then(|plan| plan.proposal.as_ref()) {
            let mut line = format!("awaiting approval: {}", count(proposal.evictions, "eviction"));
            if let Some(id) = &proposal.id {
                line = format!("{line}: evenkeel approve {id}");
            }
            self.screen.line(f, &line, Some(Ink::Warning))?;
        }
        let age = age(self.status.now.duration_since(about.policy_since));
        let policy = format!("{}; in force for {age}", about.policy);
        self.screen.beside(f, "policy: ", &policy, None)?;
        if let Some(refused) = &about.policy_refused {
            let text = format!("refused {}: {}", self.ago(refused.at), refused.error);
            self.screen.beside(f, "newer policy: ", &text, Some(Ink::Hot))?;
        }
        Ok(())
    }

    fn role(&self) -> Option<String> {
        let part = &self.status.part;
        match (part.code.as_str(), &part.holder) {
            ("leading", _) => Some("leader".to_owned()),
            ("standby", Some(holder)) => Some(format!("standby, {holder} leads")),
            ("standby", None) => Some("standby".to_owned()),
            _ => None,
        }
    }

    /// The times of the last plan, the next one and the newest samples.
    fn times(&self) -> Vec<String> {
        let status = self.status;
        let mut times = vec![status.plan.as_ref().map_or_else(
            || "no plan yet".to_owned(),
            |plan| format!("last plan {}", self.ago(plan.at)),
        )];
        if let Some(next) = status.next_cycle {
            let wait = next.duration_since(status.now);
            times.push(if wait.is_positive() {
                format!("next in {}", age(wait))
            } else {
                "next now".to_owned()
            });
        }
        // A failure that lasts says the error itself.
        let is_told = |error: &String| status.failures.iter().any(|f| f.why == *error);
        times.extend(status.sources.iter().filter_map(|source| {
            let state = match (&source.error, source.newest_sample) {
                (Some(error), _) if is_told(error) => return None,
                (Some(error), _) => error.clone(),
                (None, Some(newest)) => format!("newest sample {}", self.ago(newest)),
                (None, None) if source.read.is_some() => "no samples of nodes".to_owned(),
                (None, None) => "not read yet".to_owned(),
            };
            Some(format!("{}: {state}", source.name))
        }));
        times.extend(self.failures());
        times
    }

    /// The requests that keep failing, those of one cause together.
    fn failures(&self) -> impl Iterator<Item = String> {
        let failures = &self.status.failures;
        let groups = by_cause(failures, |f| &f.request, |f| (&f.why, &f.effect));
        groups.into_iter().map(|(requests, group)| {
            let fail = agree(group.len(), "fails", "fail");
            let (why, effect) = (&group[0].why, &group[0].effect);
            format!("{requests} {fail}: {why}; {effect}")
        })
    }

    fn nodes(&self, f: &mut fmt::Formatter<'_>, plan: &ShownPlan) -> fmt::Result {
        let classes = plan.classes.iter();
        let classes: Vec<String> = classes.map(|c| format!("{} {}", c.nodes, c.class)).collect();
        self.screen.title(f, "Nodes", &classes.join(", "))?;
        let nodes = &plan.nodes.items;
        let (most, left_out) = shown(self.all, nodes.len(), MOST);
        let nodes = &nodes[..most];
        let resources: BTreeSet<&str> =
            nodes.iter().flat_map(|node| node.ratios.keys().map(String::as_str)).collect();
        let width = |text: fn(&ShownNode) -> usize| nodes.iter().map(text).max().unwrap_or(0);
        let name = width(|node| display_width(&node.name));
        let class = width(|node| node.class.as_deref().map_or(0, str::len));
        let room = self.screen.width.saturating_sub(name + class + 4);
        let bar = Bar::width(room, resources.len(), FIGURE, LONGEST_BAR);
        let heads: Vec<String> =
            resources.iter().map(|resource| format!("{resource:w$}", w = bar + FIGURE)).collect();
        let head = format!("{:w$}{}", "", heads.join("  "), w = name + class + 4);
        writeln!(f, "{}", self.screen.paint(Ink::Dim, head.trim_end()))?;
        for node in nodes {
            let gap = " ".repeat(name - display_width(&node.name) + 2);
            let word = format!("{:class$}", node.class.as_deref().unwrap_or_default());
            let cells = resources.iter().map(|resource| self.cell(node, resource, bar));
            let cells: Vec<String> = cells.collect();
            let line = format!(
                "{}{gap}{}  {}",
                node.name,
                self.screen.paint_class(node.class.as_deref(), &word),
                cells.join("  ")
            );
            writeln!(f, "{}", line.trim_end())?;
        }
        self.rest(f, left_out, plan.nodes.more, " nodes")?;
        self.left_alone(f, &plan.nodes.items)
    }

    /// Why nodes are left alone, those of one reason together.
    fn left_alone(&self, f: &mut fmt::Formatter<'_>, nodes: &[ShownNode]) -> fmt::Result {
        let mut reasons: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for node in nodes {
            let reason = node.verdicts.iter().map(|verdict| verdict.message.as_str());
            for reason in reason.filter(|message| message.starts_with("left alone: ")) {
                reasons.entry(reason).or_default().insert(&node.name);
            }
        }
        for (reason, names) in reasons {
            let names: Vec<&str> = names.into_iter().collect();
            let (most, _) = shown(self.all, names.len(), MOST_NAMES);
            self.screen.line(f, &format!("{}: {reason}", list(&names, most)), None)?;
        }
        Ok(())
    }

    /// A bar and the share of a resource.
    fn cell(&self, node: &ShownNode, resource: &str, bar: usize) -> String {
        let Some(ratio) = node.ratios.get(resource).copied() else {
            // The node does not have the resource.
            return format!("{:>w$}", "-", w = bar + FIGURE);
        };
        let band = node.band.get(resource).copied().unwrap_or_default();
        let figure = ratio.map_or("?".to_owned(), |ratio: Ratio| ratio.to_string());
        if bar == 0 {
            return format!("{figure:>FIGURE$}");
        }
        let drawn = Bar::change(ratio, ratio, band).text(bar);
        format!("{}{figure:>FIGURE$}", self.screen.paint_class(node.class.as_deref(), &drawn))
    }

    fn proposed(&self, f: &mut fmt::Formatter<'_>, plan: &ShownPlan) -> fmt::Result {
        let Some(proposal) = plan.proposal.as_ref().filter(|one| one.moves.total() > 0) else {
            return Ok(());
        };
        self.screen.title(f, "Awaiting approval", &count(proposal.evictions, "eviction"))?;
        self.list(f, &proposal.moves, " evictions", |one| {
            let pod = format!("{}/{}", one.planned.namespace, one.planned.pod);
            vec![pod, one.planned.node.clone(), one.planned.why.clone()]
        })
    }

    fn moves(&self, f: &mut fmt::Formatter<'_>, plan: &ShownPlan) -> fmt::Result {
        if plan.moves.items.is_empty() {
            return Ok(());
        }
        let total = count(plan.moves.total(), "eviction");
        self.screen.title(f, "Moves", &format!("{total} in the last plan"))?;
        self.list(f, &plan.moves, " moves", |one| {
            let to = one.to.as_deref().unwrap_or("?");
            let pod = format!("{}/{}", one.namespace, one.pod);
            let outcome = one.message.as_deref().unwrap_or("dry run");
            vec![pod, format!("{} → {to}", one.node), outcome.to_owned()]
        })
    }

    fn kept(&self, f: &mut fmt::Formatter<'_>, plan: &ShownPlan) -> fmt::Result {
        let notes: Vec<_> = plan.notes.iter().chain(&plan.nodes_in_use).collect();
        if !notes.is_empty() {
            writeln!(f)?;
        }
        for note in notes {
            self.screen.line(f, &note.message, None)?;
        }
        if plan.kept.is_empty() {
            return Ok(());
        }
        self.screen.title(f, "Pods that stay", "candidates, by the reason")?;
        let rows = plan.kept.iter().map(|group| {
            vec![group.pods.total().to_string(), group.code.clone(), group.message.clone()]
        });
        self.screen.table(f, &Table::new(rows).right(0))
    }

    fn guards(&self, f: &mut fmt::Formatter<'_>, plan: &ShownPlan) -> fmt::Result {
        let guards = &plan.guard_states;
        if guards.items.is_empty() {
            return Ok(());
        }
        self.screen.title(f, "Guards", "the newest values against their limits")?;
        self.list(f, guards, " guards", |guard| self.guard_row(guard))
    }

    fn guard_row(&self, guard: &GuardStatus) -> Vec<String> {
        vec![
            guard.guard.clone(),
            guard.scope.to_string(),
            guard.value.map_or("no value".to_owned(), |value| value.to_string()),
            format!("limit {}", guard.limit),
            guard.answered.map_or("never asked".to_owned(), |at| self.ago(at)),
            format!("{}: {}", guard.state, guard.message),
        ]
    }

    fn steering(&self, f: &mut fmt::Formatter<'_>, plan: &ShownPlan) -> fmt::Result {
        if plan.steering.items.is_empty() && plan.steering_denied.is_none() {
            return Ok(());
        }
        let denied = plan.steering_denied.as_deref().unwrap_or_default();
        self.screen.title(f, "Steering", denied)?;
        self.list(f, &plan.steering, " nodes", |one| {
            vec![one.node.clone(), one.action.clone(), one.message.clone()]
        })
    }

    fn ledger(&self, f: &mut fmt::Formatter<'_>, ledger: &LedgerStatus) -> fmt::Result {
        let entries = &ledger.entries;
        if entries.items.is_empty() && ledger.resting.items.is_empty() {
            return Ok(());
        }
        let total = count(entries.total(), "recent eviction");
        let note = format!("{total}, {} under way", ledger.open);
        self.screen.title(f, "Ledger", &note)?;
        self.list(f, entries, " evictions", |entry| {
            let to = entry.to.as_deref().unwrap_or("?");
            vec![
                self.ago(entry.at),
                entry.workload.clone(),
                format!("{} → {to}", entry.from),
                entry.message.clone(),
            ]
        })?;
        for resting in &ledger.resting.items {
            let left = resting.until.duration_since(self.status.now);
            let why = match &resting.got_worse {
                Some(why) => format!("it got worse by its last eviction: {why}"),
                None => "its last moves did not help".to_owned(),
            };
            let text = format!("{} stays for {}: {why}", resting.workload, age(left));
            self.screen.line(f, &text, None)?;
        }
        Ok(())
    }

    /// Writes a row for each of the first items, and how many are left out.
    fn list<T>(
        &self,
        f: &mut fmt::Formatter<'_>,
        list: &Truncated<T>,
        what: &str,
        row: impl Fn(&T) -> Vec<String>,
    ) -> fmt::Result {
        let (most, left_out) = shown(self.all, list.items.len(), MOST);
        self.screen.table(f, &Table::new(list.items[..most].iter().map(row)))?;
        self.rest(f, left_out, list.more, what)
    }

    /// Says how many lines are left out here, or by the instance.
    fn rest(
        &self,
        f: &mut fmt::Formatter<'_>,
        left_out: usize,
        unreported: usize,
        what: &str,
    ) -> fmt::Result {
        self.screen.left_out(f, left_out, what)?;
        if unreported > 0 {
            let text = format!("… {unreported} more{what}, which the instance does not report");
            self.screen.hint(f, &text)?;
        }
        Ok(())
    }

    /// `12s ago`, by the clock of the instance.
    fn ago(&self, at: Timestamp) -> String {
        let since = self.status.now.duration_since(at);
        format!("{} ago", age(since))
    }
}
