//! The pods: those that move, those that stay and why, and the objects that could not be read.

use std::collections::BTreeMap;
use std::fmt;

use crate::model::ledger::Aim;
use crate::model::plan::{Kept, Move, Reason, expected_effect};
use crate::model::snapshot::facts::Skipped;
use crate::model::snapshot::objects::ObjectKind;
use crate::view::screen::{Ink, padded, shown};
use crate::view::table::Table;

use super::PlanText;

/// Longer lists are cut unless `--all` is given.
const MOST_MOVES: usize = 40;
const MOST_SKIPPED: usize = 5;

impl PlanText<'_> {
    pub(super) fn moves(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.listed_moves(f, &self.plan.moves, "Moves", "in this order")?;
        let note = "only after a person has approved them";
        self.listed_moves(f, &self.plan.proposed, "Awaiting approval", note)
    }

    fn listed_moves(
        &self,
        f: &mut fmt::Formatter<'_>,
        moves: &[Move],
        title: &str,
        note: &str,
    ) -> fmt::Result {
        if moves.is_empty() {
            return Ok(());
        }
        let several = |planned: &Move| planned.possible_nodes.len() > 1;
        let others =
            if moves.iter().any(several) { "; the other nodes may win instead" } else { "" };
        let note = format!("{note}; from → predicted node{others}");
        self.screen.title(f, title, &note)?;
        let (most, left_out) = shown(self.all, moves.len(), MOST_MOVES);
        let moves = &moves[..most];
        let rows = moves.iter().enumerate().map(|(i, planned)| move_row(i, planned));
        let heads = padded(&Table::new(rows).lines());
        for (head, planned) in heads.iter().zip(moves) {
            let reason =
                short_reason(&planned.reason) + &expected_effect(planned.saves, planned.worth);
            self.screen.beside_or_below(f, head, &reason, Some(Ink::Dim))?;
        }
        self.screen.left_out(f, left_out, "")
    }

    pub(super) fn kept(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.plan.kept.is_empty() {
            return Ok(());
        }
        let note = "selected pods that stay, by refusal code";
        self.screen.title(f, "Kept", note)?;
        let groups = by_code(&self.plan.kept);
        let rows = groups.iter().map(|group| {
            let code = group[0].refusal.code().to_owned();
            vec![format!("{:>3}", group.len()), code]
        });
        let heads = padded(&Table::new(rows).lines());
        for (head, group) in heads.iter().zip(&groups) {
            self.screen.beside(f, head, &group[0].refusal.to_string(), None)?;
            self.kept_pods(f, head.chars().count(), group)?;
        }
        // The hint would promise nothing more.
        if self.all || groups.iter().all(|group| group.len() == 1) {
            return Ok(());
        }
        self.screen.hint(f, "--all lists each pod")
    }

    /// The pods of a group; without `--all` only the first.
    fn kept_pods(&self, f: &mut fmt::Formatter<'_>, indent: usize, group: &[&Kept]) -> fmt::Result {
        let (most, left_out) = shown(self.all, group.len(), 1);
        let prefix = if left_out > 0 { "such as " } else { "" };
        for kept in &group[..most] {
            let mut text = format!("{prefix}{}/{} on {}", kept.namespace, kept.pod, kept.node);
            // Most pods of a group have the sentence of the first, which is printed above.
            if kept.refusal != group[0].refusal {
                text = format!("{text}: {}", kept.refusal);
            }
            self.screen.beside(f, &" ".repeat(indent), &text, Some(Ink::Dim))?;
        }
        Ok(())
    }

    pub(super) fn skipped(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.plan.skipped.is_empty() {
            return Ok(());
        }
        self.screen.title(f, "Skipped", &what_skipping_costs(&self.plan.skipped))?;
        let (most, left_out) = shown(self.all, self.plan.skipped.len(), MOST_SKIPPED);
        for skipped in &self.plan.skipped[..most] {
            self.screen.line(f, &skipped.to_string(), None)?;
        }
        self.screen.left_out(f, left_out, "")
    }
}

