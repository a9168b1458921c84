//! Summarises a plan and the outcomes of its moves for the status page.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::SignedDuration;

use crate::model::approval::{Proposal, ProposedMove};
use crate::model::guard::{GuardReport, GuardStop};
use crate::model::plan::{Class, Kept, NodePicture, Outcome, Plan, Verdict};
use crate::values::Ratio;
use crate::values::text::count as counted;

use super::facts::{
    BalanceChange, ClassCount, CycleSummary, GuardStatus, MoveStatus, NodeStatus, PlanStatus,
    ProposalStatus, ProposedStatus, RefusalGroup, Truncated,
};

/// Further nodes are counted but not listed.
const MOST_NODES: usize = 200;
const MOST_MOVES: usize = 200;
const MOST_KEPT: usize = 50;
const MOST_DESTINATIONS: usize = 5;
const MOST_STEERED: usize = 100;
const MOST_RIGHTSIZING: usize = 30;
const MOST_GUARDS: usize = 50;
const MOST_SKIPPED: usize = 20;

impl PlanStatus {
    /// Summarises a plan, the outcomes of its moves and the duration of the cycle. There are no
    /// outcomes in a dry run and for a plan without moves.
    pub fn of(plan: &Plan, outcomes: &[Outcome], dry_run: bool, took: SignedDuration) -> Self {
        let nodes = ranked(plan);
        let moves = plan
            .moves
            .iter()
            .enumerate()
            .map(|(i, planned)| MoveStatus::new(planned, outcomes.get(i), MOST_DESTINATIONS));
        PlanStatus {
            at: plan.at,
            took_ms: millis(took),
            dry_run,
            halted: plan.halted.clone(),
            paused: plan.paused.clone(),
            guards: Truncated::first(MOST_SKIPPED, plan.guards.iter().cloned()),
            guard_states: Truncated::default(),
            proposal: proposal(None, plan.proposed.iter().map(ProposedMove::from)),
            basis: plan.before.basis,
            classes: classes(&nodes),
            balance: balance(plan),
            nodes: Truncated::first(MOST_NODES, nodes.into_iter().map(RankedNode::status)),
            moves: Truncated::first(MOST_MOVES, moves),
            evicted: outcomes.iter().filter(|outcome| **outcome == Outcome::Evicted).count(),
            kept: kept(&plan.kept),
            notes: plan.notes.clone(),
            nodes_in_use: plan.nodes_in_use.clone(),
            rightsizing: Truncated::first(MOST_RIGHTSIZING, plan.rightsizing.iter().cloned()),
            steering: Truncated::first(MOST_STEERED, plan.steering.iter().cloned()),
            steering_denied: None,
            steering_trial: plan.steering_trial.clone(),
            replica_trial: plan.replica_trial.clone(),
            skipped: Truncated::first(MOST_SKIPPED, plan.skipped.iter().cloned()),
            unknown: Truncated::first(MOST_SKIPPED, plan.unknown.iter().cloned()),
            no_trend: plan.no_trend,
        }
    }

    /// Adds why evenkeel may not change taints.
    #[must_use]
    pub fn with_steering_denied(self, reason: Option<&str>) -> Self {
        PlanStatus { steering_denied: reason.map(str::to_owned), ..self }
    }

    /// Adds the guards of the policy.
    #[must_use]
    pub fn with_guards(self, reports: &[GuardReport]) -> Self {
        let states = reports.iter().map(GuardStatus::of);
        PlanStatus { guard_states: Truncated::first(MOST_GUARDS, states), ..self }
    }

    /// Adds the stored proposal that waits for an approval.
    #[must_use]
    pub fn with_proposal(self, stored: Option<&Proposal>) -> Self {
        let stored = stored.and_then(|one| proposal(Some(&one.id), one.moves.iter().cloned()));
        PlanStatus { proposal: stored.or(self.proposal), ..self }
    }

    /// Returns the number of nodes whose worst class is this one.
    pub fn count(&self, class: &str) -> usize {
        self.classes.iter().find(|count| count.class == class).map_or(0, |count| count.nodes)
    }

    /// Returns the summary that is kept once a newer cycle has finished.
    pub fn past(&self, outcome: &'static str, message: String) -> CycleSummary {
        let planned = self.moves.total();
        CycleSummary {
            at: self.at,
            took_ms: self.took_ms,
            outcome,
            message: if self.dry_run && planned > 0 {
                format!("{} would be evicted", counted(planned, "pod"))
            } else {
                message
            },
            planned,
            evicted: self.evicted,
            hot: self.count("hot"),
            deviation: self
                .balance
                .iter()
                .map(|(resource, change)| (resource.clone(), change.before.deviation))
                .collect(),
        }
    }
}

/// The evictions that wait for an approval, under the id of the stored proposal.
fn proposal(
    id: Option<&str>,
    moves: impl ExactSizeIterator<Item = ProposedMove>,
) -> Option<ProposalStatus> {
    let evictions = moves.len();
    let moves = moves.map(|one| ProposedStatus::new(one, MOST_DESTINATIONS));
    let (id, moves) = (id.map(str::to_owned), Truncated::first(MOST_MOVES, moves));
    (evictions > 0).then_some(ProposalStatus { id, evictions, moves })
}

/// Converts a duration to whole milliseconds.
fn millis(took: SignedDuration) -> i64 {
    i64::try_from(took.as_millis()).unwrap_or(i64::MAX)
}

