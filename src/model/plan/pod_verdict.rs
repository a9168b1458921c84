//! What one strategy says of one pod: that it goes, that it stays, or why it was never asked for.

use std::fmt;

use jiff::SignedDuration;

use crate::values::Ratio;

use super::refusal::{short, whole};
use super::{Class, Halt, Idle, Reason, Refusal};

/// What one strategy says of one pod.
#[derive(Clone, Debug, PartialEq)]
pub enum PodVerdict {
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
    NotSelected(NotSelected),
}

impl PodVerdict {
    /// The stable label: `moved`, or that of the reason.
    pub const fn code(&self) -> &'static str {
        match self {
            PodVerdict::Moved { .. } => "moved",
            PodVerdict::Kept(refusal) => refusal.code(),
            PodVerdict::NotSelected(why) => why.code(),
        }
    }

    /// What would have to change for the pod to go; `None` where it goes.
    pub fn remedy(&self) -> Option<String> {
        match self {
            PodVerdict::Moved { .. } => None,
            PodVerdict::Kept(refusal) => Some(refusal.remedy()),
            PodVerdict::NotSelected(why) => Some(why.remedy()),
        }
    }
}

impl fmt::Display for PodVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PodVerdict::Moved {
                reason,
                to: Some(to),
            } => write!(f, "moves, and lands on {to}: {reason}"),
            PodVerdict::Moved { reason, to: None } => write!(f, "moves: {reason}"),
            PodVerdict::Kept(refusal) => refusal.fmt(f),
            PodVerdict::NotSelected(why) => why.fmt(f),
        }
    }
}

/// Why a strategy does not ask for a pod.
#[derive(Clone, Debug, PartialEq)]
pub enum NotSelected {
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

impl NotSelected {
    /// The stable label, as in JSON.
    pub const fn code(&self) -> &'static str {
        match self {
            NotSelected::Halted(_) => "halted",
            NotSelected::MovedBefore(_) => "moved-before",
            NotSelected::Nowhere => "on-no-node",
            NotSelected::Terminating => "terminating",
            NotSelected::Finished => "finished",
            NotSelected::Namespace => "other-namespace",
            NotSelected::Labels => "other-labels",
            NotSelected::OwnerKind => "other-owner",
            NotSelected::Node(_) => "node",
            NotSelected::Idle(_) => "idle",
            NotSelected::Late(_) => "late",
            NotSelected::MayNotGo(_) => "may-not-go",
            NotSelected::Enough { .. } => "others-are-enough",
            NotSelected::RelievesNothing(_) => "relieves-nothing",
            NotSelected::TooLight { .. } => "too-light",
            NotSelected::GoesWithNode => "goes-with-node",
            NotSelected::RequestsNothing => "requests-nothing",
            NotSelected::Filled => "filled-node",
            NotSelected::RoomUsedUp => "room-used-up",
            NotSelected::OthersFirst => "others-first",
            NotSelected::NoOwner => "no-owner",
            NotSelected::NoDuplicate => "no-duplicate",
            NotSelected::OneNode => "one-node",
            NotSelected::WithinShare { .. } => "within-share",
            NotSelected::NoSpread => "no-spread",
            NotSelected::NoPlace(_) => "no-place",
            NotSelected::WithinSkew { .. } => "within-skew",
            NotSelected::NoAntiAffinity => "no-anti-affinity",
            NotSelected::NoNeighbour => "no-neighbour",
            NotSelected::Parted => "parted",
            NotSelected::NoNodeAffinity => "no-node-affinity",
            NotSelected::SuitableNode => "suitable-node",
            NotSelected::NoTaint => "no-taint",
            NotSelected::Tolerated => "tolerated",
            NotSelected::FewRestarts { .. } => "few-restarts",
            NotSelected::NotOld { .. } => "not-old-enough",
            NotSelected::OtherState => "other-state",
            NotSelected::OtherCondition => "other-condition",
            NotSelected::OtherExitCode => "other-exit-code",
            NotSelected::NotFailed => "not-failed",
        }
    }

