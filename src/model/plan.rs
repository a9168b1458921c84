//! What was decided: moves, refusals and the picture before and after, as plain data that can be printed or carried out.

use std::collections::BTreeSet;
use std::fmt;

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use crate::model::snapshot::facts::{Owner, OwnerKey, Skipped, Taint};
use crate::policy::Basis;
use crate::values::Ratio;

mod rightsizing;
mod finding;
mod outcome;
mod balance_report;
mod placement_cause;
mod refusal;
mod remedy;
mod steering;
mod verdict;
mod pod_verdict;

pub use balance_report::{Balance, BalanceReport, Band, NodePicture, PoolPicture};
pub use finding::Finding;
pub use outcome::Outcome;
pub use placement_cause::PlacementCause;
pub use pod_verdict::{NotSelected, PodVerdict};
pub use refusal::{Reach, Refusal, short, whole};
pub use rightsizing::{Direction, Rightsizing, Suggestion};
pub use steering::{STEERING_KEY, Steer, SteerAction, SteerOutcome, SteerReason, SteerValue};
pub use verdict::{Class, Halt, Idle, Note, Verdict};

/// A finished plan. The same world gives the same plan, byte for byte.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// When it was decided.
    pub at: Timestamp,
    /// Why nothing at all was considered; `None` in the ordinary case.
    pub halted: Option<Halt>,
    /// What is done about the soft taints by which the scheduler is steered; before the evictions.
    pub steering: Vec<Steer>,
    /// The evictions, in the order in which they are to be made.
    pub moves: Vec<Move>,
    /// Pods that a strategy would have moved, and why they stay.
    pub kept: Vec<Kept>,
    /// What each strategy made of each node.
    pub nodes: Vec<Verdict>,
    /// Why a strategy as a whole does nothing.
    pub notes: Vec<Note>,
    /// The cluster as it is.
    pub before: BalanceReport,
    /// The cluster as it will be when every replacement has landed as foreseen.
    pub after: BalanceReport,
    /// Workloads whose requests are far from what their pods use, those first that are wrong by the largest part of the
    /// cluster.
    pub rightsizing: Vec<Rightsizing>,
    /// Objects that could not be read.
    pub skipped: Vec<Skipped>,
}

impl Plan {
    /// What goes without saying only where every node could be weighed: how many are left alone, as the end of a sentence.
    pub fn aside(&self) -> String {
        let unsure = |v: &&Verdict| matches!(v.class, Class::Unknown(_) | Class::Doubtful(_));
        let alone: BTreeSet<&str> = self
            .nodes
            .iter()
            .filter(unsure)
            .map(|v| v.node.as_str())
            .collect();
        match alone.len() {
            0 => String::new(),
            1 => "; 1 node is left alone".to_owned(),
            n => format!("; {n} nodes are left alone"),
        }
    }
}

/// One eviction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Move {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub pod: String,
    /// The pod's identity, a precondition of the eviction.
    pub uid: String,
    /// Where it is.
    pub node: String,
    /// Where the replacement is foreseen to land; of several nodes that may win, the one that it would fill most.
    pub to: Option<String>,
    /// Every node that may win it, the likeliest first: the scheduler draws lots among its best. Empty where nobody asked.
    pub may_land: Vec<String>,
    /// Who asked for it.
    pub strategy: &'static str,
    /// The profile of the policy that the strategy stands in.
    pub profile: String,
    /// The pod's first owner; the pod itself where it has none.
    pub owner: Owner,
    /// What controls the pod at the top.
    pub workload: Option<OwnerKey>,
    /// Why.
    pub reason: Reason,
}

