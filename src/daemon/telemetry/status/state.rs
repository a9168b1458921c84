//! The headline: the sentence that an operator reads first.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::{Serialize, Serializer};

use crate::render::words::{counted, span};

use super::super::Health;
use super::BoardState;
use super::facts::{Part, Round};

/// The condition of the daemon and the cluster, as a code and a sentence.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// No plan was made yet.
    Starting,
    /// The daemon cannot decide for this reason.
    Waiting(String),
    /// Another instance leads: the one named here, if known.
    Standby(Option<String>),
    /// The loop has not responded for this long.
    Stuck(SignedDuration),
    /// The last cycle failed.
    Failed(String),
    /// The cluster is in a state in which the cycle considers no pod.
    Halted(String),
    /// The last cycle evicted pods, or tried to.
    Moving {
        /// The number of evicted pods.
        evicted: usize,
        /// The number of planned evictions.
        planned: usize,
        /// The time since the plan.
        ago: SignedDuration,
        /// The number of nodes that were hot then.
        hot: usize,
        /// The number of replacements that are not running yet.
        awaited: usize,
    },
    /// A dry run planned evictions.
    WouldMove {
        /// The number of planned evictions.
        planned: usize,
        /// The number of hot nodes.
        hot: usize,
    },
    /// Nodes are hot, but no pod can be evicted.
    Uneven {
        /// The number of hot nodes.
        hot: usize,
        /// The number of rejected candidates.
        kept: usize,
        /// Why most candidates stay, or why the strategy does nothing.
        why: String,
    },
    /// Nodes are underused, but no pod can be evicted.
    Unpacked {
        /// The number of underused nodes.
        underused: usize,
        /// The number of rejected candidates.
        kept: usize,
        /// Why most candidates stay, or why the strategy does nothing.
        why: String,
    },
    /// None of this many nodes is underused.
    Packed(usize),
    /// This many nodes are above a target, but not for long enough.
    Warming(usize),
    /// No node has usable data.
    Blind(usize),
    /// No node is hot.
    Even {
        /// The number of nodes within the band.
        even: usize,
        /// The number of nodes with room for more pods.
        cold: usize,
        /// The number of nodes that are left alone because they are not ready or lack data.
        unknown: usize,
    },
    /// There is nothing to do, and no strategy classifies nodes.
    Idle,
}

impl State {
    /// Returns the headline for this moment.
    pub(super) fn of(status: &BoardState, health: &Health, now: Timestamp) -> Self {
        if let Some(overdue) = health.overdue(now) {
            return State::Stuck(overdue);
        }
        if let Some(why) = health.waiting_for() {
            return State::Waiting(why);
        }
        if let Part::Standby(holder) = &status.part {
            return State::Standby(holder.clone());
        }
        if let Some(cycle) = status
            .history
            .back()
            .filter(|cycle| cycle.outcome == "failed")
        {
            return State::Failed(cycle.message.clone());
        }
        status.round.as_deref().map_or(State::Starting, |round| {
            State::after_plan(round, status.ledger.as_ref().map_or(0, |l| l.open), now)
        })
    }

    fn after_plan(round: &Round, awaited: usize, now: Timestamp) -> Self {
        let (hot, planned) = (round.count("hot"), round.moves.total());
        let sum = |codes: &[&str]| codes.iter().map(|code| round.count(code)).sum::<usize>();
        let unknown = sum(&["unknown", "doubtful", "not-ready"]);
        let (even, cold, underused) = (
            sum(&["even"]),
            sum(&["cold", "cold-cordoned"]),
            sum(&["underused"]),
        );
        let in_use = sum(&["in-use", "in-use-cordoned", "leaving"]);
        let kept = round.kept.iter().map(|group| group.pods.total()).sum();
        if let Some(why) = &round.halted {
            return State::Halted(why.to_string());
        }
        match (planned, hot, round.count("warming")) {
            (1.., _, _) if round.dry_run => State::WouldMove { planned, hot },
            (1.., _, _) => State::Moving {
                evicted: round.evicted,
                planned,
                ago: now.duration_since(round.at),
                hot,
                awaited,
            },
            (_, 1.., _) => State::Uneven {
                hot,
                kept,
                why: why(round),
            },
            (_, _, warming @ 1..) => State::Warming(warming),
            _ if underused > 0 => State::Unpacked {
                underused,
                kept,
                why: why(round),
            },
            _ if even + cold > 0 => State::Even {
                even: even + in_use,
                cold,
                unknown,
            },
            _ if in_use > 0 => State::Packed(in_use),
            _ if unknown > 0 => State::Blind(unknown),
            _ => State::Idle,
        }
    }

    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            State::Starting => "starting",
            State::Waiting(_) => "waiting",
            State::Standby(_) => "standby",
            State::Stuck(_) => "stuck",
            State::Failed(_) => "failed",
            State::Halted(_) => "halted",
            State::Moving { .. } => "moving",
            State::WouldMove { .. } => "would-move",
            State::Uneven { .. } => "uneven",
            State::Unpacked { .. } => "unpacked",
            State::Packed(_) => "packed",
            State::Warming(_) => "warming",
            State::Blind(_) => "blind",
            State::Even { .. } => "even",
            State::Idle => "idle",
        }
    }
}

