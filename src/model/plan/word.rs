//! What one strategy says of one pod: that it goes, that it stays, or why it was never asked for.

use std::fmt;

use jiff::SignedDuration;

use crate::values::Ratio;

use super::refusal::{short, whole};
use super::{Class, Halt, Idle, Reason, Refusal};

/// What one strategy says of one pod.
#[derive(Clone, Debug, PartialEq)]
pub enum Word {
    /// It is to go.
    Moved {
        /// Why.
        reason: Reason,
        /// Where the replacement is foreseen to land; `None` where nobody asked.
        to: Option<String>,
    },
    /// The strategy would have moved it, and it stays.
    Kept(Refusal),
    /// The strategy does not ask for it.
    Unasked(Unasked),
}

impl Word {
    /// The stable label: `moved`, or that of the reason.
    pub const fn code(&self) -> &'static str {
        match self {
            Word::Moved { .. } => "moved",
            Word::Kept(refusal) => refusal.code(),
            Word::Unasked(why) => why.code(),
        }
    }

    /// What would have to change for the pod to go; `None` where it goes.
    pub fn advice(&self) -> Option<String> {
        match self {
            Word::Moved { .. } => None,
            Word::Kept(refusal) => Some(refusal.advice()),
            Word::Unasked(why) => Some(why.advice()),
        }
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Word::Moved {
                reason,
                to: Some(to),
            } => write!(f, "moves, and lands on {to}: {reason}"),
            Word::Moved { reason, to: None } => write!(f, "moves: {reason}"),
            Word::Kept(refusal) => refusal.fmt(f),
            Word::Unasked(why) => why.fmt(f),
        }
    }
}

