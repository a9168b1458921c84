//! Summarises the ledger for the status page.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::model::ledger::{Ending, Entry, Ledger, State};
use crate::model::snapshot::Snapshot;
use crate::policy::Cooldown;

use super::facts::{LedgerEviction, LedgerStatus, RejectedPod, RestingWorkload, Truncated};

const MOST_ENTRIES: usize = 200;
const MOST_RESTING: usize = 100;

/// The node of each replacement, by the pod's UID.
type Replacements<'s> = BTreeMap<&'s str, &'s str>;

impl LedgerStatus {
    /// Summarises the ledger. The snapshot gives the replacements' nodes and may be slightly older
    /// than the ledger.
    pub fn of(ledger: &Ledger, snapshot: &Snapshot, cooldown: &Cooldown, now: Timestamp) -> Self {
        let newest: Vec<&Entry> = ledger.entries().iter().rev().take(MOST_ENTRIES).collect();
        let replacements = replacements(&newest, snapshot);
        let rests_until =
            |entry: &Entry| entry.rests_until(snapshot, cooldown).filter(|until| *until > now);
        LedgerStatus {
            entries: Truncated {
                items: newest
                    .iter()
                    .map(|entry| eviction(entry, &replacements, rests_until(entry)))
                    .collect(),
                more: ledger.entries().len() - newest.len(),
            },
            open: ledger.unreplaced().count(),
            resting: Truncated::first(MOST_RESTING, resting(ledger, now)),
            rejected: Truncated::first(MOST_RESTING, rejected(ledger, snapshot, now)),
        }
    }
}

fn replacements<'s>(entries: &[&Entry], snapshot: &'s Snapshot) -> Replacements<'s> {
    let uids: BTreeSet<&str> =
        entries.iter().filter_map(|entry| entry.replacement.as_deref()).collect();
    snapshot
        .pods
        .iter()
        .filter(|pod| uids.contains(pod.uid.as_str()))
        .filter_map(|pod| Some((pod.uid.as_str(), snapshot.node(pod.node?).name.as_str())))
        .collect()
}

fn eviction(
    entry: &Entry,
    replacements: &Replacements<'_>,
    rests_until: Option<Timestamp>,
) -> LedgerEviction {
    let replacement = entry.replacement.as_deref().and_then(|uid| replacements.get(uid));
    LedgerEviction {
        workload: entry.workload.to_string(),
        pod: entry.pod.clone(),
        from: entry.node.clone(),
        to: replacement.map(|node| (*node).to_owned()),
        at: entry.at,
        state: entry.state.code().into(),
        message: message(entry.state),
        rests_until,
    }
}

/// Returns the workloads in cooldown, the longest cooldown first.
fn resting(ledger: &Ledger, now: Timestamp) -> Vec<RestingWorkload> {
    let mut resting: Vec<RestingWorkload> = ledger
        .rests(now)
        .map(|resting| RestingWorkload {
            workload: resting.workload.to_string(),
            useless: resting.moves,
            got_worse: resting.decline.map(|decline| decline.to_string()),
            until: resting.until,
        })
        .collect();
    resting.sort_by(|a, b| b.until.cmp(&a.until).then_with(|| a.workload.cmp(&b.workload)));
    resting
}

/// Returns the pods in cooldown after rejected evictions, the longest cooldown first.
fn rejected(ledger: &Ledger, snapshot: &Snapshot, now: Timestamp) -> Vec<RejectedPod> {
    let mut known: BTreeMap<&str, _> = ledger
        .rejected_pods(now)
        .map(|(workload, uid, times, until)| (uid, (workload, times, until)))
        .collect();
    let found = snapshot.pods.iter().filter_map(|pod| {
        let (workload, times, until) = known.remove(pod.uid.as_str())?;
        Some(RejectedPod {
            pod: format!("{}/{}", pod.namespace, pod.name),
            workload: workload.to_string(),
            times,
            until,
        })
    });
    let mut rejected: Vec<RejectedPod> = found.collect();
    rejected.sort_by(|a, b| b.until.cmp(&a.until).then_with(|| a.pod.cmp(&b.pod)));
    rejected
}

fn message(state: State) -> String {
    match state {
        State::Intended => "it is not known yet whether the eviction was made".to_owned(),
        State::Deferred => "another component evicts the pod later".to_owned(),
        State::Evicted => "waiting for the replacement".to_owned(),
        State::Watched => State::WATCHED.to_owned(),
        State::Settled(ending) => Ending::to_string(&ending),
    }
}
