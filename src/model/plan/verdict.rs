//! What strategies make of nodes, and why they do nothing.

use std::fmt;

use jiff::SignedDuration;
use serde::{Serialize, Serializer};

use crate::model::usage::Unmeasured;
use crate::values::Ratio;

use super::refusal::short;

/// What one strategy made of one node.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The node.
    pub node: String,
    /// Who says so.
    pub strategy: &'static str,
    /// What it is.
    pub class: Class,
}

/// What a strategy takes a node for.
#[derive(Clone, Debug, PartialEq)]
pub enum Class {
    /// Above a target: pods should leave.
    Hot {
        /// The resource that is furthest over.
        resource: String,
        /// The ratio.
        ratio: Ratio,
        /// The target.
        target: Ratio,
    },
    /// Above a target, but not for long enough.
    Warming {
        /// The resource that is furthest over.
        resource: String,
        /// The ratio.
        ratio: Ratio,
        /// The target.
        target: Ratio,
        /// For how long.
        since: SignedDuration,
        /// How long it takes.
        sustained_for: SignedDuration,
    },
    /// At or below every threshold: may take pods.
    Cold,
    /// At or below every threshold, but cordoned.
    ColdCordoned,
    /// Between threshold and target.
    Even,
    /// At or below every threshold: to be emptied.
    Underused,
    /// Above a threshold: stays, and may take pods.
    InUse,
    /// Above a threshold, but cordoned.
    InUseCordoned,
    /// Above a threshold, and about to be taken away by cluster-autoscaler.
    Leaving,
    /// Its usage is not known: neither source nor destination.
    Unknown(Unmeasured),
    /// Something on it could not be read: neither source nor destination.
    Doubtful(String),
    /// It is not ready: neither source nor destination.
    NotReady,
    /// The policy does not select it, or no pool does.
    NotSelected,
}

impl Class {
    /// The stable label.
    pub const fn code(&self) -> &'static str {
        match self {
            Class::Hot { .. } => "hot",
            Class::Warming { .. } => "warming",
            Class::Cold => "cold",
            Class::ColdCordoned => "cold-cordoned",
            Class::Even => "even",
            Class::Underused => "underused",
            Class::InUse => "in-use",
            Class::InUseCordoned => "in-use-cordoned",
            Class::Leaving => "leaving",
            Class::Unknown(_) => "unknown",
            Class::Doubtful(_) => "doubtful",
            Class::NotReady => "not-ready",
            Class::NotSelected => "not-selected",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Class::Hot {
                resource,
                ratio,
                target,
            } => write!(f, "hot: {resource} {ratio} is above the target {target}"),
            Class::Warming {
                resource,
                ratio,
                target,
                since,
                sustained_for,
            } => write!(
                f,
                "{resource} {ratio} is above the target {target} for {}, and counts as hot after {}",
                short(*since),
                short(*sustained_for)
            ),
            Class::Cold => f.write_str("at or below every threshold: may take pods"),
            Class::ColdCordoned => {
                f.write_str("at or below every threshold, but cordoned: takes no pods")
            }
            Class::Even => f.write_str("between threshold and target: nothing to do"),
            Class::Underused => f.write_str("at or below every threshold: to be emptied"),
            Class::InUse => f.write_str("above a threshold: stays, and may take pods"),
            Class::InUseCordoned => {
                f.write_str("above a threshold: stays, but cordoned: takes no pods")
            }
            Class::Leaving => f.write_str(
                "above a threshold, but cluster-autoscaler takes it away: takes no pods",
            ),
            Class::Unknown(why) => write!(f, "left alone: {why}"),
            Class::Doubtful(why) => write!(f, "left alone: {why}"),
            Class::NotReady => f.write_str("left alone: not ready"),
            Class::NotSelected => f.write_str("left alone: not selected by the policy"),
        }
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut out = serializer.serialize_struct("Verdict", 4)?;
        out.serialize_field("node", &self.node)?;
        out.serialize_field("strategy", self.strategy)?;
        out.serialize_field("code", self.class.code())?;
        out.serialize_field("message", &self.class.to_string())?;
        out.end()
    }
}

/// Why a strategy as a whole does nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// The strategy.
    pub strategy: &'static str,
    /// The pool of nodes that it is about.
    pub pool: String,
    /// Why.
    pub why: Idle,
}

