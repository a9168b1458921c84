//! Verdicts of strategies on nodes, and reasons for doing nothing.

use jiff::SignedDuration;
use serde::{Serialize, Serializer};

use crate::model::approval::ProposedMove;
use crate::model::guard::GuardStop;
use crate::model::snapshot::facts::NodeClosure;
use crate::model::snapshot::pause::Pause;
use crate::model::usage::Unmeasured;
use crate::policy::Basis;
use crate::values::Ratio;
use crate::values::text::{agree, count, duration};

use super::reason::{Expected, foreseen};

/// The class in which one strategy puts one node.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The node.
    pub node: String,
    /// The strategy.
    pub strategy: &'static str,
    /// The class.
    pub class: Class,
}

/// The class of a node for a strategy. It decides whether the node gives pods, takes pods or
/// neither.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum Class {
    #[error(
        "hot: {resource} {ratio}{} is above the target {target}{}",
        foreseen(.expected.as_ref(), *.ratio, *.target),
        needed_text(*.needed)
    )]
    Hot {
        /// The resource that exceeds its target most.
        resource: String,
        ratio: Ratio,
        target: Ratio,
        /// The ratio now, if `ratio` is an expectation.
        expected: Option<Expected>,
        /// The fewest evictions that bring it below its targets; `None` if none are made for it.
        needed: Option<usize>,
    },
    #[error(
        "warming: {resource} {ratio} has been above the target {target} for {}, and the node counts as hot after {}",
        duration(*.since),
        duration(*.sustained_for)
    )]
    Warming {
        /// The resource that exceeds its target most.
        resource: String,
        ratio: Ratio,
        target: Ratio,
        /// Time for which it has been above the target.
        since: SignedDuration,
        /// Time after which it counts as hot.
        sustained_for: SignedDuration,
    },
    #[error("at or below every threshold: may take pods")]
    Cold,
    #[error("at or below every threshold, but {0}: takes no pods")]
    ColdClosed(NodeClosure),
    #[error("between threshold and target: nothing to do")]
    Even,
    #[error("at or below every threshold: to be emptied")]
    Underused,
    #[error("above a threshold: stays and may take pods")]
    InUse,
    #[error("above a threshold: stays, but {0}: takes no pods")]
    InUseClosed(NodeClosure),
    #[error("above a threshold, but an autoscaler removes it: takes no pods")]
    Leaving,
    #[error("left alone: {0}")]
    Unknown(Unmeasured),
    #[error("left alone: {0}")]
    Unreadable(String),
    #[error("left alone: not ready")]
    NotReady,
    #[error("left alone: being deleted")]
    Deleting,
    #[error("left alone: it reports no allocatable {0}")]
    NoAllocatable(String),
    #[error("left alone: it has no {}", .0.join(" and no "))]
    Lacks(Vec<String>),
    #[error("left alone: not selected by the policy")]
    NotSelected,
}

impl Verdict {
    /// Returns true if its strategy cannot know yet whether a proposed move is needed.
    pub fn leaves_open(&self, one: &ProposedMove) -> bool {
        let is_open = matches!(self.class, Class::Unknown(_) | Class::Warming { .. });
        is_open && self.node == one.node && self.strategy == one.strategy
    }
}

impl Class {
    /// Returns true if pods should leave because the node is above a target.
    pub const fn is_hot(&self) -> bool {
        matches!(self, Class::Hot { .. })
    }

    /// Returns the evictions that the node needs to come below its targets.
    pub const fn needed(&self) -> Option<usize> {
        if let Class::Hot { needed, .. } = self { *needed } else { None }
    }

    /// Returns true if the node takes no part because of its state or of missing or doubtful data.
    pub const fn is_left_alone(&self) -> bool {
        matches!(
            self,
            Class::Unknown(_)
                | Class::Unreadable(_)
                | Class::NotReady
                | Class::Deleting
                | Class::NoAllocatable(_)
        )
    }
}

crate::codes! {
    Class::code {
        Hot = "hot",
        Warming = "warming",
        Cold = "cold",
        ColdClosed = "cold-closed",
        Even = "even",
        Underused = "underused",
        InUse = "in-use",
        InUseClosed = "in-use-closed",
        Leaving = "leaving",
        Unknown = "unknown",
        Unreadable = "doubtful",
        NotReady = "not-ready",
        Deleting = "deleting",
        NoAllocatable = "no-allocatable",
        Lacks = "lacks-resources",
        NotSelected = "not-selected",
    }
}

crate::object!(Verdict, |verdict| {
    "node": verdict.node,
    "strategy": verdict.strategy,
    "code": verdict.class.code(),
    "message": verdict.class.to_string(),
});

/// A strategy's reason for doing nothing in one pool.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// The strategy.
    pub strategy: &'static str,
    /// The pool of nodes.
    pub pool: String,
    /// The reason.
    pub why: Idle,
}