/// Why a strategy does not ask for a pod.
#[derive(Clone, Debug, PartialEq)]
pub enum Unasked {
    /// Nothing at all is considered.
    Halted(Halt),
    /// A strategy that comes before moves it already.
    MovedBefore(&'static str),
    /// It is on no node that is known.
    Nowhere,
    /// Told to go already.
    Terminating,
    /// It has finished.
    Finished,
    /// The strategy does not look at its namespace.
    Namespace,
    /// The strategy does not look at pods with its labels.
    Labels,
    /// The strategy leaves pods of such an owner alone, or asks for another one.
    OwnerKind,
    /// Its node is one of which nothing is taken.
    Node(Class),
    /// The strategy does nothing with the pool of its node.
    Idle(Idle),
    /// It was not its turn: this had been answered for another pod, and ended it for the node or the cycle.
    Late(Box<Refusal>),
    /// It may not go, so that the strategy does not count it.
    MayNotGo(Box<Refusal>),
    /// Other pods bring its node below the target.
    Enough {
        /// So many go.
        going: usize,
        /// So many have to wait, and count as leaving.
        waiting: usize,
    },
    /// It uses nothing of what its node has too much of.
    RelievesNothing(Vec<String>),
    /// The pods that are left cannot bring its node below the target, and it is too light to be worth an eviction.
    TooLight {
        /// The resource of which it would relieve most.
        resource: String,
        /// The share of the excess that it would relieve.
        relief: Ratio,
        /// The least share that is worth an eviction.
        least: Ratio,
    },
    /// It does not keep its node from being empty.
    GoesWithNode,
    /// It requests nothing that has a threshold, and the policy moves only pods that do.
    RequestsNothing,
    /// Pods of other nodes go to its node, which therefore is not emptied.
    Filled,
    /// The room of all destinations together is used up.
    RoomUsedUp,
    /// Others go, or wait, rather than it.
    OthersFirst,
    /// It has no owner, by which it could be a duplicate.
    NoOwner,
    /// No node has two pods of its owner with its images.
    NoDuplicate,
    /// The pods of its owner may run on one node alone.
    OneNode,
    /// Its node has no more than its share of the replicas.
    WithinShare {
        /// So many are on its node.
        here: usize,
        /// So many may be.
        share: usize,
    },
    /// No topology spread constraint that the strategy keeps is about it.
    NoSpread,
    /// Its node does not count for the constraints that are about it.
    NoPlace(String),
    /// The pods are spread evenly enough.
    WithinSkew {
        /// The label that tells places apart.
        key: String,
        /// How many are in its place.
        here: usize,
        /// How many are in the emptiest place.
        least: usize,
        /// How many more there may be.
        max_skew: u32,
    },
    /// It has no required anti-affinity.
    NoAntiAffinity,
    /// No pod that it avoids is near.
    NoNeighbour,
    /// The pods near it that it avoids go.
    Parted,
    /// It has no node affinity of the kind that the strategy keeps.
    NoNodeAffinity,
    /// Its node is as its node affinity asks for; with a preference, none is better.
    SuitableNode,
    /// Its node has no taint that counts.
    NoTaint,
    /// It tolerates every taint of its node that counts.
    Tolerated,
    /// It has not restarted often enough.
    FewRestarts {
        /// How often its containers have restarted.
        restarts: u64,
        /// So many are too many.
        limit: u32,
    },
    /// It is not old enough.
    NotOld {
        /// Its age.
        age: SignedDuration,
        /// The age that the strategy asks for.
        least: SignedDuration,
    },
    /// It is in none of the states that the policy lists.
    OtherState,
    /// None of its conditions is as the policy lists them.
    OtherCondition,
    /// No container ended with a code that the policy lists.
    OtherExitCode,
    /// It has not failed.
    NotFailed,
}

impl Unasked {
    /// The stable label, as in JSON.
    pub const fn code(&self) -> &'static str {
        match self {
            Unasked::Halted(_) => "halted",
            Unasked::MovedBefore(_) => "moved-before",
            Unasked::Nowhere => "on-no-node",
            Unasked::Terminating => "terminating",
            Unasked::Finished => "finished",
            Unasked::Namespace => "other-namespace",
            Unasked::Labels => "other-labels",
            Unasked::OwnerKind => "other-owner",
            Unasked::Node(_) => "node",
            Unasked::Idle(_) => "idle",
            Unasked::Late(_) => "late",
            Unasked::MayNotGo(_) => "may-not-go",
            Unasked::Enough { .. } => "others-are-enough",
            Unasked::RelievesNothing(_) => "relieves-nothing",
            Unasked::TooLight { .. } => "too-light",
            Unasked::GoesWithNode => "goes-with-node",
            Unasked::RequestsNothing => "requests-nothing",
            Unasked::Filled => "filled-node",
            Unasked::RoomUsedUp => "room-used-up",
            Unasked::OthersFirst => "others-first",
            Unasked::NoOwner => "no-owner",
            Unasked::NoDuplicate => "no-duplicate",
            Unasked::OneNode => "one-node",
            Unasked::WithinShare { .. } => "within-share",
            Unasked::NoSpread => "no-spread",
            Unasked::NoPlace(_) => "no-place",
            Unasked::WithinSkew { .. } => "within-skew",
            Unasked::NoAntiAffinity => "no-anti-affinity",
            Unasked::NoNeighbour => "no-neighbour",
            Unasked::Parted => "parted",
            Unasked::NoNodeAffinity => "no-node-affinity",
            Unasked::SuitableNode => "suitable-node",
            Unasked::NoTaint => "no-taint",
            Unasked::Tolerated => "tolerated",
            Unasked::FewRestarts { .. } => "few-restarts",
            Unasked::NotOld { .. } => "not-old-enough",
            Unasked::OtherState => "other-state",
            Unasked::OtherCondition => "other-condition",
            Unasked::OtherExitCode => "other-exit-code",
            Unasked::NotFailed => "not-failed",
        }
    }

