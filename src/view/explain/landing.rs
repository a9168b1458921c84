//! The nodes on which the replacement of a pod may land, with their scores.

use std::fmt;

use crate::decide::explain::FittingNode;
use crate::values::Ratio;
use crate::view::screen::Ink;
use crate::view::table::Table;

use super::ExplanationText;

/// Longer lists are cut unless `--all` is given.
const MOST_NODES: usize = 5;

impl ExplanationText<'_> {
    pub(super) fn candidates(
        &self,
        f: &mut fmt::Formatter<'_>,
        nodes: &[FittingNode],
    ) -> fmt::Result {
        let candidates = self.shown_candidates(nodes);
        let has_scores = nodes.iter().any(|fit| fit.score != 0);
        let (deciding, equal) = plugins(nodes);
        let rows = candidates.iter().map(|fit| candidate_row(fit, has_scores));
        let lines = Table::new(rows).lines();
        let mut previous = String::new();
        for (line, fit) in lines.iter().zip(&candidates) {
            let ink = (fit.chance > Ratio::ZERO).then_some(Ink::Bold);
            self.screen.line(f, line, ink)?;
            let scores = scores(fit, &deciding);
            if has_scores && scores != previous {
                self.screen.beside(f, "      ", &scores, Some(Ink::Dim))?;
            }
            previous = scores;
        }
        if has_scores && !equal.is_empty() && nodes.len() > 1 {
            let text = format!("equal on all nodes: {}", equal.join(", "));
            self.screen.line(f, &text, Some(Ink::Dim))?;
        }
        let left_out = nodes.len() - candidates.len();
        self.screen.left_out(f, left_out, " nodes that can run it")
    }

    /// The nodes to list, in their order. Nodes that may win and the pod's own node come before the
    /// others.
    fn shown_candidates<'n>(&self, nodes: &'n [FittingNode]) -> Vec<&'n FittingNode> {
        let (mut candidates, others): (Vec<_>, Vec<_>) =
            nodes.iter().enumerate().partition(|(_, fit)| fit.chance > Ratio::ZERO || fit.home);
        let (most, _) = self.shown(candidates.len(), 2 * MOST_NODES);
        candidates.truncate(most);
        let room = MOST_NODES.saturating_sub(candidates.len()).max(2);
        let (most, _) = self.shown(others.len(), room);
        candidates.extend(&others[..most]);
        candidates.sort_by_key(|(position, _)| *position);
        candidates.into_iter().map(|(_, fit)| fit).collect()
    }
}

/// The plugins whose scores differ between nodes, and the others.
fn plugins(nodes: &[FittingNode]) -> (Vec<&str>, Vec<&str>) {
    let Some(first) = nodes.first() else {
        return (Vec::new(), Vec::new());
    };
    first.parts.keys().copied().partition(|plugin| {
        let score = first.parts[*plugin];
        nodes.iter().any(|fit| fit.parts[*plugin] != score)
    })
}

/// `NodeAffinity=200, NodeResourcesFit=93`.
fn scores(fit: &FittingNode, plugins: &[&str]) -> String {
    let scores = plugins.iter().map(|plugin| format!("{plugin}={}", fit.parts[*plugin]));
    scores.collect::<Vec<_>>().join(", ")
}

fn candidate_row(fit: &FittingNode, scored: bool) -> Vec<String> {
    let current = if fit.home { " (current)" } else { "" };
    let gain = match &fit.gain {
        Some(Ok(full)) => format!("helps; the node would be {full} full"),
        Some(Err(_)) | None => fit.flaw().unwrap_or_default(),
    };
    vec![
        format!("{}{current}", fit.node),
        format!("{:>4}", fit.chance),
        if scored { format!("score {}", fit.score) } else { String::new() },
        gain,
    ]
}
