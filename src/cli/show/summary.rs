//! What it comes to: the balance, and the plan in one sentence.

use std::collections::BTreeMap;
use std::fmt;

use crate::cli::file::counted;
use crate::model::plan::{Balance, Class, Verdict};
use crate::values::Ratio;

use super::{Page, columns, names};

const MOST_NAMES: usize = 5;

impl Page<'_> {
    pub(super) fn balance(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.plan.before.balance.is_empty() {
            return Ok(());
        }
        self.title(
            f,
            "Balance",
            "over the nodes, before → after; less is better",
        )?;
        let heads = ["", "standard deviation", "fullest above mean", "mean"];
        let mut rows = vec![heads.map(str::to_owned).to_vec()];
        for (resource, before) in &self.plan.before.balance {
            let after = self.plan.after.balance.get(resource).unwrap_or(before);
            let change = |of: fn(&Balance) -> Ratio| arrow(of(before), of(after));
            rows.push(vec![
                resource.clone(),
                change(|b| b.deviation),
                change(|b| b.above_mean),
                change(|b| b.mean),
            ]);
        }
        columns(&rows)
            .iter()
            .try_for_each(|line| writeln!(f, "{line}"))
    }

    /// The plan in one sentence.
    pub(super) fn summary(&self) -> String {
        if let Some(halt) = &self.plan.halted {
            return format!("nothing was considered: {halt}");
        }
        let hot: Vec<&Verdict> = self
            .plan
            .nodes
            .iter()
            .filter(|v| matches!(v.class, Class::Hot { .. }))
            .collect();
        let stay: Vec<&str> = hot
            .iter()
            .filter(|v| !self.cools(v))
            .map(|v| v.node.as_str())
            .collect();
        if self.plan.moves.is_empty() {
            return self.idle(&stay);
        }
        let moves = counted(self.plan.moves.len(), "move", "moves");
        if hot.is_empty() {
            return format!("{moves}: {}", self.by_strategy());
        }
        let (cooled, all) = (
            hot.len() - stay.len(),
            counted(hot.len(), "hot node", "hot nodes"),
        );
        match (cooled, stay.is_empty()) {
            (_, true) => format!("{moves} would bring {cooled} of {all} below target"),
            (0, false) => format!(
                "{moves} would relieve {all}, and bring none below target yet{}",
                self.mostly(&stay)
            ),
            (_, false) => {
                let stay_hot = if stay.len() == 1 {
                    "stays hot"
                } else {
                    "stay hot"
                };
                let nodes = names(&stay, MOST_NAMES);
                format!(
                    "{moves} would bring {cooled} of {all} below target; {nodes} {stay_hot}{}",
                    self.mostly(&stay)
                )
            }
        }
    }

    /// How many moves each strategy asks for.
    fn by_strategy(&self) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for it in &self.plan.moves {
            *counts.entry(it.strategy).or_default() += 1;
        }
        counts
            .iter()
            .map(|(strategy, n)| format!("{n} for {strategy}"))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// What most often keeps pods on these nodes.
    fn mostly(&self, nodes: &[&str]) -> String {
        let mut counts: BTreeMap<(bool, &str), usize> = BTreeMap::new();
        for kept in self
            .plan
            .kept
            .iter()
            .filter(|k| nodes.contains(&k.node.as_str()))
        {
            *counts
                .entry((kept.refusal.is_temporary(), kept.refusal.code()))
                .or_default() += 1;
        }
        match counts.into_iter().max_by_key(|(_, n)| *n) {
            Some(((true, code), n)) => format!(": {n} more wait for the next cycles ({code})"),
            Some(((false, code), n)) => {
                format!(": {} for {code}", counted(n, "pod stays", "pods stay"))
            }
            None => String::new(),
        }
    }

    /// Why there is no move.
    fn idle(&self, hot: &[&str]) -> String {
        let blind = |v: &Verdict| matches!(v.class, Class::Unknown(_));
        if !self.plan.nodes.is_empty() && self.plan.nodes.iter().all(blind) {
            return "nothing can be decided: no node's usage is known".to_owned();
        }
        if !self.plan.kept.is_empty() {
            let nodes = counted(hot.len(), "node is hot", "nodes are hot");
            let pods = counted(
                self.plan.kept.len(),
                "pod that would help stays",
                "pods that would help stay",
            );
            return format!("nothing can be done: {nodes}, but {pods}, for the reasons above");
        }
        let several = self.plan.notes.len() > 1;
        let pool = |pool: &str| {
            if several {
                format!("pool {pool}: ")
            } else {
                String::new()
            }
        };
        let notes: Vec<String> = self
            .plan
            .notes
            .iter()
            .map(|n| format!("{}{}", pool(&n.pool), n.why))
            .collect();
        match (notes.is_empty(), hot.is_empty()) {
            (false, _) => format!("nothing to do: {}{}", notes.join("; "), self.plan.aside()),
            (true, true) => format!(
                "nothing to do: no node is above its target{}",
                self.plan.aside()
            ),
            (true, false) => format!(
                "nothing can be done: no pod's leaving would relieve {}",
                names(hot, MOST_NAMES)
            ),
        }
    }

    /// Whether a hot node will be at or below each of its targets that are known here.
    fn cools(&self, verdict: &Verdict) -> bool {
        let Class::Hot {
            resource, target, ..
        } = &verdict.class
        else {
            return false;
        };
        let Some(after) = self
            .plan
            .after
            .nodes
            .iter()
            .find(|n| n.name == verdict.node)
        else {
            return false;
        };
        let below = |name: &str, target: Ratio| {
            after
                .ratios
                .get(name)
                .is_some_and(|r| r.is_some_and(|r| r <= target))
        };
        let others = self
            .bounds()
            .map(|pool| pool.targets.as_slice())
            .unwrap_or_default();
        below(resource, *target) && others.iter().all(|(name, target)| below(name, *target))
    }
}

fn arrow(before: Ratio, after: Ratio) -> String {
    let (before, after) = (before.to_string(), after.to_string());
    if before == after {
        before
    } else {
        format!("{before} → {after}")
    }
}
