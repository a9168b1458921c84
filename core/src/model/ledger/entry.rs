//! Entries of the ledger: one for each eviction, with its state and outcome.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::model::snapshot::facts::OwnerKey;
use crate::model::snapshot::{Pod, Snapshot};
use crate::values::Ratio;

use super::{Decline, LIMIT_PERIOD, find_pod, patience, rest_after};
use crate::policy::Cooldown;

/// One eviction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The top-level controller of the pod, or the pod itself if it has none.
    pub workload: OwnerKey,
    /// The name of the evicted pod.
    pub pod: String,
    /// The uid of the evicted pod.
    pub uid: String,
    /// The node of the evicted pod.
    pub node: String,
    /// The purpose of the eviction.
    #[serde(default, skip_serializing_if = "Aim::is_move")]
    pub aim: Aim,
    /// The time of the decision, by the local clock.
    pub at: Timestamp,
    /// Creation time of the workload's newest pod at the decision, by the API server's clock. Newer
    /// pods are replacements.
    pub newest: Timestamp,
    /// Uids of siblings created in the same second as the newest pod, if the decision was in that
    /// second too. They are not replacements. No controller creates more than a few dozen pods per
    /// second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub twins: Vec<String>,
    /// How often the pod had been moved before, each time while the entry of the time before was
    /// still kept.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub again: u32,
    /// How full the node of the pod may be afterwards, if the eviction is to relieve it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relief: Option<ReliefLimit>,
    /// The Ready pods of the workload before the eviction, if the eviction is a trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<u32>,
    /// The state of the eviction.
    pub state: State,
    /// The uid of the pod that is taken for the replacement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement: Option<String>,
    /// The nodes that the forecast named for the replacement, as long as they matter. Empty without
    /// a forecast, or if it named too many nodes to store.
    #[serde(default, rename = "foreseen", skip_serializing_if = "Vec::is_empty")]
    pub possible_nodes: Vec<String>,
}

/// How full a node may be for half an hour after a move that is to relieve it: up to its target, or
/// else so full that at least half of what has left with the pod is missing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ReliefLimit {
    /// `cpu` or `memory`, which was above its target.
    pub resource: String,
    /// The ratio up to which the node is relieved.
    pub at_most: Ratio,
    /// The end of the half hour; `None` before the replacement is Ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl ReliefLimit {
    /// A limit of this ratio, rounded as it is stored, so that a ledger equals what is read back.
    pub fn new(resource: &str, at_most: Ratio) -> Self {
        let stored = Ratio::new((at_most.get() * 10_000.0).round() / 10_000.0);
        ReliefLimit {
            resource: resource.to_owned(),
            at_most: stored.unwrap_or(at_most),
            until: None,
        }
    }
}

/// The purpose of an eviction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Aim {
    /// Get a replacement on another node.
    #[default]
    Move,
    /// Get a replacement on any node.
    Renew,
    /// Delete a finished pod, which nothing replaces.
    Clear,
    /// Get a replacement on another node, even a hot one, so that a pod of a hot node can move.
    #[serde(rename = "open")]
    Opening,
}

impl Aim {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
    fn is_move(&self) -> bool {
        *self == Aim::Move
    }
}

/// The state of an eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// Recorded; the request may or may not have been sent.
    Intended,
    /// Another component has promised to evict the pod later.
    Deferred,
    /// Evicted; the replacement is not settled yet.
    Evicted,
    /// Evicted as a trial; the replacement is Ready, and the result is not known yet.
    Watched,
    /// Finished with this outcome.
    Settled(Ending),
}

/// The outcome of an eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum Ending {
    /// An eviction ends in this way once, and half an hour later in another one.
    #[error(
        "the replacement is Ready on another node that is not hot; half an hour will show whether \
         the node that the pod left stays relieved"
    )]
    Landed,
    #[error(
        "the replacement is Ready on another node that is not hot, and the node that the pod left \
         is no longer as full"
    )]
    Helped,
    #[error("within half an hour the node that the pod left was as full as before")]
    NoRelief,
    /// The replacement is Ready, which was the only purpose, or all that could be known in time. Or
    /// it has succeeded, so that it uses its node no longer.
    #[error("the replacement is Ready, or has done its work")]
    Renewed,
    #[error("the replacement returned to the same node")]
    SameNode,
    #[error("the replacement landed on another hot node")]
    HotNode,
    #[error("the replacement was not Ready in time")]
    NeverReady,
    #[error("the workload got worse: {0}")]
    GotWorse(Decline),
    /// Nothing replaced the pod: the workload was scaled down or deleted, or the pod had finished.
    #[error("nothing replaced the pod")]
    NotReplaced,
}

crate::codes! {
    Ending::code {
        Landed = "landed",
        Helped = "helped",
        NoRelief = "no-relief",
        Renewed = "renewed",
        SameNode = "same-node",
        HotNode = "hot-node",
        NeverReady = "never-ready",
        GotWorse = "got-worse",
        NotReplaced = "not-replaced",
    }
}

impl Ending {
    /// Returns true if the workload should rest. After a move without relief it need not: where
    /// usage rises, its other pods are those that have to go next.
    pub const fn is_ineffective(self) -> bool {
        matches!(
            self,
            Ending::SameNode | Ending::HotNode | Ending::NeverReady | Ending::GotWorse(_)
        )
    }

    /// Returns true if the workload is as well as before, with its replacement where it should be.
    pub const fn is_good(self) -> bool {
        matches!(self, Ending::Landed | Ending::NoRelief) || self.has_helped()
    }

