//! The lead among several instances, by a coordination.k8s.io Lease.
//!
//! Own code, for no crate was found that judges a holder by the time since its record was *seen* to change: those for the
//! Kubernetes client that we use compare the holder's clock with ours, and not all write only over what they have read.
//! [`Election`] decides; here is what it needs of the API server, and [`Leadership`], by which the others ask.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::{Api, Client, Error};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use self::election::{Election, Lead, Step, Term, Timing};
use super::client::{code, why};

pub mod election;

/// How long the API server may take, where the renew deadline leaves so much time.
const LONGEST_CALL: Duration = Duration::from_secs(10);
/// Calls in one retry period: a write over what has changed meanwhile, a look, and another write.
const CALLS: usize = 3;

/// Which Lease, and who we are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidacy {
    /// Where the Lease is.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// What no other process may ever be called.
    pub identity: String,
    /// How long things may take.
    pub timing: Timing,
}

/// What is known of the lead; clones share it.
#[derive(Clone, Debug)]
pub struct Leadership(watch::Receiver<Standing>);

/// How things stand, as of the last call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Standing {
    lead: Option<Lead>,
    holder: Option<String>,
    trouble: Option<String>,
}

impl Leadership {
    /// The term in which this instance leads now; `None` where it does not, or not surely any more.
    pub fn term(&self) -> Option<Term> {
        self.0
            .borrow()
            .lead
            .filter(|lead| Instant::now() < lead.until)
            .map(|lead| lead.term)
    }

    /// Who is known to hold the Lease.
    pub fn holder(&self) -> Option<String> {
        self.0.borrow().holder.clone()
    }

    /// Why the Lease can be neither read nor written, if so.
    pub fn trouble(&self) -> Option<String> {
        self.0.borrow().trouble.clone()
    }

    /// The same, after which [`Leadership::changed`] waits for what comes later.
    pub fn look(&mut self) -> Option<Term> {
        self.0.mark_unchanged();
        self.term()
    }

    /// Waits until another term begins or this one is given up. It does not tell of a deadline that passes: ask for that.
    pub async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            // The election is over, and so nothing changes any more.
            std::future::pending::<()>().await;
        }
    }
}

/// Takes part in the election.
pub struct Elector {
    api: Api<Lease>,
    candidacy: Candidacy,
    election: Election,
    /// The Lease as it was read or written last; `None` where there was none.
    seen: Option<Lease>,
    standing: watch::Sender<Standing>,
}

/// Why a call came to nothing.
enum Failed {
    /// Somebody else was quicker.
    Overtaken,
    /// The API server refused or did not answer.
    Trouble(String),
}

impl Elector {
    /// A candidate, and by what to ask how it fares. No request is made yet.
    pub fn new(client: Client, candidacy: Candidacy) -> (Self, Leadership) {
        let (standing, receiver) = watch::channel(Standing::default());
        let api = Api::namespaced(client, &candidacy.namespace);
        let election = Election::new(candidacy.identity.clone(), candidacy.timing);
        (
            Elector {
                api,
                candidacy,
                election,
                seen: None,
                standing,
            },
            Leadership(receiver),
        )
    }