/// The consequence of objects that cannot be read: a pod makes its node doubtful, and a sample
/// leaves only the usage of its own node or pod unknown.
fn what_skipping_costs(skipped: &[Skipped]) -> String {
    let mut note = "objects that cannot be read".to_owned();
    if skipped.iter().any(|object| object.kind == ObjectKind::Pod.name()) {
        note += "; a node with such a pod is left alone";
    }
    let is_of_node =
        |kind| [ObjectKind::CsiNode, ObjectKind::Attachment].map(ObjectKind::name).contains(&kind);
    if skipped.iter().any(|object| is_of_node(object.kind.as_str())) {
        note += "; a node with such a CSINode or VolumeAttachment is left alone";
    }
    // Samples have kinds such as PodMetrics or, in Prometheus, podCpu.
    let is_sample = |kind: &str| {
        kind.ends_with("Metrics") || kind.starts_with(|first: char| first.is_ascii_lowercase())
    };
    if skipped.iter().any(|object| is_sample(&object.kind)) {
        note += "; what such a sample would show is unknown";
    }
    note
}

fn move_row(position: usize, planned: &Move) -> Vec<String> {
    let (kind, name) = match &planned.workload {
        Some(workload) => (&workload.kind, &workload.name),
        None => (&planned.owner.kind, &planned.owner.name),
    };
    vec![
        format!("{:>3}", position + 1),
        format!("{}/{}", planned.namespace, planned.pod),
        landing(planned),
        format!("{kind}/{name}"),
    ]
}

/// Where the replacement lands, or that the pod stays on its own node.
fn landing(planned: &Move) -> String {
    let (from, to) = (&planned.node, planned.to.as_ref());
    if planned.aim == Aim::Clear {
        return format!("{from}, removed");
    }
    let first = match to {
        Some(to) if to == from && planned.aim == Aim::Renew => format!("{from}, renewed there"),
        Some(to) if to == from => format!("{from}, comes back"),
        Some(to) => format!("{from} → {to}"),
        None => format!("{from} → no node can run it"),
    };
    let possible_nodes = planned.possible_nodes.iter().filter(|node| Some(*node) != to);
    let (back, others): (Vec<&String>, Vec<&String>) =
        possible_nodes.partition(|node| *node == from);
    let others = match others.len() {
        0 => String::new(),
        1 => " or 1 other".to_owned(),
        more => format!(" or {more} others"),
    };
    let back = if back.is_empty() { "" } else { ", may come back" };
    format!("{first}{others}{back}")
}

/// The reason of a move. The node is in the same line, so a hot node needs only its resource and
/// ratio.
fn short_reason(reason: &Reason) -> String {
    match reason {
        Reason::HotNode { resource, ratio, target, .. } => {
            format!("{resource} {ratio} is above {target}")
        }
        Reason::Opening { node, pod } => format!("opens room for {pod} of {node}"),
        Reason::UnderusedNode { .. }
        | Reason::Duplicate { .. }
        | Reason::Skewed { .. }
        | Reason::Counted
        | Reason::Neighbour { .. }
        | Reason::NearAvoided { .. }
        | Reason::WrongNode
        | Reason::LessPreferred { .. }
        | Reason::Taint(_)
        | Reason::Restarts { .. }
        | Reason::Found(_) => reason.to_string(),
    }
}

/// Groups pods by refusal code, the largest group first.
fn by_code(kept: &[Kept]) -> Vec<Vec<&Kept>> {
    let mut by_code: BTreeMap<&str, Vec<&Kept>> = BTreeMap::new();
    for kept in kept {
        by_code.entry(kept.refusal.code()).or_default().push(kept);
    }
    let mut groups: Vec<Vec<&Kept>> = by_code.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    groups
}
