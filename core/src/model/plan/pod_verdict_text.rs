//! Parts of the sentences about a pod.

use std::fmt;

use jiff::SignedDuration;

use crate::model::ledger::Aim;
use crate::values::text::{self, agree};

use super::{Class, PodVerdict, expected_effect};

/// The pods that go instead of it.
pub(super) fn others(going: usize, waiting: usize) -> String {
    let moves = agree(going, "moves", "move");
    let waits = agree(waiting, "waits", "wait");
    match (going, waiting) {
        (_, 0) => format!("{going} {moves}"),
        (0, _) => format!("{waiting} {waits}"),
        _ => format!("{going} {moves}, {waiting} {waits}"),
    }
}

/// The class of its node, because of which it stays.
pub(super) fn node(class: &Class) -> String {
    match class {
        Class::Warming { .. } => format!("its node is not hot for long enough: {class}"),
        Class::Cold | Class::ColdClosed(_) => {
            "its node is at or below every threshold and needs no relief".to_owned()
        }
        Class::Even => "its node is between thresholds and targets and needs no relief".to_owned(),
        Class::Underused => "its node is at or below every threshold".to_owned(),
        Class::InUse | Class::InUseClosed(_) | Class::Leaving => {
            "its node is above a threshold, so it is not emptied".to_owned()
        }
        Class::Hot { .. }
        | Class::Unknown(_)
        | Class::Unreadable(_)
        | Class::NotReady
        | Class::Deleting
        | Class::NoAllocatable(_)
        | Class::Lacks(_)
        | Class::NotSelected => format!("its node is {class}"),
    }
}

/// Why a pod is not old enough.
pub(super) fn too_young(age: Option<SignedDuration>, least: SignedDuration) -> String {
    match age {
        Some(age) => format!("it is {} old, younger than {}", text::age(age), text::age(least)),
        None => "its age is unknown, because it has no creationTimestamp".to_owned(),
    }
}

impl fmt::Display for PodVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PodVerdict::Moved { reason, to, aim, saves, worth } => {
                let moved = moved(*aim, to.as_deref());
                write!(f, "{moved}: {reason}{}", expected_effect(*saves, *worth))
            }
            PodVerdict::Proposed { reason, to } => {
                let to = to.as_ref().map_or(String::new(), |to| format!(" (→ {to})"));
                write!(f, "waits for an approval{to}: {reason}")
            }
            PodVerdict::Kept(refusal) => refusal.fmt(f),
            PodVerdict::NotSelected(why) => why.fmt(f),
        }
    }
}

/// The move of a pod: what happens to it, and where its replacement is expected.
fn moved(aim: Aim, to: Option<&str>) -> String {
    let (verb, preposition) = match aim {
        Aim::Move | Aim::Opening => ("moves", "to"),
        Aim::Renew => ("is renewed", "on"),
        Aim::Clear => ("is removed", "on"),
    };
    to.map_or(verb.to_owned(), |to| format!("{verb} {preposition} {to}"))
}

/// The change that would let a strategy select pods of such a node.
pub(super) fn node_remedy(class: &Class) -> String {
    let stays = matches!(class, Class::InUse | Class::InUseClosed(_));
    let otherwise = if stays {
        "nothing: its node stays, unless you raise its `thresholds`"
    } else {
        "nothing: its node needs no relief, unless you lower its `targetThresholds`"
    };
    // The remedy for a closed node lets it take pods. Its own pods would still stay.
    let is_cold = matches!(class, Class::ColdClosed(_));
    class.remedy().filter(|_| !is_cold && !stays).unwrap_or_else(|| otherwise.to_owned())
}
