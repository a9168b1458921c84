//! Joins two ledgers that grew apart, and repairs times that a wrong clock has written.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::policy::Cooldown;

use super::{Ending, Entry, Ledger, State};

/// Difference up to which the clocks of two instances count as equal.
const TOLERANCE: SignedDuration = SignedDuration::from_mins(1);

impl Ledger {
    /// Joins this ledger with `theirs`, which another process has written. Both grew from `base`,
    /// the last ledger that this process has read or written.
    ///
    /// No entry of either is lost, except those that one of them has removed since. Of two entries
    /// of one pod, the further one counts, or else the later one.
    #[must_use]
    pub fn merged(&self, base: &Self, theirs: &Self) -> Self {
        let known = base.entries.iter().map(|entry| ((&entry.uid, entry.at), entry));
        let known: BTreeMap<_, _> = known.collect();
        let is_known = |entry: &Entry| known.get(&(&entry.uid, entry.at)) == Some(&entry);
        let (mut entries, other) = (self.by_uid(), theirs.by_uid());
        // Removed there since, and not changed here.
        entries.retain(|uid, entry| other.contains_key(uid) || !is_known(entry));
        for (uid, entry) in other {
            match entries.get(uid) {
                Some(own) if own.rank() >= entry.rank() => {}
                // Removed here since, and not changed there: the pod was not evicted, or the entry
                // no longer matters.
                None if is_known(entry) => {}
                _ => drop(entries.insert(uid, entry)),
            }
        }
        let mut entries: Vec<Entry> = entries.into_values().cloned().collect();
        // Oldest first, as they were recorded.
        entries.sort_by(|a, b| (a.at, &a.uid).cmp(&(b.at, &b.uid)));
        Ledger {
            entries,
            rests: self.rests.merged(&theirs.rests),
            rejections: self.rejections.merged(&base.rejections, &theirs.rejections),
            streaks: newest(&self.streaks, &base.streaks, &theirs.streaks, |s| s.attempt),
            records: self.records.merged(&base.records, &theirs.records),
            starts: self.starts.merged(&theirs.starts),
        }
    }

    /// Adds the intentions of a ledger whose write has failed, and may be stored all the same, to
    /// the base of the next merge. Nothing was sent for those that are withdrawn until then.
    pub fn add_intentions(&mut self, unconfirmed: &Self) {
        let entries = unconfirmed.entries.iter();
        self.entries.extend(entries.filter(|e| e.state == State::Intended).cloned());
    }

    /// Limits times that lie in the future, as a clock that was once wrong leaves them, and returns
    /// how many there were. They would count against the limits, and rest workloads, until then.
    pub fn clamp(&mut self, cooldown: &Cooldown, now: Timestamp) -> usize {
        let latest = later(now, TOLERANCE);
        let longest = later(latest, cooldown.cap.max(cooldown.rest));
        let mut clamped = 0;
        let mut limit = |time: &mut Timestamp, latest: Timestamp, to: Timestamp| {
            if *time > latest {
                *time = to;
                clamped += 1;
            }
        };
        for entry in &mut self.entries {
            limit(&mut entry.at, latest, now);
        }
        for streak in self.streaks.values_mut() {
            limit(&mut streak.attempt, latest, now);
            limit(&mut streak.until, longest, longest);
        }
        for (at, until) in self.rejections.times() {
            limit(at, latest, now);
            limit(until, longest, longest);
        }
        clamped + self.rests.clamp(longest)
    }

    fn by_uid(&self) -> BTreeMap<&str, &Entry> {
        self.entries.iter().map(|entry| (entry.uid.as_str(), entry)).collect()
    }
}

impl Entry {
    /// Orders entries of one pod by the state of its eviction, then by time.
    fn rank(&self) -> (u8, Timestamp) {
        let state = match self.state {
            State::Intended => 0,
            State::Deferred => 1,
            State::Evicted => 2,
            State::Watched => 3,
            State::Settled(Ending::Landed) => 4,
            State::Settled(_) => 5,
        };
        (state, self.at)
    }
}

