//! Polls of the guards.

use std::time::Duration;

use tokio::time::Instant;

use crate::cluster::clock;
use crate::cluster::failures::Request;
use crate::decide::engine::Engine;

use super::Daemon;

impl Daemon {
    /// Asks the guards and records their answers.
    pub(super) async fn ask_guards(&mut self, engine: &mut Engine) {
        if self.guards.is_empty() {
            // A reload may have removed guards that stopped something.
            self.metrics.guards(&[]);
            self.note_stops(engine);
            return;
        }
        let readings = self.guards.ask(clock::now()).await;
        // A question that takes as long as a poll would otherwise be asked again at once.
        self.guards_asked = Some(Instant::now());
        let mut errors = readings.iter().filter_map(|reading| {
            let why = reading.answers.as_ref().err()?;
            Some(format!("{}: {why}", reading.guard))
        });
        let error = errors.next();
        let result = error.as_deref().map_or(Ok(()), Err);
        self.cluster.failures().record(Request::Guards, result);
        let earlier = std::mem::take(&mut self.polled);
        let resources = engine.policy().resources();
        self.polled = self.cluster.snapshot_after(earlier, resources);
        engine.observe_guards(&self.polled, &readings);
        self.metrics.guards(&engine.guards().reports(clock::now()));
        self.note_stops(engine);
    }

    /// Logs and records the evictions that guards stop, if they have changed.
    pub(super) fn note_stops(&mut self, engine: &mut Engine) {
        let now = clock::now();
        let stops = engine.guards().stops(now);
        self.log_state.log_guards(&stops);
        // The leader records, so that each change has one line. A dry run records nothing.
        if !self.lead.holds() || engine.policy().dry_run {
            self.log_state.forget_recorded_guards();
            return;
        }
        for fact in self.log_state.record_guards(&stops, now) {
            engine.keep_fact(fact);
        }
        // Here too, because a cycle that is skipped saves no ledger.
        self.limit_facts(engine);
    }

    /// Asks the guards again if their answers are as old as a poll.
    pub(super) async fn refresh_guards(&mut self, engine: &mut Engine) {
        let poll = Duration::try_from(engine.policy().usage.poll).unwrap_or_default();
        if self.guards_asked.is_none_or(|at| at.elapsed() >= poll) {
            let stop = self.stop.clone();
            stop.run_until_cancelled(self.ask_guards(engine)).await;
        }
    }
}
