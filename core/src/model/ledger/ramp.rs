//! The ramp: the first eviction of a workload is a trial, and the next one waits for its result.
//!
//! A workload is proven by an eviction that ended well, as long as the ledger has it and no later
//! one was useless. The first eviction of any other workload is a trial. It ends like any other
//! eviction, except that a good ending counts only once the replacement has been Ready for a while
//! and the workload is as well as before.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::model::snapshot::facts::{OwnerKey, PodPhase};
use crate::model::snapshot::{NodeId, Pod, PodId, Snapshot};
use crate::policy::Cooldown;

use super::{Aim, Ending, Entry, Ledger, State, find_pod, key_of, patience, pods_of};

/// How trials are judged.
#[derive(Clone, Copy)]
pub struct RampRule<'r> {
    /// How long the replacement has to be Ready.
    pub watch: SignedDuration,
    /// Returns how the guards judge a workload.
    pub guards: &'r dyn Fn(&OwnerKey) -> GuardSignal,
}

/// Judgement of the guards about a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardSignal {
    /// None of them stops its evictions.
    Quiet,
    /// One of them has no answer.
    Unknown,
    /// One of them has a value above its limit, or had one a short while ago.
    Stops,
}

/// How a workload got worse by a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum Decline {
    #[error("the replacement has restarted more often than most of its siblings")]
    Restarts,
    #[error("fewer of its pods are Ready than before")]
    Readiness,
    #[error("a guard stops its evictions")]
    Guard,
}

/// Progress of an eviction that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryProgress {
    /// The replacement is awaited.
    Open,
    /// The replacement is Ready, and the trial goes on.
    Watched,
    /// It has ended, with the replacement on this node.
    Ended(Ending, Option<NodeId>),
}

impl Ledger {
    /// Makes the eviction of this pod, which was just recorded, a trial if its workload is not
    /// proven.
    pub fn try_out(&mut self, snapshot: &Snapshot, pod: PodId) {
        let (uid, workload) = {
            let pod = snapshot.pod(pod);
            (pod.uid.clone(), key_of(snapshot, pod))
        };
        if self.is_proven(&workload) {
            return;
        }
        let ready = ready_pods(snapshot, &workload);
        if let Some(entry) = self.intended(&uid).filter(|e| e.aim != Aim::Clear) {
            entry.trial = Some(ready);
        }
    }

    /// Returns true if an eviction of the workload has ended well, and no later one was useless.
    pub fn is_proven(&self, workload: &OwnerKey) -> bool {
        let well = |e: &Entry| matches!(e.state, State::Settled(ending) if ending.is_good());
        !self.streaks.contains_key(workload)
            && self.entries.iter().any(|e| e.workload == *workload && well(e))
    }

    /// Returns how long it may take until the results of all evictions of the workload are known,
    /// with replacements that have to be Ready for `watch`. `None` if they are.
    pub fn result_within(
        &self,
        workload: &OwnerKey,
        watch: SignedDuration,
        cooldown: &Cooldown,
    ) -> Option<SignedDuration> {
        // It is not known when a replacement is Ready.
        let within =
            |e: &Entry| if e.state == State::Watched { watch } else { longest(watch, cooldown) };
        self.replacing().filter(|e| e.workload == *workload).map(within).max()
    }
}

impl Entry {
    /// Judges a trial whose ending without a ramp would be this one. Any other eviction has just
    /// that ending.
    pub(super) fn progress(
        &self,
        snapshot: &Snapshot,
        plain: Option<(Ending, Option<NodeId>)>,
        ramp: Option<&RampRule<'_>>,
        cooldown: &Cooldown,
        now: Timestamp,
    ) -> EntryProgress {
        let ended =
            plain.map_or(EntryProgress::Open, |(ending, to)| EntryProgress::Ended(ending, to));
        let is_known = plain.is_some_and(|(ending, _)| !ending.is_good());
        let is_open = self.state.lacks_ending() && !is_known;
        let (Some(before), Some(ramp), true) = (self.trial, ramp, is_open) else {
            return ended;
        };
        let uid = self.replacement.as_ref();
        let Some(pod) = uid.and_then(|uid| find_pod(snapshot, &self.workload, uid)) else {
            return ended;
        };
        let (pod, guards) = (snapshot.pod(pod), (ramp.guards)(&self.workload));
        let worse = |decline| EntryProgress::Ended(Ending::GotWorse(decline), pod.node);
        if self.restarts_more(pod, snapshot) {
            return worse(Decline::Restarts);
        }
        if guards == GuardSignal::Stops {
            return worse(Decline::Guard);
        }
        if plain.is_none() {
            return EntryProgress::Open;
        }
        // It is Ready no longer, and no sibling waits for it.
        if pod.phase == PodPhase::Succeeded {
            return ended;
        }
        let is_ready_for = |since: Timestamp| now.duration_since(since.max(pod.created));
        if pod.ready_since().map_or(SignedDuration::ZERO, is_ready_for) < ramp.watch {
            return if self.waited(Some(pod), now) > longest(ramp.watch, cooldown) {
                EntryProgress::Ended(Ending::NeverReady, pod.node)
            } else {
                EntryProgress::Watched
            };
        }
        // Fewer are no decline if the workload was scaled down meanwhile.
        let wanted = pod.workload.map_or(0, |workload| snapshot.wanted(workload));
        if ready_pods(snapshot, &self.workload) < before.min(wanted) {
            return worse(Decline::Readiness);
        }
        // The guard itself stops the next eviction as long as it has no answer.
        if guards == GuardSignal::Unknown {
            return EntryProgress::Watched;
        }
        ended
    }

    /// Records whether the replacement of a trial is Ready and watched.
    pub(super) fn watch(&mut self, is_watched: bool) {
        if self.state.lacks_ending() {
            self.state = if is_watched { State::Watched } else { State::Evicted };
        }
    }

    /// Whether the replacement has restarted more often than most of the Ready pods that the
    /// workload had before. One old sibling with few or many restarts must not decide.
    fn restarts_more(&self, replacement: &Pod, snapshot: &Snapshot) -> bool {
        let siblings = pods_of(snapshot, &self.workload).map(|id| snapshot.pod(id));
        let siblings = siblings.filter(|pod| pod.serves() && !self.is_replaced_by(pod));
        let (mut all, mut fewer) = (0, 0);
        for sibling in siblings {
            all += 1;
            fewer += usize::from(restarts(sibling) < restarts(replacement));
        }
        fewer * 2 > all
    }
}

/// The time after which a trial ends even if its replacement has not been Ready for long enough.
fn longest(watch: SignedDuration, cooldown: &Cooldown) -> SignedDuration {
    patience(cooldown).saturating_add(watch)
}

fn restarts(pod: &Pod) -> u64 {
    let counts = pod.containers.iter().map(|c| u64::from(c.restarts));
    counts.sum()
}

fn ready_pods(snapshot: &Snapshot, workload: &OwnerKey) -> u32 {
    let ready = pods_of(snapshot, workload).filter(|id| snapshot.pod(*id).serves());
    u32::try_from(ready.count()).unwrap_or(u32::MAX)
}
