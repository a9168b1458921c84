//! From a plan and its outcomes to what is told of them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::SignedDuration;

use crate::model::plan::{self, Class, Kept, NodePicture, Outcome, Plan, Verdict};
use crate::render::words::counted;
use crate::values::Ratio;

use super::facts::{self, Change, Group, Listed, Load, Move, Node, Past, Round};

/// More nodes than this are counted, and not told one by one.
const MOST_NODES: usize = 200;
const MOST_MOVES: usize = 200;
const MOST_KEPT: usize = 50;
const MOST_PLACES: usize = 5;
const MOST_STEERED: usize = 100;
const MOST_ADVICE: usize = 30;
const MOST_SKIPPED: usize = 20;

impl Round {
    /// What is told of a plan, of what became of its moves and of the time that all took. No outcomes are a dry run, or a
    /// plan without moves.
    pub fn of(plan: &Plan, outcomes: &[Outcome], dry_run: bool, took: SignedDuration) -> Self {
        let (nodes, classes) = nodes(plan);
        let moves = plan
            .moves
            .iter()
            .enumerate()
            .map(|(i, it)| one_move(it, outcomes.get(i)));
        let after = |resource: &str| plan.after.balance.get(resource).map(|b| b.deviation);
        let balance = plan.before.balance.iter();
        Round {
            at: plan.at,
            took_ms: millis(took),
            dry_run,
            halted: plan.halted.as_ref().map(ToString::to_string),
            basis: plan.before.basis,
            classes,
            balance: balance
                .map(|(r, b)| {
                    (
                        r.clone(),
                        Change {
                            before: b.deviation,
                            after: after(r),
                        },
                    )
                })
                .collect(),
            nodes,
            moves: Listed::first(MOST_MOVES, moves),
            evicted: outcomes.iter().filter(|o| **o == Outcome::Evicted).count(),
            kept: kept(&plan.kept),
            notes: plan.notes.clone(),
            rightsizing: Listed::first(MOST_ADVICE, plan.rightsizing.iter().cloned()),
            steering: Listed::first(MOST_STEERED, plan.steering.iter().cloned()),
            skipped: Listed::first(MOST_SKIPPED, plan.skipped.iter().map(ToString::to_string)),
        }
    }

    /// How many nodes are of this class at worst.
    pub fn count(&self, class: &str) -> usize {
        self.classes
            .iter()
            .find(|c| c.class == class)
            .map_or(0, |c| c.nodes)
    }

    /// What of it is remembered when the next one has come.
    pub fn past(&self, outcome: &'static str, message: String) -> Past {
        let would = format!("{} would be evicted", counted(self.moves.total(), "pod"));
        Past {
            at: self.at,
            took_ms: self.took_ms,
            outcome,
            message: if self.dry_run && self.moves.total() > 0 {
                would
            } else {
                message
            },
            planned: self.moves.total(),
            evicted: self.evicted,
            hot: self.count("hot"),
            deviation: self
                .balance
                .iter()
                .map(|(r, change)| (r.clone(), change.before))
                .collect(),
        }
    }
}

/// A duration in whole milliseconds.
pub(super) fn millis(took: SignedDuration) -> i64 {
    i64::try_from(took.as_millis()).unwrap_or(i64::MAX)
}

