//! The state machine of leader election. Its inputs are observations of the Lease; its output is
//! the next request.
//!
//! The rules are those of client-go's leader election. All times come from the monotonic clock of
//! this process: a holder counts as gone when its record has not changed for a lease duration
//! *since this process saw it change*. The times in the record are never compared with a local
//! clock, so wrong clocks do no harm. The only assumption is that the speeds of two clocks differ
//! by less than lease duration and renew deadline do.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use tokio::time::Instant;

/// client-go extends the retry period by up to this factor and requires a longer renew deadline.
const JITTER: f64 = 1.2;

/// The durations of the election. [`LeaseTiming::new`] checks their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseTiming {
    lease: Duration,
    renew: Duration,
    retry: Duration,
}

/// Durations that could cause two leaders, or none for a long time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeaseTimingError {
    /// The leader would still act after others have taken over.
    #[error("the renew deadline is {renew:?}, expected less than the lease duration of {lease:?}")]
    RenewTooLong {
        /// The renew deadline.
        renew: Duration,
        /// The lease duration.
        lease: Duration,
    },
    /// A single failed renewal would end the leadership.
    #[error(
        "the retry period is {retry:?}, expected less than the renew deadline of {renew:?} \
         divided by 1.2"
    )]
    RetryTooLong {
        /// The retry period.
        retry: Duration,
        /// The renew deadline.
        renew: Duration,
    },
    /// The API server would get requests without a pause.
    #[error("the retry period is {0:?}, expected 100ms or more")]
    RetryTooShort(Duration),
}

impl LeaseTiming {
    /// Others take over when the record has not changed for `lease`. The leader stops when it could
    /// not renew for `renew`. Every `retry`, the leader renews and the others read.
    pub fn new(
        lease: Duration,
        renew: Duration,
        retry: Duration,
    ) -> Result<Self, LeaseTimingError> {
        if renew >= lease {
            return Err(LeaseTimingError::RenewTooLong { renew, lease });
        }
        if retry.mul_f64(JITTER) >= renew {
            return Err(LeaseTimingError::RetryTooLong { retry, renew });
        }
        if retry < Duration::from_millis(100) {
            return Err(LeaseTimingError::RetryTooShort(retry));
        }
        Ok(LeaseTiming { lease, renew, retry })
    }

    /// The durations of a single run, which reads the Lease often: its caller waits for it.
    #[must_use]
    pub fn of_single_run(self) -> Self {
        let retry = self.retry.min(Duration::from_secs(2));
        LeaseTiming { retry, ..self }
    }

    /// How often the Lease is renewed or read.
    pub const fn retry(&self) -> Duration {
        self.retry
    }

    /// How long the leader acts without a renewal.
    pub const fn renew(&self) -> Duration {
        self.renew
    }

    /// Time within which a candidate takes over from a leader that has died.
    pub fn takeover(&self) -> Duration {
        self.lease + 2 * self.retry
    }

    /// The lease duration in whole seconds, rounded up, as the Lease stores it.
    fn seconds(&self) -> i32 {
        // Rounded up: with a shorter stored duration others would take over too early.
        let whole = self.lease.as_secs() + u64::from(self.lease.subsec_nanos() > 0);
        i32::try_from(whole).unwrap_or(i32::MAX)
    }
}

/// The number of one uninterrupted period as leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeadershipTerm(u64);

/// A term and its renew deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveTerm {
    /// Its number.
    pub term: LeadershipTerm,
    /// The renew deadline. Others take over later than this.
    pub until: Instant,
}

/// The next request.
#[derive(Clone, Debug, PartialEq)]
pub enum ElectionStep {
    /// Read the Lease.
    Read,
    /// Write this spec if the Lease has not changed since it was last seen; create the Lease if it
    /// did not exist.
    Write(LeaseSpec),
    /// Nothing until the next retry period.
    Wait,
}

/// The knowledge of one candidate about the Lease.
#[derive(Clone, Debug)]
pub struct Election {
    identity: String,
    timing: LeaseTiming,
    /// The last seen record.
    known: Option<LeaseSpec>,
    /// When the record was first seen in this form.
    since: Option<Instant>,
    /// Whether another holder has changed the record since it was first seen, so that it lives.
    renewed: bool,
    /// Whether the record is believed to be current. If not, it has to be read before the next
    /// write.
    fresh: bool,
    active: Option<ActiveTerm>,
    terms: u64,
}

impl Election {
    /// Creates a candidate that knows nothing. No other process may ever use its identity.
    pub const fn new(identity: String, timing: LeaseTiming) -> Self {
        Election {
            identity,
            timing,
            known: None,
            since: None,
            renewed: false,
            fresh: false,
            active: None,
            terms: 0,
        }
    }

    /// Starts a retry period. The leader writes at once; the others read first.
    pub fn begin(&mut self, now: Instant) {
        self.lapse(now);
        // The leader knows the record, because it wrote it. A read before each renewal would cost a
        // request.
        self.fresh &= self.active.is_some();
    }

    /// Returns the next request. `stamp` is the time to write into the Lease, for people to read.
    pub fn step(&mut self, now: Instant, stamp: Timestamp) -> ElectionStep {
        self.lapse(now);
        if !self.fresh {
            ElectionStep::Read
        } else if self.held_by_another(now) {
            ElectionStep::Wait
        } else {
            ElectionStep::Write(self.claim(stamp))
        }
    }