    /// Gets and keeps the lead as well as it can. When told to stop, it gives the Lease back.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut rounds = tokio::time::interval(self.candidacy.timing.retry());
        rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                _ = rounds.tick() => self.round().await,
            }
        }
        self.release().await;
    }

    /// What one retry period asks for.
    async fn round(&mut self) {
        self.election.begin(Instant::now());
        let mut trouble = None;
        for _ in 0..CALLS {
            match self.call().await {
                Ok(true) => {}
                Ok(false) => break,
                Err(Failed::Overtaken) => self.election.unsure(),
                Err(Failed::Trouble(why)) => {
                    self.election.unsure();
                    trouble = Some(why);
                    break;
                }
            }
        }
        self.publish(trouble);
    }

    /// One step; whether there is another to make.
    async fn call(&mut self) -> Result<bool, Failed> {
        let sent = Instant::now();
        match self.election.step(sent, clock()) {
            Step::Wait => Ok(false),
            Step::Read => {
                self.read().await?;
                Ok(true)
            }
            Step::Write(spec) => {
                self.write(spec.clone()).await?;
                self.election.written(spec, sent, Instant::now());
                Ok(false)
            }
        }
    }

    async fn read(&mut self) -> Result<(), Failed> {
        let found = self
            .ask("get", self.api.get_opt(&self.candidacy.name))
            .await?;
        // A Lease that says nothing is there all the same, and is written over.
        let spec = found
            .as_ref()
            .map(|lease| lease.spec.clone().unwrap_or_default());
        self.election.read(spec, Instant::now());
        self.seen = found;
        Ok(())
    }

    /// Writes over the Lease that was seen last and over no other: its version goes along.
    async fn write(&mut self, spec: LeaseSpec) -> Result<(), Failed> {
        let params = PostParams::default();
        let written = if let Some(seen) = &self.seen {
            let lease = Lease {
                spec: Some(spec),
                ..seen.clone()
            };
            self.ask(
                "update",
                self.api.replace(&self.candidacy.name, &params, &lease),
            )
            .await?
        } else {
            let metadata = ObjectMeta {
                name: Some(self.candidacy.name.clone()),
                ..ObjectMeta::default()
            };
            let lease = Lease {
                metadata,
                spec: Some(spec),
            };
            self.ask("create", self.api.create(&params, &lease)).await?
        };
        self.seen = Some(written);
        Ok(())
    }

    /// Gives the Lease back, so that another need not wait until it has run out.
    async fn release(&mut self) {
        let led = self.election.resign(Instant::now());
        // Nobody here may think that we lead while the others are told that we do not.
        self.publish(None);
        for _ in 0..CALLS {
            match self.give_back().await {
                Ok(()) if led => return info!("the lead is given back"),
                Err(Failed::Trouble(why)) if led => {
                    return warn!("{why}; others take over when the lease has run out");
                }
                // By a renewal of ours that nobody had heard of, or by whoever leads now.
                Err(Failed::Overtaken) => self.election.unsure(),
                Ok(()) | Err(Failed::Trouble(_)) => return,
            }
        }
    }

    async fn give_back(&mut self) -> Result<(), Failed> {
        if !self.election.is_sure() {
            self.read().await?;
        }
        match self.election.released(clock()) {
            Some(spec) => self.write(spec).await,
            None => Ok(()),
        }
    }

    fn publish(&self, trouble: Option<String>) {
        let before = self.standing.borrow().trouble.clone();
        match (&before, &trouble) {
            (before, Some(why)) if before.as_ref() != Some(why) => warn!("{why}"),
            (Some(_), None) => info!("the lease answers again"),
            _ => {}
        }
        let lead = self.election.lead(Instant::now());
        let holder = self.election.holder().map(str::to_owned);
        self.standing.send_if_modified(|standing| {
            let term = |lead: Option<Lead>| lead.map(|lead| lead.term);
            let changed = term(standing.lead) != term(lead);
            *standing = Standing {
                lead,
                holder,
                trouble,
            };
            changed
        });
    }

    async fn ask<T>(
        &self,
        verb: &str,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Failed> {
        let (namespace, name) = (&self.candidacy.namespace, &self.candidacy.name);
        // Two calls that are not answered must not be the end of the lead.
        let longest = LONGEST_CALL.min(self.candidacy.timing.renew() / 3);
        let error = match tokio::time::timeout(longest, request).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => error,
            Err(_) => {
                return Err(Failed::Trouble(format!(
                    "no answer about lease {namespace}/{name} within {longest:?}"
                )));
            }
        };
        let why = why(&error);
        Err(match code(&error) {
            // Changed, created or deleted since it was seen.
            Some(409) => Failed::Overtaken,
            Some(404) if verb == "update" => Failed::Overtaken,
            Some(403) => Failed::Trouble(format!(
                "may not {verb} lease {namespace}/{name}, which its role must allow: {why}"
            )),
            Some(_) => Failed::Trouble(format!("cannot {verb} lease {namespace}/{name}: {why}")),
            None => Failed::Trouble(format!("no answer about lease {namespace}/{name}: {why}")),
        })
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the edge, where time is read"
)]
fn clock() -> Timestamp {
    Timestamp::now()
}

#[cfg(test)]
pub(crate) mod tests;