/// Returns why no pod can be evicted: the most frequent refusal, or the note of a strategy.
fn why(round: &Round) -> String {
    let kept = round.kept.first().map(|group| match round.kept.len() - 1 {
        0 => group.message.clone(),
        others => format!("{}; and {}", group.message, counted(others, "other reason")),
    });
    kept.or_else(|| round.notes.first().map(|note| note.why.to_string()))
        .unwrap_or_default()
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            State::Starting => f.write_str("Starting: no plan yet"),
            State::Waiting(why) => write!(f, "Waiting: {why}"),
            State::Standby(Some(holder)) => {
                write!(f, "Standby: {holder} leads; this instance does nothing")
            }
            State::Standby(None) => {
                f.write_str("Standby: the leader is not known; this instance does nothing")
            }
            State::Stuck(silent) => write!(
                f,
                "Stuck: the main loop has not responded for {}",
                span(*silent)
            ),
            State::Failed(why) => write!(f, "Failed: {why}; the next cycle tries again"),
            State::Halted(why) => write!(f, "Halted: {why}"),
            State::Moving { .. } | State::WouldMove { .. } => self.write_moves(f),
            State::Uneven { hot, kept, why } => {
                write!(f, "Uneven: {} hot, {}", are(*hot), rejected(*kept, why))
            }
            State::Unpacked {
                underused,
                kept,
                why,
            } => write!(
                f,
                "Not packed: {} underused, {}",
                are(*underused),
                rejected(*kept, why)
            ),
            State::Packed(nodes) => write!(
                f,
                "Packed: none of {} is underused",
                counted(*nodes, "node")
            ),
            State::Warming(nodes) => write!(
                f,
                "Watching: {} above a target, but not for long enough",
                are(*nodes)
            ),
            State::Blind(nodes) => {
                write!(f, "Blind: no usable data for {}", counted(*nodes, "node"))
            }
            State::Even {
                even,
                cold,
                unknown,
            } => f.write_str(&balanced(*even, *cold, *unknown)),
            State::Idle => f.write_str("Nothing to do"),
        }
    }
}

impl State {
    fn write_moves(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let State::WouldMove { planned, hot } = self {
            let hot = match hot {
                0 => String::new(),
                nodes => format!("{} hot, ", are(*nodes)),
            };
            let pods = counted(*planned, "pod");
            return write!(f, "Dry run: {hot}{pods} would be evicted");
        }
        let State::Moving {
            evicted,
            planned,
            ago,
            hot,
            awaited,
        } = self
        else {
            return Ok(());
        };
        let of = if evicted == planned {
            String::new()
        } else {
            format!("{evicted} of ")
        };
        let (hot, pods) = (were_hot(*hot), counted(*planned, "pod"));
        write!(f, "Moving: {hot}{of}{pods} evicted {} ago", span(*ago))?;
        match awaited {
            0 => Ok(()),
            n => write!(f, "; waiting for {}", counted(*n, "replacement")),
        }
    }
}

fn balanced(even: usize, cold: usize, unknown: usize) -> String {
    let all = even + cold + unknown;
    match (cold, unknown) {
        (0, 0) if all == 1 => "Even: the node is within the band".to_owned(),
        (0, 0) => format!("Even: all {all} nodes are within the band"),
        (_, 0) => {
            format!("Even: none of {all} nodes is hot; {even} within the band, {cold} with room")
        }
        (_, _) => format!(
            "Even as far as known: none of {all} nodes is hot; {even} within the band, {cold} with room, {unknown} unknown"
        ),
    }
}

fn rejected(kept: usize, why: &str) -> String {
    let mut text = match kept {
        0 => "no evictions".to_owned(),
        kept => format!("no evictions; {} rejected", counted(kept, "candidate")),
    };
    if !why.is_empty() {
        text = format!("{text}: {why}");
    }
    text
}

fn are(nodes: usize) -> String {
    let verb = if nodes == 1 { "is" } else { "are" };
    format!("{} {verb}", counted(nodes, "node"))
}

fn were_hot(nodes: usize) -> String {
    match nodes {
        0 => String::new(),
        1 => "1 node was hot, ".to_owned(),
        n => format!("{n} nodes were hot, "),
    }
}

impl Serialize for State {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut out = serializer.serialize_struct("State", 2)?;
        out.serialize_field("code", self.code())?;
        out.serialize_field("message", &self.to_string())?;
        out.end()
    }
}
