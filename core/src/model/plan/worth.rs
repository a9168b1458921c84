//! The worth and the cost of a move.

use std::fmt;

use jiff::SignedDuration;
use serde::Serialize;

use crate::values::text::duration;
use crate::values::{NodeMinutes, Ratio};

/// From here on, a probability is shown as 100 %, which needs no word.
const CERTAIN: f64 = 0.995;
/// Less relief, in node-minutes, is shown as none.
const SHOWN: f64 = 0.05;

/// The expected worth and cost of a move away from a node that is above a target of usage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MoveWorth {
    /// The time above the target that the move saves the node in the next hour, in addition to the
    /// earlier moves of the plan.
    pub relief: NodeMinutes,
    /// The time until the replacement is Ready; `None` if no earlier eviction of the workload has
    /// shown it.
    pub ready_after: Option<SignedDuration>,
    /// The probability that the replacement lands where the move helps; `None` if it was not
    /// computed.
    pub success: Option<Ratio>,
}

/// The evictions that a hot node needs less after a move, or after a sequence that begins with it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SavedEvictions {
    /// The number of moves of the sequence; one if the move is alone.
    pub moves: usize,
    /// How the need of the node falls; `None` if pods of another node leave first.
    #[serde(flatten)]
    pub need: Option<FallingNeed>,
    /// The probability that all these moves land where they help.
    pub success: Ratio,
}

/// How the need of a hot node falls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FallingNeed {
    /// The evictions that are needed less.
    pub saved: usize,
    /// The evictions that the node needs before.
    pub needed: usize,
}

impl fmt::Display for SavedEvictions {
    /// Writes, for example, "removes 1 of 2 needed evictions with a probability of 97%".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.moves, self.need) {
            (0 | 1, Some(need)) => write!(f, "removes {need}")?,
            (moves, Some(need)) => write!(f, "first of {moves} moves that remove {need}")?,
            (moves, None) => write!(f, "first of {moves} moves")?,
        }
        if self.success.get() < CERTAIN {
            write!(f, " with a probability of {}", self.success)?;
        }
        Ok(())
    }
}

impl fmt::Display for FallingNeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.needed {
            1 => f.write_str("the one needed eviction"),
            needed => write!(f, "{} of {needed} needed evictions", self.saved),
        }
    }
}

/// Returns the words after the reason of a move: the evictions that it saves, and its worth.
///
/// Relief that comes only with the other needed evictions is not mentioned.
pub fn expected_effect(saves: Option<SavedEvictions>, worth: Option<MoveWorth>) -> String {
    // The empty one stands for the reason before the first semicolon.
    let mut parts = vec![String::new()];
    parts.extend(saves.map(|saves| saves.to_string()));
    if let Some(worth) = worth {
        if saves.is_none() || worth.relief.get() >= SHOWN {
            let relief = worth.relief;
            parts.push(format!("expected relief {relief} in the next hour"));
        }
        // The saved evictions have the same probability.
        let success = worth.success.filter(|_| saves.is_none());
        if let Some(success) = success.filter(|success| success.get() < CERTAIN) {
            parts.push(format!("helps with a probability of {success}"));
        }
        let ready_after = worth.ready_after.map(duration);
        parts.extend(ready_after.map(|t| format!("replacement Ready after about {t}")));
    }
    parts.join("; ")
}

crate::object!(MoveWorth, |worth| {
    "relief_minutes": worth.relief,
    "ready_after_seconds": worth.ready_after.map(|start| start.as_secs()),
    "success": worth.success,
});
