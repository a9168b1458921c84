//! Who may act: a state machine that is told what was seen of the Lease and when, and says what to do next.
//!
//! The rules are those of client-go's leader election. Times are of this process's own steady clock alone: a holder is
//! taken for gone when its record has not changed for a whole lease duration *since we saw it change*. What it wrote down
//! as times of its own is never compared with any clock of ours, so it does not matter how wrong either is. All that is
//! assumed is that no two clocks differ in speed by as much as lease duration and renew deadline do.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use tokio::time::Instant;

/// client-go lets candidates wait up to this much longer than the retry period, and refuses a renew deadline within it.
const JITTER: f64 = 1.2;

/// How long things may take. Only [`Timing::new`] makes one, so that the order of the three holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    lease: Duration,
    renew: Duration,
    retry: Duration,
}

/// Durations with which there could be two leaders, or none for long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimingError {
    /// The leader would go on when others have taken over.
    #[error("the renew deadline is {renew:?}, expected less than the lease duration of {lease:?}")]
    RenewTooLong {
        /// The renew deadline.
        renew: Duration,
        /// The lease duration.
        lease: Duration,
    },
    /// One renewal that fails would end the lead.
    #[error(
        "the retry period is {retry:?}, expected less than the renew deadline of {renew:?} divided by 1.2"
    )]
    RetryTooLong {
        /// The retry period.
        retry: Duration,
        /// The renew deadline.
        renew: Duration,
    },
    /// The API server would be asked without a pause.
    #[error("the retry period is {0:?}, expected 100ms or more")]
    RetryTooShort(Duration),
}

impl Timing {
    /// Others wait for `lease` before they take over from a leader that is not heard of; the leader itself stops when it
    /// could not renew for `renew`; every `retry` it renews, and the others look.
    pub fn new(lease: Duration, renew: Duration, retry: Duration) -> Result<Self, TimingError> {
        if renew >= lease {
            return Err(TimingError::RenewTooLong { renew, lease });
        }
        if retry.mul_f64(JITTER) >= renew {
            return Err(TimingError::RetryTooLong { retry, renew });
        }
        if retry < Duration::from_millis(100) {
            return Err(TimingError::RetryTooShort(retry));
        }
        Ok(Timing {
            lease,
            renew,
            retry,
        })
    }

    /// How often the Lease is renewed or looked at.
    pub const fn retry(&self) -> Duration {
        self.retry
    }

    /// How long the leader goes on without a renewal.
    pub const fn renew(&self) -> Duration {
        self.renew
    }

    /// The lease duration as it is written down: whole seconds, rather longer than shorter.
    fn seconds(&self) -> i32 {
        let whole = self.lease.as_secs() + u64::from(self.lease.subsec_nanos() > 0);
        i32::try_from(whole).unwrap_or(i32::MAX)
    }
}

/// One uninterrupted time as leader; each has another number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term(u64);

/// A term, and until when it surely lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lead {
    /// Which.
    pub term: Term,
    /// The renew deadline: nobody else takes over before, nor for some time after.
    pub until: Instant,
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Read the Lease.
    Read,
    /// Write this, if the Lease is still as it was read or written last; create it where there was none.
    Write(LeaseSpec),
    /// Nothing, until the retry period is over.
    Wait,
}

/// One candidate's knowledge of the Lease.
#[derive(Clone, Debug)]
pub struct Election {
    me: String,
    timing: Timing,
    /// The record as it was seen last.
    known: Option<LeaseSpec>,
    /// When the record was first seen to be so.
    since: Option<Instant>,
    /// Whether the Lease is, as far as we know, still what we know. If not, it has to be read before it is written.
    fresh: bool,
    lead: Option<Lead>,
    terms: u64,
}

impl Election {
    /// A candidate of this identity, which no other process may ever have, that knows nothing yet.
    pub const fn new(me: String, timing: Timing) -> Self {
        Election {
            me,
            timing,
            known: None,
            since: None,
            fresh: false,
            lead: None,
            terms: 0,
        }
    }

    /// A retry period is over. The leader writes at once; the others look first.
    pub fn begin(&mut self, now: Instant) {
        self.lapse(now);
        self.fresh &= self.lead.is_some();
    }

    /// What to do at this moment. `stamp` is the time to write down, for people to read.
    pub fn step(&mut self, now: Instant, stamp: Timestamp) -> Step {
        self.lapse(now);
        if !self.fresh {
            Step::Read
        } else if self.held_by_another(now) {
            Step::Wait
        } else {
            Step::Write(self.claim(stamp))
        }
    }

