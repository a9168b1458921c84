//! Pods whose evictions were rejected. They rest, so that others are tried instead.
//!
//! A useless move rests the whole workload. A rejection rests one pod, because a webhook or a
//! failure may concern only that pod. The others of its workload are tried one at a time, until one
//! of them is evicted.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::model::snapshot::Snapshot;
use crate::model::snapshot::facts::OwnerKey;
use crate::policy::Cooldown;

use super::capacity::key_bytes;
use super::merge::newest;
use super::{Ledger, Rest, RestCause, rest_after};

/// The most pods that are remembered. At the usual length of names they take an eighth of a ledger.
const MOST_REJECTIONS: usize = 400;
/// Field names, times and counts of a record.
const PLAIN_REJECTION: usize = 160;

/// The consequence of a rejected eviction for the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Fault {
    /// A webhook refuses the pod, or its eviction fails.
    Pod,
    /// The facts about the pod may have been too old, such as a budget that another client has used
    /// up. That happens now and then, so the pod rests from the second time in a row on.
    OldFacts,
    /// The right to evict pods of its namespace is missing. The pause does not grow, because a
    /// person who grants the right waits for its effect.
    NoRight,
    /// The evictions of other workloads failed in the same way, so the pause does not grow.
    Server,
}

/// A pod whose last eviction was rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rejection {
    fault: Fault,
    /// Rejections in a row.
    times: u32,
    /// The time of the last one.
    at: Timestamp,
    /// The end of the rest.
    until: Timestamp,
    /// Whether another pod of the workload has been evicted since.
    #[serde(rename = "othersGo", default, skip_serializing_if = "std::ops::Not::not")]
    others_go: bool,
}

/// The pods, by workload and uid.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "ByWorkload", into = "ByWorkload")]
pub(super) struct Rejections(BTreeMap<PodKey, Rejection>);

type PodKey = (OwnerKey, String);
type ByWorkload = BTreeMap<OwnerKey, BTreeMap<String, Rejection>>;

impl From<ByWorkload> for Rejections {
    fn from(by_workload: ByWorkload) -> Self {
        let flat = by_workload.into_iter().flat_map(|(workload, pods)| {
            pods.into_iter().map(move |(uid, rejection)| ((workload.clone(), uid), rejection))
        });
        Rejections(flat.collect())
    }
}

impl From<Rejections> for ByWorkload {
    fn from(rejections: Rejections) -> Self {
        let mut by_workload = ByWorkload::new();
        for ((workload, uid), rejection) in rejections.0 {
            let pods = by_workload.entry(workload).or_default();
            pods.insert(uid, rejection);
        }
        by_workload
    }
}

impl Rejections {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The size of the stored text, rounded up.
    pub(super) fn bytes(&self) -> usize {
        self.0.keys().map(|(workload, uid)| PLAIN_REJECTION + key_bytes(workload) + uid.len()).sum()
    }

    /// Joins the records of two ledgers that grew from `base`.
    pub(super) fn merged(&self, base: &Self, theirs: &Self) -> Self {
        Rejections(newest(&self.0, &base.0, &theirs.0, |rejection| rejection.at))
    }

    /// The time of each rejection, and the end of its rest.
    pub(super) fn times(&mut self) -> impl Iterator<Item = (&mut Timestamp, &mut Timestamp)> {
        let all = self.0.values_mut();
        all.map(|rejection| (&mut rejection.at, &mut rejection.until))
    }

    /// Forgets pods that are gone, and those that have been free for as long as the longest rest.
    pub(super) fn prune(&mut self, snapshot: &Snapshot, cooldown: &Cooldown, now: Timestamp) {
        if self.is_empty() {
            return;
        }
        let known: BTreeSet<&str> = self.0.keys().map(|(_, uid)| uid.as_str()).collect();
        let uids = snapshot.pods.iter().map(|pod| pod.uid.as_str());
        let shown: BTreeSet<&str> = uids.filter(|uid| known.contains(uid)).collect();
        self.0.retain(|(_, uid), rejection| {
            shown.contains(uid.as_str()) && now.duration_since(rejection.until) <= cooldown.cap
        });
        self.limit();
    }