/// The reason why a strategy does nothing in a pool of nodes.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum Idle {
    #[error("no node that takes part is above its target")]
    NothingHot,
    #[error("{}, but not for long enough yet", above(*.0))]
    NotForLong(usize),
    /// This many nodes are hot, but no node is below its thresholds.
    #[error("{}, but no node below its thresholds can take pods", above(*.0))]
    NothingCold(usize),
    /// Every node is below its thresholds, apart from nodes that are left alone.
    #[error("every node that takes part is below its thresholds: idle, not unbalanced")]
    AllCold,
    /// Too few nodes are below their thresholds for the policy's `numberOfNodes`.
    #[error("nodes below their thresholds: {cold}; numberOfNodes requires more than {more_than}")]
    FewCold {
        /// Nodes below their thresholds.
        cold: usize,
        /// The value of `numberOfNodes`, which has to be exceeded.
        more_than: u32,
    },
    /// No node is below its thresholds, so there is no node to empty.
    #[error("no node is below its thresholds, so none is emptied")]
    NothingUnderused,
    #[error("no node can be emptied now; {0}")]
    NothingToEmpty(NodesInUse),
    /// None of the nodes or pods that were tried can be emptied or moved now, and others were not
    /// reached.
    #[error("none of {tried} {of} that were tried can leave now; {left} were not reached")]
    SearchUnfinished {
        /// The number of those that were tried.
        tried: usize,
        /// The number of the others.
        left: usize,
        /// Their kind: `underused nodes` or `selected pods`.
        of: &'static str,
    },
    #[error("no other node can take pods: each is below its thresholds or cordoned")]
    NoDestination,
    #[error("the usage source measures cpu and memory, but not {0}")]
    Unmeasurable(String),
}

/// Nodes that a strategy empties or may empty, and how many of them would do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "nodes in use: {in_use}, {} by {resource} {}",
    if in_use <= needed { "all needed".to_owned() } else { format!("at least {needed} needed") },
    basis.weighed()
)]
pub struct NodesInUse {
    /// Nodes with pods that do not go with their node.
    pub in_use: usize,
    /// The fewest nodes that have room for these pods.
    pub needed: usize,
    /// The resource that needs most nodes.
    pub resource: String,
    /// Whether its usage or its requests need them.
    pub basis: Basis,
}

crate::object!(NodesInUse, |nodes| {
    "in_use": nodes.in_use,
    "needed": nodes.needed,
    "resource": nodes.resource,
    "basis": nodes.basis,
    "message": nodes.to_string(),
});

crate::codes! {
    Idle::code {
        NothingHot = "nothing-hot",
        NotForLong = "not-for-long",
        NothingCold = "nothing-cold",
        AllCold = "all-cold",
        FewCold = "few-cold",
        NothingUnderused = "nothing-underused",
        NothingToEmpty = "nothing-to-empty",
        SearchUnfinished = "search-unfinished",
        NoDestination = "no-destination",
        Unmeasurable = "unmeasurable",
    }
}

impl Idle {
    /// Says that a strategy acts only with more cold nodes than so many; `None` if these are more.
    pub fn few_cold(cold: usize, more_than: u32) -> Option<Self> {
        let few = u32::try_from(cold).is_ok_and(|cold| cold <= more_than);
        few.then_some(Idle::FewCold { cold, more_than })
    }

    /// Returns true if the nodes are as the strategy wants them; false if something is missing.
    pub const fn is_goal(&self) -> bool {
        match self {
            Idle::NothingHot | Idle::NotForLong(_) | Idle::AllCold | Idle::NothingUnderused => true,
            Idle::NothingToEmpty(nodes) => nodes.in_use <= nodes.needed,
            Idle::NothingCold(_)
            | Idle::FewCold { .. }
            | Idle::SearchUnfinished { .. }
            | Idle::NoDestination
            | Idle::Unmeasurable(_) => false,
        }
    }
}

fn needed_text(needed: Option<usize>) -> String {
    let text = |evictions| format!(", and needs {}", count(evictions, "eviction"));
    needed.map_or_else(String::new, text)
}

fn above(nodes: usize) -> String {
    let verb = agree(nodes, "is above its target", "are above their targets");
    format!("{} {verb}", count(nodes, "node"))
}

crate::object!(Note, |note| {
    "strategy": note.strategy,
    "pool": note.pool,
    "code": note.why.code(),
    "message": note.why.to_string(),
});

/// The reason why the cycle considers no pod. Serialises as its sentence.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum Halt {
    #[error("{}", .0.sentence())]
    Paused(Pause),
    #[error("{0}")]
    Guarded(Box<GuardStop>),
    #[error("ready and selected nodes: {0}; moving a pod requires two")]
    FewNodes(usize),
    #[error("{not_ready} of {of} nodes are not ready; safety.maxNotReady allows {most}")]
    NotReady {
        /// Nodes that are not Ready.
        not_ready: usize,
        /// All nodes.
        of: usize,
        /// The share that the policy allows.
        most: Ratio,
    },
    #[error("{pending} of {of} pods are pending; safety.maxPending allows {most}")]
    Pending {
        /// Pods that wait for a node.
        pending: usize,
        /// All pods.
        of: usize,
        /// The share that the policy allows.
        most: Ratio,
    },
}

impl Serialize for Halt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Halt {
    /// Returns the change that would let the cycle consider pods.
    pub fn remedy(&self) -> String {
        match self {
            Halt::Paused(pause) => pause.remedy().to_owned(),
            Halt::Guarded(stop) => stop.remedy(),
            Halt::FewNodes(_) => "add Ready nodes, or widen `nodeSelector`".to_owned(),
            Halt::NotReady { .. } => {
                "wait until more nodes are Ready, or raise `safety.maxNotReady`".to_owned()
            }
            Halt::Pending { .. } => {
                "make room for the pending pods, or raise `safety.maxPending`".to_owned()
            }
        }
    }
}
