//! The role of this instance among its replicas: leader or standby.
//!
//! A standby watches the cluster and polls usage like the leader, so that its windows are full when
//! it takes over. It decides nothing, writes nothing and removes no taint. An instance that loses
//! the lead becomes a standby. It does not exit, unlike programs that use client-go, because a new
//! process would have to fill its windows again.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::cluster::clock::LocalTime;
use crate::cluster::failures::Request;
use crate::cluster::lease::election::LeadershipTerm;
use crate::cluster::lease::{Elector, Leadership};
use crate::cluster::ledger_store::StoreError;
use crate::decide::engine::Engine;
use crate::model::plan::Untried;
use crate::policy::Policy;
use crate::view::status::facts::ElectionRole;

use super::stop::GRACE;
use super::{Daemon, DaemonError};

/// Time after which a refusal counts as a missing right. An API server that has just started
/// refuses everything until it has read its roles.
const REFUSED: Duration = Duration::from_secs(10);

/// Role of this instance. Without an election, the default, it always acts.
#[derive(Default)]
pub struct LeaderRole(Option<ElectionCandidate>);

struct ElectionCandidate {
    leadership: Leadership,
    stage: ElectionStage,
    /// Time within which a leader that has died is replaced.
    takeover: Duration,
    /// LeadershipTerm for which the ledger is loaded. Only this term allows actions.
    term: Option<LeadershipTerm>,
    /// Reason why the ledger cannot be loaded for the current term.
    load_error: Option<String>,
    logged: Option<LoggedRole>,
}

/// Progress of the election task.
enum ElectionStage {
    /// The election has not started.
    Waiting(Box<Elector>),
    Running(JoinHandle<()>, CancellationToken),
    Over,
}

/// Role that was logged last.
#[derive(Debug, PartialEq, Eq)]
enum LoggedRole {
    Leading,
    Standby(Option<String>),
}

impl LeaderRole {
    /// Creates a candidate of this election.
    pub fn candidate(elector: Elector, leadership: Leadership) -> Self {
        let takeover = elector.timing().takeover();
        let stage = ElectionStage::Waiting(Box::new(elector));
        LeaderRole(Some(ElectionCandidate {
            leadership,
            stage,
            takeover,
            term: None,
            load_error: None,
            logged: None,
        }))
    }

    /// Starts the election. Called only once this instance can act, so that it does not block
    /// replicas that can.
    pub(super) fn enter(&mut self) {
        let Some(candidate) = &mut self.0 else { return };
        candidate.stage = match std::mem::replace(&mut candidate.stage, ElectionStage::Over) {
            ElectionStage::Waiting(elector) => {
                let stop = CancellationToken::new();
                ElectionStage::Running(tokio::spawn(elector.run(stop.clone())), stop)
            }
            later @ (ElectionStage::Running(..) | ElectionStage::Over) => later,
        };
    }

    /// Gives up the lead at the end of the program.
    pub(super) async fn leave(&mut self) {
        let Some(candidate) = &mut self.0 else { return };
        if let ElectionStage::Running(task, stop) =
            std::mem::replace(&mut candidate.stage, ElectionStage::Over)
        {
            stop.cancel();
            // An error means that the election task has panicked and holds no Lease.
            if tokio::time::timeout(GRACE, task).await.is_err() {
                warn!("lease not released in time; others take over when it expires");
            }
        }
    }

    /// Whether this instance may act now. Checked before each action.
    pub(super) fn holds(&self) -> bool {
        self.0.as_ref().is_none_or(|candidate| {
            // Terms are compared because the lead may have been lost and won again. Another leader
            // may have acted in between.
            candidate.term.is_some() && candidate.leadership.term() == candidate.term
        })
    }

    /// Returns why this instance cannot take over.
    pub(super) fn error(&self) -> Option<String> {
        self.0.as_ref().and_then(|candidate| {
            candidate.leadership.error().or_else(|| candidate.load_error.clone())
        })
    }

    /// Returns the role for the status page.
    pub(super) fn role(&self) -> ElectionRole {
        match &self.0 {
            None => ElectionRole::Alone,
            Some(_) if self.holds() => ElectionRole::Leading,
            Some(candidate) => ElectionRole::Standby(candidate.leadership.holder()),
        }
    }

    /// Waits until the lead is won or lost. Without an election it waits forever.
    pub(super) async fn changed(&mut self) {
        match &mut self.0 {
            Some(candidate) => candidate.leadership.changed().await,
            None => std::future::pending().await,
        }
    }
}

impl ElectionCandidate {
    /// Logs who leads, if that has changed.
    fn log_standby(&mut self) {
        let holder = self.leadership.holder();
        let role = LoggedRole::Standby(holder.clone());
        if self.logged.as_ref() == Some(&role) {
            return;
        }
        match (self.logged.replace(role), holder) {
            (Some(LoggedRole::Leading), holder) => {
                warn!(holder, "lost the lead: standing by, no more evictions from this instance");
            }
            (_, Some(holder)) => info!("standing by: {holder} leads"),
            // The Lease has not been read yet.
            (None, None) => {}
            (Some(_), None) => info!("standing by: no known leader"),
        }
    }
}

