//! Leader election among several instances by a coordination.k8s.io Lease.
//!
//! No crate was found that measures the age of a record from the time at which this process *saw*
//! it change. The crates for kube compare the holder's clock with the local one, and some overwrite
//! a Lease that has changed since the read. [`Election`] decides, [`Elector`] talks to the API
//! server, and [`Leadership`] shows the result to other tasks.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::{Api, Client, Error};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use self::election::{ActiveTerm, Election, ElectionStep, LeadershipTerm, LeaseTiming};
use crate::cluster::clock;

use super::client::{error_message, status_code};
use super::error_text::denied;

pub mod election;

/// The deadline of a request, if the renew deadline does not require a shorter one.
const LONGEST_REQUEST: Duration = Duration::from_secs(10);
/// Requests in one retry period: a write that conflicts, a read, and another write.
const REQUESTS: usize = 3;

/// The Lease and the identity of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidacy {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease.
    pub name: String,
    /// The identity of this process. No other process may ever use it.
    pub identity: String,
    /// The durations of the election.
    pub timing: LeaseTiming,
}

/// The state of the election, for other tasks. Clones share it.
#[derive(Clone, Debug)]
pub struct Leadership(watch::Receiver<LeadershipState>);

/// The state after the last request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct LeadershipState {
    active: Option<ActiveTerm>,
    holder: Option<String>,
    /// Whether the holder is another process that lives.
    held_by_living: bool,
    error: Option<String>,
    /// Whether the error is a missing permission.
    forbidden: bool,
}

impl Leadership {
    /// The term in which this instance leads; `None` if it does not lead, or the renew deadline has
    /// passed.
    pub fn term(&self) -> Option<LeadershipTerm> {
        self.0
            .borrow()
            .active
            // The deadline is checked at each use. A suspended process cannot rely on a timer that
            // would clear it.
            .filter(|active| Instant::now() < active.until)
            .map(|active| active.term)
    }

    /// The last known holder of the Lease.
    pub fn holder(&self) -> Option<String> {
        self.0.borrow().holder.clone()
    }

    /// Whether another process holds the Lease and has renewed it since the first read.
    pub fn is_held_by_living(&self) -> bool {
        self.0.borrow().held_by_living
    }

    /// Why the last read or write of the Lease failed, if it did.
    pub fn error(&self) -> Option<String> {
        self.0.borrow().error.clone()
    }

    /// Whether this account has no right to the Lease.
    pub fn is_forbidden(&self) -> bool {
        self.0.borrow().forbidden
    }

    /// Returns the term as [`Leadership::term`] does, and makes [`Leadership::changed`] wait for
    /// later changes.
    pub fn term_and_update(&mut self) -> Option<LeadershipTerm> {
        self.0.mark_unchanged();
        self.term()
    }

    /// Waits until a new term begins or this one is given up. A deadline that passes is no change,
    /// see [`Leadership::term`].
    pub async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            // The elector has ended, so nothing changes any more.
            std::future::pending::<()>().await;
        }
    }
}

/// Takes part in the election through the API server.
pub struct Elector {
    api: Api<Lease>,
    candidacy: Candidacy,
    election: Election,
    /// The Lease as last read or written; `None` if it did not exist.
    seen: Option<Lease>,
    state: watch::Sender<LeadershipState>,
}

/// Why a request failed.
enum LeaseError {
    /// The Lease has changed since it was read.
    Conflict,
    /// This account has no right to it.
    Forbidden(String),
    /// The API server rejected the request or did not respond.
    Other(String),
}

impl LeaseError {
    fn message(self) -> Option<String> {
        match self {
            LeaseError::Conflict => None,
            LeaseError::Forbidden(why) | LeaseError::Other(why) => Some(why),
        }
    }
}

impl Elector {
    /// Creates a candidate and the view of its state, without sending a request.
    pub fn new(client: Client, candidacy: Candidacy) -> (Self, Leadership) {
        let (state, receiver) = watch::channel(LeadershipState::default());
        let api = Api::namespaced(client, &candidacy.namespace);
        let election = Election::new(candidacy.identity.clone(), candidacy.timing);
        (Elector { api, candidacy, election, seen: None, state }, Leadership(receiver))
    }

    /// The durations of the election.
    pub const fn timing(&self) -> LeaseTiming {
        self.candidacy.timing
    }

