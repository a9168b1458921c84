//! The loop: wait, observe, settle, decide, write down, act, write down.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, debug, info, warn};

use crate::cluster::Cluster;
use crate::cluster::ledger_store::{LedgerStore, StoreError};
use crate::daemon::telemetry::Health;
use crate::daemon::telemetry::metrics::{Metrics, Phase};
use crate::daemon::telemetry::status::Board;
use crate::decide::engine::Engine;
use crate::model::ledger::{Ledger, LedgerError};
use crate::model::plan::Class;
use crate::model::usage::Unmeasured;
use crate::policy::{Basis, Policy, Rule};

use self::cycle::Cycle;
pub use self::lead::Lead;
pub use self::poller::Feed;
pub use self::report::Told;
pub use self::steering::Steered;

mod cycle;
pub mod telemetry;
mod poller;
mod lead;
mod report;
mod spans;
mod steering;

/// Everything the loop works with.
pub struct Daemon {
    /// The cluster.
    pub cluster: Cluster,
    /// Where usage comes from.
    pub usage: Feed,
    /// Where the ledger is kept.
    pub store: LedgerStore,
    /// What probes look at.
    pub health: Health,
    /// What Prometheus scrapes.
    pub metrics: Metrics,
    /// What the status page shows.
    pub board: Board,
    /// Decide, but evict nothing and write nothing.
    pub dry_run: bool,
    /// The name of our own pod or host, for events.
    pub instance: String,
    /// What need not be logged again.
    pub told: Told,
    /// What has been done about taints.
    pub steered: Steered,
    /// Whether we act, or stand by.
    pub lead: Lead,
}

/// Why the loop cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// What the ConfigMap holds is not a ledger of ours.
    #[error(
        "the ledger cannot be read, so nothing may be evicted: {0}; delete its configmap to begin anew"
    )]
    Ledger(#[from] LedgerError),
    /// A single run could not do its work.
    #[error("nothing could be decided: {0}")]
    Blind(String),
    /// A single run could not write the ledger, so it did not act.
    #[error("the ledger cannot be written, so nothing was evicted: {0}")]
    Unwritten(String),
}

/// Works until told to stop.
pub async fn run(
    mut daemon: Daemon,
    policy: Policy,
    stop: CancellationToken,
) -> Result<(), DaemonError> {
    let Some(ledger) = daemon.start(&stop).await? else {
        return Ok(());
    };
    daemon.metrics.expect(&policy);
    daemon.lead.enter();
    let ended = rounds(&mut daemon, Engine::new(policy, ledger), &stop).await;
    daemon.lead.leave().await;
    info!("stopped");
    ended
}

async fn rounds(
    daemon: &mut Daemon,
    mut engine: Engine,
    stop: &CancellationToken,
) -> Result<(), DaemonError> {
    let (poll, interval) = (engine.policy().usage.poll, engine.policy().interval);
    let mut next_poll = clock();
    let mut next_cycle = next_poll;
    while !stop.is_cancelled() {
        let now = clock();
        (next_poll, next_cycle) = (
            in_reach(next_poll, now, poll),
            in_reach(next_cycle, now, interval),
        );
        if now >= next_poll {
            daemon.observe(&mut engine).await;
            daemon.board.sources(|| daemon.usage.told());
            next_poll = after(now, poll);
        }
        if daemon.take_lead(&mut engine).await? {
            next_cycle = now;
        }
        daemon.board.part(|| daemon.lead.part());
        if now >= next_cycle {
            let cycle = Cycle::new(daemon, &mut engine);
            if let Err(error) = cycle.run().await {
                warn!(
                    outcome = "failed",
                    "cycle: {error}; trying again at the next"
                );
                daemon.board.none(now, "failed", &error.to_string());
            }
            next_cycle = after(now, interval);
            daemon.board.due(next_cycle);
        }
        let due = next_poll.min(next_cycle);
        daemon.health.beat(due);
        tokio::select! {
            () = sleep_until(due, stop) => {}
            () = daemon.lead.changed() => {}
        }
    }
    if !(daemon.dry_run || engine.policy().dry_run) {
        daemon.release(&engine).await;
    }
    Ok(())
}

