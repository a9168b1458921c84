//! What the ledger remembers of a workload.

use jiff::Timestamp;
use serde::Serialize;

use crate::model::ledger::{Aim, Ending, Entry, Rest, State};
use crate::model::plan::Refusal;
use crate::model::snapshot::facts::OwnerKey;
use crate::model::snapshot::{PodId, WorkloadId};

use super::{Case, Told};

/// What the ledger remembers of a workload.
#[derive(Clone, Debug, Serialize)]
pub struct Memory {
    /// What it is kept under: the workload, or the pod itself where it has none.
    pub workload: OwnerKey,
    /// The evictions that still matter, the oldest first.
    pub evictions: Vec<Eviction>,
    /// Moves in a row that did not help, and how long the workload rests for it.
    pub useless: Option<Useless>,
    /// How many of its pods are away: evicted, and the replacement not yet seen to be Ready.
    pub away: u32,
    /// How many may be; `None` where there is no limit.
    pub most_away: Option<u32>,
    /// Why the pod that is explained rests.
    pub rest: Option<Told>,
}

/// One eviction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Eviction {
    /// When it was decided.
    pub at: Timestamp,
    /// The pod.
    pub pod: String,
    /// Where it was.
    pub from: String,
    /// Where its replacement is, where that is known and still there.
    pub to: Option<String>,
    /// What it was for: `move`, `renew` or `clear`.
    pub aim: &'static str,
    /// How far it has come: `intended`, `evicted`, or the label of its ending.
    pub code: &'static str,
    /// The same as a sentence.
    pub message: String,
    /// Until when the replacement rests.
    pub rests_until: Option<Timestamp>,
}

/// Moves in a row that did not help.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Useless {
    /// How many.
    pub times: u32,
    /// Until when the workload rests, or rested.
    pub until: Timestamp,
}

/// What is remembered under this key. Of a pod, also whether it rests.
pub(super) fn memory(
    case: &Case<'_>,
    key: &OwnerKey,
    workload: Option<WorkloadId>,
    pod: Option<PodId>,
) -> Memory {
    let world = case.world;
    let rest = pod.and_then(|pod| {
        world
            .ledger
            .rest(world.snapshot, pod, &world.policy.cooldown, world.now)
    });
    let rest = rest.map(|rest| match rest {
        Rest::Replacement(left) => Refusal::Resting(left),
        Rest::Ineffective { times, left } => Refusal::Ineffective { times, left },
    });
    let share = world.policy.limits.per_workload.zip(workload);
    Memory {
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
            .map(|(times, until)| Useless { times, until }),
        away: world.ledger.away(key),
        most_away: share.map(|(share, workload)| share.of(world.snapshot.replicas(workload))),
        rest: rest.map(|why| Told::refusal(&why)),
    }
}

fn eviction(case: &Case<'_>, entry: &Entry) -> Eviction {
    let snapshot = case.world.snapshot;
    let uid = entry.replacement.as_ref();
    let replacement = uid.and_then(|uid| snapshot.pods.iter().find(|pod| pod.uid == *uid));
    let (code, message) = match entry.state {
        State::Intended => (
            "intended",
            "written down; whether it was made is not known yet".to_owned(),
        ),
        State::Evicted => (
            "evicted",
            "evicted; a replacement that is Ready is awaited".to_owned(),
        ),
        State::Settled(ending) => (ending.code(), ending.to_string()),
    };
    let since = replacement.map_or(entry.at, |pod| entry.at.max(pod.created));
    let rests = entry.aim != Aim::Clear;
    Eviction {
        at: entry.at,
        pod: entry.pod.clone(),
        from: entry.node.clone(),
        to: match entry.state {
            State::Settled(Ending::SameNode) => Some(entry.node.clone()),
            State::Intended | State::Evicted | State::Settled(_) => replacement
                .and_then(|pod| pod.node)
                .map(|node| snapshot.node(node).name.clone()),
        },
        aim: match entry.aim {
            Aim::Move => "move",
            Aim::Renew => "renew",
            Aim::Clear => "clear",
        },
        code,
        message,
        rests_until: rests
            .then(|| since.saturating_add(case.world.policy.cooldown.rest).ok())
            .flatten(),
    }
}
