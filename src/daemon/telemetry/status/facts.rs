//! What the status page and `/status.json` tell, as plain data. Every list that grows with the cluster is bounded.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::model::ledger::{Ending, Entry, Ledger, State};
use crate::model::plan::{Kept, Note, Rightsizing, Steer, Verdict};
use crate::model::snapshot::Snapshot;
use crate::policy::Basis;
use crate::values::Ratio;

/// The first of many, and how many more there are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Listed<T> {
    /// The first of them.
    pub items: Vec<T>,
    /// How many are left out.
    pub more: usize,
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Listed {
            items: Vec::new(),
            more: 0,
        }
    }
}

impl<T> Listed<T> {
    /// So many at most.
    pub fn first(most: usize, all: impl IntoIterator<Item = T>) -> Self {
        let mut all = all.into_iter();
        let items = all.by_ref().take(most).collect();
        Listed {
            items,
            more: all.count(),
        }
    }

    /// How many there are, those included that are left out.
    pub const fn total(&self) -> usize {
        self.items.len() + self.more
    }
}

/// What does not change while the program runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct About {
    /// The version of evenkeel.
    pub version: &'static str,
    /// The name under which evictions are reported.
    pub instance: String,
    /// The policy in a sentence.
    pub policy: String,
    /// Whether it decides, but evicts nothing.
    pub dry_run: bool,
    /// Whether it chooses as descheduler would.
    pub exact: bool,
    /// When it started.
    pub started: Timestamp,
}

/// What this instance is among several.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "code", content = "holder", rename_all = "snake_case")]
pub enum Part {
    /// There is no election.
    #[default]
    Alone,
    /// It leads, and acts.
    Leading,
    /// Another leads, as far as is known this one.
    Standby(Option<String>),
}

/// How a source of usage is doing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Source {
    /// The word of the policy for it.
    pub name: &'static str,
    /// Whether decisions are made by it now.
    pub in_use: bool,
    /// When it was last read.
    pub read: Option<Timestamp>,
    /// When the newest sample of a node was taken, by its own clock.
    pub newest_sample: Option<Timestamp>,
    /// Why it could not be read last time; `None` where it could.
    pub error: Option<String>,
}

/// One cycle, as far as it is remembered.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Past {
    /// When it began.
    pub at: Timestamp,
    /// How long it took, in milliseconds.
    pub took_ms: i64,
    /// How it ended: `acted`, `idle`, `dry-run`, `halted`, `waiting` or `failed`.
    pub outcome: &'static str,
    /// The cycle in one clause.
    pub message: String,
    /// How many evictions were planned.
    pub planned: usize,
    /// How many were made.
    pub evicted: usize,
    /// How many nodes were hot.
    pub hot: usize,
    /// Standard deviation of the nodes' ratios, by resource.
    pub deviation: BTreeMap<String, Ratio>,
}

/// A plan, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Round {
    /// When it was decided.
    pub at: Timestamp,
    /// How long the cycle took, in milliseconds.
    pub took_ms: i64,
    /// Whether nothing was done, since it was a dry run.
    pub dry_run: bool,
    /// Why nothing at all was considered.
    pub halted: Option<String>,
    /// What is weighed.
    pub basis: Basis,
    /// How many nodes there are of each class, the worst class first; a node counts as the worst that it is taken for.
    pub classes: Vec<Class>,
    /// How even the nodes are, by resource.
    pub balance: BTreeMap<String, Change>,
    /// The nodes, the worst first.
    pub nodes: Listed<Node>,
    /// The evictions, in their order.
    pub moves: Listed<Move>,
    /// How many of them were made.
    pub evicted: usize,
    /// Pods that would help and stay, by why; the most frequent reason first.
    pub kept: Vec<Group>,
    /// Why a strategy as a whole does nothing.
    pub notes: Vec<Note>,
    /// Workloads whose requests are far from use, the worst first.
    pub rightsizing: Listed<Rightsizing>,
    /// The soft taints by which the scheduler is steered.
    pub steering: Listed<Steer>,
    /// Objects that could not be read.
    pub skipped: Listed<String>,
}

/// How many nodes are of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Class {
    /// The code of the class.
    pub class: &'static str,
    /// How many.
    pub nodes: usize,
}

/// Standard deviation of the nodes' ratios.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Change {
    /// As it was.
    pub before: Ratio,
    /// As it will be when every replacement has landed as foreseen.
    pub after: Option<Ratio>,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// The pool by which it is measured.
    pub pool: Option<String>,
    /// The worst that a strategy takes it for; `None` where none judges it.
    pub class: Option<&'static str>,
    /// What each strategy makes of it.
    pub verdicts: Vec<Verdict>,
    /// By resource.
    pub loads: BTreeMap<String, Load>,
}

