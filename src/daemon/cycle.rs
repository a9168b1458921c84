//! One cycle: settle, decide, save the ledger, act, save the ledger.

use tracing::{Instrument, error, info, warn};

use crate::cluster::clock::LocalTime;
use crate::cluster::failures::Request;
use crate::cluster::ledger_store::StoreError;
use crate::decide::engine::Engine;
use crate::decide::engine::Observed;
use crate::model::ledger::Ledger;
use crate::model::plan::{Outcome, Plan, Steer, SteerAction, Untried};
use crate::model::snapshot::Snapshot;
use crate::telemetry::metrics::Phase;

use super::stop::finish;
use super::{Daemon, DaemonError, spans};

mod act;
mod publish;

use publish::CycleEnd;

/// One cycle, which makes and executes at most one plan.
pub(super) struct Cycle<'d> {
    pub(super) daemon: &'d mut Daemon,
    pub(super) engine: &'d mut Engine,
    pub(super) started: LocalTime,
}

impl<'d> Cycle<'d> {
    pub(super) fn new(daemon: &'d mut Daemon, engine: &'d mut Engine) -> Self {
        Cycle { daemon, engine, started: LocalTime::now() }
    }

    /// Returns why a missing right kept every eviction from being made, if one did.
    pub(super) async fn run(self) -> Result<Option<String>, DaemonError> {
        self.daemon.cluster.log_known_pods();
        if !self.daemon.lead.holds() {
            self.engine.forget_reliefs(self.started.wall());
            self.daemon.stand_by(self.engine.policy(), self.started);
            return Ok(None);
        }
        let span = spans::cycle(self.engine, self.dry());
        self.run_as_leader().instrument(span).await
    }

    async fn run_as_leader(mut self) -> Result<Option<String>, DaemonError> {
        if let Some(reason) = self.blind().await {
            self.publish(&CycleEnd::Skipped(&reason));
            return Ok(None);
        }
        match self.daemon.usage.unknown_reason().filter(|_| self.engine.policy().weighs_usage()) {
            Some(reason) => self.daemon.health.waiting(format!("usage: {reason}")),
            None => self.daemon.health.ready(),
        }
        // Those of a policy that was just reloaded have no answers yet.
        self.daemon.refresh_guards(self.engine).await;
        // An instance that has just begun to lead may have asked before.
        self.daemon.note_stops(self.engine);
        self.daemon.exchange_facts(self.engine);
        let snapshot = self.snapshot();
        let observed = spans::settle().in_scope(|| self.settle(&snapshot));
        if self.engine.policy().steering.is_on() {
            let stop = self.daemon.stop.clone();
            let asked = self.daemon.ask_steering_right(&snapshot);
            stop.run_until_cancelled(asked).await;
        }
        let stored = self.read_approval().await;
        let mut plan = spans::decide().in_scope(|| self.decide(&observed));
        if self.daemon.approvals.given.is_none() {
            self.engine.propose(&observed, &mut plan);
        }
        self.daemon.withhold_taints(&mut plan);
        if let Some(stored) = &stored {
            self.record_approval(stored, &snapshot, &plan);
        }
        let decided = self.engine.ledger().clone();
        let made = self.make(&snapshot, &plan).await;
        let is_kept = match (stored, &made) {
            (Some(stored), Ok(outcomes)) => self.propose(stored, &snapshot, &plan, outcomes).await,
            _ => false,
        };
        // Each cycle would repeat those of an approval that is kept.
        if !is_kept {
            plan.unmade.iter().for_each(|unmade| warn!("{unmade}"));
        }
        // Each takes as long as a decision, and after 30 s a plan evicts nothing more.
        if !self.daemon.stop.is_cancelled() {
            self.try_steering(&observed, &decided, &mut plan);
            self.try_replicas(&observed, &decided, &mut plan);
            self.recommend(&observed, &mut plan);
        }
        self.publish(&CycleEnd::Decided {
            snapshot: &snapshot,
            plan: &plan,
            made: made.as_deref(),
        });
        self.daemon.exchange_facts(self.engine);
        Ok(plan.denied(&made?))
    }

    /// Changes taints and evicts pods; neither in a dry run.
    async fn make(
        &mut self,
        snapshot: &Snapshot,
        plan: &Plan,
    ) -> Result<Vec<Outcome>, DaemonError> {
        if self.dry() {
            return Ok(Vec::new());
        }
        // New taints must exist before replacements are scheduled. A move may rely on an old
        // taint, so it goes afterwards.
        self.steer(plan, |action| matches!(action, SteerAction::Add(_))).await;
        let outcomes = self.execute(snapshot, plan).await;
        self.steer(plan, |action| action == SteerAction::Remove).await;
        outcomes
    }

