//! The headline: the sentence that an operator reads first.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use crate::values::text::{self, age, count as counted};

use super::facts::{ElectionRole, PlanStatus};
use super::{BoardState, LoopHealth};

/// The condition of the daemon and the cluster, as a code and a sentence.
#[derive(Clone, Debug, PartialEq)]
pub enum Headline {
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
        /// Why there are no evictions.
        why: String,
    },
    /// Nodes are underused, but no pod can be evicted.
    Unpacked {
        /// The number of underused nodes.
        underused: usize,
        /// Why there are no evictions.
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
        /// The number of nodes with room that are cordoned or closed by a condition.
        closed: usize,
        /// The number of nodes that are left alone because they are not ready or lack data.
        unknown: usize,
    },
    /// There is nothing to do, and no strategy classifies nodes.
    Idle,
}

evenkeel_core::codes! {
    Headline::code {
        Starting = "starting",
        Waiting = "waiting",
        Standby = "standby",
        Stuck = "stuck",
        Failed = "failed",
        Halted = "halted",
        Moving = "moving",
        WouldMove = "would-move",
        Uneven = "uneven",
        Unpacked = "unpacked",
        Packed = "packed",
        Warming = "warming",
        Blind = "blind",
        Even = "even",
        Idle = "idle",
    }
}

impl Headline {
    /// Returns the headline for this moment.
    pub(super) fn of(status: &BoardState, health: &LoopHealth, now: Timestamp) -> Self {
        // The order is that of severity: a stuck loop makes everything below outdated.
        if let Some(overdue) = health.overdue {
            return Headline::Stuck(overdue);
        }
        if let Some(why) = &health.waiting_for {
            return Headline::Waiting(why.clone());
        }
        if let ElectionRole::Standby(holder) = &status.role {
            return Headline::Standby(holder.clone());
        }
        if let Some(cycle) = status.history.back().filter(|cycle| cycle.outcome == "failed") {
            return Headline::Failed(cycle.message.clone());
        }
        status.plan.as_deref().map_or(Headline::Starting, |plan| {
            Headline::after_plan(plan, status.ledger.as_ref().map_or(0, |l| l.open), now)
        })
    }

    fn after_plan(plan: &PlanStatus, awaited: usize, now: Timestamp) -> Self {
        let (hot, planned) = (plan.count("hot"), plan.moves.total());
        let sum = |codes: &[&str]| codes.iter().map(|code| plan.count(code)).sum::<usize>();
        let unknown = sum(&["unknown", "doubtful", "not-ready", "deleting", "no-allocatable"]);
        let (even, cold, underused) = (sum(&["even"]), sum(&["cold"]), sum(&["underused"]));
        let closed = sum(&["cold-closed"]);
        let in_use = sum(&["in-use", "in-use-closed", "leaving"]);
        if let Some(why) = &plan.halted {
            return Headline::Halted(why.to_string());
        }
        match (planned, hot, plan.count("warming")) {
            // Planned moves come first: with them the cluster is not stuck, however many nodes are
            // hot.
            (1.., _, _) if plan.dry_run => Headline::WouldMove { planned, hot },
            (1.., _, _) => Headline::Moving {
                evicted: plan.evicted,
                planned,
                ago: now.duration_since(plan.at),
                hot,
                awaited,
            },
            (_, 1.., _) => Headline::Uneven { hot, why: why(plan) },
            (_, _, warming @ 1..) => Headline::Warming(warming),
            _ if underused > 0 => Headline::Unpacked { underused, why: why(plan) },
            _ if even + cold + closed > 0 => {
                Headline::Even { even: even + in_use, cold, closed, unknown }
            }
            _ if in_use > 0 => Headline::Packed(in_use),
            _ if unknown > 0 => Headline::Blind(unknown),
            _ => Headline::Idle,
        }
    }
}

/// Returns why no pod is evicted: all evictions wait for an approval, or the most frequent refusal,
/// or the note of a strategy.
fn why(plan: &PlanStatus) -> String {
    if let Some(proposal) = &plan.proposal {
        return awaiting_approval(proposal.evictions);
    }
    let kept = plan.kept.first().map(|group| match plan.kept.len() - 1 {
        0 => group.message.clone(),
        // The most frequent reason is usually the one to remove first.
        others => format!("{}; and {}", group.message, counted(others, "other reason")),
    });
    let why = kept.or_else(|| plan.notes.first().map(|note| note.why.to_string()));
    let kept = plan.kept.iter().map(|group| group.pods.total()).sum();
    no_evictions(kept, &why.unwrap_or_default())
}

