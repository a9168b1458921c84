//! How long the replacements of a workload take until they are Ready, learned from the evictions
//! that the ledger has seen.
//!
//! The time begins with the decision, so it includes the end of the evicted pod where a controller
//! waits for it, and the scheduling. It is stored beside the ledger and not in it, so that an
//! older version reads the ledger. Losing it costs nothing but the refusals that follow from it.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use crate::model::snapshot::Snapshot;
use crate::model::snapshot::facts::OwnerKey;
use crate::policy::Cooldown;

use super::capacity::key_bytes;
use super::{Aim, Ending, Entry, Ledger, State, find_pod, patience};

/// The times of a workload that count: an odd number, so that one slow start, such as the first
/// pull of an image on a node, does not decide.
const REMEMBERED: usize = 3;
/// The most bytes of all of them. They share a ConfigMap with the ledger.
const MOST_BYTES: usize = 30_000;
/// Quotes, brackets, commas and digits of one workload.
const PLAIN: usize = 32;
/// The longest start that is expected. A move saves at most an hour above the target, so with an
/// hour or more the workload would never move again and never show that it starts faster.
const LONGEST: SignedDuration = SignedDuration::from_mins(55);

/// The last times of each workload, in seconds, the newest last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StartTimes(BTreeMap<OwnerKey, Vec<u32>>);

impl StartTimes {
    /// Reads the stored format. Text that cannot be read counts as nothing learned: without it, no
    /// move is refused because its replacement starts slowly.
    pub fn parse(text: &str) -> Self {
        let mut starts: Self = serde_json::from_str(text).unwrap_or_default();
        for times in starts.0.values_mut() {
            let surplus = times.len().saturating_sub(REMEMBERED);
            times.drain(..surplus);
        }
        starts.0.retain(|_, times| !times.is_empty());
        starts.limit();
        starts
    }

    /// Returns the stored format.
    pub fn write(&self) -> String {
        // This cannot fail: every key is text, and every value is a list of numbers.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns true if nothing is learned.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The median of the last times of a workload, the shorter one of two; `None` if none is known.
    fn expected(&self, workload: &OwnerKey) -> Option<SignedDuration> {
        let mut times = self.0.get(workload)?.clone();
        times.sort_unstable();
        let middle = times.len().checked_sub(1)? / 2;
        Some(SignedDuration::from_secs(times[middle].into()).min(LONGEST))
    }

    fn learn(&mut self, workload: &OwnerKey, took: SignedDuration) {
        let times = self.0.entry(workload.clone()).or_default();
        if times.len() == REMEMBERED {
            times.remove(0);
        }
        times.push(seconds(took));
        self.limit();
    }

    /// Raises the last time of a workload, because the same replacement took longer.
    fn raise(&mut self, workload: &OwnerKey, took: SignedDuration) {
        if let Some(last) = self.0.get_mut(workload).and_then(|times| times.last_mut()) {
            *last = seconds(took).max(*last);
        }
    }

    /// Forgets the workloads that start fastest, because a short time decides nothing.
    fn limit(&mut self) {
        let mut bytes: usize = self.0.keys().map(|key| key_bytes(key) + PLAIN).sum();
        while bytes > MOST_BYTES {
            let times = self.0.iter();
            let fastest = times.min_by_key(|(_, times)| times.iter().max().copied());
            let Some(key) = fastest.map(|(key, _)| key.clone()) else {
                return;
            };
            bytes -= key_bytes(&key) + PLAIN;
            self.0.remove(&key);
        }
    }

    /// Joins what two processes have learned. Of a workload that both know, this one's times count.
    pub(super) fn merged(&self, theirs: &Self) -> Self {
        let mut merged = theirs.clone();
        merged.0.extend(self.0.clone());
        merged.limit();
        merged
    }
}

fn seconds(took: SignedDuration) -> u32 {
    u32::try_from(took.as_secs().max(0)).unwrap_or(u32::MAX)
}

impl Ledger {
    /// Returns the times until replacements were Ready, which are stored beside
    /// the ledger.
    pub const fn starts(&self) -> &StartTimes {
        &self.starts
    }

    /// Returns the ledger with the times of earlier starts.
    #[must_use]
    pub fn with_starts(self, starts: StartTimes) -> Self {
        Ledger { starts, ..self }
    }

    /// Returns the time from an eviction until its replacement is Ready that is expected for a
    /// workload; `None` if no earlier eviction of it has shown that.
    pub fn expected_start(&self, workload: &OwnerKey) -> Option<SignedDuration> {
        self.starts.expected(workload)
    }

