//! The balance before and after, and the plan in one sentence.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::model::plan::{Balance, Class, Idle, Move, NodePicture, Note, Reason, Verdict};
use crate::policy::LowNodeUtilization;
use crate::values::text::{agree, are, count, list};
use crate::view::table::Table;
use crate::view::words::{BALANCE_HEADS, change};

use super::PlanText;

const MOST_NAMES: usize = 5;

impl PlanText<'_> {
    pub(super) fn balance(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.plan.before.balance.is_empty() {
            return Ok(());
        }
        let nodes = &self.plan.before.nodes;
        let known = nodes.iter().filter(|node| node.is_measured()).count();
        let of = if known == nodes.len() {
            "all nodes".to_owned()
        } else {
            format!("the {known} of {} with known usage", count(nodes.len(), "node"))
        };
        let note = format!("of {of}, before → after; less is better");
        self.screen.title(f, "Balance", &note)?;
        let rows = self.plan.before.balance.iter().map(|(resource, before)| {
            let after = self.plan.after.balance.get(resource).unwrap_or(before);
            balance_row(resource, before, after)
        });
        let head = BALANCE_HEADS.map(str::to_owned).to_vec();
        self.screen.table(f, &Table::new(std::iter::once(head).chain(rows)))
    }

    /// The plan in one sentence.
    pub(super) fn summary(&self) -> String {
        let mut parts = vec![self.of_moves()];
        parts.extend(self.plan.nodes_in_use.iter().map(ToString::to_string));
        let proposed = self.plan.proposed.len();
        if proposed > 0 {
            let (moves, wait) = (count(proposed, "move"), agree(proposed, "waits", "wait"));
            parts.push(format!("{moves} {wait} for an approval"));
        }
        parts.join("; ")
    }

    /// The moves in one sentence.
    fn of_moves(&self) -> String {
        if let Some(halt) = &self.plan.halted {
            return format!("no pods considered: {halt}");
        }
        // Several strategies may judge the same node.
        let hot = self.named(Class::is_hot);
        let verdicts = self.plan.nodes.iter().filter(|verdict| verdict.class.is_hot());
        let after = self.plan.after.nodes.iter();
        let after: BTreeMap<&str, &NodePicture> =
            after.map(|node| (node.name.as_str(), node)).collect();
        let stay_hot = distinct(verdicts.filter(|verdict| !self.cools(verdict, &after)));
        if self.plan.moves.is_empty() {
            return self.without_moves(&stay_hot);
        }
        let moves = self.planned(hot.is_empty());
        if hot.is_empty() {
            return moves;
        }
        let all = count(hot.len(), "hot node");
        let cooled = hot.len() - stay_hot.len();
        if stay_hot.is_empty() {
            return format!("{moves} would bring {cooled} of {all} below target");
        }
        let why = self.most_frequent_refusal(&stay_hot);
        if cooled == 0 {
            return format!("{moves} {}{why}", self.without_cooled(&hot));
        }
        let stay = agree(stay_hot.len(), "stays", "stay");
        let names = list(&stay_hot, MOST_NAMES);
        format!("{moves} would bring {cooled} of {all} below target; {names} {stay} hot{why}")
    }

    /// Returns the consequence of the moves for these hot nodes, none of which ends below its
    /// targets.
    fn without_cooled(&self, hot: &[&str]) -> String {
        let all = count(hot.len(), "hot node");
        let of = |relieved: &dyn Fn(&Move) -> &str| {
            let nodes: BTreeSet<&str> = self.plan.moves.iter().map(relieved).collect();
            match hot.iter().filter(|node| nodes.contains(*node)).count() {
                0 => None,
                of if of == hot.len() => Some(all.clone()),
                of => Some(format!("{of} of {all}")),
            }
        };
        // A node is relieved if a pod leaves it, and an opening is the first of several moves.
        if let Some(relieved) = of(&|planned| &planned.node) {
            return format!("would relieve {relieved}, but bring none below target");
        }
        let opened = of(&|planned| {
            if let Reason::Opening { node, .. } = &planned.reason { node } else { "" }
        });
        opened.map_or_else(
            || format!("would not relieve {all}"),
            |opened| format!("would begin to relieve {opened}"),
        )
    }

    /// The number of moves, with the strategies unless all are known to be for hot nodes.
    fn planned(&self, always: bool) -> String {
        let moves = self.plan.moves.iter();
        let strategies = by_strategy(moves.clone().map(|planned| planned.strategy));
        let all = count(self.plan.moves.len(), "move");
        let mut others = moves.filter(|planned| planned.strategy != LowNodeUtilization::NAME);
        match (always, others.next()) {
            (true, _) => format!("{all}: {strategies}"),
            (false, Some(_)) => format!("{all} ({strategies})"),
            (false, None) => all,
        }
    }

    /// The refusal that keeps most pods on these nodes.
    fn most_frequent_refusal(&self, nodes: &[&str]) -> String {
        let mut counts: BTreeMap<(bool, &str), usize> = BTreeMap::new();
        let nodes: BTreeSet<&str> = nodes.iter().copied().collect();
        let kept = self.plan.kept.iter();
        let relieving = kept.filter(|kept| {
            kept.strategy == LowNodeUtilization::NAME && !kept.refusal.needs_approval()
        });
        for kept in relieving.filter(|kept| nodes.contains(kept.node.as_str())) {
            let key = (kept.refusal.is_temporary(), kept.refusal.code());
            *counts.entry(key).or_default() += 1;
        }
        match counts.into_iter().max_by_key(|(_, n)| *n) {
            Some(((true, code), n)) => {
                let wait = agree(n, "waits", "wait");
                format!(": {n} more {wait} for a later cycle ({code})")
            }
            Some(((false, code), n)) => {
                let stay = agree(n, "stays", "stay");
                format!(": {} {stay} because of {code}", count(n, "pod"))
            }
            None => String::new(),
        }
    }

    /// Sentences about the effect of other settings, as trial decisions show it.
    pub(super) fn trials(&self) -> Vec<String> {
        let steering = self.plan.steering_trial.iter().map(ToString::to_string);
        let replicas = self.plan.replica_trial.iter().map(ToString::to_string);
        steering.chain(replicas).collect()
    }

    /// The reason why there is no move.
    fn without_moves(&self, hot: &[&str]) -> String {
        if !self.plan.proposed.is_empty() {
            return "no move is approved".to_owned();
        }
        if !self.plan.kept.is_empty() {
            let kept = format!("{}{}", self.all_kept(hot), self.plan.not_reached());
            let parts = std::iter::once(kept)
                .chain(self.notes(|why| matches!(why, Idle::NothingToEmpty(_))));
            return parts.collect::<Vec<_>>().join("; ");
        }
        let mut classes = self.plan.nodes.iter().map(|verdict| &verdict.class);
        // `all` is true for no nodes, which is another situation.
        if !self.plan.nodes.is_empty() && classes.all(|class| matches!(class, Class::Unknown(_))) {
            return "no decision possible: the usage of every node is unknown".to_owned();
        }
        let aside = self.plan.aside();
        // A node that is left alone may be above its target.
        let unneeded = if aside.is_empty() { "no moves needed" } else { "no moves" };
        if !self.plan.notes.is_empty() {
            let goal = hot.is_empty() && self.plan.notes.iter().all(|note| note.why.is_goal());
            let moves = if goal { unneeded } else { "no moves possible" };
            return format!("{moves}: {}{aside}", self.notes(|_| true).join("; "));
        }
        if !hot.is_empty() {
            let nodes = list(hot, MOST_NAMES);
            return format!("no moves possible: no pod would relieve {nodes} by leaving");
        }
        let underused = self.named(|class| matches!(class, Class::Underused));
        if !underused.is_empty() {
            let (names, are) = (list(&underused, MOST_NAMES), are(underused.len()));
            return format!(
                "no moves possible: {names} {are} underused, but no pod there may move"
            );
        }
        if self.balancing().is_some() {
            format!("{unneeded}: no node that takes part is above its target{aside}")
        } else {
            format!("{unneeded}: no strategy selects a pod{aside}")
        }
    }

    /// The sentence for a plan in which a gate refused every candidate.
    fn all_kept(&self, hot: &[&str]) -> String {
        // Several strategies may select the same pod.
        let kept = self.plan.kept.iter();
        let kept: BTreeSet<_> = kept.map(|kept| (&kept.namespace, &kept.pod)).collect();
        let kept = kept.len();
        let (pods, stay) = (count(kept, "pod"), agree(kept, "stays", "stay"));
        let mut strategies = self.plan.kept.iter().map(|kept| kept.strategy);
        if !hot.is_empty() && strategies.clone().all(|name| name == LowNodeUtilization::NAME) {
            let (nodes, are) = (count(hot.len(), "node"), are(hot.len()));
            return format!(
                "no moves possible: {nodes} {are} hot, but {pods} that would help {stay}; see Kept"
            );
        }
        let first = strategies.next().unwrap_or_default();
        if strategies.all(|name| name == first) {
            return format!("no moves possible: {pods} that {first} selects {stay}; see Kept");
        }
        let each = by_strategy(self.plan.kept.iter().map(|kept| kept.strategy));
        format!("no moves possible: {pods} that strategies select {stay} ({each}); see Kept")
    }

    /// The nodes of some classes.
    fn named(&self, wanted: fn(&Class) -> bool) -> Vec<&str> {
        distinct(self.plan.nodes.iter().filter(|verdict| wanted(&verdict.class)))
    }

    /// The notes of the strategies with some reasons; with several pools each names its own.
    fn notes(&self, wanted: fn(&Idle) -> bool) -> Vec<String> {
        let several = self.plan.notes.len() > 1;
        let text = |note: &Note| {
            if several { format!("pool {}: {}", note.pool, note.why) } else { note.why.to_string() }
        };
        self.plan.notes.iter().filter(|note| wanted(&note.why)).map(text).collect()
    }

    /// Whether a hot node ends at or below each of its known targets.
    fn cools(&self, verdict: &Verdict, after: &BTreeMap<&str, &NodePicture>) -> bool {
        let Class::Hot { resource, target, .. } = &verdict.class else {
            return false;
        };
        let Some(after) = after.get(verdict.node.as_str()) else {
            return false;
        };
        let others = self.bounds().map(|pool| pool.targets.as_slice());
        let targets = others.unwrap_or_default().iter();
        let targets = targets.map(|(name, target)| (name, *target));
        std::iter::once((resource, *target))
            // A node can be above several targets, and its class names only one.
            .chain(targets)
            .all(|(name, target)| after.is_at_most(name, target))
    }
}

/// The nodes of verdicts, each once, in the order of the first.
fn distinct<'p>(verdicts: impl Iterator<Item = &'p Verdict>) -> Vec<&'p str> {
    let mut seen = BTreeSet::new();
    let names = verdicts.map(|verdict| verdict.node.as_str());
    names.filter(|name| seen.insert(*name)).collect()
}

/// The number of pods per strategy.
fn by_strategy<'p>(strategies: impl Iterator<Item = &'p str>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for strategy in strategies {
        *counts.entry(strategy).or_default() += 1;
    }
    let parts = counts.iter().map(|(name, n)| format!("{n} for {name}"));
    parts.collect::<Vec<_>>().join(", ")
}

fn balance_row(resource: &str, before: &Balance, after: &Balance) -> Vec<String> {
    vec![
        resource.to_owned(),
        change(before.deviation, after.deviation),
        change(before.above_mean, after.above_mean),
        change(before.mean, after.mean),
    ]
}
