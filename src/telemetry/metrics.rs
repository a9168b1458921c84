//! Metrics, computed from plans, outcomes and the ledger. Only the loop updates them.

use std::sync::{Arc, Mutex};

use jiff::{SignedDuration, Timestamp};
use prometheus_client::encoding::text::encode_registry;
use tokio::time::Instant;

use crate::cluster::failures::Failures;
use crate::cluster::lock;
use crate::cluster::request_metrics::RequestMetrics;
use crate::model::guard::GuardReport;
use crate::model::ledger::{Ending, Ledger, Settled};
use crate::model::plan::{Move, Outcome, Steer, SteerOutcome};
use crate::model::relief::CycleRelief;
use crate::model::snapshot::Snapshot;
use crate::model::usage::Hindsight;
use crate::policy::{Cooldown, Policy};

use self::catalogue::{MetricInfo, process};
use self::descheduler::DeschedulerMetrics;
use self::families::Families;
use self::registration::FloatGauge;

pub mod catalogue;
mod descheduler;
mod families;
mod last_plan;
mod registration;
mod rightsizing;
mod text;

pub use text::TEXT_FORMAT;

/// All metrics. Clones share the values.
#[derive(Clone, Debug)]
pub struct Metrics {
    all: Families,
    descheduler: Option<DeschedulerMetrics>,
    /// When the plan that is shown was recorded. Held while values are replaced, so that a scrape
    /// never mixes two plans.
    plan_at: Arc<Mutex<Option<Instant>>>,
}

/// Phase of the loop in the duration metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Read usage.
    Observe,
    /// Find out how earlier evictions ended.
    Settle,
    /// Make the plan.
    Decide,
    /// Save the ledger.
    Save,
    /// Set and remove soft taints.
    Steer,
    /// Evict pods.
    Act,
}

/// The result of a line of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineResult {
    /// Written.
    Written,
    /// Dropped, because the sink refused this line.
    Rejected,
    /// Dropped, because the ledger had no room for more lines.
    Dropped,
}

evenkeel_core::codes! {
    LineResult::label {
        Written = "written",
        Rejected = "rejected",
        Dropped = "dropped",
    }
}

evenkeel_core::codes! {
    Phase::label {
        Observe = "observe",
        Settle = "settle",
        Decide = "decide",
        Save = "save",
        Steer = "steer",
        Act = "act",
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Metrics::new(&RequestMetrics::default(), &Failures::default())
    }
}

impl Metrics {
    /// Creates the metrics, together with those of API requests and of failing requests.
    pub fn new(requests: &RequestMetrics, failures: &Failures) -> Self {
        Metrics {
            all: Families::new(requests, failures),
            descheduler: None,
            plan_at: Arc::default(),
        }
    }

    /// The catalogue of all metrics under our own names.
    pub fn catalogue(&self) -> &[&'static MetricInfo] {
        &self.all.registered.entries
    }

    /// Adds the metrics under descheduler's names.
    #[must_use]
    pub fn with_descheduler(self) -> Self {
        Metrics { descheduler: Some(DeschedulerMetrics::new()), ..self }
    }

    /// Returns the text of a scrape.
    pub fn text(&self) -> String {
        let _guard = lock(&self.plan_at);
        let mut open = String::new();
        // Writing to a string cannot fail.
        let _ = encode_registry(&mut open, &self.all.registered.registry);
        if let Some(descheduler) = &self.descheduler {
            let _ = encode_registry(&mut open, &descheduler.registry);
        }
        text::classic(&open)
    }

    /// Creates the series of counters at zero. Prometheus' `increase` misses the first event of a
    /// series that starts at one.
    pub fn expect(&self, policy: &Policy) {
        let all = &self.all;
        for strategy in policy.strategies.iter().map(|s| s.rule.name()) {
            all.planned.of([strategy]);
            for outcome in process::EVICTIONS.fixed_values("outcome") {
                all.evictions.of([strategy, outcome]);
            }
        }
        for family in [&all.settled, &all.landings, &all.cycles, &all.policy_reloads, &all.lines] {
            family.create_all();
        }
        all.phases.create_all();
        if policy.steering.is_on() {
            for action in process::TAINTS.fixed_values("action") {
                for outcome in SteerOutcome::CODES {
                    all.taints.of([action, outcome]);
                }
            }
        }
    }

    /// Counts a change of the policy file, by whether the policy took effect.
    pub fn policy_reloaded(&self, outcome: &'static str) {
        self.all.policy_reloads.of([outcome]).inc();
    }

    /// Records whether the policy file is invalid now.
    pub fn policy_refused(&self, refused: bool) {
        self.all.policy_refused.set(i64::from(refused));
    }

    /// Records when the policy took effect.
    pub fn policy_in_force(&self, since: Timestamp) {
        self.all.policy_since.set(since.as_duration().as_secs_f64());
    }

    /// Records whether this instance decides or stands by.
    pub fn leader(&self, leads: bool) {
        self.all.leader.set(i64::from(leads));
        if !leads {
            // Two instances must not both export a plan. Sums over instances would count it twice.
            self.clear_plan();
        }
    }

    /// Counts the outcome of an eviction.
    pub fn outcome(&self, planned: &Move, outcome: &Outcome) {
        let labels = [planned.strategy, outcome.code()];
        self.all.evictions.of(labels).inc();
        if let Some(descheduler) = &self.descheduler {
            descheduler.outcome(planned, outcome);
        }
    }