/// Why a pod is moved. Serialises as its sentence.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// Its node is above the target.
    HotNode {
        /// The resource that is over, the worst first.
        resource: String,
        /// The node's ratio before this move.
        ratio: Ratio,
        /// The target.
        target: Ratio,
        /// What was weighed.
        basis: Basis,
    },
    /// Its node is below the thresholds, and is to be emptied.
    UnderusedNode {
        /// The resource that is nearest to its threshold.
        resource: String,
        /// The node's ratio before any move.
        ratio: Ratio,
        /// The threshold.
        threshold: Ratio,
        /// What was weighed.
        basis: Basis,
    },
    /// Too many equal pods of its owner are on its node.
    Duplicate {
        /// How many are.
        here: usize,
        /// Of how many.
        of: usize,
        /// How many may be.
        share: usize,
    },
    /// Too many of the pods that are to be spread are where it is.
    Skewed {
        /// The label that tells places apart.
        key: String,
        /// The place.
        place: String,
        /// How many are there.
        here: usize,
        /// How many are in another place.
        there: usize,
        /// The other place.
        other: String,
        /// How many more may be.
        max_skew: u32,
    },
    /// It is not to be moved, only counted.
    Counted,
    /// Its required anti-affinity finds a neighbour.
    Neighbour {
        /// The neighbour, as `namespace/name`.
        pod: String,
        /// The label by which the two are in one place.
        topology_key: String,
    },
    /// Its node selector and required node affinity do not match its node.
    WrongNode,
    /// It prefers other nodes.
    LessPreferred {
        /// The weight of its node.
        weight: i64,
        /// The most weight of another.
        best: i64,
    },
    /// It does not tolerate this taint of its node.
    Taint(Taint),
    /// It keeps restarting.
    Restarts {
        /// How often its containers have restarted.
        restarts: u64,
        /// So many are too many.
        limit: u32,
    },
    /// All this was found about it.
    Found(Vec<Finding>),
}

impl Reason {
    /// Whether it is the pod itself rather than where it is, so that a new one is as good anywhere.
    pub const fn lies_in_the_pod(&self) -> bool {
        matches!(self, Reason::Restarts { .. } | Reason::Found(_))
    }

    /// Whether it would merely be better elsewhere: no reason to put it on a node that is hot by usage.
    pub const fn is_a_preference(&self) -> bool {
        let balances = matches!(self, Reason::HotNode { .. } | Reason::UnderusedNode { .. });
        balances
            || matches!(
                self,
                Reason::Duplicate { .. } | Reason::Skewed { .. } | Reason::LessPreferred { .. }
            )
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::HotNode {
                resource,
                ratio,
                target,
                basis,
            } => {
                write!(
                    f,
                    "node {} {resource} {ratio} is above its target of {target}",
                    basis.verb()
                )
            }
            Reason::UnderusedNode {
                resource,
                ratio,
                threshold,
                basis,
            } => write!(
                f,
                "node {} {resource} {ratio} and all else is not above its threshold of {threshold}, so it is emptied",
                basis.verb()
            ),
            Reason::Duplicate { here, of, share } => {
                write!(
                    f,
                    "{here} of {of} replicas are on this node, {share} would be its share"
                )
            }
            Reason::Skewed {
                key,
                place,
                here,
                there,
                other,
                max_skew,
            } => {
                write!(
                    f,
                    "{key} {place} has {here} pods and {other} has {there}, maxSkew is {max_skew}"
                )
            }
            Reason::Counted => f.write_str("only counted"),
            Reason::Neighbour { pod, topology_key } => {
                write!(
                    f,
                    "its anti-affinity keeps it away from {pod}, which is in the same {topology_key}"
                )
            }
            Reason::WrongNode => f.write_str("its node affinity no longer matches its node"),
            Reason::LessPreferred { weight, best } => {
                write!(
                    f,
                    "its node has the weight {weight} by its preferred node affinity, another {best}"
                )
            }
            Reason::Taint(taint) => write!(f, "does not tolerate the taint {taint} of its node"),
            Reason::Restarts { restarts, limit } => {
                write!(f, "restarted {restarts} times, {limit} are too many")
            }
            Reason::Found(findings) => finding::sentence(findings, f),
        }
    }
}

impl Basis {
    /// The word in policies and plans.
    pub const fn label(self) -> &'static str {
        match self {
            Basis::Requests => "requests",
            Basis::Actual => "actual",
        }
    }

    const fn verb(self) -> &'static str {
        match self {
            Basis::Requests => "requests:",
            Basis::Actual => "usage:",
        }
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A pod that a strategy would have moved, and why it stays.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub pod: String,
    /// Where it is.
    pub node: String,
    /// Who asked.
    pub strategy: &'static str,
    /// Why it stays.
    pub refusal: Refusal,
}

impl Serialize for Kept {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut out = serializer.serialize_struct("Kept", 6)?;
        out.serialize_field("namespace", &self.namespace)?;
        out.serialize_field("pod", &self.pod)?;
        out.serialize_field("node", &self.node)?;
        out.serialize_field("strategy", self.strategy)?;
        out.serialize_field("code", self.refusal.code())?;
        out.serialize_field("message", &self.refusal.to_string())?;
        out.end()
    }
}
