//! The rules for one candidate; then three candidates with wrong clocks and a faulty network.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use tokio::time::Instant;

use super::{Election, ElectionStep, LeaseTiming};

mod many;

fn timing() -> LeaseTiming {
    LeaseTiming::new(Duration::from_secs(15), Duration::from_secs(10), Duration::from_secs(2))
        .unwrap()
}

/// One candidate and a clock that starts at zero.
struct Alone {
    election: Election,
    start: Instant,
}

impl Alone {
    fn new() -> Self {
        Alone { election: Election::new("me".to_owned(), timing()), start: Instant::now() }
    }

    fn at(&self, second: f64) -> Instant {
        self.start + Duration::from_secs_f64(second)
    }

    /// Starts a retry period in which the read returns this record. Returns the next step.
    fn read(&mut self, second: f64, record: Option<LeaseSpec>) -> ElectionStep {
        self.election.begin(self.at(second));
        assert_eq!(self.election.step(self.at(second), stamp()), ElectionStep::Read);
        self.election.read(record, self.at(second));
        self.election.step(self.at(second), stamp())
    }

    /// Writes the claim, which is accepted a moment later.
    fn write(&mut self, second: f64) -> LeaseSpec {
        let ElectionStep::Write(spec) = self.election.step(self.at(second), stamp()) else {
            panic!("nothing to write")
        };
        self.election.written(spec.clone(), self.at(second), self.at(second + 0.1));
        spec
    }

    fn leads(&self, second: f64) -> bool {
        self.election.active(self.at(second)).is_some()
    }
}

fn stamp() -> Timestamp {
    "2026-11-21T07:30:00Z".parse().unwrap()
}

fn held_by(holder: &str, renewed: &str) -> LeaseSpec {
    LeaseSpec {
        holder_identity: Some(holder.to_owned()),
        lease_duration_seconds: Some(15),
        acquire_time: Some(MicroTime("2026-11-21T07:00:00Z".parse().unwrap())),
        renew_time: Some(MicroTime(renewed.parse().unwrap())),
        lease_transitions: Some(4),
        ..LeaseSpec::default()
    }
}

/// Times of a holder whose clock is far behind or far ahead.
const PAST: &str = "2020-01-01T00:00:00Z";
const FUTURE: &str = "2030-01-01T00:00:00Z";

#[test]
fn a_missing_lease_is_created() {
    let mut alone = Alone::new();
    let ElectionStep::Write(spec) = alone.read(0.0, None) else { panic!("it waits") };
    let now = Some(MicroTime(stamp()));
    let expected = LeaseSpec {
        holder_identity: Some("me".to_owned()),
        lease_duration_seconds: Some(15),
        acquire_time: now.clone(),
        renew_time: now,
        lease_transitions: Some(0),
        ..LeaseSpec::default()
    };
    assert_eq!(spec, expected);
    assert!(!alone.leads(0.0), "the write is not accepted yet");
    alone.write(0.0);
    assert!(alone.leads(0.1));
}

#[test]
fn a_holder_keeps_the_lease_while_its_record_changes_whatever_time_it_writes() {
    for (time, duration) in [(PAST, 15), (FUTURE, 15), (FUTURE, 30)] {
        let mut alone = Alone::new();
        let of =
            |time| LeaseSpec { lease_duration_seconds: Some(duration), ..held_by("other", time) };
        for second in [0, 2, duration - 1] {
            let step = alone.read(f64::from(second), Some(of(time)));
            assert_eq!(step, ElectionStep::Wait, "{time} {second}");
        }
        // A renewal restarts the lease duration.
        let renewed = of("2026-11-21T07:29:00Z");
        for second in [duration, duration + 5, 2 * duration - 1] {
            let step = alone.read(f64::from(second), Some(renewed.clone()));
            assert_eq!(step, ElectionStep::Wait, "{time} {second}");
        }
        let ElectionStep::Write(spec) = alone.read(f64::from(2 * duration), Some(renewed)) else {
            panic!("it waits forever")
        };
        assert_eq!(
            (spec.holder_identity.as_deref(), spec.lease_transitions),
            (Some("me"), Some(5))
        );
        assert_eq!(spec.acquire_time, Some(MicroTime(stamp())));
    }
}