    /// Records the result of a read; `None` if the Lease does not exist. `now` is the time of the
    /// response.
    pub fn read(&mut self, record: Option<LeaseSpec>, now: Instant) {
        self.fresh = true;
        if record.is_none() && self.held_by_another(now) {
            // The Lease was deleted. Its holder may not know yet and keeps the rest of its time.
            return;
        }
        // Only a change of the record proves that its holder lives. An unchanged one keeps its age.
        let changed = self.known != record;
        self.renewed = self.since.is_some() && (changed || self.renewed);
        if self.since.is_none() || changed {
            self.since = Some(now);
        }
        self.known = record;
        if self.holder() != Some(self.identity.as_str()) {
            self.active = None;
        }
    }

    /// Records an accepted write. The deadline runs from `sent`, because others may see the record
    /// from then on.
    pub fn written(&mut self, spec: LeaseSpec, sent: Instant, now: Instant) {
        self.lapse(now);
        // A renewal continues the term. A write after the deadline begins a new one, because others
        // may have led.
        let term = self.active.map_or_else(|| self.new_term(), |active| active.term);
        (self.known, self.since, self.fresh) = (Some(spec), Some(now), true);
        self.active = Some(ActiveTerm { term, until: sent + self.timing.renew });
    }

    /// Records a conflict or a request without a response.
    pub fn unsure(&mut self) {
        self.fresh = false;
    }

    /// Ends the leadership for good. Returns whether there was one.
    pub fn resign(&mut self, now: Instant) -> bool {
        let led = self.active(now).is_some();
        self.active = None;
        led
    }

    /// Whether the Lease can be written without another read.
    pub const fn is_sure(&self) -> bool {
        self.fresh
    }

    /// Returns the Lease without a holder; `None` if this process does not hold it.
    pub fn released(&self, stamp: Timestamp) -> Option<LeaseSpec> {
        let mine = self.known.clone().filter(|_| self.holder() == Some(self.identity.as_str()))?;
        Some(LeaseSpec {
            holder_identity: None,
            // As client-go does, in case a client takes the empty name for a holder.
            lease_duration_seconds: Some(1),
            renew_time: Some(MicroTime(stamp)),
            ..mine
        })
    }

    /// The term in which this process leads at this moment, if it does.
    pub fn active(&self, now: Instant) -> Option<ActiveTerm> {
        self.active.filter(|active| now < active.until)
    }

    /// The holder in the last seen record, which may be this process.
    pub fn holder(&self) -> Option<&str> {
        holder(self.known.as_ref()?)
    }

    /// Whether another process holds the Lease and has renewed or acquired it since this one first
    /// read it. Then waiting for its end may take forever.
    pub fn is_held_by_living(&self) -> bool {
        self.renewed && self.holder().is_some_and(|holder| holder != self.identity)
    }

    /// Ends a term that was not renewed in time, even if no other process took over. A plan is
    /// valid in one term only.
    fn lapse(&mut self, now: Instant) {
        self.active = self.active(now);
    }

    fn new_term(&mut self) -> LeadershipTerm {
        self.terms += 1;
        LeadershipTerm(self.terms)
    }

    fn held_by_another(&self, now: Instant) -> bool {
        let (Some(known), Some(since)) = (&self.known, self.since) else {
            return false;
        };
        let seconds =
            known.lease_duration_seconds.and_then(|s| u64::try_from(s).ok()).filter(|s| *s > 0);
        // A record without a valid duration gets the local one.
        let duration = seconds.map_or(self.timing.lease, Duration::from_secs);
        holder(known).is_some_and(|holder| holder != self.identity)
            && now.duration_since(since) < duration
    }

    /// The renew time to write. It is later than the previous one of this process, even if the
    /// clock stands still or is set back, because others see a renewal only if the record changes.
    fn next_renew_time(&self, stamp: Timestamp, mine: bool) -> MicroTime {
        let last = self.known.as_ref().and_then(|known| known.renew_time.as_ref()).filter(|_| mine);
        let next = last.and_then(|last| last.0.checked_add(SignedDuration::from_micros(1)).ok());
        MicroTime(next.map_or(stamp, |next| stamp.max(next)))
    }

    /// The record that claims or renews the Lease.
    fn claim(&self, stamp: Timestamp) -> LeaseSpec {
        let mine = self.holder() == Some(self.identity.as_str());
        let now = Some(self.next_renew_time(stamp, mine));
        let transitions = match &self.known {
            None => 0,
            // client-go counts a transition only when the holder changes.
            Some(known) if mine => known.lease_transitions.unwrap_or_default(),
            Some(known) => known.lease_transitions.unwrap_or_default().max(0).saturating_add(1),
        };
        let known = self.known.clone().unwrap_or_default();
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(self.timing.seconds()),
            acquire_time: known.acquire_time.clone().filter(|_| mine).or_else(|| now.clone()),
            renew_time: now,
            lease_transitions: Some(transitions),
            // Fields that the election does not use, such as `preferredHolder`, stay as they are.
            ..known
        }
    }
}

fn holder(spec: &LeaseSpec) -> Option<&str> {
    spec.holder_identity.as_deref().filter(|holder| !holder.is_empty())
}

#[cfg(test)]
mod tests;