/// How loaded a node is with one resource, as shares of allocatable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Load {
    /// What is really used, smoothed; `None` where unknown.
    pub actual: Option<Ratio>,
    /// The newest reading, not smoothed.
    pub latest: Option<Ratio>,
    /// What its pods request.
    pub requests: Option<Ratio>,
    /// At or below this it may take pods.
    pub low: Option<Ratio>,
    /// Above this pods should leave.
    pub high: Option<Ratio>,
}

/// One eviction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Move {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub pod: String,
    /// What controls it at the top.
    pub workload: Option<String>,
    /// Where it is.
    pub node: String,
    /// Where its replacement may land, the likeliest first.
    pub may_land: Listed<String>,
    /// Who asked for it.
    pub strategy: &'static str,
    /// Why.
    pub reason: String,
    /// What became of it: a code; `None` in a dry run.
    pub outcome: Option<&'static str>,
    /// The same as a sentence.
    pub message: Option<String>,
}

/// Pods that stay for the same reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// The code of the refusal.
    pub code: &'static str,
    /// The sentence that is said most often.
    pub message: String,
    /// The pods.
    pub pods: Listed<Kept>,
}

/// What is remembered of evictions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Remembered {
    /// Evictions that still matter, the newest first.
    pub entries: Listed<Eviction>,
    /// How many of them have not ended yet.
    pub open: usize,
    /// Workloads that rest, since their moves did not help; those that rest longest first.
    pub resting: Listed<Resting>,
}

/// An eviction that still matters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Eviction {
    /// What controls the pod at the top.
    pub workload: String,
    /// The evicted pod.
    pub pod: String,
    /// Where it was.
    pub from: String,
    /// Where its replacement is, if it is known and still there.
    pub to: Option<String>,
    /// When it was decided.
    pub at: Timestamp,
    /// How far it has come: `intended`, `evicted`, or how it ended.
    pub state: &'static str,
    /// The same as a sentence.
    pub message: String,
    /// Until when the replacement is left alone; `None` where there is none, or that is over.
    pub rests_until: Option<Timestamp>,
}

/// A workload whose last moves did not help.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resting {
    /// The workload.
    pub workload: String,
    /// How many of its moves in a row did not help.
    pub useless: u32,
    /// Until when it rests.
    pub until: Timestamp,
}

const MOST_ENTRIES: usize = 200;
const MOST_RESTING: usize = 100;

impl Remembered {
    /// The ledger as it is, with the nodes of a snapshot that may be a little older.
    pub fn of(ledger: &Ledger, snapshot: &Snapshot, rest: SignedDuration, now: Timestamp) -> Self {
        let newest: Vec<&Entry> = ledger.entries().iter().rev().take(MOST_ENTRIES).collect();
        let replacements: BTreeSet<&str> = newest
            .iter()
            .filter_map(|e| e.replacement.as_deref())
            .collect();
        let found = snapshot
            .pods
            .iter()
            .filter(|p| replacements.contains(p.uid.as_str()));
        let found: BTreeMap<&str, (Option<String>, Timestamp)> = found
            .map(|p| {
                (
                    p.uid.as_str(),
                    (p.node.map(|n| snapshot.node(n).name.clone()), p.created),
                )
            })
            .collect();
        let entry = |e: &&Entry| {
            let replacement = e.replacement.as_deref().and_then(|uid| found.get(uid));
            let until =
                replacement.and_then(|(_, created)| e.at.max(*created).saturating_add(rest).ok());
            Eviction {
                workload: e.workload.to_string(),
                pod: e.pod.clone(),
                from: e.node.clone(),
                to: replacement.and_then(|(node, _)| node.clone()),
                at: e.at,
                state: code(e.state),
                message: told(e.state),
                rests_until: until.filter(|until| *until > now),
            }
        };
        let entries = Listed {
            items: newest.iter().map(entry).collect(),
            more: ledger.entries().len() - newest.len(),
        };
        let open = ledger
            .entries()
            .iter()
            .filter(|e| !matches!(e.state, State::Settled(_)))
            .count();
        let mut resting: Vec<Resting> = ledger
            .rests(now)
            .map(|(key, useless, until)| Resting {
                workload: key.to_string(),
                useless,
                until,
            })
            .collect();
        resting.sort_by(|a, b| {
            b.until
                .cmp(&a.until)
                .then_with(|| a.workload.cmp(&b.workload))
        });
        Remembered {
            entries,
            open,
            resting: Listed::first(MOST_RESTING, resting),
        }
    }
}

fn code(state: State) -> &'static str {
    match state {
        State::Intended => "intended",
        State::Evicted => "evicted",
        State::Settled(ending) => ending.code(),
    }
}

fn told(state: State) -> String {
    match state {
        State::Intended => "whether the eviction was made has to be seen".to_owned(),
        State::Evicted => "the replacement is awaited".to_owned(),
        State::Settled(ending) => Ending::to_string(&ending),
    }
}