    /// Returns true if the eviction did what it was for.
    pub const fn has_helped(self) -> bool {
        matches!(self, Ending::Helped | Ending::Renewed)
    }

    /// Returns how the workload got worse; `None` if it did not.
    #[expect(clippy::wildcard_enum_match_arm, reason = "one ending has a decline")]
    pub const fn decline(self) -> Option<Decline> {
        match self {
            Ending::GotWorse(decline) => Some(decline),
            _ => None,
        }
    }
}

/// The node of a replacement, compared with the forecast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landed {
    /// A node that the forecast named for the pod, or for another pod that it may have replaced.
    AsForeseen,
    /// Another node.
    Elsewhere,
    /// There was no forecast.
    Unknown,
}

crate::codes! {
    Landed::code {
        AsForeseen = "as_foreseen",
        Elsewhere = "elsewhere",
        Unknown = "unknown",
    }
}

impl Entry {
    /// Returns when the rest of the replacement ends; `None` if no pod replaces the evicted one.
    pub fn rests_until(&self, snapshot: &Snapshot, cooldown: &Cooldown) -> Option<Timestamp> {
        let pod = find_pod(snapshot, &self.workload, self.replacement.as_ref()?)?;
        Some(self.rest_end(snapshot.pod(pod), cooldown))
    }

    /// Returns when the rest of a newer pod of the workload ends. The replacement rests twice as
    /// long each time that the pod is moved again. Otherwise strategies that undo each other, or a
    /// load that comes and goes, would move it back and forth for ever.
    pub(super) fn rest_end(&self, pod: &Pod, cooldown: &Cooldown) -> Timestamp {
        let is_it = self.replacement.as_ref() == Some(&pod.uid);
        let rest = if is_it { self.rest_of_replacement(cooldown) } else { cooldown.rest };
        // From the later of both times: a replacement may be created long after the eviction.
        self.at.max(pod.created).saturating_add(rest).unwrap_or(Timestamp::MAX)
    }

    /// Returns how long a replacement has been awaited. It may be created long after the eviction,
    /// where a controller waits for the end of the evicted pod.
    pub(super) fn waited(&self, replacement: Option<&Pod>, now: Timestamp) -> SignedDuration {
        let since = replacement.map_or(self.at, |pod| self.at.max(pod.created));
        now.duration_since(since)
    }

    fn rest_of_replacement(&self, cooldown: &Cooldown) -> SignedDuration {
        rest_after(self.again.saturating_add(1), cooldown)
    }

    /// Returns true if both pods were evicted in one cycle, so that each replacement may belong to
    /// either.
    pub(super) fn is_twin_of(&self, other: &Self) -> bool {
        self.at == other.at && self.workload == other.workload
    }

    /// Returns true if a settled eviction no longer affects any decision: it is older than the
    /// longest time until a replacement is there, and its rest. That of a pod that was moved again
    /// stays for the longest rest, so that the next move counts as one more.
    pub(super) fn is_expired(
        &self,
        snapshot: &Snapshot,
        cooldown: &Cooldown,
        now: Timestamp,
    ) -> bool {
        let patience = patience(cooldown);
        let more = if self.again > 0 { cooldown.cap.max(patience) } else { patience };
        let longest = self.rest_of_replacement(cooldown).saturating_add(more);
        // Nothing replaces a finished pod, so nothing rests once it is gone.
        let clears = self.aim == Aim::Clear && self.evicted_pod(snapshot).is_none();
        let keep_for = if clears { LIMIT_PERIOD } else { longest };
        // A replacement may be created later.
        let rests = || self.rests_until(snapshot, cooldown).is_some_and(|end| end > now);
        let is_over = self.state.is_settled() && !self.is_node_watched();
        is_over && now.duration_since(self.at) > keep_for && !rests()
    }

    /// Returns true while it is watched whether the move has relieved its node.
    pub(super) fn is_node_watched(&self) -> bool {
        self.state == State::Settled(Ending::Landed)
    }

    /// Returns true if this pod of the same workload was created after the eviction.
    ///
    /// The comparison uses only the API server's clock. The local clock matters only for a pod
    /// created in the same second as the newest sibling.
    pub(super) fn is_replaced_by(&self, pod: &Pod) -> bool {
        let same_second = || pod.created == self.newest && may_be_newer(self.at, pod.created);
        let new = pod.created > self.newest || (same_second() && !self.twins.contains(&pod.uid));
        new && pod.uid != self.uid && self.aim != Aim::Clear
    }
}

impl State {
    /// The sentence about a trial whose replacement is Ready.
    pub const WATCHED: &str = "a trial: the replacement is Ready and is watched";

    /// Returns the stable code.
    pub const fn code(self) -> &'static str {
        match self {
            State::Intended => "intended",
            State::Deferred => "deferred",
            State::Evicted => "evicted",
            State::Watched => "watched",
            State::Settled(ending) => ending.code(),
        }
    }

    /// Returns true if the outcome is known. Until then the eviction is open.
    pub const fn is_settled(self) -> bool {
        matches!(self, State::Settled(_))
    }

    /// Returns true if the pod is evicted and how that ended is not known.
    pub(super) const fn lacks_ending(self) -> bool {
        matches!(self, State::Evicted | State::Watched)
    }
}

/// Returns true if a pod created in this second may be newer than a decision at that time.
/// Kubernetes rounds creation times to seconds.
pub(super) fn may_be_newer(at: Timestamp, created: Timestamp) -> bool {
    at.duration_since(created) < SignedDuration::from_secs(2)
}