/// The nodes, the worst first, and how many there are of each class.
fn nodes(plan: &Plan) -> (Listed<Node>, Vec<facts::Class>) {
    let mut verdicts: BTreeMap<&str, Vec<&Verdict>> = BTreeMap::new();
    for verdict in &plan.nodes {
        verdicts.entry(&verdict.node).or_default().push(verdict);
    }
    let mut classes: BTreeMap<(u8, &'static str), usize> = BTreeMap::new();
    let mut ranked: Vec<(Option<&Class>, &NodePicture)> = Vec::new();
    for node in &plan.before.nodes {
        let judged = verdicts.get(node.name.as_str()).into_iter().flatten();
        let worst = judged.map(|v| &v.class).min_by_key(|class| rank(class));
        if let Some(class) = worst {
            *classes.entry((rank(class), class.code())).or_default() += 1;
        }
        ranked.push((worst, node));
    }
    let fullest = |node: &NodePicture| {
        node.ratios
            .values()
            .flatten()
            .copied()
            .max_by(|a, b| a.order(*b))
            .unwrap_or_default()
    };
    ranked.sort_by(|(a, x), (b, y)| {
        let worse = a.map_or(u8::MAX, rank).cmp(&b.map_or(u8::MAX, rank));
        let fuller = fullest(y).order(fullest(x));
        worse
            .then(fuller)
            .then_with(|| (x.name.len(), &x.name).cmp(&(y.name.len(), &y.name)))
    });
    let node = |(worst, node): (Option<&Class>, &NodePicture)| Node {
        name: node.name.clone(),
        pool: node.pool.clone(),
        class: worst.map(Class::code),
        verdicts: verdicts
            .get(node.name.as_str())
            .into_iter()
            .flatten()
            .map(|v| (*v).clone())
            .collect(),
        loads: node
            .ratios
            .keys()
            .map(|resource| (resource.clone(), load(node, resource)))
            .collect(),
    };
    let classes = classes
        .into_iter()
        .map(|((_, class), nodes)| facts::Class { class, nodes })
        .collect();
    (
        Listed::first(MOST_NODES, ranked.into_iter().map(node)),
        classes,
    )
}

/// The place of a class, from what asks for something to be done to what says least.
const fn rank(class: &Class) -> u8 {
    match class {
        Class::Hot { .. } => 0,
        Class::Warming { .. } => 1,
        Class::Doubtful(_) => 2,
        Class::Unknown(_) => 3,
        Class::NotReady => 4,
        Class::Underused => 5,
        Class::Leaving => 6,
        Class::Even => 7,
        Class::InUse => 8,
        Class::InUseCordoned => 9,
        Class::Cold => 10,
        Class::ColdCordoned => 11,
        Class::NotSelected => 12,
    }
}

fn load(node: &NodePicture, resource: &str) -> Load {
    let of = |ratios: &BTreeMap<String, Option<Ratio>>| ratios.get(resource).copied().flatten();
    let band = node.band.get(resource).copied().unwrap_or_default();
    Load {
        actual: of(&node.actual),
        latest: of(&node.latest),
        requests: of(&node.requests),
        low: band.low,
        high: band.high,
    }
}

fn one_move(it: &plan::Move, outcome: Option<&Outcome>) -> Move {
    Move {
        namespace: it.namespace.clone(),
        pod: it.pod.clone(),
        workload: it.workload.as_ref().map(ToString::to_string),
        node: it.node.clone(),
        may_land: Listed::first(MOST_PLACES, it.may_land.iter().cloned()),
        strategy: it.strategy,
        reason: it.reason.to_string(),
        outcome: outcome.map(Outcome::code),
        message: outcome.map(ToString::to_string),
    }
}

/// By code, the most frequent first.
fn kept(all: &[Kept]) -> Vec<Group> {
    let mut by_code: BTreeMap<&'static str, Vec<&Kept>> = BTreeMap::new();
    for kept in all {
        by_code.entry(kept.refusal.code()).or_default().push(kept);
    }
    let group = |(code, pods): (&'static str, Vec<&Kept>)| Group {
        code,
        message: commonest(&pods),
        pods: Listed::first(MOST_KEPT, pods.into_iter().cloned()),
    };
    let mut groups: Vec<Group> = by_code.into_iter().map(group).collect();
    groups.sort_by_key(|g| Reverse(g.pods.total()));
    groups
}

/// The sentence that is said most often.
fn commonest(pods: &[&Kept]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for kept in pods {
        *counts.entry(kept.refusal.to_string()).or_default() += 1;
    }
    counts
        .into_iter()
        .max_by_key(|(_, n)| *n)
        .map(|(sentence, _)| sentence)
        .unwrap_or_default()
}
