//! Whether this instance acts, or stands by while another does.
//!
//! One that stands by watches and looks at usage as the other does, so that its windows are full when it takes over. It
//! decides nothing, writes nothing and takes away no taint. One that loses the lead stands by again, and does not end as
//! programs made with client-go do: a new process would have to fill its windows anew.

use jiff::Timestamp;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::cluster::lease::election::LeadershipTerm;
use crate::cluster::lease::{Elector, Leadership};
use crate::daemon::telemetry::status::ElectionRole;
use crate::decide::engine::Engine;
use crate::policy::Policy;

use super::{Daemon, DaemonError, Loading, Steered};

/// Our part among several instances. By default there is no election, and this instance acts always.
#[derive(Default)]
pub struct Lead(Option<Candidate>);

struct Candidate {
    leadership: Leadership,
    stage: Stage,
    /// The term for which the ledger has been loaded; there is no right to act in any other.
    term: Option<LeadershipTerm>,
    /// Why the ledger cannot be loaded for a term that has begun.
    trouble: Option<String>,
    told: Option<Told>,
}

enum Stage {
    /// Not yet a candidate.
    Waiting(Box<Elector>),
    Running(JoinHandle<()>, CancellationToken),
    Over,
}

/// What has been said of the lead.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Leading,
    Standby(Option<String>),
}

impl Lead {
    /// To be won in this election.
    pub fn candidate((elector, leadership): (Elector, Leadership)) -> Self {
        let stage = Stage::Waiting(Box::new(elector));
        Lead(Some(Candidate {
            leadership,
            stage,
            term: None,
            trouble: None,
            told: None,
        }))
    }

    /// Stands for election from now on: not before it could act, for it would keep those from it that can.
    pub(super) fn enter(&mut self) {
        let Some(candidate) = &mut self.0 else { return };
        candidate.stage = match std::mem::replace(&mut candidate.stage, Stage::Over) {
            Stage::Waiting(elector) => {
                let stop = CancellationToken::new();
                Stage::Running(tokio::spawn(elector.run(stop.clone())), stop)
            }
            later @ (Stage::Running(..) | Stage::Over) => later,
        };
    }

    /// Gives the lead back, when all is done.
    pub(super) async fn leave(&mut self) {
        let Some(candidate) = &mut self.0 else { return };
        if let Stage::Running(task, stop) = std::mem::replace(&mut candidate.stage, Stage::Over) {
            stop.cancel();
            // It fails if the election has panicked, and then there is nothing to give back.
            let _ = task.await;
        }
    }

    /// Whether this instance may act at this very moment: to be asked before everything that it does.
    pub(super) fn holds(&self) -> bool {
        self.0
            .as_ref()
            .is_none_or(|it| it.term.is_some() && it.leadership.term() == it.term)
    }

    /// Why it could not take over, if so.
    pub(super) fn trouble(&self) -> Option<String> {
        self.0
            .as_ref()
            .and_then(|it| it.leadership.error().or_else(|| it.trouble.clone()))
    }

    /// The same for people.
    pub(super) fn part(&self) -> ElectionRole {
        match &self.0 {
            None => ElectionRole::Alone,
            Some(_) if self.holds() => ElectionRole::Leading,
            Some(it) => ElectionRole::Standby(it.leadership.holder()),
        }
    }

    /// Waits until the lead is taken or lost; for ever where there is no election.
    pub(super) async fn changed(&mut self) {
        match &mut self.0 {
            Some(candidate) => candidate.leadership.changed().await,
            None => std::future::pending().await,
        }
    }
}

impl Candidate {
    /// Says who leads in our stead, when it has not been said.
    fn tell_standby(&mut self) {
        let holder = self.leadership.holder();
        let told = Told::Standby(holder.clone());
        if self.told.as_ref() == Some(&told) {
            return;
        }
        match (self.told.replace(told), holder) {
            (Some(Told::Leading), holder) => {
                warn!(
                    holder,
                    "standing by: the lead is lost, and nothing is done from now on"
                );
            }
            (_, Some(holder)) => info!("standing by: {holder} leads"),
            (_, None) => info!("standing by: nobody is known to lead"),
        }
    }
}

impl Daemon {
    /// Takes the lead where it is ours to take; whether it has been taken just now. The ledger is loaded first, for whoever
    /// led before has written to it.
    pub(super) async fn take_lead(&mut self, engine: &mut Engine) -> Result<bool, DaemonError> {
        let Some(it) = &mut self.lead.0 else {
            self.metrics.leader(true);
            return Ok(false);
        };
        let term = it.leadership.term_and_update();
        if term.is_some() && term == it.term {
            return Ok(false);
        }
        (it.term, it.trouble) = (None, None);
        self.metrics.leader(false);
        if term.is_none() {
            it.tell_standby();
            // The plan and the taints are the affair of whoever leads, who knows our taints by their key.
            self.steered = Steered::default();
            return Ok(false);
        }
        let loaded = self.load().await;
        let Some(it) = &mut self.lead.0 else {
            return Ok(false);
        };
        match loaded {
            Ok(ledger) => engine.reload(ledger),
            Err(Loading::Unreadable(error)) => return Err(error),
            Err(Loading::Store(error)) => {
                warn!("the lead is ours, but not the ledger: {error}");
                it.trouble = Some(format!("the ledger: {error}"));
                return Ok(false);
            }
        }
        (it.term, it.told) = (term, Some(Told::Leading));
        self.metrics.leader(true);
        info!("leading: the ledger is loaded, and this instance acts from now on");
        Ok(true)
    }

    /// Tells probes whether it could take over at any time.
    pub(super) fn stand_by(&self, policy: &Policy, now: Timestamp) {
        let cut_off = self.cluster.cut_off(now).map(|it| it.to_string());
        let blind = || {
            self.usage
                .blind()
                .filter(|_| policy.weighs_usage())
                .map(|why| format!("usage: {why}"))
        };
        match cut_off.or_else(blind).or_else(|| self.lead.trouble()) {
            Some(why) => self.health.waiting(why),
            None => self.health.standby(),
        }
    }
}

#[cfg(test)]
mod tests;
