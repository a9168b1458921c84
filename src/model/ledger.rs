//! Which workload was evicted when, how it went, and how long it rests.
//!
//! The ledger keeps the same pod from being evicted again too soon, although its replacement has another name. It
//! follows the workload, and it is written down before an eviction is made, so that a crash forgets none.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::model::snapshot::facts::OwnerKey;
use crate::model::snapshot::{NodeId, Pod, PodId, Snapshot};
use crate::policy::Cooldown;

mod settle;
mod tally;

pub use settle::Settled;

/// More entries than this are not kept, so that the ledger fits a ConfigMap (1 MiB) with room to spare.
pub const MOST_ENTRIES: usize = 1500;
const MOST_STANDINGS: usize = 1500;
/// A forecast of more nodes than this says too little to be kept.
const MOST_FORESEEN: usize = 16;
/// More bytes of node names than this are not kept of all forecasts together, for the same reason as [`MOST_ENTRIES`].
pub const MOST_FORESEEN_BYTES: usize = 128 * 1024;
/// The format of the written form.
const VERSION: u32 = 1;
/// How long an eviction whose call may have been lost in a crash is taken for made although its pod is still there.
const IN_FLIGHT: SignedDuration = SignedDuration::from_secs(60);
/// A replacement that is not Ready after this long, or the rest if that is longer, did not help.
const PATIENCE: SignedDuration = SignedDuration::from_mins(10);

/// Evictions that still matter, and workloads whose moves did not help.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    entries: Vec<Entry>,
    standings: BTreeMap<OwnerKey, Standing>,
}

/// One eviction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// What controls the pod at the top; a bare pod stands for itself.
    pub workload: OwnerKey,
    /// The evicted pod's name.
    pub pod: String,
    /// The evicted pod's identity.
    pub uid: String,
    /// Where it was.
    pub node: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Aim::is_move")]
    pub aim: Aim,
    /// When it was decided, by our clock.
    pub at: Timestamp,
    /// Creation of the workload's newest pod at that time, by the API server's clock: what is newer is a replacement.
    pub newest: Timestamp,
    /// Siblings made in the same second as the newest, where that is the second of the decision: they are no
    /// replacements. No controller makes more than some dozens in a second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub twins: Vec<String>,
    /// How far it has come.
    pub state: State,
    /// The pod taken for its replacement, by identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement: Option<String>,
    /// Every node that was foreseen for its replacement, for as long as that matters; empty where nobody asked, or where
    /// they were too many to be kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreseen: Vec<String>,
}

/// What an eviction is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Aim {
    /// A replacement on another node.
    #[default]
    Move,
    /// A replacement, wherever it is.
    Renew,
    /// No replacement, for the pod has finished: that it is gone.
    Clear,
}

impl Aim {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
    fn is_move(&self) -> bool {
        *self == Aim::Move
    }
}

/// How far an eviction has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// Written down; whether the call was made has to be seen.
    Intended,
    /// The pod went; its replacement is awaited.
    Evicted,
    /// It is known how it went.
    Settled(Ending),
}

/// How an eviction went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ending {
    /// The replacement is Ready on another node that is not hot.
    Helped,
    /// The replacement is Ready, and nothing else was asked for.
    Renewed,
    /// It came back to the node that it left.
    SameNode,
    /// It went to another hot node.
    HotNode,
    /// It was not Ready in time.
    NeverReady,
    /// Nothing replaced it: the workload shrank or is gone, or the pod had finished.
    NotReplaced,
}

impl Ending {
    /// The stable label.
    pub const fn code(self) -> &'static str {
        match self {
            Ending::Helped => "helped",
            Ending::Renewed => "renewed",
            Ending::SameNode => "same-node",
            Ending::HotNode => "hot-node",
            Ending::NeverReady => "never-ready",
            Ending::NotReplaced => "not-replaced",
        }
    }

    /// Whether the workload should rest for it.
    pub const fn useless(self) -> bool {
        matches!(
            self,
            Ending::SameNode | Ending::HotNode | Ending::NeverReady
        )
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ending::Helped => "the replacement is Ready on another node that is not hot",
            Ending::Renewed => "the replacement is Ready",
            Ending::SameNode => "the replacement came back to the same node",
            Ending::HotNode => "the replacement went to another hot node",
            Ending::NeverReady => "the replacement was not Ready in time",
            Ending::NotReplaced => "nothing replaced the pod",
        })
    }
}

/// Where a replacement came to be, against the forecast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landed {
    /// On a node that had been named for the pod, or for one that it may as well have replaced.
    AsForeseen,
    /// On another node.
    Elsewhere,
    /// Nobody had asked where it would go.
    Unknown,
}

