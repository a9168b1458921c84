//! What one candidate does, rule by rule; then three of them with bad clocks and a bad network.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use tokio::time::Instant;

use super::{Election, Step, Timing};

mod many;

fn timing() -> Timing {
    Timing::new(
        Duration::from_secs(15),
        Duration::from_secs(10),
        Duration::from_secs(2),
    )
    .unwrap()
}

/// One candidate, and a clock that starts at nought.
struct Alone {
    election: Election,
    start: Instant,
}

impl Alone {
    fn new() -> Self {
        Alone {
            election: Election::new("me".to_owned(), timing()),
            start: Instant::now(),
        }
    }

    fn at(&self, second: f64) -> Instant {
        self.start + Duration::from_secs_f64(second)
    }

    /// What is to be done in a new retry period, after a look that found this.
    fn look(&mut self, second: f64, found: Option<LeaseSpec>) -> Step {
        self.election.begin(self.at(second));
        assert_eq!(self.election.step(self.at(second), stamp()), Step::Read);
        self.election.read(found, self.at(second));
        self.election.step(self.at(second), stamp())
    }

    /// Writes what is to be written, and has it accepted a moment later.
    fn write(&mut self, second: f64) -> LeaseSpec {
        let Step::Write(spec) = self.election.step(self.at(second), stamp()) else {
            panic!("nothing to write")
        };
        self.election
            .written(spec.clone(), self.at(second), self.at(second + 0.1));
        spec
    }

