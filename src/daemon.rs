//! The main loop: wait, observe, settle, decide, save the ledger, act, save the ledger.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, debug, info, warn};

use crate::cluster::Cluster;
use crate::cluster::clock;
use crate::cluster::events::EventWriter;
use crate::cluster::ledger_store::{LedgerStore, StoreError};
use crate::daemon::telemetry::Health;
use crate::daemon::telemetry::metrics::{Metrics, Phase};
use crate::daemon::telemetry::status::Board;
use crate::decide::engine::Engine;
use crate::model::ledger::Ledger;
use crate::model::plan::Class;
use crate::model::snapshot::Snapshot;
use crate::model::usage::{NodeUsage, Readings, Unmeasured};
use crate::policy::Policy;

use self::arrivals::UsableNodes;
use self::cycle::Cycle;
pub use self::lead::LeaderRole;
pub use self::poller::UsagePoller;
pub use self::release::ReleaseCheck;
pub use self::reload::{JoinElection, PolicyFile, ReadPolicy};
pub use self::report::LogState;
pub use self::single_run::run_once;
pub use self::steering::Steered;
pub use self::trials::Trials;

#[cfg(test)]
mod fixture;
mod stop;
mod arrivals;
mod cycle;
pub mod telemetry;
mod poller;
mod lead;
mod release;
mod reload;
mod report;
mod single_run;
mod spans;
mod steering;
mod trials;

/// State and connections of the loop.
pub struct Daemon {
    /// The cluster.
    pub cluster: Cluster,
    /// The usage sources.
    pub usage: UsagePoller,
    /// The ConfigMap of the ledger.
    pub store: LedgerStore,
    /// State that the probes report.
    pub health: Health,
    /// Metrics for Prometheus.
    pub metrics: Metrics,
    /// Content of the status page.
    pub board: Board,
    /// Decide, but evict nothing and write nothing to the cluster.
    pub dry_run: bool,
    /// Name of this pod or host, for events.
    pub instance: String,
    /// The events of evictions, taints and policies.
    pub events: EventWriter,
    /// Cancelled when the program has to end.
    pub stop: CancellationToken,
    /// Warnings that are logged already.
    pub log_state: LogState,
    /// Taints that this process has changed.
    pub steered: Steered,
    /// The last trial of steering, and when the next is due.
    pub trials: Trials,
    /// The time before which the API server wants no eviction.
    pub throttled_until: Option<Instant>,
    /// The release of Kubernetes.
    pub release: ReleaseCheck,
    /// Whether this instance acts or stands by.
    pub lead: LeaderRole,
    /// The snapshot of the last poll. Most of its pods are those of the next one.
    pub polled: Snapshot,
    /// The file of the policy, if it is read again while the program runs.
    pub policy_file: Option<PolicyFile>,
}

/// Errors that end the program.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The ConfigMap holds no valid ledger.
    #[error("{0}")]
    Ledger(StoreError),
    /// Another instance leads, so a single run must not act.
    #[error(
        "no evictions: another instance leads: {}; stop it before a single run",
        holder.as_deref().unwrap_or("unknown")
    )]
    NotLeading {
        /// Its identity, if known.
        holder: Option<String>,
    },
    /// A single run had no usage to decide by.
    #[error("cannot decide: {0}")]
    NoUsage(String),
    /// The ledger could not be saved, so nothing was evicted.
    #[error("cannot save the ledger: {0}; no evictions")]
    LedgerNotSaved(String),
}

/// Runs the loop until the program has to end.
pub async fn run(mut daemon: Daemon, policy: Policy) -> Result<(), DaemonError> {
    let Some(ledger) = daemon.start().await? else {
        return Ok(());
    };
    daemon.metrics.expect(&policy);
    daemon.metrics.policy_in_force(clock::now());
    // After the first lists and the ledger, so that an instance that cannot act never holds the
    // Lease.
    daemon.lead.enter();
    let mut engine = Engine::new(policy, ledger);
    let ended = run_loop(&mut daemon, &mut engine).await;
    let led = daemon.lead.holds();
    // Before the taints are removed, which may take longer: another instance waits for the Lease.
    daemon.lead.leave().await;
    // A dry run has set no taints, so it removes none.
    let dry = daemon.dry_run || engine.policy().dry_run;
    if ended.is_ok() && led && !dry {
        daemon.release(&engine).await;
    }
    daemon.events.finish(stop::LAST_EVENTS).await;
    info!("stopped");
    ended
}

async fn run_loop(daemon: &mut Daemon, engine: &mut Engine) -> Result<(), DaemonError> {
    let stop = daemon.stop.clone();
    let mut next_poll = clock::now();
    let mut next_cycle = next_poll;
    let mut usable = UsableNodes::default();
    while !stop.is_cancelled() {
        daemon.reload_policy(engine).await;
        let (poll, interval) = (engine.policy().usage.poll, engine.policy().interval);
        let now = clock::now();
        (next_poll, next_cycle) = (
            not_later_than(next_poll, now, poll),
            not_later_than(next_cycle, now, interval),
        );
        if now >= next_poll {
            if stop
                .run_until_cancelled(daemon.observe(engine))
                .await
                .is_none()
            {
                break;
            }
            daemon.board.sources(|| daemon.usage.source_facts());
            next_poll = after(now, poll);
            let arrived = usable.arrivals(daemon.cluster.usable_nodes());
            if !arrived.is_empty() && next_cycle > now {
                info!(
                    "cycle: early, nodes can take pods now: {}",
                    arrived.join(" ")
                );
                next_cycle = now;
            }
        }
        // Before the cycle, because a new leader decides by the ledger that the previous one wrote.
        match stop.run_until_cancelled(daemon.take_lead(engine)).await {
            Some(taken) => next_cycle = if taken? { now } else { next_cycle },
            None => break,
        }
        daemon.board.part(|| daemon.lead.part());
        if now >= next_cycle {
            daemon.check_release(engine, now).await;
            let cycle = Cycle::new(daemon, engine);
            if let Err(error) = cycle.run().await {
                warn!(
                    outcome = "failed",
                    "cycle: failed, {error}; the next cycle tries again"
                );
                daemon.board.none(now, "failed", &error.to_string());
            }
            next_cycle = after(now, interval);
            daemon.board.due(next_cycle);
        }
        // Polls and cycles share one task, so usage never changes while a plan is made.
        let due = next_poll.min(next_cycle);
        daemon.health.beat(due);
        tokio::select! {
            () = sleep_until(due, &stop) => {}
            // A change of leadership ends the pause, so that a handover does not wait for the next
            // cycle.
            () = daemon.lead.changed() => {}
        }
    }
    Ok(())
}

