//! The one sentence that an operator reads first.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::{Serialize, Serializer};

use crate::render::words::{counted, span};

use super::super::Health;
use super::Status;
use super::facts::{Part, Round};

/// How the daemon and the cluster are, in one word and one sentence.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// Nothing was decided yet.
    Starting,
    /// It cannot decide.
    Waiting(String),
    /// Another instance leads, this one if it is known.
    Standby(Option<String>),
    /// It has not come round for long.
    Stuck(SignedDuration),
    /// The last cycle could not do its work.
    Failed(String),
    /// Nothing at all is considered.
    Halted(String),
    /// Pods were evicted in the last cycle.
    Moving {
        /// So many of them.
        evicted: usize,
        /// Of so many that were planned.
        planned: usize,
        /// When.
        ago: SignedDuration,
        /// How many nodes were hot then.
        hot: usize,
        /// How many replacements are awaited.
        awaited: usize,
    },
    /// Pods would be evicted, were it not a dry run.
    WouldMove {
        /// So many.
        planned: usize,
        /// How many nodes are hot.
        hot: usize,
    },
    /// Nodes are hot, and no pod can go.
    Uneven {
        /// So many.
        hot: usize,
        /// How many pods would help.
        kept: usize,
        /// Why most of them stay, or why nothing is done.
        why: String,
    },
    /// Nodes are underused, and no pod can go.
    Unpacked {
        /// So many.
        underused: usize,
        /// How many pods would have to go.
        kept: usize,
        /// Why most of them stay, or why nothing is done.
        why: String,
    },
    /// Of so many nodes none is to be emptied.
    Packed(usize),
    /// Nodes are above a target, but not for long enough.
    Warming(usize),
    /// Of no node the usage is known.
    Blind(usize),
    /// No node is hot.
    Even {
        /// How many nodes are within the band.
        even: usize,
        /// How many have room for more.
        cold: usize,
        /// How many are left alone, since too little is known of them or they are not ready.
        unknown: usize,
    },
    /// There is nothing to do, and no strategy weighs nodes.
    Idle,
}

impl State {
    /// How it is now.
    pub(super) fn of(status: &Status, health: &Health, now: Timestamp) -> Self {
        if let Some(overdue) = health.overdue(now) {
            return State::Stuck(overdue);
        }
        if let Some(why) = health.waiting_for() {
            return State::Waiting(why);
        }
        if let Part::Standby(holder) = &status.part {
            return State::Standby(holder.clone());
        }
        if let Some(past) = status
            .history
            .back()
            .filter(|past| past.outcome == "failed")
        {
            return State::Failed(past.message.clone());
        }
        status.round.as_deref().map_or(State::Starting, |round| {
            State::after(round, status.ledger.as_ref().map_or(0, |l| l.open), now)
        })
    }

    fn after(round: &Round, awaited: usize, now: Timestamp) -> Self {
        let (hot, planned) = (round.count("hot"), round.moves.total());
        let sum = |codes: &[&str]| codes.iter().map(|code| round.count(code)).sum::<usize>();
        let unknown = sum(&["unknown", "doubtful", "not-ready"]);
        let (even, cold, underused) = (
            sum(&["even"]),
            sum(&["cold", "cold-cordoned"]),
            sum(&["underused"]),
        );
        let in_use = sum(&["in-use", "in-use-cordoned", "leaving"]);
        let kept = round.kept.iter().map(|g| g.pods.total()).sum();
        if let Some(why) = &round.halted {
            return State::Halted(why.clone());
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

    /// The stable label.
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

/// Why no pod goes although nodes are hot.
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
            State::Starting => f.write_str("Starting: nothing was decided yet"),
            State::Waiting(why) => write!(f, "Waiting: {why}"),
            State::Standby(Some(holder)) => write!(
                f,
                "Standing by: {holder} leads, and this instance does nothing"
            ),
            State::Standby(None) => f.write_str(
                "Standing by: nobody is known to lead, and this instance does nothing yet",
            ),
            State::Stuck(overdue) => {
                write!(f, "Stuck: the loop has been overdue for {}", span(*overdue))
            }
            State::Failed(why) => write!(f, "Failed: {why}; the next cycle tries again"),
            State::Halted(why) => write!(f, "Halted: {why}"),
            State::Moving {
                evicted,
                planned,
                ago,
                hot,
                awaited,
            } => {
                let of = if evicted == planned {
                    String::new()
                } else {
                    format!("{evicted} of ")
                };
                write!(
                    f,
                    "Moving: {}{of}{} evicted {} ago",
                    were_hot(*hot),
                    counted(*planned, "pod"),
                    span(*ago)
                )?;
                match awaited {
                    0 => Ok(()),
                    n => write!(f, "; {} awaited", counted(*n, "replacement")),
                }
            }
            State::WouldMove { planned, hot } => {
                write!(
                    f,
                    "Dry run: {}{} would be evicted",
                    are_hot(*hot),
                    counted(*planned, "pod")
                )
            }
            State::Uneven { hot, kept, why } => {
                write!(f, "Uneven: {} hot, {}", are(*hot), stay(*kept, why))
            }
            State::Unpacked {
                underused,
                kept,
                why,
            } => {
                write!(
                    f,
                    "Not packed: {} underused, {}",
                    are(*underused),
                    stay(*kept, why)
                )
            }
            State::Packed(nodes) => write!(
                f,
                "Packed: of {} none is to be emptied",
                counted(*nodes, "node")
            ),
            State::Warming(nodes) => {
                write!(
                    f,
                    "Watching: {} above a target, but not for long enough",
                    are(*nodes)
                )
            }
            State::Blind(nodes) => {
                write!(f, "Blind: of {} nothing is known", counted(*nodes, "node"))
            }
            State::Even {
                even,
                cold,
                unknown,
            } => {
                let all = even + cold + unknown;
                match (*even, *cold, *unknown) {
                    (even, 0, 0) => write!(f, "Even: {} within the band", whole(even)),
                    (even, cold, 0) => {
                        write!(
                            f,
                            "Even: no node of {all} is hot; {even} within the band, {cold} with room"
                        )
                    }
                    (even, cold, unknown) => write!(
                        f,
                        "Even, as far as is known: no node of {all} is hot; {even} within the band, {cold} with room, {unknown} unknown"
                    ),
                }
            }
            State::Idle => f.write_str("Nothing to do"),
        }
    }
}

fn stay(kept: usize, why: &str) -> String {
    let who = match kept {
        0 => "and nothing is done".to_owned(),
        1 => "and the pod that would help must stay".to_owned(),
        kept => format!("and the {kept} pods that would help must stay"),
    };
    if why.is_empty() {
        who
    } else {
        format!("{who}: {why}")
    }
}

fn are(nodes: usize) -> String {
    format!(
        "{} {}",
        counted(nodes, "node"),
        if nodes == 1 { "is" } else { "are" }
    )
}

fn whole(nodes: usize) -> String {
    if nodes == 1 {
        "the node is".to_owned()
    } else {
        format!("all {nodes} nodes are")
    }
}

fn are_hot(nodes: usize) -> String {
    if nodes == 0 {
        String::new()
    } else {
        format!("{} hot, ", are(nodes))
    }
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