impl Daemon {
    /// Starts to lead if the election is won, and returns whether it has just started. Loads the
    /// ledger first, because the previous leader has written to it.
    pub(super) async fn take_lead(&mut self, engine: &mut Engine) -> Result<bool, DaemonError> {
        let Some(candidate) = &mut self.lead.0 else {
            self.metrics.leader(true);
            return Ok(false);
        };
        let error = candidate.leadership.error();
        let failed = error.as_deref().map_or(Ok(()), Err);
        self.cluster.failures().record(Request::Lease, failed);
        let term = candidate.leadership.term_and_update();
        if term.is_some() && term == candidate.term {
            return Ok(false);
        }
        // Actions stop first. They are allowed again only when the ledger of the new term is
        // loaded.
        (candidate.term, candidate.load_error) = (None, None);
        self.metrics.leader(false);
        if term.is_none() {
            candidate.log_standby();
            // The new leader removes our taints, which it recognises by their key.
            self.steered.forget_nodes();
            // It also writes the lines that this instance has not written.
            self.withdraw_facts();
            // A standby would report them for ever, because it does not ask again.
            self.cluster.failures().forget(Request::is_of_leader);
            return Ok(false);
        }
        // Joined with ours, because a write of an earlier term may have failed.
        let loaded = self.store.merge(engine.ledger()).await;
        self.record_ledger(&loaded);
        let Some(candidate) = &mut self.lead.0 else {
            return Ok(false);
        };
        match loaded {
            Ok(ledger) => engine.reload(ledger),
            // Later attempts cannot succeed, so the program ends and its log shows the reason.
            Err(error @ StoreError::Unreadable { .. }) => return Err(DaemonError::Ledger(error)),
            Err(error) => {
                warn!(
                    "won the lead but cannot load the ledger: {error}; no evictions until it is \
                        loaded"
                );
                candidate.load_error = Some(format!("the ledger: {error}"));
                return Ok(false);
            }
        }
        (candidate.term, candidate.logged) = (term, Some(LoggedRole::Leading));
        self.metrics.leader(true);
        info!("leading: ledger loaded, this instance acts from now on");
        Ok(true)
    }

    /// Waits for the lead of a single run. Returns an error if another instance keeps it.
    pub(super) async fn win_lead(&mut self, engine: &mut Engine) -> Result<(), DaemonError> {
        self.lead.enter();
        let (began, mut refused) = (Instant::now(), None);
        loop {
            self.take_lead(engine).await?;
            let Some(candidate) = &mut self.lead.0 else {
                return Ok(());
            };
            if candidate.term.is_some() {
                return Ok(());
            }
            refused =
                candidate.leadership.is_forbidden().then(|| refused.unwrap_or_else(Instant::now));
            // Then no other instance of this account can have been elected.
            let longest = REFUSED.min(candidate.takeover);
            if refused.is_some_and(|since: Instant| since.elapsed() >= longest) {
                warn!("no right to the lease: running without a leader election");
                self.lead.leave().await;
                self.lead = LeaderRole::default();
                continue;
            }
            // A leader that has died is replaced once its Lease expires. One that lives keeps it.
            if candidate.leadership.is_held_by_living() || began.elapsed() > candidate.takeover {
                let holder = candidate.leadership.holder();
                return Err(DaemonError::NotLeading { holder });
            }
            tokio::select! {
                () = candidate.leadership.changed() => {}
                () = tokio::time::sleep(Duration::from_secs(1)) => {}
            }
        }
    }

    /// Gives up the lead. The taints go first: the next leader counts on those that it finds. A dry
    /// run has set none.
    pub(super) async fn resign(&mut self, engine: &Engine) {
        if !engine.policy().dry_run {
            self.remove_taints(engine).await;
        }
        self.lead.leave().await;
    }

    /// Reports to the probes whether this instance could take over now.
    pub(super) fn stand_by(&self, policy: &Policy, now: LocalTime) {
        let cut_off = self.cluster.cut_off(now).map(|reason| reason.to_string());
        let no_pauses = || {
            let lack = self.cluster.unknown_pauses()?;
            Some(Untried::PausesUnknown(lack).to_string())
        };
        let unknown_usage = || {
            self.usage
                .unknown_reason()
                .filter(|_| policy.weighs_usage())
                .map(|reason| format!("usage: {reason}"))
        };
        let cut_off = cut_off.or_else(no_pauses);
        match cut_off.or_else(unknown_usage).or_else(|| self.lead.error()) {
            Some(reason) => self.health.waiting(reason),
            None => self.health.standby(),
        }
    }
}

#[cfg(test)]
mod tests;