    /// What would have to change for the strategy to ask for it.
    pub fn advice(&self) -> String {
        match self {
            Unasked::Halted(halt) => halt.advice(),
            Unasked::MovedBefore(_) | Unasked::Terminating => "nothing: it is going".to_owned(),
            Unasked::Nowhere => "the scheduler has to find a node for it first".to_owned(),
            Unasked::Finished => {
                "nothing: it uses nothing any more; RemoveFailedPods clears failed pods away".to_owned()
            }
            Unasked::Namespace => "the strategy's `namespaces`".to_owned(),
            Unasked::Labels => "the strategy's `labelSelector`, or the pod's labels".to_owned(),
            Unasked::OwnerKind => "the kinds of owners that the strategy is told".to_owned(),
            Unasked::Node(class) => node_advice(class),
            Unasked::Idle(idle) => idle.advice(),
            Unasked::Late(refusal) | Unasked::MayNotGo(refusal) => refusal.advice(),
            Unasked::Enough { .. } => "nothing: its node is relieved without it".to_owned(),
            Unasked::RelievesNothing(_) => "nothing: to move it would help nobody".to_owned(),
            Unasked::TooLight { .. } => {
                "whatever keeps the heavier pods of its node; small ones go where they finish the job".to_owned()
            }
            Unasked::GoesWithNode => "nothing: its node counts as empty all the same".to_owned(),
            Unasked::RequestsNothing => {
                "a request of a resource with a threshold, or `evictionModes` without OnlyThresholdingResources"
                    .to_owned()
            }
            Unasked::Filled => "nothing: the other nodes are emptied instead".to_owned(),
            Unasked::RoomUsedUp => "more room on nodes below their thresholds".to_owned(),
            Unasked::OthersFirst => "nothing: it is one of those that stay".to_owned(),
            Unasked::NoOwner => "nothing: only pods of an owner can be duplicates".to_owned(),
            Unasked::NoDuplicate | Unasked::WithinShare { .. } | Unasked::WithinSkew { .. } => {
                "nothing: it is well placed".to_owned()
            }
            Unasked::OneNode => "another node that its pods may run on".to_owned(),
            Unasked::NoSpread => {
                "a topology spread constraint that selects it, of a kind in the strategy's `constraints`".to_owned()
            }
            Unasked::NoPlace(key) => format!("the label {key} on its node, and a node that the constraint admits"),
            Unasked::NoAntiAffinity => "nothing, unless it should have a required anti-affinity".to_owned(),
            Unasked::NoNeighbour | Unasked::SuitableNode | Unasked::NoTaint | Unasked::Tolerated => {
                "nothing: it is where it may be".to_owned()
            }
            Unasked::Parted => "nothing: it is alone once they have gone".to_owned(),
            Unasked::NoNodeAffinity => "nothing, unless it should have a node affinity".to_owned(),
            Unasked::FewRestarts { .. } => "nothing while it runs well, or a lower `podRestartThreshold`".to_owned(),
            Unasked::NotOld { age, least } => {
                format!("wait {}, or a lower age in the strategy", whole(least.saturating_sub(*age)))
            }
            Unasked::OtherState => "nothing while it fares well, or other states in the strategy".to_owned(),
            Unasked::OtherCondition => "nothing while it fares well, or other conditions in the strategy".to_owned(),
            Unasked::OtherExitCode => "nothing while it fares well, or other exit codes in the strategy".to_owned(),
            Unasked::NotFailed => "nothing: it has not failed".to_owned(),
        }
    }
}

fn node_advice(class: &Class) -> String {
    // What keeps a node from taking pods is not what keeps its own pods there.
    let takes_none = matches!(class, Class::ColdCordoned | Class::InUseCordoned);
    let otherwise = if matches!(class, Class::InUse | Class::InUseCordoned) {
        "nothing: its node stays, unless its `thresholds` are higher"
    } else {
        "nothing: its node needs no relief, unless its `targetThresholds` are lower"
    };
    class
        .advice()
        .filter(|_| !takes_none)
        .unwrap_or_else(|| otherwise.to_owned())
}

