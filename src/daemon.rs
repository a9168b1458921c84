//! The loop: wait, observe, settle, decide, write down, act, write down.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, info, warn};

use crate::cluster::ledger_store::{LedgerStore, StoreError};
use crate::cluster::{Cluster, events, evict};
use crate::engine::Engine;
use crate::ledger::{Ledger, LedgerError};
use crate::plan::{Move, Outcome, Plan};
use crate::policy::{Basis, Policy, Rule};
use crate::snapshot::Snapshot;
use crate::source::Source;
use crate::telemetry::Health;
use crate::telemetry::metrics::Metrics;

/// Everything the loop works with.
pub struct Daemon {
    /// The cluster.
    pub cluster: Cluster,
    /// Where usage comes from.
    pub source: Source,
    /// Where the ledger is kept.
    pub store: LedgerStore,
    /// What probes look at.
    pub health: Health,
    /// What Prometheus scrapes.
    pub metrics: Metrics,
    /// Decide, but evict nothing and write nothing.
    pub dry_run: bool,
    /// The name of our own pod or host, for events.
    pub instance: String,
}

/// Why the loop cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// What the ConfigMap holds is not a ledger of ours.
    #[error("the ledger cannot be read, so nothing may be evicted: {0}; delete its configmap to begin anew")]
    Ledger(#[from] LedgerError),
    /// A single run could not do its work.
    #[error("nothing could be decided: {0}")]
    Blind(String),
    /// A single run could not write the ledger, so it did not act.
    #[error("the ledger cannot be written, so nothing was evicted: {0}")]
    Unwritten(String),
}

/// Works until told to stop.
pub async fn run(mut daemon: Daemon, policy: Policy, stop: CancellationToken) -> Result<(), DaemonError> {
    let Some(ledger) = daemon.start(&stop).await? else { return Ok(()) };
    let (poll, interval) = (policy.usage.poll, policy.interval);
    let mut engine = Engine::new(policy, ledger);
    let mut next_poll = clock();
    let mut next_cycle = next_poll;
    while !stop.is_cancelled() {
        let now = clock();
        if now >= next_poll {
            daemon.observe(&mut engine).await;
            next_poll = after(now, poll);
        }
        if now >= next_cycle {
            let cycle = Cycle::new(&mut daemon, &mut engine);
            if let Err(error) = cycle.run().await {
                warn!(outcome = "failed", "cycle: {error}; trying again at the next");
            }
            next_cycle = after(now, interval);
        }
        let due = next_poll.min(next_cycle);
        daemon.health.beat(due);
        sleep_until(due, &stop).await;
    }
    info!("stopped");
    Ok(())
}

/// Looks for as long as the policy asks for, acts once, and ends: a Job.
pub async fn run_once(mut daemon: Daemon, policy: Policy, stop: CancellationToken) -> Result<(), DaemonError> {
    let Some(ledger) = daemon.start(&stop).await? else { return Ok(()) };
    let poll = policy.usage.poll;
    let look = look_for(&policy);
    let mut engine = Engine::new(policy, ledger);
    if look > SignedDuration::ZERO {
        info!("looking at usage for {look:#} before deciding");
    }
    let mut first = None;
    let patience = after(clock(), look + SignedDuration::from_mins(1));
    while !stop.is_cancelled() {
        let now = clock();
        let seen = daemon.observe(&mut engine).await;
        if seen && first.is_none() {
            first = Some(now);
        }
        if look == SignedDuration::ZERO || first.is_some_and(|t| now.duration_since(t) >= look) {
            return Cycle::new(&mut daemon, &mut engine).run().await.map(drop);
        }
        if first.is_none() && now > patience {
            return Err(DaemonError::Blind("no usage could be read".to_owned()));
        }
        let due = after(now, poll);
        daemon.health.beat(due);
        sleep_until(due, &stop).await;
    }
    Ok(())
}

/// How long it takes until a node can count as hot.
fn look_for(policy: &Policy) -> SignedDuration {
    let sustained = policy.strategies.iter().filter_map(|s| match &s.rule {
        Rule::LowNodeUtilization(rule) => (rule.basis == Basis::Actual).then_some(rule.sustained_for),
    });
    let samples = i32::try_from(policy.usage.min_samples).unwrap_or(i32::MAX);
    let window = policy.usage.poll.saturating_mul(samples);
    sustained.max().map_or(SignedDuration::ZERO, |s| s.saturating_add(window))
}