    /// Learns from an eviction that has just ended.
    pub(super) fn learn_start(
        &mut self,
        entry: &Entry,
        ending: Ending,
        took: Option<SignedDuration>,
        cooldown: &Cooldown,
    ) {
        let Some(took) = took.filter(|_| entry.aim != Aim::Clear) else {
            return;
        };
        let shows = match ending {
            // A later one was not looked for in time, and may be the pod of a rollout.
            Ending::Landed | Ending::Helped | Ending::Renewed | Ending::HotNode => {
                took <= patience(cooldown)
            }
            Ending::NeverReady => true,
            // The replacement may have restarted, or the end is known before it is Ready.
            Ending::GotWorse(_) | Ending::SameNode | Ending::NotReplaced | Ending::NoRelief => {
                false
            }
        };
        if shows {
            self.starts.learn(&entry.workload, took);
        }
    }

    /// Learns from replacements that were not Ready in time how long they really take, as long as
    /// their evictions are remembered, and no later one of the workload has taught another time.
    pub(super) fn learn_late_starts(&mut self, snapshot: &Snapshot, now: jiff::Timestamp) {
        let is_last = |entry: &Entry| {
            let mut others = self.entries.iter().filter(|e| e.workload == entry.workload);
            others.all(|e| e.at <= entry.at)
        };
        let late = |e: &&Entry| e.state == State::Settled(Ending::NeverReady) && is_last(e);
        for entry in self.entries.iter().filter(late) {
            if let Some(took) = entry.took(snapshot, now) {
                self.starts.raise(&entry.workload, took);
            }
        }
    }
}

impl Entry {
    /// Returns the time from the decision until the replacement was Ready, or until now if it is
    /// not; `None` without a replacement, and if it has finished, so that the time is not known.
    pub(super) fn took(&self, snapshot: &Snapshot, now: jiff::Timestamp) -> Option<SignedDuration> {
        let uid = self.replacement.as_ref()?;
        let pod = snapshot.pod(find_pod(snapshot, &self.workload, uid)?);
        let ready = pod.ready_since().unwrap_or(now);
        // The clocks of the nodes may differ from ours.
        let took = ready.min(now).duration_since(self.at);
        (!pod.finished()).then_some(took.max(SignedDuration::ZERO))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> OwnerKey {
        OwnerKey::try_from(format!("shop/Deployment/{name}")).unwrap()
    }

    fn learned(times: &[i64]) -> StartTimes {
        let mut starts = StartTimes::default();
        for time in times {
            starts.learn(&key("web"), SignedDuration::from_secs(*time));
        }
        starts
    }

    fn expected(times: &[i64]) -> Option<i64> {
        let expected = learned(times).expected(&key("web"));
        expected.map(|time| time.as_secs())
    }

    #[test]
    fn the_median_of_the_last_three_times_is_expected() {
        assert_eq!(expected(&[]), None);
        assert_eq!(expected(&[20]), Some(20));
        assert_eq!(expected(&[20, 600]), Some(20));
        assert_eq!(expected(&[20, 600, 30]), Some(30));
        assert_eq!(expected(&[1, 1, 1, 40, 50]), Some(40));
        assert_eq!(expected(&[7200]), Some(55 * 60), "less than a move can save in an hour");
    }

    #[test]
    fn a_replacement_that_takes_longer_raises_its_time_once() {
        let mut starts = learned(&[20]);
        for time in [600, 900, 700] {
            starts.raise(&key("web"), SignedDuration::from_secs(time));
        }
        assert_eq!(starts, learned(&[900]));
        starts.raise(&key("db"), SignedDuration::from_secs(1));
        assert_eq!(starts, learned(&[900]), "nothing is known to raise");
    }

    #[test]
    fn what_is_stored_is_read_back_and_other_text_is_nothing() {
        let starts = learned(&[20, 25]);
        assert_eq!(starts.write(), r#"{"shop/Deployment/web":[20,25]}"#);
        assert_eq!(StartTimes::parse(&starts.write()), starts);
        for text in ["", "[]", r#"{"web":[1]}"#, r#"{"shop/Deployment/web":[-1]}"#] {
            assert!(StartTimes::parse(text).is_empty(), "{text}");
        }
        let many = r#"{"shop/Deployment/web":[1,2,3,4,5]}"#;
        assert_eq!(StartTimes::parse(many), learned(&[3, 4, 5]));
    }

    #[test]
    fn the_slowest_workloads_stay_if_there_are_too_many() {
        let mut starts = StartTimes::default();
        for number in 0..1000 {
            starts.learn(&key(&format!("w{number}")), SignedDuration::from_secs(number));
        }
        assert!(starts.write().len() <= MOST_BYTES, "{}", starts.write().len());
        assert!(starts.0.len() > 400, "{}", starts.0.len());
        assert!(starts.0.contains_key(&key("w999")));
        assert!(!starts.0.contains_key(&key("w0")));
    }

    #[test]
    fn two_processes_join_what_they_learned() {
        let mut theirs = learned(&[90]);
        theirs.learn(&key("db"), SignedDuration::from_secs(5));
        let merged = learned(&[20]).merged(&theirs);
        assert_eq!(merged.write(), r#"{"shop/Deployment/db":[5],"shop/Deployment/web":[20]}"#);
    }
}