/// Of two records under one key, the one with the later time counts. One that is missing on one
/// side although `base` has it, or a later one, was removed there.
pub(super) fn newest<K: Ord + Clone, V: Clone>(
    own: &BTreeMap<K, V>,
    base: &BTreeMap<K, V>,
    theirs: &BTreeMap<K, V>,
    time: impl Fn(&V) -> Timestamp,
) -> BTreeMap<K, V> {
    let mut merged = own.clone();
    merged.retain(|key, record| {
        theirs.contains_key(key) || base.get(key).is_none_or(|known| time(known) < time(record))
    });
    for (key, record) in theirs {
        let is_newer = |known: Option<&V>| known.is_none_or(|known| time(known) < time(record));
        let removed_here = !own.contains_key(key) && !is_newer(base.get(key));
        if is_newer(own.get(key)) && !removed_here {
            merged.insert(key.clone(), record.clone());
        }
    }
    merged
}

fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.saturating_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ledger::{Ending, Streak};
    use crate::model::snapshot::facts::OwnerKey;
    use crate::policy::Policy;

    fn noon() -> Timestamp {
        "2026-11-21T12:00:00Z".parse().unwrap()
    }

    fn entry(uid: &str, minute: i64, state: State) -> Entry {
        let at = noon() + SignedDuration::from_mins(minute);
        Entry {
            workload: OwnerKey::try_from("shop/Deployment/web".to_owned()).unwrap(),
            pod: format!("pod-{uid}"),
            uid: uid.to_owned(),
            node: "n1".to_owned(),
            aim: crate::model::ledger::Aim::Move,
            at,
            newest: at,
            twins: Vec::new(),
            again: 0,
            relief: None,
            trial: None,
            state,
            replacement: None,
            possible_nodes: Vec::new(),
        }
    }

    fn ledger(entries: &[Entry]) -> Ledger {
        Ledger { entries: entries.to_vec(), ..Ledger::default() }
    }

    fn streak(minute: i64) -> Streak {
        let at = noon() + SignedDuration::from_mins(minute);
        Streak { moves: 1, until: at, attempt: at, as_forecast: 0, decline: None }
    }

    #[test]
    fn both_keep_what_they_added() {
        let base = ledger(&[entry("a", 0, State::Evicted)]);
        let own = ledger(&[entry("a", 0, State::Evicted), entry("b", 2, State::Intended)]);
        let theirs = ledger(&[entry("a", 0, State::Evicted), entry("c", 1, State::Evicted)]);
        let merged = own.merged(&base, &theirs);
        let uids: Vec<&str> = merged.entries.iter().map(|e| e.uid.as_str()).collect();
        assert_eq!(uids, ["a", "c", "b"], "oldest first");
    }

    #[test]
    fn the_further_state_of_a_pod_counts_and_then_the_later_time() {
        let settled = entry("a", 0, State::Settled(Ending::Helped));
        let evicted = entry("a", 5, State::Evicted);
        let none = Ledger::default();
        let [first, second] = [settled, evicted].map(|entry| ledger(&[entry]));
        assert_eq!(first.merged(&none, &second), first);
        assert_eq!(second.merged(&none, &first), first);
        let [old, new] = [0, 5].map(|minute| ledger(&[entry("a", minute, State::Intended)]));
        assert_eq!(old.merged(&none, &new), new);
        assert_eq!(new.merged(&none, &old), new);
    }

    #[test]
    fn an_entry_that_was_removed_here_does_not_return() {
        let base = ledger(&[entry("refused", 0, State::Intended)]);
        let own = Ledger::default();
        assert_eq!(own.merged(&base, &base), own);
    }

    /// It would be settled a second time, hours later and by a pod of then.
    #[test]
    fn an_entry_that_another_leader_has_settled_and_removed_does_not_return() {
        let old = ledger(&[entry("a", 0, State::Evicted)]);
        let theirs = ledger(&[entry("b", 90, State::Evicted)]);
        assert_eq!(old.merged(&old, &theirs), theirs);
        let intended = ledger(&[entry("a", 0, State::Intended)]);
        assert_eq!(old.merged(&intended, &Ledger::default()), old, "they did not know that");
    }

    /// It withdrew the intention of an eviction, and could not save that.
    #[test]
    fn an_eviction_that_another_leader_makes_after_one_was_withdrawn_here_is_kept() {
        let base = ledger(&[entry("a", 0, State::Intended)]);
        let theirs = ledger(&[entry("a", 5, State::Evicted)]);
        assert_eq!(Ledger::default().merged(&base, &theirs), theirs);
    }

    #[test]
    fn of_two_streaks_the_one_with_the_later_attempt_counts() {
        let workload = OwnerKey::try_from("shop/Deployment/web".to_owned()).unwrap();
        let with = |minute| Ledger {
            streaks: BTreeMap::from([(workload.clone(), streak(minute))]),
            ..Ledger::default()
        };
        let none = Ledger::default();
        assert_eq!(with(1).merged(&with(0), &with(2)), with(2));
        assert_eq!(with(2).merged(&with(0), &with(1)), with(2));
        assert_eq!(none.merged(&none, &with(1)), with(1), "they added it");
        assert_eq!(none.merged(&with(1), &with(1)), none, "it ended here");
        assert_eq!(none.merged(&with(1), &with(2)), with(2), "they renewed it");
        assert_eq!(with(1).merged(&with(1), &none), none, "it ended there");
        assert_eq!(with(2).merged(&with(1), &none), with(2), "it was renewed here");
    }

    /// A ledger with the rest of one workload, between two minutes after noon.
    fn resting(workload: &str, newest: i64, until: i64) -> Ledger {
        let second = |minute: i64| (noon() + SignedDuration::from_mins(minute)).as_second();
        let (newest, until) = (second(newest), second(until));
        let rests = format!(r#"{{"shop":{{"Deployment/{workload}":[{newest},{until}]}}}}"#);
        let text = format!(r#"{{"version":1,"entries":[],"resting":{{}},"replacements":{rests}}}"#);
        Ledger::parse(&text).unwrap()
    }

    #[test]
    fn rests_of_replacements_are_joined_so_that_both_hold() {
        let (own, theirs) = (resting("web", 5, 20), resting("web", 3, 10));
        let merged = own.merged(&own, &theirs);
        assert_eq!(merged, resting("web", 3, 20));
        let other = resting("db", 1, 30);
        let both = merged.merged(&own, &other);
        let text = both.write();
        assert!(text.contains("Deployment/web") && text.contains("Deployment/db"), "{text}");
        assert_eq!(Ledger::parse(&text).unwrap(), both);
    }

    #[test]
    fn the_end_of_a_rest_in_the_far_future_is_limited() {
        let cooldown = Policy::default_native().cooldown;
        let mut wrong = resting("web", 5, 60 * 24 * 365);
        assert_eq!(wrong.clamp(&cooldown, noon()), 1);
        // The cap of six hours and the tolerance of a minute.
        assert_eq!(wrong, resting("web", 5, 361));
    }

    #[test]
    fn times_in_the_future_are_limited_and_small_differences_of_clocks_are_not() {
        let cooldown = Policy::default_native().cooldown;
        let workload = OwnerKey::try_from("shop/Deployment/web".to_owned()).unwrap();
        let year = 60 * 24 * 365;
        let mut wrong = Ledger {
            entries: vec![entry("a", year, State::Evicted), entry("b", 0, State::Evicted)],
            streaks: BTreeMap::from([(workload.clone(), streak(year))]),
            ..Ledger::default()
        };
        assert_eq!(wrong.clamp(&cooldown, noon()), 3);
        assert_eq!(wrong.clamp(&cooldown, noon()), 0);
        assert_eq!(wrong.entries[0].at, noon());
        assert_eq!(wrong.in_last_minute(later(noon(), TOLERANCE * 2)), 0);
        let until = wrong.streaks[&workload].until.duration_since(noon());
        assert!(until <= cooldown.cap.max(cooldown.rest) + TOLERANCE, "{until}");
        let mut close = ledger(&[entry("a", 1, State::Evicted)]);
        assert_eq!(close.clamp(&cooldown, noon()), 0);
    }
}