impl Daemon {
    /// Waits for the first list of every watch, and for the ledger. `None` when told to stop before.
    async fn start(&mut self, stop: &CancellationToken) -> Result<Option<Ledger>, DaemonError> {
        self.health.waiting("the first list of every watch");
        tokio::select! {
            () = self.cluster.wait_synced() => {}
            () = stop.cancelled() => return Ok(None),
        }
        let mut pause = Duration::from_millis(500);
        loop {
            match self.load().await {
                Ok(ledger) => return Ok(Some(ledger)),
                Err(Loading::Unreadable(error)) => return Err(error),
                Err(Loading::Store(error)) => {
                    warn!("waiting for the ledger: {error}");
                    self.health.waiting(format!("the ledger: {error}"));
                }
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(Duration::from_secs(30)),
                () = stop.cancelled() => return Ok(None),
            }
        }
    }

    async fn load(&mut self) -> Result<Ledger, Loading> {
        let text = self.store.load().await.map_err(Loading::Store)?.text;
        let unreadable = |why| Loading::Unreadable(DaemonError::Ledger(why));
        text.map_or(Ok(Ledger::default()), |text| Ledger::parse(&text).map_err(unreadable))
    }

    /// One poll of the source. A source that does not answer leaves the samples to age; that is all it takes.
    async fn observe(&mut self, engine: &mut Engine) -> bool {
        match self.source.read().await {
            Ok(readings) => {
                let snapshot = self.cluster.snapshot(engine.policy().resources());
                for skipped in &readings.skipped {
                    debug!("{skipped}");
                }
                let now = clock();
                engine.observe(&snapshot, &readings, now);
                self.metrics.source_read(now);
                true
            }
            Err(error) => {
                self.metrics.source_failed();
                warn!("usage cannot be read: {error}");
                false
            }
        }
    }
}

enum Loading {
    Store(StoreError),
    Unreadable(DaemonError),
}

/// One cycle: at most one plan, carried out.
struct Cycle<'d> {
    daemon: &'d mut Daemon,
    engine: &'d mut Engine,
    started: Timestamp,
}

impl<'d> Cycle<'d> {
    fn new(daemon: &'d mut Daemon, engine: &'d mut Engine) -> Self {
        Cycle { daemon, engine, started: clock() }
    }

    async fn run(mut self) -> Result<(), DaemonError> {
        if let Some(cut_off) = self.daemon.cluster.cut_off(self.started) {
            self.daemon.health.waiting(cut_off.to_string());
            self.daemon.metrics.cycle("waiting", 0.0);
            warn!(outcome = "waiting", "cycle: {cut_off}; nothing is decided until it is back");
            return Ok(());
        }
        self.daemon.health.ready();
        let snapshot = self.daemon.cluster.snapshot(self.engine.policy().resources());
        let before = self.engine.ledger().clone();
        for settled in self.engine.settle(&snapshot, self.started) {
            info!(workload = %settled.workload, pod = settled.pod, from = settled.from, to = settled.to, "settled: {}", settled.ending);
            self.daemon.metrics.settled(settled.ending);
        }
        let plan = self.engine.decide(&snapshot, self.started);
        self.daemon.metrics.plan(&plan);
        report_nodes(&plan);
        let outcomes = if self.daemon.dry_run || self.engine.policy().dry_run {
            Vec::new()
        } else {
            self.carry_out(&snapshot, &plan, &before).await?
        };
        self.report(&plan, &outcomes);
        Ok(())
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
            self.engine.reload(settled);
            self.recover(&error).await?;
            self.daemon.metrics.cycle("failed", 0.0);
            return Err(DaemonError::Unwritten(error.to_string()));
        }
        let outcomes = self.act(&plan.moves).await;
        if !outcomes.is_empty()
            && let Err(error) = self.save().await
        {
            error!("the outcomes are not in the ledger yet, and will be written with the next cycle: {error}");
            self.recover_version(&error).await;
        }
        Ok(outcomes)
    }

    async fn act(&mut self, moves: &[Move]) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        let mut erred = false;
        for it in moves {
            let outcome =
                if erred { Outcome::Untried } else { evict::evict(self.daemon.cluster.client(), it, None).await };
            erred |= matches!(outcome, Outcome::Failed(_) | Outcome::Unanswered(_));
            self.engine.resolve(it, &outcome);
            self.daemon.metrics.outcome(it, &outcome);
            let told = outcome.code();
            info!(namespace = it.namespace, pod = it.pod, node = it.node, strategy = it.strategy, outcome = told,
                reason = %it.reason, "eviction: {outcome}");
            if outcome == Outcome::Evicted {
                events::evicted(self.daemon.cluster.client(), it, &self.daemon.instance, clock()).await;
            }
            outcomes.push(outcome);
        }
        outcomes
    }

    async fn save(&mut self) -> Result<(), StoreError> {
        self.daemon.store.save(&self.engine.ledger().write()).await
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

    fn report(&self, plan: &Plan, outcomes: &[Outcome]) {
        let dry = self.daemon.dry_run || self.engine.policy().dry_run;
        let evicted = outcomes.iter().filter(|o| **o == Outcome::Evicted).count();
        let outcome = match (plan.halted.is_some(), plan.moves.is_empty(), dry) {
            (true, _, _) => "halted",
            (_, true, _) => "idle",
            (_, _, true) => "dry-run",
            _ => "acted",
        };
        if dry {
            for it in &plan.moves {
                info!(namespace = it.namespace, pod = it.pod, node = it.node, strategy = it.strategy, reason = %it.reason, "dry run: would be evicted");
            }
        }
        let classes = count(plan.nodes.iter().map(|v| v.class.code()));
        let kept = count(plan.kept.iter().map(|k| k.refusal.code()));
        let took = clock().duration_since(self.started);
        self.daemon.metrics.ledger(self.engine.ledger(), self.started);
        self.daemon.metrics.cycle(outcome, took.as_secs_f64());
        info!(outcome, planned = plan.moves.len(), evicted, nodes = classes, kept, skipped = plan.skipped.len(),
            took_ms = %took.as_millis(), "cycle: {}", summary(plan));
    }
}