    fn leads(&self, second: f64) -> bool {
        self.election.lead(self.at(second)).is_some()
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

/// A time of the holder's that is long past by our own clock, and one that has not come yet.
const PAST: &str = "2020-01-01T00:00:00Z";
const FUTURE: &str = "2030-01-01T00:00:00Z";

#[test]
fn where_there_is_no_lease_it_is_created() {
    let mut alone = Alone::new();
    let Step::Write(spec) = alone.look(0.0, None) else {
        panic!("it waits")
    };
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
    assert!(!alone.leads(0.0), "the API server has not said yes");
    alone.write(0.0);
    assert!(alone.leads(0.1));
}

#[test]
fn a_holder_is_waited_for_as_long_as_its_record_changes_whatever_time_it_writes() {
    for time in [PAST, FUTURE] {
        let mut alone = Alone::new();
        for second in [0, 2, 14] {
            assert_eq!(
                alone.look(f64::from(second), Some(held_by("other", time))),
                Step::Wait,
                "{time} {second}"
            );
        }
        // Renewed: its time starts anew, in which it is not heard of.
        let renewed = held_by("other", "2026-11-21T07:29:00Z");
        for second in [15, 20, 29] {
            assert_eq!(
                alone.look(f64::from(second), Some(renewed.clone())),
                Step::Wait,
                "{time} {second}"
            );
        }
        let Step::Write(spec) = alone.look(30.0, Some(renewed)) else {
            panic!("it waits for ever")
        };
        assert_eq!(
            (spec.holder_identity.as_deref(), spec.lease_transitions),
            (Some("me"), Some(5))
        );
        assert_eq!(spec.acquire_time, Some(MicroTime(stamp())));
    }
}

#[test]
fn what_is_given_back_is_taken_at_once() {
    for name in [None, Some(String::new())] {
        let mut alone = Alone::new();
        let free = LeaseSpec {
            holder_identity: name,
            ..held_by("", FUTURE)
        };
        assert!(matches!(alone.look(0.0, Some(free)), Step::Write(_)));
    }
}

#[test]
fn the_deadline_runs_from_when_the_renewal_was_sent() {
    let mut alone = Alone::new();
    alone.look(0.0, None);
    let Step::Write(spec) = alone.election.step(alone.at(0.0), stamp()) else {
        panic!()
    };
    alone.election.written(spec, alone.at(0.0), alone.at(3.0));
    assert!(alone.leads(9.9) && !alone.leads(10.0));
}

#[test]
fn a_leader_renews_without_a_look_and_keeps_its_term() {
    let mut alone = Alone::new();
    alone.look(0.0, None);
    let first = alone.write(0.0);
    let term = alone.election.lead(alone.at(1.0)).unwrap().term;
    alone.election.begin(alone.at(2.0));
    let second = alone.write(2.0);
    assert_eq!(
        (second.acquire_time, second.lease_transitions),
        (first.acquire_time, first.lease_transitions)
    );
    assert!(alone.leads(11.9) && !alone.leads(12.0));
    assert_eq!(alone.election.lead(alone.at(3.0)).unwrap().term, term);
}

#[test]
fn a_renewal_without_an_answer_is_looked_for() {
    let mut alone = Alone::new();
    alone.look(0.0, None);
    let spec = alone.write(0.0);
    alone.election.begin(alone.at(2.0));
    alone.election.step(alone.at(2.0), stamp());
    alone.election.unsure();
    assert!(alone.leads(9.0), "it is the leader until its deadline");
    // It had been written after all, which is as good as any record of ours.
    assert!(matches!(alone.look(4.0, Some(spec)), Step::Write(_)));
    alone.write(4.0);
    assert!(alone.leads(13.9));
}

#[test]
fn who_is_overtaken_stops_at_once() {
    let mut alone = Alone::new();
    alone.look(0.0, None);
    alone.write(0.0);
    alone.election.unsure();
    assert_eq!(alone.look(2.0, Some(held_by("other", PAST))), Step::Wait);
    assert!(!alone.leads(2.0));
}

#[test]
fn a_lead_that_was_not_renewed_in_time_is_another_when_it_comes_back() {
    let mut alone = Alone::new();
    alone.look(0.0, None);
    let spec = alone.write(0.0);
    let term = alone.election.lead(alone.at(1.0)).unwrap().term;
    // As after SIGSTOP and SIGCONT, while nobody else was there.
    assert!(matches!(
        alone.look(99.0, Some(spec.clone())),
        Step::Write(_)
    ));
    let again = alone.write(99.0);
    assert_ne!(alone.election.lead(alone.at(99.1)).unwrap().term, term);
    assert_eq!(
        again.lease_transitions, spec.lease_transitions,
        "nobody else had it"
    );
    // The same if only the answer comes too late.
    let late = alone.election.lead(alone.at(99.1)).unwrap().term;
    let Step::Write(spec) = alone.election.step(alone.at(101.0), stamp()) else {
        panic!()
    };
    alone
        .election
        .written(spec, alone.at(101.0), alone.at(109.5));
    assert_ne!(alone.election.lead(alone.at(109.5)).unwrap().term, late);
}

#[test]
fn a_lease_that_somebody_deleted_is_not_taken_from_a_holder_that_may_not_know() {
    let mut alone = Alone::new();
    alone.look(0.0, Some(held_by("other", PAST)));
    assert_eq!(alone.look(5.0, None), Step::Wait);
    assert_eq!(alone.look(14.0, None), Step::Wait);
    assert!(matches!(alone.look(15.0, None), Step::Write(_)));
}

#[test]
fn garbage_is_written_over_or_waited_for_and_overflows_nothing() {
    let ask = |spec: LeaseSpec, second: f64| {
        let mut alone = Alone::new();
        alone.look(0.0, Some(spec.clone()));
        alone.look(second, Some(spec))
    };
    assert!(
        matches!(ask(LeaseSpec::default(), 0.0), Step::Write(_)),
        "an empty record is nobody's"
    );
    for seconds in [None, Some(0), Some(-7), Some(i32::MIN)] {
        let spec = LeaseSpec {
            lease_duration_seconds: seconds,
            ..held_by("other", FUTURE)
        };
        assert_eq!(ask(spec.clone(), 14.9), Step::Wait, "{seconds:?}");
        assert!(matches!(ask(spec, 15.0), Step::Write(_)), "{seconds:?}");
    }
    let for_ever = LeaseSpec {
        lease_duration_seconds: Some(i32::MAX),
        ..held_by("other", FUTURE)
    };
    assert_eq!(ask(for_ever, 9e6), Step::Wait);
    for (before, after) in [
        (None, 1),
        (Some(-3), 1),
        (Some(i32::MIN), 1),
        (Some(i32::MAX), i32::MAX),
    ] {
        let spec = LeaseSpec {
            lease_transitions: before,
            holder_identity: None,
            ..held_by("", PAST)
        };
        let Step::Write(spec) = ask(spec, 1.0) else {
            panic!()
        };
        assert_eq!(spec.lease_transitions, Some(after));
    }
    // What others have to say in it stays.
    let spec = LeaseSpec {
        preferred_holder: Some("x".to_owned()),
        ..LeaseSpec::default()
    };
    let Step::Write(spec) = ask(spec, 0.0) else {
        panic!()
    };
    assert_eq!(spec.preferred_holder.as_deref(), Some("x"));
}

#[test]
fn only_what_is_ours_is_given_back() {
    let mut alone = Alone::new();
    assert_eq!(alone.election.released(stamp()), None);
    alone.look(0.0, Some(held_by("other", PAST)));
    assert!(!alone.election.resign(alone.at(0.0)));
    assert_eq!(alone.election.released(stamp()), None);
    let mut alone = Alone::new();
    alone.look(0.0, None);
    alone.write(0.0);
    assert!(alone.election.resign(alone.at(1.0)));
    assert!(!alone.leads(1.0), "it stops before it tells the others");
    let free = alone.election.released(stamp()).unwrap();
    assert_eq!(
        (
            free.holder_identity,
            free.lease_duration_seconds,
            free.lease_transitions
        ),
        (None, Some(1), Some(0))
    );
}

#[test]
fn durations_that_could_make_two_leaders_are_refused() {
    let said = |lease: u64, renew: u64, retry: u64| {
        let [lease, renew, retry] = [lease, renew, retry].map(Duration::from_millis);
        Timing::new(lease, renew, retry).map_err(|error| error.to_string())
    };
    assert!(said(137_000, 107_000, 26_000).is_ok());
    assert!(said(15_000, 10_000, 2_000).is_ok());
    let too_long = "the renew deadline is 15s, expected less than the lease duration of 15s";
    assert_eq!(said(15_000, 15_000, 2_000), Err(too_long.to_owned()));
    let too_long =
        "the retry period is 10s, expected less than the renew deadline of 12s divided by 1.2";
    assert_eq!(said(15_000, 12_000, 10_000), Err(too_long.to_owned()));
    assert_eq!(
        said(2_000, 1_000, 0),
        Err("the retry period is 0ns, expected 100ms or more".to_owned())
    );
    assert_eq!(
        said(14_100, 10_000, 2_000).unwrap().seconds(),
        15,
        "rather longer than shorter"
    );
}