impl Landed {
    /// The stable label.
    pub const fn code(self) -> &'static str {
        match self {
            Landed::AsForeseen => "as_foreseen",
            Landed::Elsewhere => "elsewhere",
            Landed::Unknown => "unknown",
        }
    }
}

/// A workload whose last moves did not help.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Standing {
    /// How many useless moves in a row.
    useless: u32,
    /// Until when it rests.
    until: Timestamp,
    /// When the last of them was decided: pods evicted together are one attempt.
    attempt: Timestamp,
}

/// Why a pod rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// It replaces an evicted pod, for so much longer.
    Replacement(SignedDuration),
    /// Its workload's last moves did not help.
    Useless {
        /// How many in a row.
        times: u32,
        /// For how much longer.
        left: SignedDuration,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u32,
    entries: Vec<Entry>,
    resting: BTreeMap<OwnerKey, Standing>,
}

/// Why a written ledger cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// It is not what we write.
    #[error("not a ledger: {0}")]
    Form(#[from] serde_json::Error),
    /// A later evenkeel has written it.
    #[error("found version {0}, expected version {VERSION}")]
    Version(u32),
}

impl Ledger {
    /// Reads the written form.
    pub fn parse(text: &str) -> Result<Self, LedgerError> {
        let written: Written = serde_json::from_str(text)?;
        if written.version != VERSION {
            return Err(LedgerError::Version(written.version));
        }
        Ok(Ledger {
            entries: written.entries,
            standings: written.resting,
        })
    }

    /// The written form; the same ledger gives the same text.
    pub fn write(&self) -> String {
        let written = Written {
            version: VERSION,
            entries: self.entries.clone(),
            resting: self.standings.clone(),
        };
        // A value keeps its fields by name, and each of them is text, a number or a list of such: this cannot fail.
        serde_json::json!(written).to_string()
    }

    /// The evictions that still matter, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Whether another eviction can be written down.
    pub fn is_full(&self, planned: usize) -> bool {
        self.entries.len() + planned >= MOST_ENTRIES
    }

    /// Writes down that this pod is to be evicted, and where its replacement may land. Call before the eviction is made,
    /// and save.
    pub fn intend(
        &mut self,
        snapshot: &Snapshot,
        pod: PodId,
        (aim, foreseen): (Aim, &[String]),
        now: Timestamp,
    ) {
        let it = snapshot.pod(pod);
        let siblings = it
            .workload
            .map(|w| snapshot.workload(w).pods.as_slice())
            .unwrap_or_default();
        let newest = siblings
            .iter()
            .map(|p| snapshot.pod(*p).created)
            .max()
            .unwrap_or(it.created);
        let twins = siblings
            .iter()
            .map(|p| snapshot.pod(*p))
            .filter(|p| p.created == newest && just_then(now, newest));
        self.entries.push(Entry {
            workload: key_of(snapshot, it),
            pod: it.name.clone(),
            uid: it.uid.clone(),
            node: it
                .node
                .map(|n| snapshot.node(n).name.clone())
                .unwrap_or_default(),
            aim,
            at: now,
            newest,
            twins: twins.map(|p| p.uid.clone()).collect(),
            state: State::Intended,
            replacement: None,
            foreseen: if self.has_room(foreseen) {
                foreseen.to_vec()
            } else {
                Vec::new()
            },
        });
    }

    fn has_room(&self, foreseen: &[String]) -> bool {
        let bytes = |nodes: &[String]| nodes.iter().map(String::len).sum::<usize>();
        let kept: usize = self.entries.iter().map(|e| bytes(&e.foreseen)).sum();
        foreseen.len() <= MOST_FORESEEN && kept + bytes(foreseen) <= MOST_FORESEEN_BYTES
    }

    /// The API server accepted the eviction of this pod.
    pub fn evicted(&mut self, uid: &str) {
        for entry in self
            .entries
            .iter_mut()
            .filter(|e| e.uid == uid && e.state == State::Intended)
        {
            entry.state = State::Evicted;
        }
    }

    /// The pod was certainly not evicted by us: the entry is withdrawn.
    pub fn withdraw(&mut self, uid: &str) {
        self.entries
            .retain(|e| e.uid != uid || e.state != State::Intended);
    }

    /// How many of a workload's pods are away: evicted, and the replacement not yet seen to be Ready.
    pub fn away(&self, workload: &OwnerKey) -> u32 {
        let open = |e: &&Entry| e.workload == *workload && !matches!(e.state, State::Settled(_));
        u32::try_from(self.entries.iter().filter(open).count()).unwrap_or(u32::MAX)
    }