    /// What would have to change for the strategy to ask for it.
    pub fn remedy(&self) -> String {
        match self {
            NotSelected::Halted(halt) => halt.remedy(),
            NotSelected::MovedBefore(_) | NotSelected::Terminating => "nothing: it is going".to_owned(),
            NotSelected::Nowhere => "the scheduler has to find a node for it first".to_owned(),
            NotSelected::Finished => {
                "nothing: it uses nothing any more; RemoveFailedPods clears failed pods away".to_owned()
            }
            NotSelected::Namespace => "the strategy's `namespaces`".to_owned(),
            NotSelected::Labels => "the strategy's `labelSelector`, or the pod's labels".to_owned(),
            NotSelected::OwnerKind => "the kinds of owners that the strategy is told".to_owned(),
            NotSelected::Node(class) => node_remedy(class),
            NotSelected::Idle(idle) => idle.remedy(),
            NotSelected::Late(refusal) | NotSelected::MayNotGo(refusal) => refusal.remedy(),
            NotSelected::Enough { .. } => "nothing: its node is relieved without it".to_owned(),
            NotSelected::RelievesNothing(_) => "nothing: to move it would help nobody".to_owned(),
            NotSelected::TooLight { .. } => {
                "whatever keeps the heavier pods of its node; small ones go where they finish the job".to_owned()
            }
            NotSelected::GoesWithNode => "nothing: its node counts as empty all the same".to_owned(),
            NotSelected::RequestsNothing => {
                "a request of a resource with a threshold, or `evictionModes` without OnlyThresholdingResources"
                    .to_owned()
            }
            NotSelected::Filled => "nothing: the other nodes are emptied instead".to_owned(),
            NotSelected::RoomUsedUp => "more room on nodes below their thresholds".to_owned(),
            NotSelected::OthersFirst => "nothing: it is one of those that stay".to_owned(),
            NotSelected::NoOwner => "nothing: only pods of an owner can be duplicates".to_owned(),
            NotSelected::NoDuplicate | NotSelected::WithinShare { .. } | NotSelected::WithinSkew { .. } => {
                "nothing: it is well placed".to_owned()
            }
            NotSelected::OneNode => "another node that its pods may run on".to_owned(),
            NotSelected::NoSpread => {
                "a topology spread constraint that selects it, of a kind in the strategy's `constraints`".to_owned()
            }
            NotSelected::NoPlace(key) => format!("the label {key} on its node, and a node that the constraint admits"),
            NotSelected::NoAntiAffinity => "nothing, unless it should have a required anti-affinity".to_owned(),
            NotSelected::NoNeighbour | NotSelected::SuitableNode | NotSelected::NoTaint | NotSelected::Tolerated => {
                "nothing: it is where it may be".to_owned()
            }
            NotSelected::Parted => "nothing: it is alone once they have gone".to_owned(),
            NotSelected::NoNodeAffinity => "nothing, unless it should have a node affinity".to_owned(),
            NotSelected::FewRestarts { .. } => "nothing while it runs well, or a lower `podRestartThreshold`".to_owned(),
            NotSelected::NotOld { age, least } => {
                format!("wait {}, or a lower age in the strategy", whole(least.saturating_sub(*age)))
            }
            NotSelected::OtherState => "nothing while it fares well, or other states in the strategy".to_owned(),
            NotSelected::OtherCondition => "nothing while it fares well, or other conditions in the strategy".to_owned(),
            NotSelected::OtherExitCode => "nothing while it fares well, or other exit codes in the strategy".to_owned(),
            NotSelected::NotFailed => "nothing: it has not failed".to_owned(),
        }
    }
}

fn node_remedy(class: &Class) -> String {
    // What keeps a node from taking pods is not what keeps its own pods there.
    let takes_none = matches!(class, Class::ColdCordoned | Class::InUseCordoned);
    let otherwise = if matches!(class, Class::InUse | Class::InUseCordoned) {
        "nothing: its node stays, unless its `thresholds` are higher"
    } else {
        "nothing: its node needs no relief, unless its `targetThresholds` are lower"
    };
    class
        .remedy()
        .filter(|_| !takes_none)
        .unwrap_or_else(|| otherwise.to_owned())
}

