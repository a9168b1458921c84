//! One cycle: settle, decide, write down, act, write down.

use jiff::{SignedDuration, Timestamp};
use tracing::{Instrument, error, info, warn};

use crate::cluster::ledger_store::StoreError;
use crate::cluster::{events, evict};
use crate::daemon::telemetry::metrics::Phase;
use crate::daemon::telemetry::status::facts::{LedgerStatus, PlanStatus};
use crate::decide::engine::Engine;
use crate::decide::engine::observed::Observed;
use crate::model::ledger::Ledger;
use crate::model::plan::{Move, Outcome, Plan, Steer, SteerAction};
use crate::model::snapshot::Snapshot;

use super::{Daemon, DaemonError, Loading, clock, report, since, spans};

/// One cycle: at most one plan, carried out.
pub(super) struct Cycle<'d> {
    daemon: &'d mut Daemon,
    engine: &'d mut Engine,
    started: Timestamp,
}

impl<'d> Cycle<'d> {
    pub(super) fn new(daemon: &'d mut Daemon, engine: &'d mut Engine) -> Self {
        Cycle {
            daemon,
            engine,
            started: clock(),
        }
    }

    pub(super) async fn run(self) -> Result<(), DaemonError> {
        if !self.daemon.lead.holds() {
            self.daemon.stand_by(self.engine.policy(), self.started);
            return Ok(());
        }
        let span = spans::cycle(self.engine, self.dry());
        self.round().instrument(span).await
    }

    async fn round(mut self) -> Result<(), DaemonError> {
        if let Some(cut_off) = self.daemon.cluster.cut_off(self.started) {
            self.daemon.health.waiting(cut_off.to_string());
            self.daemon.metrics.cycle("waiting", self.took());
            spans::uncycled("waiting", &cut_off.to_string());
            self.daemon
                .board
                .none(self.started, "waiting", &cut_off.to_string());
            warn!(
                outcome = "waiting",
                "cycle: {cut_off}; nothing is decided until it is back"
            );
            return Ok(());
        }
        match self
            .daemon
            .usage
            .blind()
            .filter(|_| self.engine.policy().weighs_usage())
        {
            Some(why) => self.daemon.health.waiting(format!("usage: {why}")),
            None => self.daemon.health.ready(),
        }
        let before = self.engine.ledger().clone();
        let snapshot = self.snapshot();
        let observed = spans::settle().in_scope(|| self.settle(&snapshot));
        let plan = spans::decide().in_scope(|| self.decide(&observed));
        self.daemon.metrics.plan(&plan, self.engine.policy());
        self.daemon.told.nodes(&plan);
        let outcomes = if self.dry() {
            Daemon::would_steer(&plan.steering);
            Vec::new()
        } else {
            // Taints are there before pods look for a place, and those that a move may count on go after it.
            self.steer(&plan, |action| matches!(action, SteerAction::Add(_)))
                .await;
            let outcomes = self.carry_out(&snapshot, &plan, &before).await;
            self.steer(&plan, |action| action == SteerAction::Remove)
                .await;
            outcomes?
        };
        self.report(&snapshot, &plan, &outcomes);
        Ok(())
    }

    fn snapshot(&self) -> Snapshot {
        let resources = self.engine.policy().resources();
        self.daemon.cluster.snapshot(resources)
    }