    /// Records the duration of a strategy's decision.
    pub fn strategy(&self, strategy: &'static str, profile: &str, took: SignedDuration) {
        if let Some(descheduler) = &self.descheduler {
            descheduler.strategy(strategy, profile, took);
        }
    }

    /// Counts the outcome of a taint change.
    pub fn taint(&self, steer: &Steer, outcome: &SteerOutcome) {
        let labels = [steer.action.code(), outcome.code()];
        self.all.taints.of(labels).inc();
    }

    /// Counts how an eviction ended, and where its replacement landed.
    pub fn settled(&self, settled: &Settled) {
        // Another ending follows.
        if settled.ending != Ending::Landed {
            self.all.settled.of([settled.ending.code()]).inc();
        }
        if let Some(landed) = settled.landed {
            self.all.landings.of([landed.code()]).inc();
        }
    }

    /// Records what the moves of a cycle have achieved, if enough was predicted.
    pub fn relieved(&self, relief: &CycleRelief) {
        if let Some(ratio) = relief.ratio() {
            self.all.relief.observe(ratio.get());
        }
    }

    /// Records the content of the ledger.
    pub fn ledger(
        &self,
        ledger: &Ledger,
        snapshot: &Snapshot,
        cooldown: &Cooldown,
        now: Timestamp,
    ) {
        let all = &self.all;
        for (state, entries) in ledger.by_phase(snapshot, cooldown, now) {
            all.entries.of([state]).set(count(entries));
        }
        all.resting.set(count(ledger.resting(now)));
        all.repeat_offenders.set(count(ledger.repeatedly_ineffective()));
        all.rejected.set(count(ledger.rejected_pods(now).count()));
    }

    /// Records how right the expectations of the last hour were. Nothing while nothing is learned.
    pub fn hindsight(&self, hindsight: &Hindsight) {
        let _guard = lock(&self.plan_at);
        self.all.expectation_error.clear();
        let errors = [("usual", hindsight.usual()), ("unchanged", hindsight.unchanged())];
        for (forecast, error) in errors {
            if let Some(error) = error {
                self.all.expectation_error.of([forecast]).set(error.get());
            }
        }
    }

    /// Removes the series of nodes that no longer exist.
    pub fn retain_nodes(&self, snapshot: &Snapshot) {
        if let Some(descheduler) = &self.descheduler {
            descheduler.retain_nodes(|name| snapshot.find_node(name).is_some());
        }
    }

    /// Counts lines of the record.
    pub fn lines(&self, result: LineResult, lines: usize) {
        let counter = self.all.lines.of([result.label()]);
        counter.inc_by(u64::try_from(lines).unwrap_or(u64::MAX));
    }

    /// Counts a cycle and records its duration.
    pub fn cycle(&self, outcome: &'static str, took: SignedDuration) {
        self.all.cycles.of([outcome]).inc();
        self.all.cycle.observe(took.as_secs_f64());
        if let Some(descheduler) = &self.descheduler {
            descheduler.cycle(took);
        }
    }

    /// Records the duration of a phase.
    pub fn phase(&self, phase: Phase, took: SignedDuration) {
        let series = self.all.phases.of([phase.label()]);
        series.observe(took.as_secs_f64());
    }

    /// Records a successful read: its time, the newest sample of a node, and the number of kinds of
    /// skipped samples.
    pub fn source_read(
        &self,
        source: &'static str,
        at: Timestamp,
        newest: Option<Timestamp>,
        skipped: usize,
    ) {
        let all = &self.all;
        all.source_reads.of([source]).inc();
        set_time(&all.source_read.of([source]), at);
        if let Some(newest) = newest {
            set_time(&all.source_sample.of([source]), newest);
        }
        all.source_skipped.of([source]).set(count(skipped));
    }

    /// Counts a failed read by its kind of error.
    pub fn source_failed(&self, source: &'static str, kind: &'static str) {
        self.all.source_reads.of([source]).inc();
        self.all.source_errors.of([source, kind]).inc();
    }

    /// Records the source that decisions are based on; `None` if all are stale.
    pub fn source_in_use(
        &self,
        used: Option<&'static str>,
        all: impl IntoIterator<Item = &'static str>,
    ) {
        for source in all {
            let in_use = self.all.source_in_use.of([source]);
            in_use.set(i64::from(used == Some(source)));
        }
    }

    /// Records the state of each guard.
    pub fn guards(&self, reports: &[GuardReport]) {
        let (all, _guard) = (&self.all, lock(&self.plan_at));
        all.guard_value.clear();
        all.guard_stops.clear();
        all.guard_missing.clear();
        for report in reports {
            let guard = [&*report.guard];
            if let Some(value) = report.highest {
                all.guard_value.of(guard).set(value.get());
            }
            let missing = i64::from(report.missing.is_some());
            all.guard_missing.of(guard).set(missing);
            all.guard_stops.of(guard).set(count(report.stops.len()));
        }
    }

    /// Removes what is known of sources, because a new policy may ask others.
    pub fn forget_sources(&self) {
        let all = &self.all;
        all.source_in_use.clear();
        all.source_skipped.clear();
        all.source_read.clear();
        all.source_sample.clear();
    }
}

fn set_time(gauge: &FloatGauge, at: Timestamp) {
    gauge.set(at.as_duration().as_secs_f64());
}

fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
