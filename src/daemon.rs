//! The main loop: wait, observe, settle, decide, save the ledger, act, save the ledger.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, debug, info, warn};

use crate::cluster::Cluster;
use crate::cluster::clock::{self, LocalTime};
use crate::cluster::events::EventWriter;
use crate::cluster::failures::Request;
use crate::cluster::ledger_store::{LedgerStore, StoreError};
use crate::cluster::usage_source::guards::GuardSource;
use crate::decide::engine::Engine;
use crate::model::ledger::Ledger;
use crate::model::plan::Class;
use crate::model::snapshot::Snapshot;
use crate::model::usage::{NodeUsage, Readings, Unmeasured};
use crate::policy::Policy;
use crate::telemetry::Health;
use crate::telemetry::metrics::{Metrics, Phase};
use crate::telemetry::status::Board;
use crate::values::text;

pub use self::approval::Approvals;
use self::arrivals::UsableNodes;
use self::cycle::Cycle;
pub use self::lead::LeaderRole;
pub use self::poller::UsagePoller;
pub use self::record::RecordTask;
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
mod approval;
mod guards;
mod poller;
mod lead;
pub mod record;
mod release;
mod reload;
mod report;
mod single_run;
mod spans;
mod steering;
mod trials;

/// The longest wait in the loop, for intervals of which the end cannot be represented.
const LONGEST_WAIT: Duration = Duration::from_secs(365 * 24 * 3600);

/// State and connections of the loop.
pub struct Daemon {
    /// The cluster.
    pub cluster: Cluster,
    /// The usage sources.
    pub usage: UsagePoller,
    /// The guards of the policy.
    pub guards: GuardSource,
    /// When the guards were asked last.
    pub guards_asked: Option<Instant>,
    /// The ConfigMap of the ledger.
    pub store: LedgerStore,
    /// The proposal that waits for the approval of a person.
    pub approvals: Approvals,
    /// State that the probes report.
    pub health: Health,
    /// Metrics for Prometheus.
    pub metrics: Metrics,
    /// Content of the status page.
    pub board: Board,
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
    /// The task that writes the record; `None` if there is none.
    pub recorder: Option<RecordTask>,
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
    /// A signal has ended a single run before it decided.
    #[error("no evictions: stopped by a signal before the cycle")]
    Stopped,
    /// A single run had no usage to decide by.
    #[error("cannot decide: {0}")]
    NoUsage(String),
    /// A single run wanted to evict pods, and had the right to evict none of them.
    #[error("no evictions: {0}; grant `create` on `pods/eviction`, see `evenkeel doctor`")]
    NoRight(String),
    /// None of the evictions of a plan that was to be carried out was possible.
    #[error(
        "no evictions: the plan has {}, and none is possible now{}",
        text::count(*.planned, "eviction"),
        made_before(*.made)
    )]
    NothingApplied {
        /// The evictions of the plan.
        planned: usize,
        /// The evictions of the plan that were made before.
        made: usize,
    },
    /// The ledger could not be saved, so nothing was evicted.
    #[error("cannot save the ledger: {0}; no evictions")]
    LedgerNotSaved(String),
}

fn made_before(made: usize) -> String {
    if made == 0 { String::new() } else { format!("; {made} made before") }
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
    let mut engine = daemon.engine(policy, ledger);
    let ended = run_loop(&mut daemon, &mut engine).await;
    daemon.finish_record(&mut engine).await;
    match &ended {
        Ok(()) => daemon.resign(&engine).await,
        Err(_) => daemon.lead.leave().await,
    }
    daemon.events.finish(stop::LAST_EVENTS).await;
    info!("stopped");
    ended
}

