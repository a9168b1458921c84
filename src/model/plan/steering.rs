//! What is done about the soft taints by which the scheduler is steered, and why.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::model::snapshot::facts::{Effect, Taint};
use crate::values::Ratio;

/// The key of our taints. Whatever bears it is ours, and nothing else is ever touched.
pub const STEERING_KEY: &str = "evenkeel.io/steer";

/// What is done about the taint of one node. The taint is `PreferNoSchedule`: a node that has it is the scheduler's last
/// choice, and never closed. See <https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/>.
#[derive(Clone, Debug, PartialEq)]
pub struct Steer {
    /// The node.
    pub node: String,
    /// What is done.
    pub action: SteerAction,
    /// Why.
    pub why: SteerReason,
}

/// What is done about a taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteerAction {
    /// The node gets it, in place of another of ours.
    Add(SteerValue),
    /// It has it, and keeps it.
    Keep(SteerValue),
    /// It has it, and loses it.
    Remove,
    /// It should have it, and does not get it.
    Withhold(SteerValue),
}

/// The value of the taint: for what the node is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SteerValue {
    /// It is hot.
    Hot,
    /// It is to be emptied, or to stay empty.
    Emptying,
}

impl SteerValue {
    /// As it stands in the taint.
    pub const fn text(self) -> &'static str {
        match self {
            SteerValue::Hot => "hot",
            SteerValue::Emptying => "emptying",
        }
    }

    /// The value of a taint of ours; `None` where it has another form than we give it.
    pub fn of(taint: &Taint) -> Option<Self> {
        let ours = taint.key == STEERING_KEY && taint.effect == Effect::PreferNoSchedule;
        [SteerValue::Hot, SteerValue::Emptying]
            .into_iter()
            .find(|value| ours && taint.value == value.text())
    }
}

impl SteerAction {
    /// The stable label.
    pub const fn code(self) -> &'static str {
        match self {
            SteerAction::Add(_) => "add",
            SteerAction::Keep(_) => "keep",
            SteerAction::Remove => "remove",
            SteerAction::Withhold(_) => "withhold",
        }
    }

    /// The value that it is about; `None` where any is.
    pub const fn value(self) -> Option<SteerValue> {
        match self {
            SteerAction::Add(value) | SteerAction::Keep(value) | SteerAction::Withhold(value) => {
                Some(value)
            }
            SteerAction::Remove => None,
        }
    }

    /// Whether the cluster has to be changed for it.
    pub const fn is_change(self) -> bool {
        matches!(self, SteerAction::Add(_) | SteerAction::Remove)
    }
}

/// Why a node has the taint, or has it no more.
#[derive(Clone, Debug, PartialEq)]
pub enum SteerReason {
    /// It is above a target, for long enough.
    Hot {
        /// The resource that is furthest over.
        resource: String,
        /// The ratio.
        ratio: Ratio,
        /// The target.
        target: Ratio,
    },
    /// It was hot, and is not far enough below its targets yet.
    Cooling {
        /// The resource that is nearest to its target.
        resource: String,
        /// The ratio.
        ratio: Ratio,
        /// At or below this it has cooled.
        cool: Ratio,
    },
    /// It has cooled, but the replacement of a pod that left it has no node yet.
    Unlanded,
    /// It is to be emptied.
    Emptying,
    /// It is empty, and stays so.
    Empty,
    /// So many nodes are steered around already, and the policy allows no more.
    Enough(u32),
    /// It has cooled.
    Cooled,
    /// It is not to be emptied any more.
    NotEmptied,
    /// What is known of it does not suffice, by the verdict of a strategy.
    Unsure(String),
    /// The policy does not ask for it.
    NotAsked,
    /// Whoever would take it away again ends.
    Ending,
}

impl SteerReason {
    /// The stable label.
    pub const fn code(&self) -> &'static str {
        match self {
            SteerReason::Hot { .. } => "hot",
            SteerReason::Cooling { .. } => "cooling",
            SteerReason::Unlanded => "unlanded",
            SteerReason::Emptying => "emptying",
            SteerReason::Empty => "empty",
            SteerReason::Enough(_) => "enough",
            SteerReason::Cooled => "cooled",
            SteerReason::NotEmptied => "not-emptied",
            SteerReason::Unsure(_) => "unsure",
            SteerReason::NotAsked => "not-asked",
            SteerReason::Ending => "ending",
        }
    }
}

impl fmt::Display for SteerReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SteerReason::Hot {
                resource,
                ratio,
                target,
            } => {
                write!(
                    f,
                    "{resource} {ratio} is above the target {target}: pods had better land elsewhere"
                )
            }
            SteerReason::Cooling {
                resource,
                ratio,
                cool,
            } => {
                write!(
                    f,
                    "it was hot, and {resource} {ratio} is not at or below {cool} yet"
                )
            }
            SteerReason::Unlanded => f.write_str(
                "it has cooled, but the replacement of a pod that left it has no node yet",
            ),
            SteerReason::Emptying => {
                f.write_str("it is to be emptied: pods had better land elsewhere")
            }
            SteerReason::Empty => {
                f.write_str("it is empty, and had better stay so until it is switched off")
            }
            SteerReason::Enough(nodes) => {
                write!(
                    f,
                    "the scheduler is steered around {nodes} already, the most that steering.maxNodes allows"
                )
            }
            SteerReason::Cooled => f.write_str("it has cooled"),
            SteerReason::NotEmptied => f.write_str("it is not to be emptied any more"),
            SteerReason::Unsure(why) => write!(f, "nothing is steered by guess: {why}"),
            SteerReason::NotAsked => f.write_str("the policy does not ask for it"),
            SteerReason::Ending => f.write_str("evenkeel ends, and leaves no taint behind"),
        }
    }
}

impl Serialize for Steer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut out = serializer.serialize_struct("Steer", 5)?;
        out.serialize_field("node", &self.node)?;
        out.serialize_field("action", self.action.code())?;
        out.serialize_field("value", &self.action.value().map(SteerValue::text))?;
        out.serialize_field("code", self.why.code())?;
        out.serialize_field("message", &self.why.to_string())?;
        out.end()
    }
}

/// What became of a change of a taint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SteerOutcome {
    /// The node is as it should be now.
    Done,
    /// It was so already, or is gone.
    Unneeded,
    /// 403: we have no right to patch nodes.
    Forbidden(String),
    /// The API server answered with another error, or others wrote to the node every time.
    Failed(String),
    /// No answer came: whether the node was changed has to be seen.
    Unanswered(String),
}

impl SteerOutcome {
    /// Every label that there is.
    pub const CODES: [&'static str; 5] = ["done", "unneeded", "forbidden", "failed", "unanswered"];

    /// The stable label.
    pub const fn code(&self) -> &'static str {
        match self {
            SteerOutcome::Done => "done",
            SteerOutcome::Unneeded => "unneeded",
            SteerOutcome::Forbidden(_) => "forbidden",
            SteerOutcome::Failed(_) => "failed",
            SteerOutcome::Unanswered(_) => "unanswered",
        }
    }
}

impl fmt::Display for SteerOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SteerOutcome::Done => f.write_str("done"),
            SteerOutcome::Unneeded => f.write_str("nothing to do any more"),
            SteerOutcome::Forbidden(why) => write!(f, "not allowed: {why}"),
            SteerOutcome::Failed(why) => write!(f, "failed: {why}"),
            SteerOutcome::Unanswered(why) => write!(f, "no answer: {why}"),
        }
    }
}