    /// The Lease was read; `None` where there is none. `now` is when the answer came.
    pub fn read(&mut self, found: Option<LeaseSpec>, now: Instant) {
        self.fresh = true;
        if found.is_none() && self.held_by_another(now) {
            // Somebody has deleted it. Its holder may not know that yet, and is given the time that it had.
            return;
        }
        if self.since.is_none() || self.known != found {
            self.since = Some(now);
        }
        self.known = found;
        if self.holder() != Some(self.me.as_str()) {
            self.lead = None;
        }
    }

    /// Our write was accepted. Others see it after it was `sent`, so from then on the deadline runs.
    pub fn written(&mut self, spec: LeaseSpec, sent: Instant, now: Instant) {
        self.lapse(now);
        let term = self.lead.map_or_else(|| self.new_term(), |lead| lead.term);
        (self.known, self.since, self.fresh) = (Some(spec), Some(now), true);
        self.lead = Some(Lead {
            term,
            until: sent + self.timing.renew,
        });
    }

    /// Somebody else has written, or it is not known what came of a call.
    pub fn unsure(&mut self) {
        self.fresh = false;
    }

    /// Gives the lead up, for good; whether there was one.
    pub fn resign(&mut self, now: Instant) -> bool {
        let led = self.lead(now).is_some();
        self.lead = None;
        led
    }

    /// Whether the Lease need not be read before it is written.
    pub const fn is_sure(&self) -> bool {
        self.fresh
    }

    /// The Lease without us; `None` where it is not ours.
    pub fn released(&self, stamp: Timestamp) -> Option<LeaseSpec> {
        let mine = self
            .known
            .clone()
            .filter(|_| self.holder() == Some(self.me.as_str()))?;
        Some(LeaseSpec {
            holder_identity: None,
            // As client-go leaves it behind: not for long, whoever may take an empty name for somebody.
            lease_duration_seconds: Some(1),
            renew_time: Some(MicroTime(stamp)),
            ..mine
        })
    }

    /// Our lead, if it is one at this moment.
    pub fn lead(&self, now: Instant) -> Option<Lead> {
        self.lead.filter(|lead| now < lead.until)
    }

    /// Who holds the Lease by the newest record, ourselves included.
    pub fn holder(&self) -> Option<&str> {
        holder(self.known.as_ref()?)
    }

    /// A lead that was not renewed in time is over, even if nobody took it: what was planned in it is done in no other.
    fn lapse(&mut self, now: Instant) {
        self.lead = self.lead(now);
    }

    fn new_term(&mut self) -> Term {
        self.terms += 1;
        Term(self.terms)
    }

    fn held_by_another(&self, now: Instant) -> bool {
        let (Some(known), Some(since)) = (&self.known, self.since) else {
            return false;
        };
        let lasts = || {
            known
                .lease_duration_seconds
                .and_then(|s| u64::try_from(s).ok())
                .filter(|s| *s > 0)
        };
        // A record that says no duration is given ours.
        let lasts = || lasts().map_or(self.timing.lease, Duration::from_secs);
        holder(known).is_some_and(|holder| holder != self.me) && now.duration_since(since) < lasts()
    }

    /// The time to write down, later than the last of ours, even where a clock stands still or is put back: a record that
    /// is as it was before would not tell the others that we live.
    fn later_than_the_last(&self, stamp: Timestamp, mine: bool) -> MicroTime {
        let last = self
            .known
            .as_ref()
            .and_then(|known| known.renew_time.as_ref())
            .filter(|_| mine);
        let next = last.and_then(|last| last.0.checked_add(SignedDuration::from_micros(1)).ok());
        MicroTime(next.map_or(stamp, |next| stamp.max(next)))
    }

    fn claim(&self, stamp: Timestamp) -> LeaseSpec {
        let mine = self.holder() == Some(self.me.as_str());
        let now = Some(self.later_than_the_last(stamp, mine));
        let transitions = match &self.known {
            None => 0,
            Some(known) if mine => known.lease_transitions.unwrap_or_default(),
            Some(known) => known
                .lease_transitions
                .unwrap_or_default()
                .max(0)
                .saturating_add(1),
        };
        let known = self.known.clone().unwrap_or_default();
        LeaseSpec {
            holder_identity: Some(self.me.clone()),
            lease_duration_seconds: Some(self.timing.seconds()),
            acquire_time: known
                .acquire_time
                .clone()
                .filter(|_| mine)
                .or_else(|| now.clone()),
            renew_time: now,
            lease_transitions: Some(transitions),
            ..known
        }
    }
}

fn holder(spec: &LeaseSpec) -> Option<&str> {
    spec.holder_identity
        .as_deref()
        .filter(|holder| !holder.is_empty())
}

#[cfg(test)]
mod tests;
