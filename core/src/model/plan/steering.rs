//! Changes of the soft taints that steer the scheduler, and the reasons for them.

use std::fmt;

use crate::model::plan::Halt;
use crate::model::snapshot::facts::{Effect, Taint};
use crate::values::Ratio;

use super::reason::{Expected, foreseen};

/// The key of the steering taint. evenkeel owns every taint with this key and changes no other.
pub const STEERING_KEY: &str = "evenkeel.io/steer";

/// The action on the steering taint of one node.
///
/// The effect is `PreferNoSchedule`: the scheduler avoids a node with the taint but may still use
/// it. See
/// <https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/>.
#[derive(Clone, Debug, PartialEq)]
pub struct Steer {
    /// The node.
    pub node: String,
    /// The action.
    pub action: SteerAction,
    /// The reason.
    pub why: SteerReason,
}

/// An action on a taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteerAction {
    /// Add the taint, replacing one with another value.
    Add(SteerValue),
    /// Keep the taint.
    Keep(SteerValue),
    /// Remove the taint.
    Remove,
    /// Leave the taint off although the node should have it.
    Withhold(SteerValue),
}

crate::names! {
    /// The value of the taint: the reason why the scheduler avoids the node.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum SteerValue {
        /// The node is hot.
        Hot = "hot",
        /// The node is to be emptied or to stay empty.
        Emptying = "emptying",
        /// The node has no room by usage for the pods of nodes that are being emptied.
        Full = "full",
    }
    /// Returns the text of the taint value.
    pub fn text;
}

impl SteerValue {
    /// Returns the value of a steering taint; `None` if the taint is not one that evenkeel sets.
    pub fn of(taint: &Taint) -> Option<Self> {
        let ours = taint.key == STEERING_KEY && taint.effect == Effect::PreferNoSchedule;
        SteerValue::ALL.into_iter().find(|value| ours && taint.value == value.text())
    }

    /// Returns true if one of these taints is a steering taint of this value.
    pub fn is_set(self, taints: &[Taint]) -> bool {
        taints.iter().any(|taint| SteerValue::of(taint) == Some(self))
    }
}

crate::codes! {
    SteerAction::code {
        Add = "add",
        Keep = "keep",
        Remove = "remove",
        Withhold = "withhold",
    }
}

/// The action, and the value of the taint if it has one.
impl fmt::Display for SteerAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())?;
        self.value().map_or(Ok(()), |value| write!(f, " {}", value.text()))
    }
}

impl SteerAction {
    /// Returns the value of the taint; `None` for a removal, which applies to any value.
    pub const fn value(self) -> Option<SteerValue> {
        match self {
            SteerAction::Add(value) | SteerAction::Keep(value) | SteerAction::Withhold(value) => {
                Some(value)
            }
            SteerAction::Remove => None,
        }
    }

    /// Returns true if the action changes the node.
    pub const fn is_change(self) -> bool {
        matches!(self, SteerAction::Add(_) | SteerAction::Remove)
    }
}

