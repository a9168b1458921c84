//! A strategy's decision about one pod: it moves, it stays, or it was not selected, and why.

use jiff::SignedDuration;

use crate::model::ledger::Aim;
use crate::model::snapshot::Pod;
use crate::values::Ratio;
use crate::values::text::{self, count};

use super::pod_verdict_text::{node, node_remedy, others, too_young};
use super::{Class, Halt, Idle, MoveWorth, Reason, Refusal, SavedEvictions, Temporary};

const NEEDS_APPROVAL: Temporary = Temporary::NeedsApproval { asked: true };

/// A strategy's decision about one pod.
#[derive(Clone, Debug, PartialEq)]
pub enum PodVerdict {
    /// The pod is evicted.
    Moved {
        /// The strategy's reason.
        reason: Reason,
        /// The node where the replacement is expected; `None` without a forecast.
        to: Option<String>,
        /// The purpose of the eviction.
        aim: Aim,
        /// The evictions that the node needs less, as in [`Move`](super::Move).
        saves: Option<SavedEvictions>,
        /// The worth of the move, as in [`Move`](super::Move).
        worth: Option<MoveWorth>,
    },
    /// The pod would be evicted, and a person has to approve that.
    Proposed {
        /// The strategy's reason.
        reason: Reason,
        /// The node where the replacement is expected; `None` without a forecast.
        to: Option<String>,
    },
    /// The strategy proposed to move the pod, and a gate refused.
    Kept(Refusal),
    /// The strategy did not propose to move the pod.
    NotSelected(NotSelected),
}

impl PodVerdict {
    /// Returns the stable code: `moved`, or the code of the reason for staying.
    pub fn code(&self) -> &'static str {
        match self {
            PodVerdict::Moved { .. } => "moved",
            PodVerdict::Proposed { .. } => Refusal::from(NEEDS_APPROVAL).code(),
            PodVerdict::Kept(refusal) => refusal.code(),
            PodVerdict::NotSelected(why) => why.code(),
        }
    }

    /// Returns the change that would let the pod move; `None` if it moves.
    pub fn remedy(&self) -> Option<String> {
        match self {
            PodVerdict::Moved { .. } => None,
            PodVerdict::Proposed { .. } => Some(Refusal::from(NEEDS_APPROVAL).remedy()),
            PodVerdict::Kept(refusal) => Some(refusal.remedy()),
            PodVerdict::NotSelected(why) => Some(why.remedy()),
        }
    }
}

