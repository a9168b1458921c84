//! The ledger: past evictions of each workload, their outcomes, and how long the workload rests.
//!
//! The ledger prevents evicting a replacement too soon although it has a new name, because it
//! tracks workloads. It is saved before an eviction is requested, so a crash loses none.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::model::snapshot::facts::OwnerKey;
use crate::model::snapshot::{Pod, PodId, Snapshot};
use crate::policy::Cooldown;

mod capacity;
mod counts;
mod entry;
mod merge;
mod ramp;
mod records;
mod rejections;
mod rests;
mod settle;
mod starts;
mod stored;

pub use capacity::{FULL_BYTES, LedgerSize, MOST_FORESEEN_BYTES};
pub use counts::Resting;
pub use entry::{Aim, Ending, Entry, Landed, ReliefLimit, State};
pub use ramp::{Decline, GuardSignal, RampRule};
pub use records::MOST_RECORD_BYTES;
pub use rejections::Fault;
pub use settle::{NodeLoads, Settled};
pub use starts::StartTimes;
pub use stored::LedgerError;

use capacity::MOST_TWINS;
use entry::may_be_newer;
use records::Records;
use rejections::Rejections;
use rests::ReplacementRests;

const MOST_STREAKS: usize = 1500;
/// Time for which an eviction counts as requested although its pod still runs: a crash may have
/// lost the response.
const IN_FLIGHT: SignedDuration = SignedDuration::from_secs(60);
/// Time after which an eviction that another component promised counts as given up. A virtual
/// machine of 12 GiB may take that long to migrate, by KubeVirt's limit of 150 s per GiB.
const DEFERRED: SignedDuration = SignedDuration::from_mins(30);
/// Time for which every entry stays, because the limit per minute counts entries.
const LIMIT_PERIOD: SignedDuration = SignedDuration::from_mins(2);
/// The least time for a replacement to become Ready.
const PATIENCE: SignedDuration = SignedDuration::from_mins(10);

/// Returns the time after which a replacement that is not Ready did not help.
fn patience(cooldown: &Cooldown) -> SignedDuration {
    cooldown.rest.max(PATIENCE)
}

/// Evictions that still matter, and streaks of moves that did not help.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    entries: Vec<Entry>,
    /// Rests of replacements whose evictions took too much room.
    rests: ReplacementRests,
    /// Pods that rest because their evictions were rejected.
    rejections: Rejections,
    streaks: BTreeMap<OwnerKey, Streak>,
    /// Facts that are not known to be in the record.
    records: Records,
    /// How long replacements take until they are Ready.
    starts: StartTimes,
}

/// Consecutive moves of one workload that did not help.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Streak {
    /// The number of moves.
    #[serde(rename = "useless")]
    moves: u32,
    /// The end of the rest.
    until: Timestamp,
    /// The time of the last decision. Pods evicted together count as one attempt.
    attempt: Timestamp,
    /// The number of these moves that do not make the rest longer, because the forecast had named
    /// the bad landing as possible.
    #[serde(default, rename = "foreseen", skip_serializing_if = "is_zero")]
    as_forecast: u32,
    /// How the workload got worse by the last move; `None` if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decline: Option<Decline>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The number of bad landings in a row that do not make the rest longer although the forecast named
/// them. More of them mean that the probabilities are wrong.
const MOST_UNLUCKY: u32 = 3;

/// The rest of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    /// The reason.
    pub cause: RestCause,
    /// The remaining time.
    pub left: SignedDuration,
}

/// The reason why a pod rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestCause {
    /// The pod replaced an evicted pod.
    Replacement,
    /// This many consecutive moves of its workload did not help.
    Ineffective(u32),
    /// Its workload got worse by the last move, in this way.
    GotWorse(Decline),
    /// The API server rejected this many evictions of the pod in a row.
    Rejected(u32),
    /// The right to evict pods of its namespace is missing, until the next attempt.
    NoRight,
}

impl RestCause {
    fn until(self, until: Timestamp, now: Timestamp) -> Rest {
        let left = until.duration_since(now);
        Rest { cause: self, left }
    }
}