/// Looks until nothing hangs in the balance any more, acts once, and ends: a Job.
///
/// It steers nobody, and takes away the taints that it finds: in the time between two such runs there would be nobody to
/// take away those that are no longer warranted.
pub async fn run_once(
    mut daemon: Daemon,
    mut policy: Policy,
    stop: CancellationToken,
) -> Result<(), DaemonError> {
    let Some(ledger) = daemon.start(&stop).await? else {
        return Ok(());
    };
    if policy.steering.is_on() {
        info!("a single run steers nobody: it would leave its taints behind");
        policy.steering = policy.steering.off();
    }
    let poll = policy.usage.poll;
    let look = longest_look(&policy);
    let mut engine = Engine::new(policy, ledger);
    if let Some(longest) = look {
        info!("looking at usage before deciding, for {longest:#} at most");
    }
    let give_up = after(clock(), look.unwrap_or_default());
    let mut seen = false;
    while !stop.is_cancelled() {
        let now = clock();
        seen |= daemon.observe(&mut engine).await;
        let clear = look.is_none() || (seen && daemon.sees_clear(&engine, now));
        if clear || now >= give_up {
            if !seen && look.is_some() {
                return Err(DaemonError::Blind("no usage could be read".to_owned()));
            }
            return Cycle::new(&mut daemon, &mut engine).run().await;
        }
        let due = after(now, poll).min(give_up);
        daemon.health.beat(due);
        sleep_until(due, &stop).await;
    }
    Ok(())
}

/// How long a single run may look at usage: for a whole window, and then until what is hot has been so for long enough.
/// `None` where no strategy weighs usage.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the others do not weigh usage"
)]
fn longest_look(policy: &Policy) -> Option<SignedDuration> {
    let sustained = policy.strategies.iter().filter_map(|s| match &s.rule {
        Rule::LowNodeUtilization(rule) => {
            (rule.basis == Basis::Actual).then_some(rule.sustained_for)
        }
        Rule::HighNodeUtilization(rule) => {
            (rule.basis == Basis::Actual).then_some(SignedDuration::ZERO)
        }
        _ => None,
    });
    let usage = &policy.usage;
    sustained.max().map(|s| {
        s.saturating_add(usage.window)
            .saturating_add(usage.stale_after)
    })
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

    /// Whether another sample would not tell more of any node: none is still filling its window, or hot but not for long.
    fn sees_clear(&self, engine: &Engine, now: Timestamp) -> bool {
        let plan = engine.decide(&self.cluster.snapshot(engine.policy().resources()), now);
        let open = |class: &Class| {
            matches!(
                class,
                Class::Warming { .. } | Class::Unknown(Unmeasured::Few { .. })
            )
        };
        !plan.nodes.iter().any(|verdict| open(&verdict.class))
    }

    async fn load(&mut self) -> Result<Ledger, Loading> {
        let text = self.store.load().await.map_err(Loading::Store)?.text;
        let unreadable = |why| Loading::Unreadable(DaemonError::Ledger(why));
        text.map_or(Ok(Ledger::default()), |text| {
            Ledger::parse(&text).map_err(unreadable)
        })
    }

    /// One poll. A source that does not answer leaves the samples to age; that is all it takes.
    async fn observe(&mut self, engine: &mut Engine) -> bool {
        let begun = clock();
        let seen = self.poll(engine).instrument(spans::observe()).await;
        self.metrics.phase(Phase::Observe, since(begun));
        seen
    }

    async fn poll(&mut self, engine: &mut Engine) -> bool {
        let look = self
            .usage
            .look(&self.cluster.node_addresses(), &self.metrics, clock())
            .await;
        let Some(look) = look else {
            if let Some((kind, why)) = self.usage.trouble() {
                spans::failed(kind, why);
            }
            return false;
        };
        spans::observed(self.usage.used(), &look);
        let snapshot = self.cluster.snapshot(engine.policy().resources());
        for skipped in &look.readings.skipped {
            debug!("{skipped}");
        }
        let now = clock();
        engine.catch_up(&snapshot, &look.past, now);
        engine.observe(&snapshot, &look.readings, now);
        true
    }
}

enum Loading {
    Store(StoreError),
    Unreadable(DaemonError),
}

fn after(now: Timestamp, wait: SignedDuration) -> Timestamp {
    now.saturating_add(wait).unwrap_or(Timestamp::MAX)
}

/// What is due later than it could be if the wait began now: the clock was set back, and is not waited for.
fn in_reach(due: Timestamp, now: Timestamp, wait: SignedDuration) -> Timestamp {
    due.min(after(now, wait))
}

async fn sleep_until(due: Timestamp, stop: &CancellationToken) {
    let wait = Duration::try_from(due.duration_since(clock())).unwrap_or(Duration::ZERO);
    tokio::select! {
        () = tokio::time::sleep(wait) => {}
        () = stop.cancelled() => {}
    }
}

/// The time since then; none where the clock was set back.
fn since(then: Timestamp) -> SignedDuration {
    clock().duration_since(then).max(SignedDuration::ZERO)
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the edge, where time is read"
)]
fn clock() -> Timestamp {
    Timestamp::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_is_not_waited_for() {
        let (noon, minute) = (
            "2026-11-21T12:00:00Z".parse().unwrap(),
            SignedDuration::from_mins(1),
        );
        let due = after(noon, minute);
        assert_eq!(in_reach(due, noon, minute), due);
        let an_hour_ago = noon - SignedDuration::from_hours(1);
        assert_eq!(
            in_reach(due, an_hour_ago, minute),
            after(an_hour_ago, minute)
        );
    }
}