/// A strategy's reason for not selecting a pod.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum NotSelected {
    #[error("no pod is considered: {0}")]
    Halted(Halt),
    #[error("{0} already moves it")]
    MovedBefore(&'static str),
    #[error("it is on no known node")]
    Nowhere,
    #[error("it is already terminating")]
    Terminating,
    #[error("it has finished")]
    Finished,
    #[error("the strategy does not select its namespace")]
    Namespace,
    #[error("the strategy does not select its labels")]
    Labels,
    #[error("the strategy does not select pods with such an owner")]
    OwnerKind,
    #[error("{}", node(.0))]
    Node(Class),
    #[error("{0}")]
    Idle(Idle),
    /// A refusal for another pod ended the strategy for the node or the cycle before this pod's
    /// turn.
    #[error("the strategy stopped before its turn: {0}")]
    Late(Box<Refusal>),
    #[error("the strategy does not count it, because it may not be evicted: {0}")]
    MayNotGo(Box<Refusal>),
    #[error("other pods bring its node below the target: {}", others(*.going, *.waiting))]
    Enough {
        /// Pods that move.
        going: usize,
        /// Pods that have to wait and count as leaving.
        waiting: usize,
    },
    #[error("moving it would not relieve its node: it uses no {}", .0.join(" and no "))]
    RelievesNothing(Vec<String>),
    #[error("its node is {above} above the {resource} target, but its usage varies by {variation}")]
    WithinVariation {
        /// The resource that exceeds its target most.
        resource: String,
        /// The excess as a share of the node.
        above: Ratio,
        /// The standard deviation of the usage as a share of the node.
        variation: Ratio,
    },
    #[error("all movable pods of its node remove {relief} of the {resource} excess, not {least}")]
    OutOfReach {
        /// The resource that exceeds its target most.
        resource: String,
        /// The share of the excess that the movable pods account for.
        relief: Ratio,
        /// The smallest share for which pods are evicted.
        least: Ratio,
    },
    #[error("too light: its node needs {}, and as many without it", count(*.need, "eviction"))]
    SavesNothing {
        /// The fewest pods that must leave the node to bring it below its targets.
        need: usize,
    },
    #[error("it waits until it is known where the pods that move now have landed")]
    LeftForLater,
    #[error("the search for candidates reached its limit before this pod was considered")]
    NotReached,
    #[error("it does not keep its node from counting as empty")]
    GoesWithNode,
    #[error("it requests no resource that has a threshold")]
    RequestsNothing,
    #[error("its node receives pods from other nodes, so it is not emptied")]
    Filled,
    #[error("the combined room of all destinations is used up")]
    RoomUsedUp,
    #[error("other pods move instead of it")]
    OthersFirst,
    #[error("it has no owner, so it cannot be a duplicate")]
    NoOwner,
    #[error("no node has two pods of its owner with the same images")]
    NoDuplicate,
    #[error("the pods of its owner may run on only one node")]
    OneNode,
    #[error("its node has {here} of its replicas, and its share is {share}")]
    WithinShare {
        /// Replicas on the node.
        here: usize,
        /// Replicas that the node may have.
        share: usize,
    },
    #[error("no topology spread constraint that the strategy enforces applies to it")]
    NoSpread,
    /// The pod's node does not count for the constraints that apply to the pod; holds the topology
    /// key.
    #[error("its topology spread constraint on {0} does not count its node")]
    NoPlace(String),
    #[error(
        "spread evenly: its {key} has {here}, the emptiest has {least}, and maxSkew is {max_skew}"
    )]
    WithinSkew {
        /// The topology key.
        key: String,
        /// Pods in the pod's domain.
        here: usize,
        /// Pods in the emptiest domain.
        least: usize,
        /// The allowed difference.
        max_skew: u32,
    },
    #[error("it has no anti-affinity that the strategy enforces")]
    NoAntiAffinity,
    #[error("no pod that it avoids is nearby")]
    NoNeighbour,
    #[error("no node suits its preferred anti-affinity better")]
    NoBetterNode,
    #[error("the nearby pod that it avoids is moving")]
    Parted,
    #[error("it has no node affinity that the strategy enforces")]
    NoNodeAffinity,
    /// The pod's node satisfies its node affinity; for a preference, no node is better.
    #[error("its node satisfies its node affinity")]
    SuitableNode,
    #[error("its node has no taint that the strategy considers")]
    NoTaint,
    #[error("it tolerates every taint of its node that the strategy considers")]
    Tolerated,
    #[error("no node has fewer PreferNoSchedule taints that it does not tolerate")]
    NoLessTainted,
    #[error("it restarted {restarts} times, fewer than the limit of {limit}")]
    FewRestarts {
        /// Restarts of its containers.
        restarts: u64,
        /// Restarts from which on the strategy selects a pod.
        limit: u32,
    },
    #[error("{}", too_young(*.age, *.least))]
    NotOld {
        /// The age of the pod; `None` if it is unknown.
        age: Option<SignedDuration>,
        /// The age from which on the strategy selects a pod.
        least: SignedDuration,
    },
    #[error("it is in none of the states that the strategy lists")]
    OtherState,
    #[error("it has none of the conditions that the strategy lists")]
    OtherCondition,
    #[error("no container ended with an exit code that the strategy lists")]
    OtherExitCode,
    #[error("it has not failed")]
    NotFailed,
}

crate::codes! {
    NotSelected::code {
        Halted = "halted",
        MovedBefore = "moved-before",
        Nowhere = "on-no-node",
        Terminating = "terminating",
        Finished = "finished",
        Namespace = "other-namespace",
        Labels = "other-labels",
        OwnerKind = "other-owner",
        Node = "node",
        Idle = "idle",
        Late = "late",
        MayNotGo = "may-not-go",
        Enough = "others-are-enough",
        RelievesNothing = "relieves-nothing",
        WithinVariation = "within-variation",
        OutOfReach = "out-of-reach",
        SavesNothing = "saves-nothing",
        LeftForLater = "left-for-later",
        NotReached = "not-reached",
        GoesWithNode = "goes-with-node",
        RequestsNothing = "requests-nothing",
        Filled = "filled-node",
        RoomUsedUp = "room-used-up",
        OthersFirst = "others-first",
        NoOwner = "no-owner",
        NoDuplicate = "no-duplicate",
        OneNode = "one-node",
        WithinShare = "within-share",
        NoSpread = "no-spread",
        NoPlace = "no-place",
        WithinSkew = "within-skew",
        NoAntiAffinity = "no-anti-affinity",
        NoNeighbour = "no-neighbour",
        NoBetterNode = "no-better-node",
        Parted = "parted",
        NoNodeAffinity = "no-node-affinity",
        SuitableNode = "suitable-node",
        NoTaint = "no-taint",
        Tolerated = "tolerated",
        NoLessTainted = "no-less-tainted",
        FewRestarts = "few-restarts",
        NotOld = "not-old-enough",
        OtherState = "other-state",
        OtherCondition = "other-condition",
        OtherExitCode = "other-exit-code",
        NotFailed = "not-failed",
    }
}

