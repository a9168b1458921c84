//! The end of a cycle, in every place where people and programs look: log, metrics, status page and
//! span.

use tracing::warn;

use crate::daemon::{Daemon, DaemonError, report, spans};
use crate::model::plan::{Outcome, Plan};
use crate::model::snapshot::Snapshot;
use crate::view::status::facts::{LedgerStatus, PlanStatus};

use super::Cycle;

pub(super) enum CycleEnd<'c> {
    /// Nothing was decided, for this reason.
    Skipped(&'c str),
    /// There was a plan.
    Decided {
        /// The cluster.
        snapshot: &'c Snapshot,
        plan: &'c Plan,
        /// The outcomes of its evictions. Without a stored ledger, none was made.
        made: Result<&'c [Outcome], &'c DaemonError>,
    },
}

impl Cycle<'_> {
    /// Shows the end of this cycle in every place.
    pub(super) fn publish(&mut self, end: &CycleEnd<'_>) {
        match *end {
            CycleEnd::Skipped(reason) => self.publish_reason(reason),
            CycleEnd::Decided { snapshot, plan, made } => {
                self.publish_plan(plan);
                match made {
                    Ok(outcomes) => self.publish_outcomes(snapshot, plan, outcomes),
                    Err(error) => {
                        self.daemon.metrics.cycle("failed", self.started.elapsed());
                        spans::cycle_failed("failed", &error.to_string());
                    }
                }
            }
        }
    }

    fn publish_reason(&self, reason: &str) {
        let (took, now) = (self.started.elapsed(), self.started.wall());
        self.daemon.health.waiting(reason);
        self.daemon.metrics.cycle("waiting", took);
        // One skipped cycle is soon over. After two the nodes may have changed.
        self.daemon.metrics.expire_plan(self.engine.policy().interval.saturating_mul(2));
        self.daemon.board.none(now, "waiting", reason);
        spans::cycle_failed("waiting", reason);
        warn!(outcome = "waiting", "cycle: skipped, {reason}");
    }

    fn publish_plan(&mut self, plan: &Plan) {
        self.daemon.metrics.plan(plan, self.engine.policy());
        self.daemon.log_state.log_nodes(plan);
        self.daemon.log_state.log_unknown(plan);
        if self.dry() {
            Daemon::log_dry_run(&plan.steering);
        }
    }

    fn publish_outcomes(&mut self, snapshot: &Snapshot, plan: &Plan, outcomes: &[Outcome]) {
        let (took, now, dry) = (self.started.elapsed(), self.started.wall(), self.dry());
        let (ledger, cooldown) = (self.engine.ledger(), &self.engine.policy().cooldown);
        let waiting = self.daemon.approvals.waiting.as_ref();
        let (outcome, summary) = report::cycle(plan, outcomes, waiting, dry, took);
        self.daemon.approvals.made += outcomes.iter().filter(|o| o.is_made()).count();
        self.daemon.metrics.ledger(ledger, snapshot, cooldown, now);
        self.daemon.metrics.hindsight(&self.engine.hindsight());
        self.daemon.metrics.retain_nodes(snapshot);
        self.daemon.metrics.cycle(outcome, took);
        spans::cycle_finished(outcome, plan, outcomes);
        self.daemon.board.plan(|| {
            let status = PlanStatus::of(plan, outcomes, dry, took)
                .with_guards(&self.engine.guards().reports(now))
                .with_steering_denied(self.daemon.steered.denied())
                .with_proposal(waiting);
            let past = status.past(outcome, summary);
            let entries = LedgerStatus::of(ledger, snapshot, cooldown, now);
            (status, past, entries)
        });
    }
}