    /// Returns the reason why this cycle cannot decide; `None` if cluster, pauses, clock and ledger
    /// are known.
    async fn blind(&mut self) -> Option<String> {
        if let Some(cut_off) = self.daemon.cluster.cut_off(self.started) {
            let remedy = "check the API server and the role";
            return Some(format!("{cut_off}; no evictions until it is back, {remedy}"));
        }
        if let Some(lack) = self.daemon.cluster.unknown_pauses() {
            let remedy = "let evenkeel list and watch namespaces";
            return Some(format!(
                "{}; no evictions until they can be, {remedy}",
                Untried::PausesUnknown(lack)
            ));
        }
        if let Some(difference) = self.daemon.cluster.clock_difference(self.started) {
            let remedy = "synchronise the clocks";
            return Some(format!("{difference}; no evictions until they agree, {remedy}"));
        }
        let checked = self.check_ledger().await;
        checked.err().map(|error| error.to_string())
    }

    /// Reads the ledger again if it is not certain which one is stored. It must be understood
    /// before anything is decided or overwritten.
    async fn check_ledger(&mut self) -> Result<(), StoreError> {
        if self.daemon.store.uncertain().is_none() {
            return Ok(());
        }
        let stop = self.daemon.stop.clone();
        let merged = self.daemon.store.merge(self.engine.ledger());
        let merged = stop.run_until_cancelled(merged).await;
        let merged = merged.unwrap_or(Err(StoreError::Stopping));
        self.daemon.record_ledger(&merged);
        self.engine.reload(merged?);
        Ok(())
    }

    fn snapshot(&self) -> Snapshot {
        let resources = self.engine.policy().resources();
        self.daemon.cluster.snapshot(resources)
    }