impl Daemon {
    /// Waits for the first list of every watch and for the ledger. Returns `None` if stopped
    /// before.
    async fn start(&mut self) -> Result<Option<Ledger>, DaemonError> {
        let stop = self.stop.clone();
        self.health.waiting("the first list of every watch");
        tokio::select! {
            () = self.cluster.wait_synced() => {}
            () = stop.cancelled() => return Ok(None),
        }
        let mut pause = Duration::from_millis(500);
        loop {
            let Some(loaded) = stop.run_until_cancelled(self.store.load()).await else {
                return Ok(None);
            };
            match loaded {
                Ok(ledger) => return Ok(Some(ledger)),
                Err(error @ StoreError::Unreadable { .. }) => {
                    return Err(DaemonError::Ledger(error));
                }
                Err(error) => {
                    warn!("waiting for the ledger, no evictions until it is loaded: {error}");
                    self.health.waiting(format!("the ledger: {error}"));
                }
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(Duration::from_secs(30)),
                () = stop.cancelled() => return Ok(None),
            }
        }
    }

    /// Whether more samples would change nothing: every node has a full window, and every hot node
    /// has been hot for long enough. Always true if the policy ignores usage.
    fn is_settled(&self, engine: &Engine, now: Timestamp) -> bool {
        if !single_run::UsageWait::of(engine.policy())
            .longest
            .is_positive()
        {
            return true;
        }
        let snapshot = self.cluster.snapshot(engine.policy().resources());
        let observed = engine.observed(&snapshot, now);
        let is_filling =
            |node: &NodeUsage| matches!(node, NodeUsage::Unknown(Unmeasured::Few { .. }));
        let is_warming = |class: &Class| matches!(class, Class::Warming { .. });
        let plan = engine.decide_observed(&observed);
        !observed.usage.nodes.iter().any(is_filling)
            && !plan.nodes.iter().any(|verdict| is_warming(&verdict.class))
    }

    /// Polls usage once. If no source answers, the samples age until the nodes count as unknown.
    async fn observe(&mut self, engine: &mut Engine) -> bool {
        let start = clock::now();
        let seen = self.poll(engine).instrument(spans::observe()).await;
        self.metrics.phase(Phase::Observe, since(start));
        seen
    }

    async fn poll(&mut self, engine: &mut Engine) -> bool {
        let poll = self
            .usage
            .poll(&self.cluster.node_addresses(), &self.metrics, clock::now())
            .await;
        let Some(poll) = poll else {
            if let Some((kind, message)) = self.usage.error() {
                spans::failed(kind, message);
            }
            return false;
        };
        spans::observed(self.usage.source_in_use(), &poll);
        let earlier = std::mem::take(&mut self.polled);
        let resources = engine.policy().resources();
        let snapshot = self.cluster.snapshot_after(earlier, resources);
        for skipped in poll.readings.skipped.examples() {
            debug!("{skipped}");
        }
        if let Some(missed) = &poll.missed {
            let (addresses, end) = (self.cluster.node_addresses(), clock::now());
            let cluster = (&addresses, self.cluster.measured_objects());
            let take = |at, readings: &Readings| {
                if at <= end {
                    engine.observe(&snapshot, readings, at);
                }
            };
            self.usage.read_missed(missed, cluster, take).await;
        }
        engine.observe(&snapshot, &poll.readings, clock::now());
        self.polled = snapshot;
        true
    }
}

fn after(now: Timestamp, wait: SignedDuration) -> Timestamp {
    now.saturating_add(wait).unwrap_or(Timestamp::MAX)
}

/// Limits a due time to one wait from now. It can be later only if the clock was set back.
fn not_later_than(due: Timestamp, now: Timestamp, wait: SignedDuration) -> Timestamp {
    due.min(after(now, wait))
}

async fn sleep_until(due: Timestamp, stop: &CancellationToken) {
    let wait = Duration::try_from(due.duration_since(clock::now())).unwrap_or(Duration::ZERO);
    tokio::select! {
        () = tokio::time::sleep(wait) => {}
        () = stop.cancelled() => {}
    }
}

/// Returns the time since `start`, or zero if the clock was set back.
fn since(start: Timestamp) -> SignedDuration {
    clock::now().duration_since(start).max(SignedDuration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_does_not_delay_the_next_cycle() {
        let (noon, minute) = (
            "2026-11-21T12:00:00Z".parse().unwrap(),
            SignedDuration::from_mins(1),
        );
        let due = after(noon, minute);
        assert_eq!(not_later_than(due, noon, minute), due);
        let an_hour_ago = noon - SignedDuration::from_hours(1);
        assert_eq!(
            not_later_than(due, an_hour_ago, minute),
            after(an_hour_ago, minute)
        );
    }
}