#[test]
fn only_a_changed_record_proves_that_its_holder_lives() {
    let mut alone = Alone::new();
    for second in [0.0, 2.0, 14.0] {
        alone.read(second, Some(held_by("other", FUTURE)));
        assert!(!alone.election.is_held_by_living(), "{second}");
    }
    alone.read(14.5, Some(held_by("other", PAST)));
    assert!(alone.election.is_held_by_living());
    let released = LeaseSpec { holder_identity: None, ..held_by("other", PAST) };
    alone.read(14.8, Some(released));
    assert!(!alone.election.is_held_by_living());
}

#[test]
fn a_single_run_reads_the_lease_often_and_waits_little_longer_than_its_duration() {
    let [lease, renew, retry] = [137, 107, 26].map(Duration::from_secs);
    let timing = LeaseTiming::new(lease, renew, retry).unwrap();
    let single = timing.of_single_run();
    assert_eq!(single.retry(), Duration::from_secs(2));
    assert_eq!(single.takeover(), Duration::from_secs(141));
    assert_eq!(single.renew(), renew);
}

#[test]
fn a_released_lease_is_taken_at_once() {
    for name in [None, Some(String::new())] {
        let mut alone = Alone::new();
        let free = LeaseSpec { holder_identity: name, ..held_by("", FUTURE) };
        assert!(matches!(alone.read(0.0, Some(free)), ElectionStep::Write(_)));
    }
}

#[test]
fn the_deadline_runs_from_the_time_of_sending() {
    let mut alone = Alone::new();
    alone.read(0.0, None);
    let ElectionStep::Write(spec) = alone.election.step(alone.at(0.0), stamp()) else { panic!() };
    alone.election.written(spec, alone.at(0.0), alone.at(3.0));
    assert!(alone.leads(9.9) && !alone.leads(10.0));
}

#[test]
fn a_leader_renews_without_a_read_and_keeps_its_term() {
    let mut alone = Alone::new();
    alone.read(0.0, None);
    let first = alone.write(0.0);
    let term = alone.election.active(alone.at(1.0)).unwrap().term;
    alone.election.begin(alone.at(2.0));
    let second = alone.write(2.0);
    assert_eq!(
        (second.acquire_time, second.lease_transitions),
        (first.acquire_time, first.lease_transitions)
    );
    assert!(alone.leads(11.9) && !alone.leads(12.0));
    assert_eq!(alone.election.active(alone.at(3.0)).unwrap().term, term);
}

#[test]
fn after_a_renewal_without_response_the_lease_is_read() {
    let mut alone = Alone::new();
    alone.read(0.0, None);
    let spec = alone.write(0.0);
    alone.election.begin(alone.at(2.0));
    alone.election.step(alone.at(2.0), stamp());
    alone.election.unsure();
    assert!(alone.leads(9.0), "it is the leader until its deadline");
    // The renewal was written, so the record is current.
    assert!(matches!(alone.read(4.0, Some(spec)), ElectionStep::Write(_)));
    alone.write(4.0);
    assert!(alone.leads(13.9));
}

#[test]
fn a_leader_that_lost_the_lease_stops_at_once() {
    let mut alone = Alone::new();
    alone.read(0.0, None);
    alone.write(0.0);
    alone.election.unsure();
    assert_eq!(alone.read(2.0, Some(held_by("other", PAST))), ElectionStep::Wait);
    assert!(!alone.leads(2.0));
}

#[test]
fn after_a_missed_deadline_a_new_term_begins() {
    let mut alone = Alone::new();
    alone.read(0.0, None);
    let spec = alone.write(0.0);
    let term = alone.election.active(alone.at(1.0)).unwrap().term;
    // As after SIGSTOP and SIGCONT without another candidate.
    assert!(matches!(alone.read(99.0, Some(spec.clone())), ElectionStep::Write(_)));
    let again = alone.write(99.0);
    assert_ne!(alone.election.active(alone.at(99.1)).unwrap().term, term);
    assert_eq!(again.lease_transitions, spec.lease_transitions, "no other process held it");
    // The same if only the response comes too late.
    let late = alone.election.active(alone.at(99.1)).unwrap().term;
    let ElectionStep::Write(spec) = alone.election.step(alone.at(101.0), stamp()) else { panic!() };
    alone.election.written(spec, alone.at(101.0), alone.at(109.5));
    assert_ne!(alone.election.active(alone.at(109.5)).unwrap().term, late);
}