impl Ledger {
    /// Returns the evictions that still matter, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Records that this pod is about to be evicted, and where its replacement may land. Save the
    /// ledger before the eviction request.
    pub fn intend(
        &mut self,
        snapshot: &Snapshot,
        pod: PodId,
        aim: Aim,
        possible_nodes: &[String],
        now: Timestamp,
    ) {
        let pod = snapshot.pod(pod);
        let siblings =
            pod.workload.map(|w| snapshot.workload(w).pods.as_slice()).unwrap_or_default();
        // Replacements are recognised by a later creation time. Both times come from the API
        // server, whose clock may differ from ours.
        let newest = siblings.iter().map(|p| snapshot.pod(*p).created).max().unwrap_or(pod.created);
        let twins: Vec<String> = siblings
            .iter()
            .map(|p| snapshot.pod(*p))
            // Creation times have whole seconds, so a replacement may have the same one. The uids
            // of older siblings tell them apart.
            .filter(|p| p.created == newest && may_be_newer(now, newest))
            .map(|p| p.uid.clone())
            .take(MOST_TWINS + 1)
            .collect();
        // Without the uids, no pod of that second is a replacement. A large workload was scaled
        // then.
        let (newest, twins) = if self.has_room_for_twins(&twins) {
            (newest, twins)
        } else {
            let next = newest.saturating_add(SignedDuration::from_secs(1));
            (next.unwrap_or(newest), Vec::new())
        };
        self.entries.push(Entry {
            workload: key_of(snapshot, pod),
            pod: pod.name.clone(),
            uid: pod.uid.clone(),
            node: pod.node.map(|n| snapshot.node(n).name.clone()).unwrap_or_default(),
            aim,
            at: now,
            newest,
            twins,
            again: self.moved_before(&pod.uid, aim),
            relief: None,
            trial: None,
            state: State::Intended,
            replacement: None,
            possible_nodes: if self.has_room_for_forecast(possible_nodes) {
                possible_nodes.to_vec()
            } else {
                Vec::new()
            },
        });
    }

    /// Returns how often a pod that is moved now was moved before.
    fn moved_before(&self, uid: &str, aim: Aim) -> u32 {
        let moves = |aim: Aim| matches!(aim, Aim::Move | Aim::Opening);
        let mut earlier = self.entries.iter().rev().filter(|e| moves(aim) && moves(e.aim));
        let earlier = earlier.find(|e| e.replacement.as_deref() == Some(uid));
        earlier.map_or(0, |e| e.again.saturating_add(1))
    }

    /// Records that the eviction of this pod, which was just recorded, is to relieve its node.
    pub fn expect_relief(&mut self, uid: &str, relief: ReliefLimit) {
        if let Some(entry) = self.intended(uid) {
            entry.relief = Some(relief);
        }
    }