    /// Acquires and renews the Lease until `stop`, then releases it.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut rounds = tokio::time::interval(self.candidacy.timing.retry());
        // After a slow request the default would send the missed requests at once.
        rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                _ = rounds.tick() => self.round().await,
            }
        }
        self.release().await;
    }

    /// The requests of one retry period.
    async fn round(&mut self) {
        self.election.begin(Instant::now());
        let (mut error, mut forbidden) = (None, false);
        for _ in 0..REQUESTS {
            match self.step().await {
                Ok(true) => {}
                Ok(false) => break,
                Err(LeaseError::Conflict) => self.election.unsure(),
                Err(failure @ (LeaseError::Forbidden(_) | LeaseError::Other(_))) => {
                    self.election.unsure();
                    forbidden = matches!(failure, LeaseError::Forbidden(_));
                    error = failure.message();
                    break;
                }
            }
        }
        self.publish(error, forbidden);
    }

    /// Makes one step. Returns whether another one follows in this period.
    async fn step(&mut self) -> Result<bool, LeaseError> {
        let sent = Instant::now();
        match self.election.step(sent, clock::now()) {
            ElectionStep::Wait => Ok(false),
            ElectionStep::Read => {
                self.read().await?;
                Ok(true)
            }
            ElectionStep::Write(spec) => {
                self.write(spec.clone()).await?;
                self.election.written(spec, sent, Instant::now());
                Ok(false)
            }
        }
    }

    async fn read(&mut self) -> Result<(), LeaseError> {
        let lease = self.checked("get", self.api.get_opt(&self.candidacy.name)).await?;
        // A Lease without a spec exists and can be overwritten.
        let spec = lease.as_ref().map(|lease| lease.spec.clone().unwrap_or_default());
        self.election.read(spec, Instant::now());
        self.seen = lease;
        Ok(())
    }

    /// Writes the Lease if it has not changed since it was last seen. The resource version ensures
    /// that.
    async fn write(&mut self, spec: LeaseSpec) -> Result<(), LeaseError> {
        let params = PostParams::default();
        let written = if let Some(seen) = &self.seen {
            let lease = Lease { spec: Some(spec), ..seen.clone() };
            self.checked("update", self.api.replace(&self.candidacy.name, &params, &lease)).await?
        } else {
            let metadata =
                ObjectMeta { name: Some(self.candidacy.name.clone()), ..ObjectMeta::default() };
            let lease = Lease { metadata, spec: Some(spec) };
            self.checked("create", self.api.create(&params, &lease)).await?
        };
        self.seen = Some(written);
        Ok(())
    }

    /// Releases the Lease, so that the next leader need not wait until it expires.
    async fn release(&mut self) {
        let led = self.election.resign(Instant::now());
        // This process must stop acting as leader before others may become one. An error is not
        // over, because no request was made.
        let LeadershipState { error, forbidden, .. } = self.state.borrow().clone();
        self.publish(error, forbidden);
        for _ in 0..REQUESTS {
            match self.write_released().await {
                Ok(()) if led => return info!("released the lease"),
                Err(LeaseError::Forbidden(why) | LeaseError::Other(why)) if led => {
                    return warn!("lease not released: {why}; others take over when it expires");
                }
                // Changed by a renewal of this process whose response was lost, or by the new
                // leader.
                Err(LeaseError::Conflict) => self.election.unsure(),
                Ok(()) | Err(LeaseError::Forbidden(_) | LeaseError::Other(_)) => return,
            }
        }
    }

    async fn write_released(&mut self) -> Result<(), LeaseError> {
        if !self.election.is_sure() {
            self.read().await?;
        }
        match self.election.released(clock::now()) {
            Some(spec) => self.write(spec).await,
            None => Ok(()),
        }
    }

    /// Publishes the state. Logs an error when it changes, and the end of the errors.
    fn publish(&self, error: Option<String>, forbidden: bool) {
        let before = self.state.borrow().error.clone();
        match (&before, &error) {
            (before, Some(why)) if before.as_ref() != Some(why) => warn!("{why}"),
            (Some(_), None) => info!("lease can be read and written again"),
            _ => {}
        }
        let active = self.election.active(Instant::now());
        let holder = self.election.holder().map(str::to_owned);
        let held_by_living = self.election.is_held_by_living();
        self.state.send_if_modified(|state| {
            let changed = state.active.map(|a| a.term) != active.map(|a| a.term);
            *state = LeadershipState { active, holder, held_by_living, error, forbidden };
            changed
        });
    }

    async fn checked<T>(
        &self,
        verb: &str,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, LeaseError> {
        let (namespace, name) = (&self.candidacy.namespace, &self.candidacy.name);
        // Leadership must survive two requests without a response.
        let longest = LONGEST_REQUEST.min(self.candidacy.timing.renew() / 3);
        let error = match tokio::time::timeout(longest, request).await {
            Ok(Ok(response)) => return Ok(response),
            Ok(Err(error)) => error,
            Err(_) => {
                return Err(LeaseError::Other(format!(
                    "no response for lease {namespace}/{name} within {longest:?}"
                )));
            }
        };
        let why = error_message(&error);
        Err(match status_code(&error) {
            // Changed, created or deleted since it was last seen.
            Some(409) => LeaseError::Conflict,
            Some(404) if verb == "update" => LeaseError::Conflict,
            Some(403) => {
                LeaseError::Forbidden(denied(verb, &format!("lease {namespace}/{name}"), &why))
            }
            Some(_) => LeaseError::Other(format!("cannot {verb} lease {namespace}/{name}: {why}")),
            None => LeaseError::Other(format!("no response for lease {namespace}/{name}: {why}")),
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