#[test]
fn the_holder_of_a_deleted_lease_keeps_the_rest_of_its_time() {
    let mut alone = Alone::new();
    alone.read(0.0, Some(held_by("other", PAST)));
    assert_eq!(alone.read(5.0, None), ElectionStep::Wait);
    assert_eq!(alone.read(14.0, None), ElectionStep::Wait);
    assert!(matches!(alone.read(15.0, None), ElectionStep::Write(_)));
}

#[test]
fn invalid_records_are_overwritten_or_waited_for_without_overflow() {
    let step = |spec: LeaseSpec, second: f64| {
        let mut alone = Alone::new();
        alone.read(0.0, Some(spec.clone()));
        alone.read(second, Some(spec))
    };
    assert!(
        matches!(step(LeaseSpec::default(), 0.0), ElectionStep::Write(_)),
        "an empty record has no holder"
    );
    for seconds in [None, Some(0), Some(-7), Some(i32::MIN)] {
        let spec = LeaseSpec { lease_duration_seconds: seconds, ..held_by("other", FUTURE) };
        assert_eq!(step(spec.clone(), 14.9), ElectionStep::Wait, "{seconds:?}");
        assert!(matches!(step(spec, 15.0), ElectionStep::Write(_)), "{seconds:?}");
    }
    let endless = LeaseSpec { lease_duration_seconds: Some(i32::MAX), ..held_by("other", FUTURE) };
    assert_eq!(step(endless, 9e6), ElectionStep::Wait);
    for (before, after) in
        [(None, 1), (Some(-3), 1), (Some(i32::MIN), 1), (Some(i32::MAX), i32::MAX)]
    {
        let spec =
            LeaseSpec { lease_transitions: before, holder_identity: None, ..held_by("", PAST) };
        let ElectionStep::Write(spec) = step(spec, 1.0) else { panic!() };
        assert_eq!(spec.lease_transitions, Some(after));
    }
    // Fields of others stay.
    let spec = LeaseSpec { preferred_holder: Some("x".to_owned()), ..LeaseSpec::default() };
    let ElectionStep::Write(spec) = step(spec, 0.0) else { panic!() };
    assert_eq!(spec.preferred_holder.as_deref(), Some("x"));
}

#[test]
fn only_the_holder_releases_the_lease() {
    let mut alone = Alone::new();
    assert_eq!(alone.election.released(stamp()), None);
    alone.read(0.0, Some(held_by("other", PAST)));
    assert!(!alone.election.resign(alone.at(0.0)));
    assert_eq!(alone.election.released(stamp()), None);
    let mut alone = Alone::new();
    alone.read(0.0, None);
    alone.write(0.0);
    assert!(alone.election.resign(alone.at(1.0)));
    assert!(!alone.leads(1.0), "it stops before it releases the lease");
    let free = alone.election.released(stamp()).unwrap();
    assert_eq!(
        (free.holder_identity, free.lease_duration_seconds, free.lease_transitions),
        (None, Some(1), Some(0))
    );
}

#[test]
fn durations_that_could_cause_two_leaders_are_rejected() {
    let check = |lease: u64, renew: u64, retry: u64| {
        let [lease, renew, retry] = [lease, renew, retry].map(Duration::from_millis);
        LeaseTiming::new(lease, renew, retry).map_err(|error| error.to_string())
    };
    assert!(check(137_000, 107_000, 26_000).is_ok());
    assert!(check(15_000, 10_000, 2_000).is_ok());
    let too_long = "the renew deadline is 15s, expected less than the lease duration of 15s";
    assert_eq!(check(15_000, 15_000, 2_000), Err(too_long.to_owned()));
    let too_long =
        "the retry period is 10s, expected less than the renew deadline of 12s divided by 1.2";
    assert_eq!(check(15_000, 12_000, 10_000), Err(too_long.to_owned()));
    assert_eq!(
        check(2_000, 1_000, 0),
        Err("the retry period is 0ns, expected 100ms or more".to_owned())
    );
    assert_eq!(check(14_100, 10_000, 2_000).unwrap().seconds(), 15, "rounded up");
}
