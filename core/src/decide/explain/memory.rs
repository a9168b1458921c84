//! The evictions of a workload in the ledger.

use jiff::Timestamp;
use serde::Serialize;

use crate::model::ledger::{Aim, Ending, Entry, State};
use crate::model::plan::Refusal;
use crate::model::snapshot::facts::OwnerKey;
use crate::model::snapshot::{PodId, WorkloadId};

use super::{CodedMessage, Context};

/// The evictions of a workload in the ledger.
#[derive(Clone, Debug, Serialize)]
pub struct WorkloadRecord {
    /// The key in the ledger: the workload, or the pod itself if it has none.
    pub workload: OwnerKey,
    /// The evictions that still matter, the oldest first.
    pub evictions: Vec<PastEviction>,
    /// Consecutive moves that did not help, and until when the workload rests because of them.
    pub useless: Option<UselessMoves>,
    /// The number of evicted pods without a Ready replacement.
    pub away: u32,
    /// The largest number allowed; `None` if there is no limit.
    pub most_away: Option<u32>,
    /// Why the explained pod rests.
    pub rest: Option<CodedMessage>,
}

/// One eviction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PastEviction {
    /// The time of the decision.
    pub at: Timestamp,
    /// The pod.
    pub pod: String,
    /// Its node.
    pub from: String,
    /// The node of its replacement, if that is known and still exists.
    pub to: Option<String>,
    /// The aim: `move`, `renew`, `clear` or `open`.
    pub aim: &'static str,
    /// The state: `intended`, `deferred`, `evicted`, `watched`, or the code of its ending.
    pub code: &'static str,
    /// The state as a sentence.
    pub message: String,
    /// Until when the replacement rests; `None` if no pod replaces this one.
    pub rests_until: Option<Timestamp>,
}

/// Consecutive moves that did not help.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UselessMoves {
    /// The number of moves.
    pub times: u32,
    /// The end of the workload's rest, which may be past.
    pub until: Timestamp,
}

/// The evictions under this key. With a pod, also whether that pod rests.
pub(super) fn memory(
    case: &Context<'_>,
    key: &OwnerKey,
    workload: Option<WorkloadId>,
    pod: Option<PodId>,
) -> WorkloadRecord {
    let world = case.world;
    let rest = pod
        .and_then(|pod| world.ledger.rest(world.snapshot, pod, &world.policy.cooldown, world.now));
    let rest = rest.map(Refusal::from);
    let share = world.policy.limits.per_workload.zip(workload);
    WorkloadRecord {
        workload: key.clone(),
        evictions: world
            .ledger
            .entries()
            .iter()
            .filter(|e| e.workload == *key)
            .map(|e| eviction(case, e))
            .collect(),
        useless: world
            .ledger
            .ineffective_moves(key)
            .map(|(times, until)| UselessMoves { times, until }),
        away: world.ledger.away(key),
        most_away: share.map(|(share, workload)| share.of(world.snapshot.replicas(workload))),
        rest: rest.map(|why| CodedMessage::refusal(&why)),
    }
}

fn eviction(case: &Context<'_>, entry: &Entry) -> PastEviction {
    let snapshot = case.world.snapshot;
    let uid = entry.replacement.as_ref();
    let replacement = uid.and_then(|uid| snapshot.pods.iter().find(|pod| pod.uid == *uid));
    let message = match entry.state {
        State::Intended => "recorded before the eviction; the outcome is not known yet".to_owned(),
        State::Deferred => "another component evicts the pod later".to_owned(),
        State::Evicted => "evicted; waiting for a Ready replacement".to_owned(),
        State::Watched => State::WATCHED.to_owned(),
        State::Settled(ending) => ending.to_string(),
    };
    PastEviction {
        at: entry.at,
        pod: entry.pod.clone(),
        from: entry.node.clone(),
        to: match entry.state {
            State::Settled(Ending::SameNode) => Some(entry.node.clone()),
            State::Intended
            | State::Deferred
            | State::Evicted
            | State::Watched
            | State::Settled(_) => {
                replacement.and_then(|pod| pod.node).map(|node| snapshot.node(node).name.clone())
            }
        },
        aim: match entry.aim {
            Aim::Move => "move",
            Aim::Renew => "renew",
            Aim::Clear => "clear",
            Aim::Opening => "open",
        },
        code: entry.state.code(),
        message,
        rests_until: entry.rests_until(snapshot, &case.world.policy.cooldown),
    }
}