    /// Joins the snapshot with usage, and finds out how earlier evictions ended.
    fn settle<'s>(&mut self, snapshot: &'s Snapshot) -> Observed<'s> {
        let observed = self.engine.observed(snapshot, self.started);
        for settled in self.engine.settle_observed(&observed) {
            info!(workload = %settled.workload, pod = settled.pod, from = settled.from, to = settled.to, "settled: {}", settled.ending);
            self.daemon.metrics.settled(&settled);
        }
        self.daemon
            .metrics
            .phase(Phase::Settle, since(self.started));
        observed
    }

    fn decide(&self, observed: &Observed<'_>) -> Plan {
        let begun = clock();
        let mut last = begun;
        let plan = self.engine.decide_with_progress(observed, |done| {
            if let Some(strategy) = done {
                let profile = &self.engine.policy().profiles[strategy.profile].name;
                self.daemon
                    .metrics
                    .strategy(strategy.rule.name(), profile, since(last));
            }
            last = clock();
        });
        self.daemon.metrics.phase(Phase::Decide, since(begun));
        plan
    }

    async fn steer(&mut self, plan: &Plan, of: fn(SteerAction) -> bool) {
        let changes: Vec<&Steer> = plan.steering.iter().filter(|s| of(s.action)).collect();
        if changes.is_empty() {
            return;
        }
        let (begun, span) = (clock(), spans::steer(changes.len()));
        self.daemon
            .steer(changes.into_iter())
            .instrument(span)
            .await;
        self.daemon.metrics.phase(Phase::Steer, since(begun));
    }

    /// Written down, done, written down: no eviction is ever made that the ledger does not know of.
    async fn carry_out(
        &mut self,
        snapshot: &Snapshot,
        plan: &Plan,
        before: &Ledger,
    ) -> Result<Vec<Outcome>, DaemonError> {
        let settled = self.engine.ledger().clone();
        self.engine.intend(snapshot, &plan.moves, self.started);
        if self.engine.ledger() == before {
            return Ok(Vec::new());
        }
        if let Err(error) = self.save().await {
            spans::uncycled("failed", &error.to_string());
            self.engine.reload(settled);
            self.recover(&error).await?;
            self.daemon.metrics.cycle("failed", self.took());
            return Err(DaemonError::Unwritten(error.to_string()));
        }
        let outcomes = self
            .act(&plan.moves)
            .instrument(spans::act(plan.moves.len()))
            .await;
        if !outcomes.is_empty()
            && let Err(error) = self.save().await
        {
            if error == StoreError::NotLeading {
                warn!("{error}: whoever leads next will see what became of these moves");
            } else {
                error!(
                    "the outcomes are not in the ledger yet, and will be written with the next cycle: {error}"
                );
                self.recover_version(&error).await;
            }
        }
        Ok(outcomes)
    }

    pub(super) async fn act(&mut self, moves: &[Move]) -> Vec<Outcome> {
        let begun = clock();
        let mut outcomes = Vec::new();
        let mut erred = false;
        let grace = self.engine.policy().grace_period.map(|g| g.as_secs());
        for it in moves {
            let outcome = if erred || !self.daemon.lead.holds() {
                Outcome::Untried
            } else {
                self.evict(it, grace).instrument(spans::evict(it)).await
            };
            erred |= matches!(outcome, Outcome::Failed(_) | Outcome::Unanswered(_));
            self.engine.resolve(it, &outcome);
            self.daemon.metrics.outcome(it, &outcome);
            let told = outcome.code();
            info!(namespace = it.namespace, pod = it.pod, node = it.node, may_land = report::node_addresses(it),
                strategy = it.strategy, outcome = told, reason = %it.reason, "eviction: {outcome}");
            if outcome == Outcome::Evicted {
                events::evicted(
                    self.daemon.cluster.client(),
                    it,
                    &self.daemon.instance,
                    clock(),
                )
                .await;
            }
            outcomes.push(outcome);
        }
        if !moves.is_empty() {
            self.daemon.metrics.phase(Phase::Act, since(begun));
        }
        outcomes
    }

    async fn evict(&self, it: &Move, grace: Option<i64>) -> Outcome {
        let outcome = evict::evict(self.daemon.cluster.client(), it, grace).await;
        spans::evicted(&outcome);
        outcome
    }

    pub(super) async fn save(&mut self) -> Result<(), StoreError> {
        if !self.daemon.lead.holds() {
            return Err(StoreError::NotLeading);
        }
        let text = self.engine.ledger().write();
        let saved = async {
            let saved = self.daemon.store.save(&text).await;
            saved.inspect_err(|error| spans::failed("ledger", &error.to_string()))
        };
        let begun = clock();
        let saved = saved.instrument(spans::save()).await;
        self.daemon.metrics.phase(Phase::Save, since(begun));
        saved
    }

    /// Someone else has written the ledger: theirs holds, and we decide anew.
    async fn recover(&mut self, error: &StoreError) -> Result<(), DaemonError> {
        if !unsure(error) {
            return Ok(());
        }
        match self.daemon.load().await {
            Ok(ledger) => self.engine.reload(ledger),
            Err(Loading::Store(error)) => warn!("the ledger cannot be loaded again: {error}"),
            Err(Loading::Unreadable(error)) => return Err(error),
        }
        Ok(())
    }

    /// Keeps what we know, which is newer, and learns only which version to write over.
    async fn recover_version(&mut self, error: &StoreError) {
        if unsure(error)
            && let Err(error) = self.daemon.store.load().await
        {
            warn!("the ledger cannot be loaded again: {error}");
        }
    }

    fn report(&self, snapshot: &Snapshot, plan: &Plan, outcomes: &[Outcome]) {
        let took = self.took();
        let outcome = report::cycle(plan, outcomes, self.dry(), took);
        self.daemon.metrics.ledger(
            self.engine.ledger(),
            &self.engine.policy().cooldown,
            self.started,
        );
        self.daemon.metrics.cycle(outcome, took);
        spans::cycled(outcome, plan, outcomes);
        self.daemon.board.round(|| {
            let round = PlanStatus::of(plan, outcomes, self.dry(), took);
            let past = round.past(outcome, report::summary(plan, round.evicted));
            let rest = self.engine.policy().cooldown.rest;
            (
                round,
                past,
                LedgerStatus::of(self.engine.ledger(), snapshot, rest, self.started),
            )
        });
    }

    fn took(&self) -> SignedDuration {
        since(self.started)
    }

    const fn dry(&self) -> bool {
        self.daemon.dry_run || self.engine.policy().dry_run
    }
}

/// Whether what is written in the cluster may be other than what we saw or wrote last.
const fn unsure(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Conflict(_) | StoreError::Unanswered { .. }
    )
}