    /// Forgets the rests that end first, because they protect their pods for the shortest time.
    fn limit(&mut self) {
        while self.0.len() > MOST_REJECTIONS {
            let soonest = self.0.iter().min_by_key(|(_, rejection)| rejection.until);
            let Some(key) = soonest.map(|(key, _)| key.clone()) else {
                return;
            };
            self.0.remove(&key);
        }
    }

    fn of_workload(&self, workload: &OwnerKey) -> impl Iterator<Item = (&PodKey, &Rejection)> {
        let first = (workload.clone(), String::new());
        let from_first = self.0.range(first..);
        from_first.take_while(move |((key, _), _)| key == workload)
    }

    fn of_namespace(&self, namespace: &str) -> impl Iterator<Item = &Rejection> {
        let first =
            OwnerKey { namespace: namespace.to_owned(), kind: String::new(), name: String::new() };
        let from_first = self.0.range((first, String::new())..);
        from_first
            .take_while(move |((key, _), _)| key.namespace == namespace)
            .map(|(_, rejection)| rejection)
    }
}

impl Ledger {
    /// Records that the eviction of a pod was rejected.
    pub fn rejected(
        &mut self,
        workload: &OwnerKey,
        uid: &str,
        fault: Fault,
        cooldown: &Cooldown,
        now: Timestamp,
    ) {
        let key = (workload.clone(), uid.to_owned());
        let before = self.rejections.0.get(&key).map_or(0, |r| r.times);
        let next = before.saturating_add(1);
        let (times, rest) = match fault {
            Fault::Pod => (next, rest_after(next, cooldown)),
            Fault::OldFacts if before == 0 => (1, SignedDuration::ZERO),
            Fault::OldFacts => (next, rest_after(before, cooldown)),
            Fault::NoRight | Fault::Server => (before.max(1), cooldown.rest),
        };
        let rejection = Rejection {
            fault,
            times,
            at: now,
            until: now.saturating_add(rest).unwrap_or(Timestamp::MAX),
            others_go: false,
        };
        self.rejections.0.insert(key, rejection);
        self.rejections.limit();
    }

    /// Returns why a pod rests after a rejection; `None` if it may be tried.
    pub(super) fn rejection_rest(
        &self,
        workload: &OwnerKey,
        uid: &str,
        now: Timestamp,
    ) -> Option<Rest> {
        let of_namespace = self.rejections.of_namespace(&workload.namespace);
        let denied = of_namespace.filter(|r| r.fault == Fault::NoRight && r.until > now);
        if let Some(until) = denied.map(|r| r.until).max() {
            return Some(RestCause::NoRight.until(until, now));
        }
        let own = self.rejections.0.get(&(workload.clone(), uid.to_owned()));
        own.filter(|r| r.until > now).map(|r| RestCause::Rejected(r.times).until(r.until, now))
    }

    /// Returns true if the eviction of a pod of this workload was rejected, and none of its pods
    /// has been evicted since. The fault may be that of all its pods.
    pub fn is_suspect(&self, workload: &OwnerKey) -> bool {
        let mut of_workload = self.rejections.of_workload(workload);
        of_workload.any(|(_, r)| r.fault == Fault::Pod && !r.others_go)
    }

    /// Returns the pods that rest after rejections: the workload, the uid, the number of rejections
    /// in a row, and the end of the rest.
    pub fn rejected_pods(
        &self,
        now: Timestamp,
    ) -> impl Iterator<Item = (&OwnerKey, &str, u32, Timestamp)> {
        let resting = self.rejections.0.iter().filter(move |(_, r)| r.until > now);
        resting.map(|((workload, uid), r)| (workload, uid.as_str(), r.times, r.until))
    }

    /// Notes that a pod of this workload was evicted, so that the fault is not that of all its
    /// pods.
    pub fn another_goes(&mut self, workload: &OwnerKey) {
        let of_workload = self.rejections.0.iter_mut();
        let of_workload = of_workload.filter(|((key, _), _)| key == workload);
        of_workload.for_each(|(_, rejection)| rejection.others_go = true);
    }
}