/// Whether what is written in the cluster may be other than what we saw or wrote last.
const fn unsure(error: &StoreError) -> bool {
    matches!(error, StoreError::Conflict(_) | StoreError::Unanswered { .. })
}

/// The cycle in one clause, for people.
fn summary(plan: &Plan) -> String {
    if let Some(halt) = &plan.halted {
        return halt.to_string();
    }
    match plan.moves.len() {
        0 if !plan.kept.is_empty() => format!("nothing to evict; {} pods were considered and stay", plan.kept.len()),
        0 => {
            let notes: Vec<String> = plan.notes.iter().map(|n| n.why.to_string()).collect();
            if notes.is_empty() { "nothing to do".to_owned() } else { format!("nothing to do: {}", notes.join("; ")) }
        }
        1 => "one pod to evict".to_owned(),
        n => format!("{n} pods to evict"),
    }
}

/// Nodes that are left alone are named each time, so that the newest lines of the log are enough.
fn report_nodes(plan: &Plan) {
    use crate::plan::Class;
    for verdict in &plan.nodes {
        match &verdict.class {
            Class::Unknown(_) | Class::Doubtful(_) => {
                warn!(
                    node = verdict.node,
                    strategy = verdict.strategy,
                    code = verdict.class.code(),
                    "node {} {}",
                    verdict.node,
                    verdict.class
                );
            }
            Class::Hot { .. } | Class::Warming { .. } => debug!(node = verdict.node, "{}", verdict.class),
            Class::Cold | Class::ColdCordoned | Class::Even | Class::NotReady | Class::NotSelected => {}
        }
    }
}

/// `code=n` for each code, by code.
fn count<'c>(codes: impl Iterator<Item = &'c str>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for code in codes {
        *counts.entry(code).or_default() += 1;
    }
    counts.iter().map(|(code, n)| format!("{code}={n}")).collect::<Vec<_>>().join(" ")
}

fn after(now: Timestamp, wait: SignedDuration) -> Timestamp {
    now.saturating_add(wait).unwrap_or(Timestamp::MAX)
}

async fn sleep_until(due: Timestamp, stop: &CancellationToken) {
    let wait = Duration::try_from(due.duration_since(clock())).unwrap_or(Duration::ZERO);
    tokio::select! {
        () = tokio::time::sleep(wait) => {}
        () = stop.cancelled() => {}
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the edge, where time is read")]
fn clock() -> Timestamp {
    Timestamp::now()
}
