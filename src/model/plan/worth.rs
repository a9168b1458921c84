//! The worth and the cost of a move.

use std::fmt;

use jiff::SignedDuration;
use serde::{Serialize, Serializer};

use crate::values::text::duration;
use crate::values::{NodeMinutes, Ratio};

/// From here on, a probability is shown as 100 %, which needs no word.
const CERTAIN: f64 = 0.995;

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

impl fmt::Display for MoveWorth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected relief {} in the next hour", self.relief)?;
        if let Some(success) = self.success.filter(|success| success.get() < CERTAIN) {
            write!(f, "; helps with a probability of {success}")?;
        }
        match self.ready_after {
            Some(start) => write!(f, "; replacement Ready after about {}", duration(start)),
            None => Ok(()),
        }
    }
}

impl Serialize for MoveWorth {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut out = serializer.serialize_struct("MoveWorth", 3)?;
        out.serialize_field("relief_minutes", &self.relief)?;
        let start = self.ready_after.map(|start| start.as_secs());
        out.serialize_field("ready_after_seconds", &start)?;
        out.serialize_field("success", &self.success)?;
        out.end()
    }
}