    /// Joins the snapshot with usage, and finds out how earlier evictions ended.
    fn settle<'s>(&mut self, snapshot: &'s Snapshot) -> Observed<'s> {
        let clamped = self.engine.clamp_ledger(self.started.wall());
        if clamped > 0 {
            warn!(
                times = clamped,
                "ledger: found times in the future, set to now; check the clocks of the nodes"
            );
        }
        let observed = self.engine.join_usage(snapshot, self.started.wall());
        for settled in self.engine.settle_observed(&observed) {
            self.daemon.report_settled(&settled, snapshot, self.dry());
        }
        for relief in self.engine.take_reliefs(self.started.wall()) {
            self.daemon.metrics.relieved(&relief);
            info!("{relief}");
        }
        self.daemon.metrics.phase(Phase::Settle, self.started.elapsed());
        observed
    }

    fn decide(&self, observed: &Observed<'_>) -> Plan {
        let begun = LocalTime::now();
        let mut last = begun;
        let plan = self.engine.decide_observed(observed, |done| {
            if let Some(strategy) = done {
                let profile = &self.engine.policy().profiles[strategy.profile].name;
                self.daemon.metrics.strategy(strategy.rule.name(), profile, last.elapsed());
            }
            last = LocalTime::now();
        });
        self.daemon.metrics.phase(Phase::Decide, begun.elapsed());
        plan
    }

    /// Adds to the plan what steering would achieve, if steering is not in force. `decided` is the
    /// ledger at the decision.
    fn try_steering(&mut self, observed: &Observed<'_>, decided: &Ledger, plan: &mut Plan) {
        let (engine, steered) = (&*self.engine, &mut self.daemon.steered);
        let in_force = engine.policy().steering.hot && steered.denied().is_none() && !self.dry();
        if !in_force {
            let wanted = plan.keeps_most_for_landing();
            plan.steering_trial = self
                .daemon
                .trials
                .steering
                .next_trial(wanted, || engine.steering_trial(observed, decided, plan));
        }
    }

    /// Adds to the plan what a lower `evictable.minReplicas` would achieve, if too few replicas
    /// keep nodes hot.
    fn try_replicas(&mut self, observed: &Observed<'_>, decided: &Ledger, plan: &mut Plan) {
        let (engine, wanted) = (&*self.engine, plan.keeps_most_for_replicas());
        plan.replica_trial = self
            .daemon
            .trials
            .replicas
            .next_trial(wanted, || engine.replica_trial(observed, decided, plan));
    }

    /// Adds the recommended requests to the plan, as soon as any usage is known.
    fn recommend(&mut self, observed: &Observed<'_>, plan: &mut Plan) {
        let is_measured = |pod| observed.usage.is_measured(pod);
        let wanted = observed.snapshot.pod_ids().any(is_measured);
        let (engine, recommended) = (&*self.engine, &mut self.daemon.trials.rightsizing);
        let recommended = recommended.next(wanted, || Some(engine.rightsizing(observed)));
        plan.rightsizing = recommended.unwrap_or_default();
    }

    async fn steer(&mut self, plan: &Plan, selects: fn(SteerAction) -> bool) {
        let changes: Vec<&Steer> =
            plan.steering.iter().filter(|steer| selects(steer.action)).collect();
        if changes.is_empty() {
            return;
        }
        let (start, span) = (LocalTime::now(), spans::steer(changes.len()));
        self.change_taints(&changes).instrument(span).await;
        self.daemon.metrics.phase(Phase::Steer, start.elapsed());
    }

    /// Stops at the first error that is not about one node, because the next cycle tries again.
    pub(super) async fn change_taints(&mut self, changes: &[&Steer]) {
        for change in changes {
            if self.obstacle().is_some() || !self.daemon.steer(change).await {
                return;
            }
        }
    }

    /// Saves the intended evictions, makes them, and saves their outcomes. No eviction happens that
    /// is not in the ledger.
    async fn execute(
        &mut self,
        snapshot: &Snapshot,
        plan: &Plan,
    ) -> Result<Vec<Outcome>, DaemonError> {
        // Nothing could be evicted, so nothing is intended.
        if let Some(obstacle) = self.obstacle() {
            let planned = plan.moves.len();
            if let Some(late) = act::too_late(&obstacle, self.started.elapsed()) {
                warn!(planned, "no evictions: {late}");
            } else {
                info!(planned, "no evictions: {obstacle}");
            }
            return Ok(Vec::new());
        }
        let settled = self.engine.ledger().clone();
        self.engine.intend(snapshot, &plan.moves, self.started.wall());
        // After a denied write the same ledger is written again, or the failure would never end.
        let fails = self.daemon.cluster.failures().is_failing(Request::Ledger);
        // Also false if the last cycle could not save its outcomes.
        if self.daemon.store.holds(self.engine.ledger()) && !fails {
            return Ok(Vec::new());
        }
        if let Err(error) = self.save().await {
            // Without a saved intention there is no eviction, so the entries are withdrawn.
            self.engine.reload(settled);
            return Err(DaemonError::LedgerNotSaved(error.to_string()));
        }
        let outcomes =
            self.act(snapshot, &plan.moves).instrument(spans::act(plan.moves.len())).await;
        if !outcomes.is_empty() {
            self.save_outcomes().await;
        }
        Ok(outcomes)
    }

    async fn save_outcomes(&mut self) {
        let mut saved = self.save().await;
        // Another process has written meanwhile. A single run has no later cycle to join both.
        if let Err(StoreError::Conflict(_)) = saved
            && self.check_ledger().await.is_ok()
        {
            saved = self.save().await;
        }
        match saved {
            Ok(()) => {}
            Err(error @ StoreError::NotLeading) => warn!(
                "cannot save the outcomes of the evictions: {error}; the next leader will resolve \
                    them"
            ),
            Err(error) => error!(
                "cannot save the outcomes of the evictions: {error}; the next cycle saves them \
                    again"
            ),
        }
    }

    pub(super) async fn save(&mut self) -> Result<(), StoreError> {
        if !self.daemon.lead.holds() {
            return Err(StoreError::NotLeading);
        }
        self.daemon.limit_facts(self.engine);
        let saved = async {
            let request = self.daemon.store.save(self.engine.ledger());
            let saved = finish(&self.daemon.stop, request).await;
            let saved = saved.unwrap_or(Err(StoreError::Stopping));
            self.daemon.record_ledger(&saved);
            saved.inspect_err(|error| spans::failed("ledger", &error.to_string()))
        };
        let start = LocalTime::now();
        let saved = saved.instrument(spans::save()).await;
        self.daemon.metrics.phase(Phase::Save, start.elapsed());
        saved
    }

    pub(super) fn dry(&self) -> bool {
        self.engine.policy().dry_run
    }
}

#[cfg(test)]
pub(super) mod tests;