fn balance(plan: &Plan) -> BTreeMap<String, BalanceChange> {
    plan.before
        .balance
        .iter()
        .map(|(resource, before)| {
            let change =
                BalanceChange { before: *before, after: plan.after.balance.get(resource).copied() };
            (resource.clone(), change)
        })
        .collect()
}

/// A node with its verdicts and the worst class among them.
struct RankedNode<'p> {
    picture: &'p NodePicture,
    verdicts: Vec<&'p Verdict>,
    worst: Option<&'p Class>,
}

impl RankedNode<'_> {
    /// Ranks from the class that needs action to the class that says least; unclassified nodes come
    /// last.
    fn rank(&self) -> u8 {
        self.worst.map_or(u8::MAX, rank)
    }

    fn fullest(&self) -> Ratio {
        self.picture
            .ratios
            .values()
            .flatten()
            .copied()
            .max_by(|a, b| a.order(*b))
            .unwrap_or_default()
    }

    fn status(self) -> NodeStatus {
        NodeStatus {
            picture: self.picture.clone(),
            class: self.worst.map(Class::code),
            verdicts: self.verdicts.into_iter().cloned().collect(),
        }
    }
}

/// Returns the nodes, the worst class first; within a class the fullest first, then by name.
fn ranked(plan: &Plan) -> Vec<RankedNode<'_>> {
    let mut verdicts: BTreeMap<&str, Vec<&Verdict>> = BTreeMap::new();
    for verdict in &plan.nodes {
        verdicts.entry(&verdict.node).or_default().push(verdict);
    }
    let mut nodes: Vec<RankedNode<'_>> = plan
        .before
        .nodes
        .iter()
        .map(|picture| {
            let verdicts = verdicts.remove(picture.name.as_str()).unwrap_or_default();
            let worst = verdicts
                .iter()
                .map(|verdict| &verdict.class)
                // A node can have one verdict per strategy. The page shows the one that needs
                // action most.
                .min_by_key(|class| rank(class));
            RankedNode { picture, verdicts, worst }
        })
        .collect();
    nodes.sort_by(|a, b| {
        // Shorter names first: `node-2` comes before `node-10`.
        let (first, second) = (&a.picture.name, &b.picture.name);
        a.rank()
            .cmp(&b.rank())
            .then_with(|| b.fullest().order(a.fullest()))
            .then_with(|| (first.len(), first).cmp(&(second.len(), second)))
    });
    nodes
}

/// Counts the nodes of each class. The nodes are sorted by class.
fn classes(nodes: &[RankedNode<'_>]) -> Vec<ClassCount> {
    nodes
        .chunk_by(|a, b| a.rank() == b.rank())
        .filter_map(|group| {
            Some(ClassCount { class: group.first()?.worst?.code().into(), nodes: group.len() })
        })
        .collect()
}

/// The rank of a class, from the one that needs action to the one that says least.
const fn rank(class: &Class) -> u8 {
    match class {
        Class::Hot { .. } => 0,
        Class::Warming { .. } => 1,
        Class::Unreadable(_) => 2,
        Class::Unknown(_) => 3,
        Class::NoAllocatable(_) => 4,
        Class::NotReady => 5,
        Class::Underused => 6,
        Class::Leaving => 7,
        Class::Deleting => 8,
        Class::Even => 9,
        Class::InUse => 10,
        Class::InUseClosed(_) => 11,
        Class::Cold => 12,
        Class::ColdClosed(_) => 13,
        Class::Lacks(_) => 14,
        Class::NotSelected => 15,
    }
}

/// Groups refusals by code, the most frequent first.
fn kept(all: &[Kept]) -> Vec<RefusalGroup> {
    let mut by_code: BTreeMap<&'static str, Vec<&Kept>> = BTreeMap::new();
    for kept in all {
        by_code.entry(kept.refusal.code()).or_default().push(kept);
    }
    let mut groups: Vec<RefusalGroup> = by_code
        .into_iter()
        .map(|(code, pods)| RefusalGroup {
            code,
            message: most_frequent_sentence(&pods),
            pods: Truncated::first(MOST_KEPT, pods.into_iter().cloned()),
        })
        .collect();
    groups.sort_by_key(|group| Reverse(group.pods.total()));
    groups
}

fn most_frequent_sentence(pods: &[&Kept]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for kept in pods {
        *counts.entry(kept.refusal.to_string()).or_default() += 1;
    }
    counts
        .into_iter()
        .max_by_key(|(_, count)| *count)
        .map(|(sentence, _)| sentence)
        .unwrap_or_default()
}

impl GuardStatus {
    fn of(report: &GuardReport) -> Self {
        let (state, message) = match (report.stops.split_first(), &report.missing) {
            (Some((first, others)), _) => ("stops", stops(first, others.len())),
            (None, Some(why)) => ("missing", format!("{why}, which allows evictions")),
            (None, None) => ("quiet", quiet(report).to_owned()),
        };
        GuardStatus {
            guard: report.guard.clone(),
            scope: report.scope.label().into(),
            value: report.highest,
            limit: report.limit,
            answered: report.answered,
            state: state.into(),
            message,
        }
    }
}

fn stops(first: &GuardStop, others: usize) -> String {
    let GuardStop { target, cause, .. } = first;
    match others {
        0 => format!("{target}: {cause}"),
        more => format!("{target}: {cause}, and {}", counted(more, "more stop")),
    }
}

fn quiet(report: &GuardReport) -> &'static str {
    match report.highest {
        None => report.no_value(),
        Some(value) if value <= report.limit => "its values are within the limit",
        Some(_) if report.unknown.is_empty() => "above the limit, but not for long enough yet",
        Some(_) => "above the limit for unknown objects",
    }
}