/// Why a strategy does nothing in a pool of nodes.
#[derive(Clone, Debug, PartialEq)]
pub enum Idle {
    /// No node is above a target.
    NothingHot,
    /// So many nodes are above a target, but none for long enough.
    NotForLong(usize),
    /// So many nodes are hot, but none is below its thresholds.
    NothingCold(usize),
    /// Every node is below its thresholds.
    AllCold,
    /// Not more nodes are below their thresholds than `numberOfNodes` asks for.
    FewCold {
        /// So many are.
        cold: usize,
        /// More than this must be.
        more_than: u32,
    },
    /// No node is below its thresholds, so none is to be emptied.
    NothingUnderused,
    /// No node is left that could take the pods of the others.
    NoDestination,
    /// The usage source knows nothing of this resource, which has a threshold.
    Unmeasurable(String),
}

impl Idle {
    /// The stable label.
    pub const fn code(&self) -> &'static str {
        match self {
            Idle::NothingHot => "nothing-hot",
            Idle::NotForLong(_) => "not-for-long",
            Idle::NothingCold(_) => "nothing-cold",
            Idle::AllCold => "all-cold",
            Idle::FewCold { .. } => "few-cold",
            Idle::NothingUnderused => "nothing-underused",
            Idle::NoDestination => "no-destination",
            Idle::Unmeasurable(_) => "unmeasurable",
        }
    }
}

impl fmt::Display for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Idle::NothingHot => f.write_str("no node that is weighed is above its target"),
            Idle::NotForLong(nodes) => write!(f, "{}, but not yet for long enough", above(*nodes)),
            Idle::NothingCold(hot) => write!(
                f,
                "{}, but no node is below its thresholds to take pods",
                above(*hot)
            ),
            Idle::AllCold => {
                f.write_str("every node that is weighed is below its thresholds: idle, not uneven")
            }
            Idle::FewCold { cold, more_than } => {
                write!(
                    f,
                    "nodes below their thresholds: {cold}; numberOfNodes asks for more than {more_than}"
                )
            }
            Idle::NothingUnderused => {
                f.write_str("no node is below its thresholds, so none is emptied")
            }
            Idle::NoDestination => f.write_str(
                "every other node is below its thresholds too, or cordoned: none takes pods",
            ),
            Idle::Unmeasurable(resource) => write!(
                f,
                "metrics tell of cpu and memory, and nothing of {resource}"
            ),
        }
    }
}

fn above(nodes: usize) -> String {
    if nodes == 1 {
        "1 node is above its target".to_owned()
    } else {
        format!("{nodes} nodes are above their targets")
    }
}

impl Serialize for Note {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut out = serializer.serialize_struct("Note", 4)?;
        out.serialize_field("strategy", self.strategy)?;
        out.serialize_field("pool", &self.pool)?;
        out.serialize_field("code", self.why.code())?;
        out.serialize_field("message", &self.why.to_string())?;
        out.end()
    }
}

/// Why nothing at all was considered. Serialises as its sentence.
#[derive(Clone, Debug, PartialEq)]
pub enum Halt {
    /// Fewer than two nodes are ready and selected.
    FewNodes(usize),
    /// Too many nodes are not ready.
    NotReady {
        /// How many are not.
        not_ready: usize,
        /// Of how many.
        of: usize,
        /// The share that the policy puts up with.
        most: Ratio,
    },
    /// Too many pods wait for a node.
    Pending {
        /// How many wait.
        pending: usize,
        /// Of how many.
        of: usize,
        /// The share that the policy puts up with.
        most: Ratio,
    },
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Halt::FewNodes(count) => write!(
                f,
                "ready and selected nodes: {count}; it takes two to move anything"
            ),
            Halt::NotReady {
                not_ready,
                of,
                most,
            } => {
                write!(
                    f,
                    "{not_ready} of {of} nodes are not ready, more than {most}: the cluster is too unwell to touch"
                )
            }
            Halt::Pending { pending, of, most } => {
                write!(
                    f,
                    "{pending} of {of} pods wait for a node, more than {most}: the cluster is too full to touch"
                )
            }
        }
    }
}

impl Serialize for Halt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