async fn run_loop(daemon: &mut Daemon, engine: &mut Engine) -> Result<(), DaemonError> {
    let stop = daemon.stop.clone();
    let mut next_poll = Instant::now();
    let mut next_cycle = next_poll;
    let mut usable = UsableNodes::default();
    while !stop.is_cancelled() {
        daemon.reload_policy(engine).await;
        let (poll, interval) = (engine.policy().usage.poll, engine.policy().interval);
        let now = Instant::now();
        // Sooner if a new policy has shorter intervals.
        next_poll = next_poll.min(after(now, poll));
        next_cycle = next_cycle.min(after(now, interval));
        if is_poll_due(now, next_poll, next_cycle, poll) {
            if stop.run_until_cancelled(daemon.observe(engine)).await.is_none() {
                break;
            }
            daemon.board.sources(|| daemon.usage.source_facts());
            next_poll = after(now, poll);
            let arrived =
                usable.arrivals(daemon.cluster.usable_nodes(), now, interval.unsigned_abs());
            if !arrived.is_empty() && next_cycle > now {
                info!("cycle: early, nodes can take pods now: {}", arrived.join(" "));
                next_cycle = now;
            }
        }
        // Before the cycle, because a new leader decides by the ledger that the previous one wrote.
        match stop.run_until_cancelled(daemon.take_lead(engine)).await {
            Some(taken) => next_cycle = if taken? { now } else { next_cycle },
            None => break,
        }
        daemon.board.role(|| daemon.lead.role());
        if now >= next_cycle {
            daemon.run_cycle(engine).await;
            next_cycle = after(now, interval);
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
    /// Creates a daemon that acts without an election, keeps no record and does not read its policy
    /// again.
    pub fn new(
        cluster: Cluster,
        policy: &Policy,
        instance: &str,
        store: LedgerStore,
        approvals: Approvals,
    ) -> Self {
        let (client, failures) = (cluster.client().clone(), cluster.failures().clone());
        Daemon {
            usage: UsagePoller::new(&policy.usage, &client),
            guards: GuardSource::new(policy),
            guards_asked: None,
            store,
            approvals,
            health: Health::new(&failures),
            metrics: Metrics::new(cluster.request_metrics(), &failures),
            board: Board::default(),
            instance: instance.to_owned(),
            events: EventWriter::start(client, instance, failures),
            stop: CancellationToken::new(),
            log_state: LogState::default(),
            steered: Steered::default(),
            trials: Trials::default(),
            throttled_until: None,
            release: ReleaseCheck::default(),
            lead: LeaderRole::default(),
            polled: Snapshot::default(),
            recorder: None,
            policy_file: None,
            cluster,
        }
    }

    /// Waits for the first list of every watch and for the ledger. Returns `None` if stopped
    /// before.
    async fn start(&mut self) -> Result<Option<Ledger>, DaemonError> {
        let stop = self.stop.clone();
        if stop.run_until_cancelled(self.wait_for_lists()).await.is_none() {
            return Ok(None);
        }
        let mut pause = Duration::from_millis(500);
        loop {
            let Some(loaded) = stop.run_until_cancelled(self.store.load()).await else {
                return Ok(None);
            };
            self.record_ledger(&loaded);
            match loaded {
                Ok(ledger) => return Ok(Some(ledger)),
                Err(error @ StoreError::Unreadable { .. }) => {
                    return Err(DaemonError::Ledger(error));
                }
                Err(error) => self.health.waiting(format!("the ledger: {error}")),
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(Duration::from_secs(30)),
                () = stop.cancelled() => return Ok(None),
            }
        }
    }

    /// Waits until every kind is listed. The probes and the page say which one is not, and why.
    async fn wait_for_lists(&self) {
        self.health.waiting("the first list of every watch");
        let synced = self.cluster.wait_synced();
        tokio::pin!(synced);
        while timeout(Duration::from_secs(1), &mut synced).await.is_err() {
            if let Some(failing) = self.cluster.unlisted() {
                self.health.waiting(failing);
            }
        }
    }

    /// Records whether the ledger can be read and written.
    fn record_ledger<T>(&self, result: &Result<T, StoreError>) {
        let failures = self.cluster.failures();
        match result {
            // Another process has written it, so it can be written.
            Ok(_) | Err(StoreError::Conflict(_)) => failures.works(Request::Ledger),
            Err(StoreError::NotLeading | StoreError::Stopping) => {}
            Err(error) => failures.record(Request::Ledger, Err(&error.to_string())),
        }
    }

    /// Runs one cycle. After an error, the next cycle tries again.
    async fn run_cycle(&mut self, engine: &mut Engine) {
        self.check_release(engine, Instant::now()).await;
        if let Err(error) = Cycle::new(self, engine).run().await {
            warn!(outcome = "failed", "cycle: failed, {error}; the next cycle tries again");
            self.board.none(clock::now(), "failed", &error.to_string());
        }
        let next = clock::now().saturating_add(engine.policy().interval);
        self.board.due(next.unwrap_or(Timestamp::MAX));
    }

    /// Whether more samples would change nothing: every node has a full window, every hot node has
    /// been hot for long enough, and no pod stays because it has too few samples. Always true if
    /// the policy ignores usage.
    fn has_enough_samples(&self, engine: &Engine, now: Timestamp) -> bool {
        if !single_run::UsageWait::of(engine.policy()).longest.is_positive() {
            return true;
        }
        let snapshot = self.cluster.snapshot(engine.policy().resources());
        let observed = engine.join_usage(&snapshot, now);
        let is_filling =
            |node: &NodeUsage| matches!(node, NodeUsage::Unknown(Unmeasured::Few { .. }));
        let is_warming = |class: &Class| matches!(class, Class::Warming { .. });
        let plan = engine.decide_observed(&observed, |_| {});
        !observed.usage.nodes.iter().any(is_filling)
            && !plan.nodes.iter().any(|verdict| is_warming(&verdict.class))
            && !plan.kept.iter().any(|kept| kept.refusal.needs_samples())
    }

    /// Polls usage once. If no source answers, the samples age until the nodes count as unknown.
    async fn observe(&mut self, engine: &mut Engine) -> bool {
        let start = LocalTime::now();
        let asked = async {
            let seen = self.poll(engine).await;
            // Last, so that the answers are new at the decision however slow the source was.
            self.ask_guards(engine).await;
            seen
        };
        let seen = asked.instrument(spans::observe()).await;
        self.metrics.phase(Phase::Observe, start.elapsed());
        seen
    }

    async fn poll(&mut self, engine: &mut Engine) -> bool {
        let poll =
            self.usage.poll(&self.cluster.node_addresses(), &self.metrics, clock::now()).await;
        // Where no decision needs usage, a missing source is no failure.
        if single_run::UsageWait::of(engine.policy()).longest.is_positive() {
            self.usage.report(self.cluster.failures());
        }
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
            let samples = self.cluster.measured_objects();
            let take = |at, readings: &Readings| {
                if at <= end {
                    engine.observe(&snapshot, readings, at);
                }
            };
            self.usage.read_missed(missed, &addresses, samples, take).await;
            // Its queries may take longer than the rest of a poll. That is not stuck.
            self.health.beat(Instant::now());
        }
        engine.observe(&snapshot, &poll.readings, clock::now());
        self.polled = snapshot;
        true
    }
}

/// Whether to poll now. A cycle polls first what is due soon anyway, or each one would decide a few
/// milliseconds before a poll, by usage and answers of guards that are as old as they can be.
fn is_poll_due(
    now: Instant,
    next_poll: Instant,
    next_cycle: Instant,
    poll: SignedDuration,
) -> bool {
    now >= next_poll || now >= next_cycle && after(now, poll / 2) >= next_poll
}

/// Returns the time after a wait. The steady clock counts, because the other one may be set.
fn after(now: Instant, wait: SignedDuration) -> Instant {
    now + Duration::try_from(wait).unwrap_or_default().min(LONGEST_WAIT)
}

async fn sleep_until(due: Instant, stop: &CancellationToken) {
    tokio::select! {
        () = tokio::time::sleep_until(due) => {}
        () = stop.cancelled() => {}
    }
}

#[cfg(test)]
mod tests;