    /// How many evictions were decided in the minute before `now`.
    pub fn in_last_minute(&self, now: Timestamp) -> u32 {
        let recent = |e: &&Entry| now.duration_since(e.at) < SignedDuration::from_mins(1);
        u32::try_from(self.entries.iter().filter(recent).count()).unwrap_or(u32::MAX)
    }

    /// Whether a pod must be left alone, and why.
    pub fn rest(
        &self,
        snapshot: &Snapshot,
        pod: PodId,
        cooldown: &Cooldown,
        now: Timestamp,
    ) -> Option<Rest> {
        let it = snapshot.pod(pod);
        let key = key_of(snapshot, it);
        if let Some(standing) = self.standings.get(&key).filter(|s| s.until > now) {
            return Some(Rest::Useless {
                times: standing.useless,
                left: standing.until.duration_since(now),
            });
        }
        let until = |e: &Entry| e.at.max(it.created).saturating_add(cooldown.rest).ok();
        let replaces = self
            .entries
            .iter()
            .filter(|e| e.workload == key && e.is_replaced_by(it));
        let until = replaces.filter_map(until).max()?;
        (until > now).then(|| Rest::Replacement(until.duration_since(now)))
    }

    fn remember(&mut self, entry: &Entry, ending: Ending, cooldown: &Cooldown, now: Timestamp) {
        if matches!(ending, Ending::Helped | Ending::Renewed) {
            self.standings.remove(&entry.workload);
        }
        let standing = self.standings.get(&entry.workload);
        if !ending.useless() || standing.is_some_and(|s| s.attempt == entry.at) {
            return;
        }
        let useless = standing.map_or(0, |s| s.useless).saturating_add(1);
        let until = now
            .saturating_add(rest_after(useless, cooldown))
            .unwrap_or(Timestamp::MAX);
        self.standings.insert(
            entry.workload.clone(),
            Standing {
                useless,
                until,
                attempt: entry.at,
            },
        );
    }

    /// Forgets what no longer matters, so that the ledger stays small.
    fn prune(&mut self, cooldown: &Cooldown, now: Timestamp) {
        let keep_for = cooldown
            .rest
            .saturating_add(cooldown.rest)
            .max(SignedDuration::from_mins(2));
        let over =
            |e: &Entry| matches!(e.state, State::Settled(_)) && now.duration_since(e.at) > keep_for;
        self.entries.retain(|e| !over(e));
        self.forget_forecasts();
        // A streak is forgotten once the workload has been free to move for as long as the longest rest.
        let forgotten = |s: &Standing| now.duration_since(s.until) > cooldown.cap;
        self.standings.retain(|_, s| !forgotten(s));
        while self.standings.len() > MOST_STANDINGS {
            let soonest = self
                .standings
                .iter()
                .min_by_key(|(_, s)| s.until)
                .map(|(key, _)| key.clone());
            if let Some(key) = soonest {
                self.standings.remove(&key);
            }
        }
    }
}

impl Entry {
    /// Whether both pods went in one cycle and may as well have been replaced by each other's replacements.
    fn is_twin_of(&self, other: &Self) -> bool {
        self.at == other.at && self.workload == other.workload
    }

    /// Whether this pod of the same workload was made after the eviction. The comparison is within the API server's own
    /// clock; only a pod made in the very second of the newest sibling needs ours.
    fn is_replaced_by(&self, pod: &Pod) -> bool {
        let same_second = || pod.created == self.newest && just_then(self.at, pod.created);
        let new = pod.created > self.newest || (same_second() && !self.twins.contains(&pod.uid));
        new && pod.uid != self.uid && self.aim != Aim::Clear
    }
}

/// Whether a pod made in this second may have been made after a decision at that time: creation is told in seconds.
fn just_then(at: Timestamp, created: Timestamp) -> bool {
    at.duration_since(created) < SignedDuration::from_secs(2)
}

/// The rest after so many useless moves in a row: doubled by each, up to the cap.
fn rest_after(useless: u32, cooldown: &Cooldown) -> SignedDuration {
    let doublings = useless.saturating_sub(1).min(30);
    cooldown
        .rest
        .checked_mul(1 << doublings)
        .unwrap_or(cooldown.cap)
        .min(cooldown.cap)
}

/// What the ledger knows a pod by: its workload, or itself where it has none.
pub fn key_of(snapshot: &Snapshot, pod: &Pod) -> OwnerKey {
    match pod.workload {
        Some(workload) => snapshot.workload(workload).key.clone(),
        None => OwnerKey {
            namespace: pod.namespace.clone(),
            kind: "Pod".to_owned(),
            name: pod.name.clone(),
        },
    }
}