    /// The entry of this pod, whose eviction was just recorded.
    fn intended(&mut self, uid: &str) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|e| e.uid == uid && e.state == State::Intended)
    }

    /// Returns the nodes of which it is watched whether moves have relieved them, each with the
    /// resource.
    pub fn watched_nodes(&self) -> impl Iterator<Item = (&str, &str)> {
        let watched = self.entries.iter().filter(|e| e.is_node_watched());
        watched.filter_map(|e| Some((e.node.as_str(), e.relief.as_ref()?.resource.as_str())))
    }

    /// Records what became of the intended eviction of this pod.
    pub fn requested(&mut self, uid: &str, state: State) {
        let intended = |e: &&mut Entry| e.uid == uid && e.state == State::Intended;
        self.entries.iter_mut().filter(intended).for_each(|entry| entry.state = state);
    }

    /// Returns the evictions that another component carries out later.
    pub fn deferrals(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|e| e.state == State::Deferred)
    }

    /// Returns true if this pod must not be asked for again: its eviction is under way, or it was
    /// evicted lately although it still seems to run.
    pub fn is_under_way(&self, uid: &str, cooldown: &Cooldown, now: Timestamp) -> bool {
        self.entries.iter().any(|e| {
            e.uid == uid && (!e.state.is_settled() || now.duration_since(e.at) < cooldown.rest)
        })
    }

    /// Removes the entry of a pod that was certainly not evicted.
    pub fn withdraw(&mut self, uid: &str) {
        self.entries.retain(|e| e.uid != uid || e.state != State::Intended);
    }

    /// Returns the evictions whose replacements are not known to be Ready.
    pub fn unreplaced(&self) -> impl Iterator<Item = &Entry> {
        self.replacing().filter(|e| e.state != State::Watched)
    }

    /// Returns the number of evicted pods of a workload that nothing replaces yet.
    pub fn away(&self, workload: &OwnerKey) -> u32 {
        let away = self.unreplaced().filter(|e| e.workload == *workload);
        u32::try_from(away.count()).unwrap_or(u32::MAX)
    }

    /// Returns the number of evictions decided in the minute before `now`.
    pub fn in_last_minute(&self, now: Timestamp) -> u32 {
        let recent = |e: &&Entry| now.duration_since(e.at) < SignedDuration::from_mins(1);
        u32::try_from(self.entries.iter().filter(recent).count()).unwrap_or(u32::MAX)
    }

    /// Returns the reason why a pod rests; `None` if it may move.
    pub fn rest(
        &self,
        snapshot: &Snapshot,
        pod: PodId,
        cooldown: &Cooldown,
        now: Timestamp,
    ) -> Option<Rest> {
        let pod = snapshot.pod(pod);
        let key = key_of(snapshot, pod);
        // First, because it also holds for a pod that nothing replaces.
        if let Some(rest) = self.rejection_rest(&key, &pod.uid, now) {
            return Some(rest);
        }
        if pod.finished() {
            return None;
        }
        let replaces = self.entries.iter().filter(|e| e.workload == key && e.is_replaced_by(pod));
        let short = self.rests.is_replacement(&key, pod.created);
        let short =
            short.then(|| pod.created.saturating_add(cooldown.rest).unwrap_or(Timestamp::MAX));
        let until = replaces.map(|e| e.rest_end(pod, cooldown)).chain(short).max();
        let of_pod = until.map(|until| RestCause::Replacement.until(until, now));
        let of_workload = self.streaks.get(&key).map(|streak| {
            let useless = RestCause::Ineffective(streak.moves);
            streak.decline.map_or(useless, RestCause::GotWorse).until(streak.until, now)
        });
        // A pod that was moved several times may rest longer than its workload. Of equal rests
        // that of the workload counts.
        let rests = of_pod.into_iter().chain(of_workload);
        rests.max_by_key(|rest| rest.left).filter(|rest| rest.left.is_positive())
    }

    fn remember(
        &mut self,
        entry: &Entry,
        ending: Ending,
        unlucky: bool,
        cooldown: &Cooldown,
        now: Timestamp,
    ) {
        if ending.is_good() {
            self.streaks.remove(&entry.workload);
        }
        let streak = self.streaks.get(&entry.workload);
        // Pods of one cycle are one attempt. Otherwise a cycle with five moves would rest the
        // workload 16 times longer.
        if !ending.is_ineffective() || streak.is_some_and(|s| s.attempt == entry.at) {
            return;
        }
        let moves = streak.map_or(0, |s| s.moves).saturating_add(1);
        let as_forecast = streak.map_or(0, |s| s.as_forecast);
        let as_forecast = as_forecast.saturating_add(u32::from(unlucky)).min(MOST_UNLUCKY);
        let until = now
            .saturating_add(rest_after(moves.saturating_sub(as_forecast), cooldown))
            .unwrap_or(Timestamp::MAX);
        self.streaks.insert(
            entry.workload.clone(),
            Streak { moves, until, attempt: entry.at, as_forecast, decline: ending.decline() },
        );
    }

    /// Removes what no longer matters, so that the ledger stays small, and returns the entries that
    /// gave way.
    fn prune(&mut self, snapshot: &Snapshot, cooldown: &Cooldown, now: Timestamp) -> Vec<Entry> {
        self.forget_forecasts();
        self.rests.prune(now);
        self.rejections.prune(snapshot, cooldown, now);
        let reduced = self.reduce(snapshot, cooldown, now);
        // A streak ends once the workload has been free to move for as long as the longest rest.
        let ended = |s: &Streak| now.duration_since(s.until) > cooldown.cap;
        self.streaks.retain(|_, s| !ended(s));
        // The streak that ends first protects its workload for the shortest time.
        while self.streaks.len() > MOST_STREAKS {
            let soonest = self.streaks.iter().min_by_key(|(_, s)| s.until);
            if let Some(key) = soonest.map(|(key, _)| key.clone()) {
                self.streaks.remove(&key);
            }
        }
        reduced
    }
}

/// Returns the rest after this many consecutive ineffective moves: each but the first doubles it,
/// up to the cap.
fn rest_after(moves: u32, cooldown: &Cooldown) -> SignedDuration {
    // At most 30, because a shift by 31 or more would overflow. The cap is reached long before.
    let doublings = moves.saturating_sub(1).min(30);
    cooldown.rest.checked_mul(1 << doublings).unwrap_or(cooldown.cap).min(cooldown.cap)
}

/// Returns the key of a pod in the ledger: its workload, or the pod itself if it has none.
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

/// Returns the pods of a workload; none if it does not exist.
fn pods_of<'s>(
    snapshot: &'s Snapshot,
    workload: &OwnerKey,
) -> impl Iterator<Item = PodId> + use<'s> {
    let id = snapshot.find_workload(workload);
    id.map(|w| snapshot.workload(w).pods.as_slice()).unwrap_or_default().iter().copied()
}

fn find_pod(snapshot: &Snapshot, workload: &OwnerKey, uid: &str) -> Option<PodId> {
    pods_of(snapshot, workload).find(|id| snapshot.pod(*id).uid == uid)
}