impl NotSelected {
    /// Returns an error if a pod leaves or has ended.
    pub fn unless_gone(pod: &Pod) -> Result<(), Self> {
        match (pod.terminating, pod.finished()) {
            (true, _) => Err(NotSelected::Terminating),
            (_, true) => Err(NotSelected::Finished),
            (false, false) => Ok(()),
        }
    }

    /// Returns the change that would make the strategy select the pod.
    pub fn remedy(&self) -> String {
        let fixed = match self {
            NotSelected::Halted(halt) => return halt.remedy(),
            NotSelected::Node(class) => return node_remedy(class),
            NotSelected::Idle(idle) => return idle.remedy(),
            NotSelected::Late(refusal) | NotSelected::MayNotGo(refusal) => return refusal.remedy(),
            NotSelected::NoPlace(key) => return place_remedy(key),
            NotSelected::NotOld { age, least } => return age_remedy(*age, *least),
            NotSelected::MovedBefore(_) | NotSelected::Terminating => "nothing: it is leaving",
            NotSelected::Nowhere => "wait until it is on a node; a file must contain its node",
            NotSelected::Finished => FINISHED,
            NotSelected::Namespace => "change the strategy's `namespaces`",
            NotSelected::Labels => "change the strategy's `labelSelector` or the pod's labels",
            NotSelected::OwnerKind => "change the owner kinds of the strategy",
            NotSelected::Enough { .. } => "nothing: its node is relieved without it",
            NotSelected::RelievesNothing(_) => "nothing: moving it would not help",
            NotSelected::WithinVariation { .. } => "nothing: it moves if its node becomes hotter",
            NotSelected::OutOfReach { .. } => OUT_OF_REACH,
            NotSelected::SavesNothing { .. } => "nothing: heavier pods of its node go first",
            NotSelected::LeftForLater => "nothing: the next cycle considers it",
            NotSelected::NotReached => "nothing: a later cycle considers it",
            NotSelected::GoesWithNode => "nothing: its node counts as empty anyway",
            NotSelected::RequestsNothing => REQUESTS_NOTHING,
            NotSelected::Filled => "nothing: other nodes are emptied instead",
            NotSelected::RoomUsedUp => "make room on nodes below their thresholds",
            NotSelected::OthersFirst => "nothing: it is one of the pods that stay",
            NotSelected::NoOwner => "nothing: only pods with an owner can be duplicates",
            NotSelected::NoDuplicate
            | NotSelected::WithinShare { .. }
            | NotSelected::WithinSkew { .. } => "nothing: it is well placed",
            NotSelected::OneNode => "provide another node that its pods may run on",
            NotSelected::NoSpread => NO_SPREAD,
            NotSelected::NoAntiAffinity => "nothing, unless it needs an anti-affinity",
            NotSelected::NoBetterNode => "provide a node without the pods that it avoids",
            NotSelected::NoLessTainted => {
                "provide a node without the taint, or give the pod a toleration"
            }
            NotSelected::NoNeighbour
            | NotSelected::SuitableNode
            | NotSelected::NoTaint
            | NotSelected::Tolerated => "nothing: it may stay on its node",
            NotSelected::Parted => "nothing: the conflict ends when the other pod leaves",
            NotSelected::NoNodeAffinity => "nothing, unless it needs a node affinity",
            NotSelected::FewRestarts { .. } => FEW_RESTARTS,
            NotSelected::OtherState => "nothing while it runs well, or list other states",
            NotSelected::OtherCondition => "nothing while it runs well, or list other conditions",
            NotSelected::OtherExitCode => "nothing while it runs well, or list other exit codes",
            NotSelected::NotFailed => "nothing: it has not failed",
        };
        fixed.to_owned()
    }
}

const FINISHED: &str = "nothing: it uses no resources; RemoveFailedPods evicts failed pods";
const OUT_OF_REACH: &str = "remove what keeps the heavier pods of its node";
const REQUESTS_NOTHING: &str = "request a resource that has a threshold, or remove OnlyThresholdingResources from `evictionModes`";
const NO_SPREAD: &str =
    "add a topology spread constraint that selects it, of a kind in the strategy's `constraints`";
const FEW_RESTARTS: &str = "nothing while it runs well, or lower `podRestartThreshold`";

fn place_remedy(key: &str) -> String {
    format!("set the label {key} on its node, and let the constraint admit the node")
}

fn age_remedy(age: Option<SignedDuration>, least: SignedDuration) -> String {
    let Some(age) = age else {
        return "record its creationTimestamp in the file".to_owned();
    };
    let left = text::age(least.saturating_sub(age));
    format!("wait {left}, or lower the age in the strategy")
}
