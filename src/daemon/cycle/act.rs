//! Makes the evictions of a plan, and checks before each of them that the plan still holds.

use std::time::Duration;

use jiff::SignedDuration;
use tokio::time::Instant;
use tracing::{Instrument, info, warn};

use crate::cluster::clock::{self, LocalTime};
use crate::cluster::evict;
use crate::daemon::stop::finish;
use crate::daemon::{report, spans};
use crate::decide::engine::recheck::CurrentCluster;
use crate::model::plan::{Move, Outcome, Setbacks, Untried};
use crate::model::snapshot::Snapshot;
use crate::telemetry::metrics::Phase;

use super::Cycle;

/// Time after which no eviction of a plan begins. Together with the deadline of a request it is
/// less than the minute after which the ledger drops an intention whose pod still runs.
pub(super) const LONGEST_PLAN: SignedDuration = SignedDuration::from_secs(20);
/// Age up to which a snapshot serves for the check of several moves. A new one costs as much as
/// joining all objects.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// Returns what to do if this obstacle is that the plan expired while it was made. `elapsed` is the
/// time since the cycle began.
///
/// Every cycle would end like this, so no pod would ever be evicted.
pub(super) fn too_late(obstacle: &Untried, elapsed: SignedDuration) -> Option<String> {
    let Untried::Expired(longest) = obstacle else {
        return None;
    };
    Some(format!(
        "the plan was ready {:.1} s after its cycle began, and expires after {longest:#}; give the \
         program more CPU, or the policy fewer strategies \
         (descheduler_strategy_duration_seconds names the slow one)",
        elapsed.as_secs_f64()
    ))
}

/// The newest snapshot and what the gates say about it, and when it was made.
#[derive(Default)]
struct Current(Option<(Instant, CurrentCluster)>);

impl Cycle<'_> {
    /// Makes the evictions. `decided` is the snapshot of the plan.
    pub(in crate::daemon) async fn act(
        &mut self,
        decided: &Snapshot,
        moves: &[Move],
    ) -> Vec<Outcome> {
        let (start, mut current) = (LocalTime::now(), Current::default());
        let mut outcomes = Vec::new();
        let (mut ended, mut setbacks) = (None, Setbacks::default());
        for planned in moves {
            // A slow API server must not look like a stuck program.
            self.daemon.health.beat(Instant::now());
            if ended.is_none() {
                self.daemon.refresh_guards(self.engine).await;
            }
            let obstacle = ended
                .clone()
                .or_else(|| self.obstacle())
                .or_else(|| setbacks.obstacle(planned))
                .or_else(|| Untried::paused(planned, &self.daemon.cluster.pauses(), clock::now()))
                .or_else(|| {
                    let current = current.refreshed(|| self.current(moves));
                    self.engine.recheck(planned, decided, current, clock::now())
                });
            let outcome = match obstacle {
                Some(why) => {
                    ended = Some(why.clone()).filter(Untried::ends_the_plan);
                    Outcome::Untried(why)
                }
                None => self.evict(planned).instrument(spans::evict(planned)).await,
            };
            ended = ended.or_else(|| outcome.ends_the_plan());
            if let Outcome::Throttled(_, Some(wait)) = &outcome {
                self.daemon.throttled_until = Instant::now().checked_add(*wait);
            }
            setbacks.note(planned, &outcome);
            self.record(planned, &outcome);
            outcomes.push(outcome);
        }
        self.engine.rest_rejected(moves, &outcomes, clock::now());
        if !moves.is_empty() {
            self.daemon.metrics.phase(Phase::Act, start.elapsed());
        }
        outcomes
    }

    /// Returns the reason why nothing more may be changed in this cycle.
    pub(super) fn obstacle(&self) -> Option<Untried> {
        if self.daemon.stop.is_cancelled() {
            return Some(Untried::Stopping);
        }
        if !self.daemon.lead.holds() {
            return Some(Untried::NotLeading);
        }
        let throttled = self.daemon.throttled_until;
        if throttled.is_some_and(|until| Instant::now() < until) {
            return Some(Untried::Throttled);
        }
        if let Some(lack) = self.daemon.cluster.unknown_pauses() {
            return Some(Untried::PausesUnknown(lack));
        }
        let now = LocalTime::now();
        if now.after(self.started) >= LONGEST_PLAN {
            return Some(Untried::Expired(LONGEST_PLAN));
        }
        if let Some(difference) = self.daemon.cluster.clock_difference(now) {
            return Some(Untried::WrongClock(difference.to_string()));
        }
        let cut_off = self.daemon.cluster.cut_off(now);
        cut_off.map(|kind| Untried::Blind(kind.to_string()))
    }

    fn current(&self, moves: &[Move]) -> CurrentCluster {
        self.engine.gates_again(moves, self.snapshot(), clock::now())
    }

    async fn evict(&self, planned: &Move) -> Outcome {
        // `None` leaves the grace period to the pod. Zero would kill it at once, so a part of a
        // second counts as one.
        let seconds = |grace: SignedDuration| grace.as_secs() + i64::from(grace.subsec_nanos() > 0);
        let grace = self.engine.policy().grace_period.map(seconds);
        let request = evict::evict(self.daemon.cluster.client(), planned, grace);
        let outcome = finish(&self.daemon.stop, request)
            .await
            .unwrap_or_else(|| Outcome::Unanswered("the program is stopping".to_owned()));
        spans::evicted(&outcome);
        outcome
    }

    fn record(&mut self, planned: &Move, outcome: &Outcome) {
        self.engine.resolve(planned, outcome);
        self.daemon.metrics.outcome(planned, outcome);
        let (namespace, pod, node) = (&planned.namespace, &planned.pod, &planned.node);
        let (strategy, code, reason) = (planned.strategy, outcome.code(), planned.why());
        if outcome.is_warning() {
            warn!(namespace, pod, node, strategy, outcome = code, %reason, "eviction: {outcome}");
        } else {
            let may_land = report::destinations(planned);
            info!(namespace, pod, node, may_land, strategy, outcome = code, %reason,
                "eviction: {outcome}");
        }
        if *outcome == Outcome::Evicted {
            self.daemon.events.evicted(planned, clock::now());
        }
    }
}

impl Current {
    fn refreshed(&mut self, make: impl FnOnce() -> CurrentCluster) -> &CurrentCluster {
        if self.0.as_ref().is_some_and(|(at, _)| at.elapsed() > CHECK_EVERY) {
            self.0 = None;
        }
        &self.0.get_or_insert_with(|| (Instant::now(), make())).1
    }
}

#[cfg(test)]
mod tests;