impl fmt::Display for Headline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Headline::Starting => f.write_str("Starting: no plan yet"),
            Headline::Waiting(why) => write!(f, "Waiting: {why}"),
            Headline::Standby(Some(holder)) => {
                write!(f, "Standby: {holder} leads; this instance does nothing")
            }
            Headline::Standby(None) => {
                f.write_str("Standby: the leader is not known; this instance does nothing")
            }
            Headline::Stuck(silent) => {
                write!(f, "Stuck: the main loop has not responded for {}", age(*silent))
            }
            Headline::Failed(why) => write!(f, "Failed: {why}; the next cycle tries again"),
            Headline::Halted(why) => write!(f, "Halted: {why}"),
            Headline::Moving { .. } | Headline::WouldMove { .. } => self.write_moves(f),
            Headline::Uneven { hot, why } => write!(f, "Uneven: {} hot, {why}", are(*hot)),
            Headline::Unpacked { underused, why } => {
                write!(f, "Not packed: {} underused, {why}", are(*underused))
            }
            Headline::Packed(nodes) => {
                write!(f, "Packed: none of {} is underused", counted(*nodes, "node"))
            }
            Headline::Warming(nodes) => {
                write!(f, "Watching: {} above a target, but not for long enough", are(*nodes))
            }
            Headline::Blind(nodes) => {
                write!(f, "Blind: no usable data for {}", counted(*nodes, "node"))
            }
            Headline::Even { even, cold, closed, unknown } => {
                f.write_str(&balanced(*even, *cold, *closed, *unknown))
            }
            Headline::Idle => f.write_str("Nothing to do"),
        }
    }
}

impl Headline {
    fn write_moves(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Headline::WouldMove { planned, hot } = self {
            let hot = match hot {
                0 => String::new(),
                nodes => format!("{} hot, ", are(*nodes)),
            };
            let pods = counted(*planned, "pod");
            return write!(f, "Dry run: {hot}{pods} would be evicted");
        }
        let Headline::Moving { evicted, planned, ago, hot, awaited } = self else {
            return Ok(());
        };
        let of = if evicted == planned { String::new() } else { format!("{evicted} of ") };
        let (hot, pods) = (were_hot(*hot), counted(*planned, "pod"));
        write!(f, "Moving: {hot}{of}{pods} evicted {} ago", age(*ago))?;
        match awaited {
            0 => Ok(()),
            n => write!(f, "; waiting for {}", counted(*n, "replacement")),
        }
    }
}

fn balanced(even: usize, cold: usize, closed: usize, unknown: usize) -> String {
    let all = even + cold + closed + unknown;
    match all - even {
        0 if all == 1 => return "Even: the node is within the band".to_owned(),
        0 => return format!("Even: all {all} nodes are within the band"),
        _ => {}
    }
    let limit = if unknown > 0 { " as far as known" } else { "" };
    let mut parts = vec![format!("{even} within the band"), format!("{cold} with room")];
    parts.extend((closed > 0).then(|| format!("{closed} closed to new pods")));
    parts.extend((unknown > 0).then(|| format!("{unknown} unknown")));
    format!("Even{limit}: none of {all} nodes is hot; {}", parts.join(", "))
}

/// Says that all evictions wait for an approval.
pub fn awaiting_approval(evictions: usize) -> String {
    let wait = text::agree(evictions, "waits", "wait");
    format!("no evictions; {evictions} {wait} for an approval")
}

/// Says that there are no evictions, how many candidates stay, and why.
pub fn no_evictions(kept: usize, why: &str) -> String {
    let mut text = match kept {
        0 => "no evictions".to_owned(),
        kept => {
            let stay = text::agree(kept, "stays", "stay");
            format!("no evictions; {} {stay}", counted(kept, "candidate"))
        }
    };
    if !why.is_empty() {
        text = format!("{text}: {why}");
    }
    text
}

fn are(nodes: usize) -> String {
    format!("{} {}", counted(nodes, "node"), text::are(nodes))
}

fn were_hot(nodes: usize) -> String {
    match nodes {
        0 => String::new(),
        n => format!("{} {} hot, ", counted(n, "node"), text::agree(n, "was", "were")),
    }
}

evenkeel_core::object!(Headline, |headline| {
    "code": headline.code(),
    "message": headline.to_string(),
});