impl fmt::Display for NotSelected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotSelected::Halted(halt) => write!(f, "nothing is considered: {halt}"),
            NotSelected::MovedBefore(strategy) => write!(f, "{strategy} moves it already"),
            NotSelected::Nowhere => f.write_str("it is on no node"),
            NotSelected::Terminating => f.write_str("it is on its way out already"),
            NotSelected::Finished => f.write_str("it has finished"),
            NotSelected::Namespace => f.write_str("the strategy does not look at its namespace"),
            NotSelected::Labels => {
                f.write_str("the strategy does not look at pods with its labels")
            }
            NotSelected::OwnerKind => {
                f.write_str("the strategy leaves pods of such an owner alone")
            }
            NotSelected::Node(class) => node(class, f),
            NotSelected::Idle(idle) => idle.fmt(f),
            NotSelected::Late(refusal) => write!(f, "it was not asked for any more: {refusal}"),
            NotSelected::MayNotGo(refusal) => {
                write!(f, "it does not count, as it may not go: {refusal}")
            }
            NotSelected::Enough { going, waiting: 0 } => {
                write!(
                    f,
                    "a better choice brings its node below the target: {}",
                    goes(*going)
                )
            }
            NotSelected::Enough { going, waiting } => {
                write!(
                    f,
                    "a better choice brings its node below the target: {}, {waiting} to wait",
                    goes(*going)
                )
            }
            NotSelected::RelievesNothing(over) => {
                write!(
                    f,
                    "it relieves nothing: it uses no {}, of which its node has too much",
                    over.join(" and no ")
                )
            }
            NotSelected::TooLight {
                resource,
                relief,
                least,
            } => write!(
                f,
                "too light: it would relieve {relief} of what {resource} is over by, and where the target is out of reach \
                 {least} is the least"
            ),
            NotSelected::GoesWithNode => f.write_str("it does not keep its node from being empty"),
            NotSelected::RequestsNothing => {
                f.write_str("it requests no resource that has a threshold")
            }
            NotSelected::Filled => {
                f.write_str("pods of other nodes go to its node, which is not emptied therefore")
            }
            NotSelected::RoomUsedUp => {
                f.write_str("the room of all destinations together is used up")
            }
            NotSelected::OthersFirst => f.write_str("other pods go rather than it"),
            NotSelected::NoOwner => f.write_str("it has no owner of which it could be a duplicate"),
            NotSelected::NoDuplicate => {
                f.write_str("no node has two pods of its owner with the same images")
            }
            NotSelected::OneNode => f.write_str("the pods of its owner may run on one node alone"),
            NotSelected::WithinShare { here, share } => {
                write!(
                    f,
                    "{here} of its replicas {} on its node, and {share} may be",
                    are(*here)
                )
            }
            NotSelected::NoSpread => {
                f.write_str("no topology spread constraint that is kept is about it")
            }
            NotSelected::NoPlace(key) => {
                write!(f, "its node is no place by {key} for its topology spread")
            }
            NotSelected::WithinSkew {
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
            NotSelected::NoAntiAffinity => f.write_str("it has no required anti-affinity"),
            NotSelected::NoNeighbour => f.write_str("no pod that it avoids is near"),
            NotSelected::Parted => f.write_str("the pod near it that it avoids goes"),
            NotSelected::NoNodeAffinity => {
                f.write_str("it has no node affinity that the strategy keeps")
            }
            NotSelected::SuitableNode => f.write_str("its node is as its node affinity asks for"),
            NotSelected::NoTaint => f.write_str("its node has no taint that counts"),
            NotSelected::Tolerated => {
                f.write_str("it tolerates every taint of its node that counts")
            }
            NotSelected::FewRestarts { restarts, limit } => {
                write!(f, "restarted {restarts} times, {limit} are too many")
            }
            NotSelected::NotOld { age, least } => {
                write!(f, "it is {} old, not {}", whole(*age), whole(*least))
            }
            NotSelected::OtherState => {
                f.write_str("it is in none of the states that the strategy lists")
            }
            NotSelected::OtherCondition => {
                f.write_str("none of its conditions is as the strategy lists them")
            }
            NotSelected::OtherExitCode => {
                f.write_str("no container ended with a code that the strategy lists")
            }
            NotSelected::NotFailed => f.write_str("it has not failed"),
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