/// The reason why a node has the taint or loses it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum SteerReason {
    #[error(
        "{resource} {ratio}{} is above the target {target}: new pods should land elsewhere",
        foreseen(.expected.as_ref(), *.ratio, *.target)
    )]
    Hot {
        /// The resource that exceeds its target most.
        resource: String,
        ratio: Ratio,
        target: Ratio,
        /// The ratio now, if `ratio` is an expectation.
        expected: Option<Expected>,
    },
    #[error("other nodes are hot, and {resource} {ratio} is above {limit}")]
    Warm {
        /// The resource that is nearest to its target.
        resource: String,
        ratio: Ratio,
        /// The share of the target above which a node has the taint.
        limit: Ratio,
    },
    #[error("the node was hot, and {resource} {ratio} is still above {cool}")]
    Cooling {
        /// The resource that is nearest to its target.
        resource: String,
        ratio: Ratio,
        /// The node has cooled at or below this ratio.
        cool: Ratio,
    },
    /// The reason for the taint has gone, but a replacement that should land elsewhere has no node
    /// yet.
    #[error("a replacement that should land elsewhere has no node yet")]
    Unlanded,
    #[error("the node is to be emptied: new pods should land elsewhere")]
    Emptying,
    #[error("the node is empty and should stay empty until it is removed")]
    Empty,
    #[error("the pods that have to move fit by requests, but their usage does not")]
    Full,
    #[error("{most} of {of} nodes have the taint already, the most that steering.maxNodes allows")]
    Enough {
        /// The most nodes with the taint.
        most: u32,
        /// The nodes of the cluster or of the pool.
        of: u32,
    },
    #[error("the node has cooled")]
    Cooled,
    #[error("the node is no longer to be emptied, or takes no new pods anyway")]
    NotEmptied,
    #[error("pods of the hot node {0} find no better place")]
    Needed(String),
    #[error("the node has room for pods that have to move, or no pod has to move any more")]
    NotFull,
    /// A strategy does not know enough about the node; holds its verdict.
    #[error("no taint without reliable data: {0}")]
    Unsure(String),
    #[error("no taint while nothing is evicted: {0}")]
    Halted(Box<Halt>),
    #[error("evenkeel has no permission to change the taints of nodes")]
    NotPermitted,
    #[error("the policy does not ask for steering")]
    NotAsked,
    #[error("evenkeel exits and removes its taints")]
    Ending,
}

crate::codes! {
    SteerReason::code {
        Hot = "hot",
        Warm = "warm",
        Cooling = "cooling",
        Unlanded = "unlanded",
        Emptying = "emptying",
        Empty = "empty",
        Full = "full",
        Enough = "enough",
        Cooled = "cooled",
        NotEmptied = "not-emptied",
        Needed = "needed",
        NotFull = "not-full",
        Unsure = "unsure",
        Halted = "halted",
        NotPermitted = "not-permitted",
        NotAsked = "not-asked",
        Ending = "ending",
    }
}

impl SteerReason {
    /// Returns the change that would add or remove the taint; `None` if nothing is wrong.
    pub fn remedy(&self) -> Option<String> {
        match self {
            SteerReason::Enough { most, .. } => {
                Some(format!("set `steering.maxNodes` above {most}"))
            }
            SteerReason::NotAsked => Some("set `steering` in the policy".to_owned()),
            SteerReason::NotPermitted => {
                Some("apply deploy/base/steering.yaml, which grants the permission".to_owned())
            }
            SteerReason::Cooling { resource, cool, .. } => {
                Some(format!("bring {resource} to {cool} or below"))
            }
            SteerReason::Unsure(_) => {
                Some("correct what makes the usage of the node unknown".to_owned())
            }
            SteerReason::Halted(halt) => Some(halt.remedy()),
            SteerReason::Hot { .. }
            | SteerReason::Warm { .. }
            | SteerReason::Unlanded
            | SteerReason::Emptying
            | SteerReason::Empty
            | SteerReason::Full
            | SteerReason::Cooled
            | SteerReason::NotEmptied
            | SteerReason::Needed(_)
            | SteerReason::NotFull
            | SteerReason::Ending => None,
        }
    }
}

impl Steer {
    /// Withholds a taint that would be added, because evenkeel may not change taints.
    pub fn withhold(&mut self) {
        if let SteerAction::Add(value) = self.action {
            (self.action, self.why) = (SteerAction::Withhold(value), SteerReason::NotPermitted);
        }
    }
}

crate::object!(Steer, |steer| {
    "node": steer.node,
    "action": steer.action.code(),
    "value": steer.action.value().map(SteerValue::text),
    "code": steer.why.code(),
    "message": steer.why.to_string(),
});

/// The outcome of changing a taint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum SteerOutcome {
    #[error("done")]
    Done,
    #[error("no change needed")]
    Unneeded,
    /// HTTP 403 or 422: a role or an admission policy forbids the change.
    #[error("not allowed: {0}")]
    Forbidden(String),
    #[error("failed: {0}")]
    Failed(String),
    #[error("no response: {0}")]
    Unanswered(String),
}

crate::codes! {
    SteerOutcome::code {
        Done = "done",
        Unneeded = "unneeded",
        Forbidden = "forbidden",
        Failed = "failed",
        Unanswered = "unanswered",
    }
}