impl fmt::Display for Unasked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unasked::Halted(halt) => write!(f, "nothing is considered: {halt}"),
            Unasked::MovedBefore(strategy) => write!(f, "{strategy} moves it already"),
            Unasked::Nowhere => f.write_str("it is on no node"),
            Unasked::Terminating => f.write_str("it is on its way out already"),
            Unasked::Finished => f.write_str("it has finished"),
            Unasked::Namespace => f.write_str("the strategy does not look at its namespace"),
            Unasked::Labels => f.write_str("the strategy does not look at pods with its labels"),
            Unasked::OwnerKind => f.write_str("the strategy leaves pods of such an owner alone"),
            Unasked::Node(class) => node(class, f),
            Unasked::Idle(idle) => idle.fmt(f),
            Unasked::Late(refusal) => write!(f, "it was not asked for any more: {refusal}"),
            Unasked::MayNotGo(refusal) => {
                write!(f, "it does not count, as it may not go: {refusal}")
            }
            Unasked::Enough { going, waiting: 0 } => {
                write!(
                    f,
                    "a better choice brings its node below the target: {}",
                    goes(*going)
                )
            }
            Unasked::Enough { going, waiting } => {
                write!(
                    f,
                    "a better choice brings its node below the target: {}, {waiting} to wait",
                    goes(*going)
                )
            }
            Unasked::RelievesNothing(over) => {
                write!(
                    f,
                    "it relieves nothing: it uses no {}, of which its node has too much",
                    over.join(" and no ")
                )
            }
            Unasked::TooLight {
                resource,
                relief,
                least,
            } => write!(
                f,
                "too light: it would relieve {relief} of what {resource} is over by, and where the target is out of reach \
                 {least} is the least"
            ),
            Unasked::GoesWithNode => f.write_str("it does not keep its node from being empty"),
            Unasked::RequestsNothing => f.write_str("it requests no resource that has a threshold"),
            Unasked::Filled => {
                f.write_str("pods of other nodes go to its node, which is not emptied therefore")
            }
            Unasked::RoomUsedUp => f.write_str("the room of all destinations together is used up"),
            Unasked::OthersFirst => f.write_str("other pods go rather than it"),
            Unasked::NoOwner => f.write_str("it has no owner of which it could be a duplicate"),
            Unasked::NoDuplicate => {
                f.write_str("no node has two pods of its owner with the same images")
            }
            Unasked::OneNode => f.write_str("the pods of its owner may run on one node alone"),
            Unasked::WithinShare { here, share } => {
                write!(
                    f,
                    "{here} of its replicas {} on its node, and {share} may be",
                    are(*here)
                )
            }
            Unasked::NoSpread => {
                f.write_str("no topology spread constraint that is kept is about it")
            }
            Unasked::NoPlace(key) => {
                write!(f, "its node is no place by {key} for its topology spread")
            }
            Unasked::WithinSkew {
                key,
                here,
                least,
                max_skew,
            } => {
                write!(
                    f,
                    "spread evenly: its {key} has {here}, the emptiest has {least}, and maxSkew is {max_skew}"
                )
            }
            Unasked::NoAntiAffinity => f.write_str("it has no required anti-affinity"),
            Unasked::NoNeighbour => f.write_str("no pod that it avoids is near"),
            Unasked::Parted => f.write_str("the pod near it that it avoids goes"),
            Unasked::NoNodeAffinity => {
                f.write_str("it has no node affinity that the strategy keeps")
            }
            Unasked::SuitableNode => f.write_str("its node is as its node affinity asks for"),
            Unasked::NoTaint => f.write_str("its node has no taint that counts"),
            Unasked::Tolerated => f.write_str("it tolerates every taint of its node that counts"),
            Unasked::FewRestarts { restarts, limit } => {
                write!(f, "restarted {restarts} times, {limit} are too many")
            }
            Unasked::NotOld { age, least } => {
                write!(f, "it is {} old, not {}", whole(*age), whole(*least))
            }
            Unasked::OtherState => {
                f.write_str("it is in none of the states that the strategy lists")
            }
            Unasked::OtherCondition => {
                f.write_str("none of its conditions is as the strategy lists them")
            }
            Unasked::OtherExitCode => {
                f.write_str("no container ended with a code that the strategy lists")
            }
            Unasked::NotFailed => f.write_str("it has not failed"),
        }
    }
}

fn goes(count: usize) -> String {
    format!("{count} {}", if count == 1 { "goes" } else { "go" })
}

const fn are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

fn node(class: &Class, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match class {
        Class::Hot { .. } => write!(f, "its node is {class}"),
        Class::Warming {
            resource,
            ratio,
            target,
            since,
            sustained_for,
        } => write!(
            f,
            "its node is above a target ({resource} {ratio}, {target}) for {}, and counts as hot after {}",
            short(*since),
            short(*sustained_for)
        ),
        Class::Cold | Class::ColdCordoned => {
            f.write_str("its node is at or below every threshold, and needs no relief")
        }
        Class::Even => {
            f.write_str("its node is between thresholds and targets, and needs no relief")
        }
        Class::Underused => f.write_str("its node is at or below every threshold"),
        Class::InUse | Class::InUseCordoned | Class::Leaving => {
            f.write_str("its node is above a threshold, so that it is not emptied")
        }
        Class::Unknown(why) => write!(f, "its node is left alone: {why}"),
        Class::Doubtful(why) => write!(f, "its node is left alone: {why}"),
        Class::NotReady => f.write_str("its node is left alone: not ready"),
        Class::NotSelected => f.write_str("its node is left alone: not selected by the policy"),
    }
}
