//! The pods: which move, which stay and why, and what could not be read.

use std::collections::BTreeMap;
use std::fmt;

use crate::model::plan::{Kept, Move, Reason};

use super::{Ink, Page, columns};

/// Longer lists are cut, unless all is asked for.
const MOST: usize = 40;
const MOST_SKIPPED: usize = 5;

impl Page<'_> {
    pub(super) fn moves(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.plan.moves.is_empty() {
            return Ok(());
        }
        let lots = self.plan.moves.iter().any(|m| m.may_land.len() > 1);
        let foreseen = "in this order; from → where the replacement is foreseen to land";
        let drawn = "; others are as good to the scheduler";
        self.title(
            f,
            "Moves",
            &format!("{foreseen}{}", if lots { drawn } else { "" }),
        )?;
        let (shown, left_out) = self.fit(self.plan.moves.len(), MOST);
        let moves = &self.plan.moves[..shown];
        let lines = columns(
            &moves
                .iter()
                .enumerate()
                .map(|(i, m)| row(i, m))
                .collect::<Vec<_>>(),
        );
        let reasons: Vec<String> = moves.iter().map(|m| brief(&m.reason)).collect();
        let widest = |lines: &[String]| lines.iter().map(|l| l.chars().count()).max().unwrap_or(0);
        let (width, fits) = (
            widest(&lines),
            widest(&lines) + 2 + widest(&reasons) <= self.screen.width,
        );
        for (line, reason) in lines.iter().zip(reasons) {
            let reason = self.screen.paint(Ink::Dim, &reason);
            if fits {
                writeln!(f, "{line:width$}  {reason}")?
            } else {
                writeln!(f, "{line}\n     {reason}")?
            }
        }
        self.left_out(f, left_out)
    }

    pub(super) fn kept(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.plan.kept.is_empty() {
            return Ok(());
        }
        self.title(
            f,
            "What stays, and why",
            "pods whose leaving would help, by code",
        )?;
        let groups = groups(&self.plan.kept);
        let heads = columns(&groups.iter().map(|g| head(g)).collect::<Vec<_>>());
        let width = heads.iter().map(|h| h.chars().count()).max().unwrap_or(0) + 2;
        for (head, group) in heads.iter().zip(&groups) {
            let (shown, _) = self.fit(group.len(), 1);
            writeln!(f, "{head:width$}{}", group[0].refusal)?;
            for (i, kept) in group[..shown].iter().enumerate() {
                let such = if group.len() > shown { "such as " } else { "" };
                // Only what differs is said again: the sentence of a limit is the same for every pod.
                let differs = i > 0 && kept.refusal != group[0].refusal;
                let why = if differs {
                    format!(": {}", kept.refusal)
                } else {
                    String::new()
                };
                let pod = format!(
                    "{such}{}/{} on {}{why}",
                    kept.namespace, kept.pod, kept.node
                );
                writeln!(f, "{:width$}{}", "", self.screen.paint(Ink::Dim, &pod))?;
            }
        }
        if groups.iter().all(|g| g.len() == 1) || self.all {
            Ok(())
        } else {
            self.hint(f, "--all lists each pod")
        }
    }

    pub(super) fn skipped(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.plan.skipped.is_empty() {
            return Ok(());
        }
        self.title(
            f,
            "Skipped",
            "what cannot be read; a node that holds such a pod is left alone",
        )?;
        let (shown, left_out) = self.fit(self.plan.skipped.len(), MOST_SKIPPED);
        for skipped in &self.plan.skipped[..shown] {
            writeln!(f, "{skipped}")?;
        }
        self.left_out(f, left_out)
    }

    fn left_out(&self, f: &mut fmt::Formatter<'_>, count: usize) -> fmt::Result {
        if count == 0 {
            Ok(())
        } else {
            self.more(f, &format!("{count} more"))
        }
    }
}

fn row(position: usize, it: &Move) -> Vec<String> {
    let (kind, name) = it
        .workload
        .as_ref()
        .map_or((&it.owner.kind, &it.owner.name), |w| (&w.kind, &w.name));
    vec![
        format!("{:>3}", position + 1),
        format!("{}/{}", it.namespace, it.pod),
        format!(
            "{} → {}{}",
            it.node,
            it.to.as_deref().unwrap_or("?"),
            others(it)
        ),
        format!("{kind}/{name}"),
    ]
}

/// How many other nodes are as good to the scheduler.
fn others(it: &Move) -> String {
    match it.may_land.len() {
        0 | 1 => String::new(),
        2 => " or 1 other".to_owned(),
        all => format!(" or {} others", all - 1),
    }
}

/// Beside the names of the nodes, fewer words will do.
fn brief(reason: &Reason) -> String {
    match reason {
        Reason::HotNode {
            resource,
            ratio,
            target,
            ..
        } => format!("{resource} {ratio} is above {target}"),
        Reason::UnderusedNode { .. }
        | Reason::Duplicate { .. }
        | Reason::Skewed { .. }
        | Reason::Counted
        | Reason::Neighbour { .. }
        | Reason::WrongNode
        | Reason::LessPreferred { .. }
        | Reason::Taint(_)
        | Reason::Restarts { .. }
        | Reason::Found(_) => reason.to_string(),
    }
}

fn head(group: &[&Kept]) -> Vec<String> {
    vec![
        format!("{:>3}", group.len()),
        group[0].refusal.code().to_owned(),
    ]
}

/// By code, the most frequent first.
fn groups(kept: &[Kept]) -> Vec<Vec<&Kept>> {
    let mut by_code: BTreeMap<&str, Vec<&Kept>> = BTreeMap::new();
    for it in kept {
        by_code.entry(it.refusal.code()).or_default().push(it);
    }
    let mut groups: Vec<Vec<&Kept>> = by_code.into_values().collect();
    groups.sort_by_key(|g| std::cmp::Reverse(g.len()));
    groups
}
