//! The metrics: what a plan, its outcomes and the ledger come to, in figures. Nothing else writes to them.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use prometheus_client::encoding::text::{encode_eof, encode_registry};

use crate::cluster::request_metrics::RequestMetrics;
use crate::model::ledger::{Ledger, Settled};
use crate::model::plan::{
    BalanceReport, Move, NodePicture, Outcome, Plan, PoolPicture, Steer, SteerOutcome,
};
use crate::policy::{Basis, Cooldown, Policy};

use self::descheduler::Descheduler;
use self::families::{
    BalanceLabels, BandLabels, ClassLabels, CycleLabels, EndingLabels, Families, Fraction,
    IdleLabels, LandingLabels, OutcomeLabels, PhaseLabels, PoolLabels, RatioLabels, RefusalLabels,
    SourceErrorLabels, SourceLabels, StateLabels, SteerLabels, StrategyLabels, TaintLabels,
    VerdictLabels,
};

mod rightsizing;
pub mod catalogue;
mod descheduler;
mod families;
mod standby;
mod text;

pub use text::Form;

/// Every metric; clones share them.
#[derive(Clone, Debug)]
pub struct Metrics {
    all: Families,
    descheduler: Option<Descheduler>,
    /// Held while a plan is taken in: what is scraped is of one plan.
    whole: Arc<Mutex<()>>,
}

/// A part of the work, by which its time is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Usage is read and taken in.
    Observe,
    /// It is looked for what became of earlier evictions.
    Settle,
    /// The plan is made.
    Decide,
    /// The ledger is written.
    Save,
    /// Soft taints are put on and taken off.
    Steer,
    /// Evictions are made.
    Act,
}

impl Phase {
    /// The stable label.
    pub const fn label(self) -> &'static str {
        match self {
            Phase::Observe => "observe",
            Phase::Settle => "settle",
            Phase::Decide => "decide",
            Phase::Save => "save",
            Phase::Steer => "steer",
            Phase::Act => "act",
        }
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Metrics::new(&RequestMetrics::default())
    }
}

impl Metrics {
    /// Metrics that tell of these requests too.
    pub fn new(calls: &RequestMetrics) -> Self {
        Metrics {
            all: Families::new(calls),
            descheduler: None,
            whole: Arc::default(),
        }
    }

    /// The same, and beside them what descheduler would show, by its names.
    #[must_use]
    pub fn with_descheduler(self) -> Self {
        Metrics {
            descheduler: Some(Descheduler::new()),
            ..self
        }
    }

    /// The text that is scraped.
    pub fn text(&self, form: Form) -> String {
        let _whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        let mut open = String::new();
        // Writing to a string cannot fail.
        let _ = encode_registry(&mut open, &self.all.registry);
        if let Some(descheduler) = &self.descheduler {
            let _ = encode_registry(&mut open, &descheduler.registry);
        }
        let _ = encode_eof(&mut open);
        match form {
            Form::OpenMetrics => open,
            Form::Classic => text::classic(&open),
        }
    }

    /// What is going to be counted is there from the start: a series that begins at one has no increase.
    pub fn expect(&self, policy: &Policy) {
        let it = &self.all;
        for strategy in policy.strategies.iter().map(|s| s.rule.name()) {
            drop(it.planned.get_or_create(&StrategyLabels { strategy }));
            for outcome in catalogue::EVICTIONS.words("outcome") {
                drop(
                    it.evictions
                        .get_or_create(&OutcomeLabels { strategy, outcome }),
                );
            }
        }
        for ending in catalogue::SETTLED.words("ending") {
            drop(it.settled.get_or_create(&EndingLabels { ending }));
        }
        for forecast in catalogue::LANDINGS.words("forecast") {
            drop(it.landings.get_or_create(&LandingLabels { forecast }));
        }
        for outcome in catalogue::CYCLES.words("outcome") {
            drop(it.cycles.get_or_create(&CycleLabels { outcome }));
        }
        for phase in catalogue::PHASE.words("phase") {
            drop(it.phases.get_or_create(&PhaseLabels { phase }));
        }
        if policy.steering.is_on() {
            for action in catalogue::TAINTS.words("action") {
                for outcome in SteerOutcome::CODES {
                    drop(it.taints.get_or_create(&TaintLabels { action, outcome }));
                }
            }
        }
    }

    /// Takes in whether this instance decides, or stands by.
    pub fn leader(&self, leads: bool) {
        self.all.leader.set(i64::from(leads));
        if !leads {
            self.fall_silent();
        }
    }

    /// Takes in the last plan of a policy. What it no longer speaks of is gone: a node that has left leaves no series
    /// behind.
    pub fn plan(&self, plan: &Plan, policy: &Policy) {
        let _whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        let it = &self.all;
        it.halted.set(i64::from(plan.halted.is_some()));
        self.verdicts(plan);
        it.kept.clear();
        for kept in &plan.kept {
            it.kept
                .get_or_create(&RefusalLabels {
                    strategy: kept.strategy,
                    code: kept.refusal.code(),
                })
                .inc();
        }
        it.planned.clear();
        for strategy in policy.strategies.iter().map(|s| s.rule.name()) {
            let moves = plan.moves.iter().filter(|m| m.strategy == strategy).count();
            it.planned
                .get_or_create(&StrategyLabels { strategy })
                .set(count(moves));
        }
        it.idle.clear();
        for note in &plan.notes {
            let (strategy, pool, code) = (note.strategy, note.pool.clone(), note.why.code());
            it.idle
                .get_or_create(&IdleLabels {
                    strategy,
                    pool,
                    code,
                })
                .set(1);
        }
        it.steered.clear();
        for steer in &plan.steering {
            it.steered
                .get_or_create(&SteerLabels {
                    action: steer.action.code(),
                    code: steer.why.code(),
                })
                .inc();
        }
        it.skipped.set(count(plan.skipped.len()));
        it.rightsizing
            .take(&plan.rightsizing, policy.rightsizing.top);
        self.picture(&plan.before, policy);
    }

    /// A node that two strategies of one name take for the same counts once.
    fn verdicts(&self, plan: &Plan) {
        self.all.nodes.clear();
        self.all.node_class.clear();
        for verdict in &plan.nodes {
            let (strategy, class) = (verdict.strategy, verdict.class.code());
            let labels = VerdictLabels {
                node: verdict.node.clone(),
                strategy,
                class,
            };
            if self.all.node_class.get_or_create(&labels).set(1) == 0 {
                self.all
                    .nodes
                    .get_or_create(&ClassLabels { strategy, class })
                    .inc();
            }
        }
    }

    fn picture(&self, picture: &BalanceReport, policy: &Policy) {
        let it = &self.all;
        it.node_ratio.clear();
        for node in &picture.nodes {
            self.ratios(node, policy);
        }
        for family in [&it.mean, &it.deviation, &it.above_mean] {
            family.clear();
        }
        it.band.clear();
        it.outside_band.clear();
        for pool in &picture.pools {
            self.pool(pool);
        }
    }

    /// Of what nobody measures there is only what is requested.
    fn ratios(&self, node: &NodePicture, policy: &Policy) {
        let smoothed = policy.usage.smoothing.label();
        let shown = [
            (Basis::Requests, "none", &node.requests),
            (Basis::Actual, "none", &node.latest),
            (Basis::Actual, smoothed, &node.actual),
        ];
        for (basis, smoothing, ratios) in shown {
            let measured =
                |resource: &String| basis == Basis::Requests || node.latest.contains_key(resource);
            for (resource, ratio) in ratios.iter().filter(|(resource, _)| measured(resource)) {
                let Some(ratio) = ratio else { continue };
                let (node, resource, basis) = (node.name.clone(), resource.clone(), basis.label());
                let labels = RatioLabels {
                    node,
                    resource,
                    basis,
                    smoothing,
                };
                self.all.node_ratio.get_or_create(&labels).set(ratio.get());
            }
        }
    }

    fn pool(&self, it: &PoolPicture) {
        let basis = it.basis.label();
        for (resource, balance) in &it.balance {
            let labels = BalanceLabels {
                pool: it.name.clone(),
                resource: resource.clone(),
                basis,
            };
            self.all.mean.get_or_create(&labels).set(balance.mean.get());
            self.all
                .deviation
                .get_or_create(&labels)
                .set(balance.deviation.get());
            self.all
                .above_mean
                .get_or_create(&labels)
                .set(balance.above_mean.get());
        }
        for (resource, band) in &it.band {
            for (bound, mark) in [("low", band.low), ("high", band.high)] {
                let Some(mark) = mark else { continue };
                let labels = BandLabels {
                    pool: it.name.clone(),
                    resource: resource.clone(),
                    basis,
                    bound,
                };
                self.all.band.get_or_create(&labels).set(mark.get());
            }
        }
        if let Some(outside) = it.outside_band {
            self.all
                .outside_band
                .get_or_create(&PoolLabels {
                    pool: it.name.clone(),
                    basis,
                })
                .set(count(outside));
        }
    }

    /// Takes in what became of a move.
    pub fn outcome(&self, it: &Move, outcome: &Outcome) {
        self.all
            .evictions
            .get_or_create(&OutcomeLabels {
                strategy: it.strategy,
                outcome: outcome.code(),
            })
            .inc();
        if let Some(descheduler) = &self.descheduler {
            descheduler.outcome(it, outcome);
        }
    }

    /// Takes in how long a strategy took to decide.
    pub fn strategy(&self, strategy: &'static str, profile: &str, took: SignedDuration) {
        if let Some(descheduler) = &self.descheduler {
            descheduler.strategy(strategy, profile, took);
        }
    }

    /// Takes in what became of a change of a taint.
    pub fn taint(&self, it: &Steer, outcome: &SteerOutcome) {
        self.all
            .taints
            .get_or_create(&TaintLabels {
                action: it.action.code(),
                outcome: outcome.code(),
            })
            .inc();
    }

    /// Takes in how an eviction went, and where the replacement came to be.
    pub fn settled(&self, it: &Settled) {
        self.all
            .settled
            .get_or_create(&EndingLabels {
                ending: it.ending.code(),
            })
            .inc();
        if let Some(landed) = it.landed {
            self.all
                .landings
                .get_or_create(&LandingLabels {
                    forecast: landed.code(),
                })
                .inc();
        }
    }

    /// Takes in the ledger.
    pub fn ledger(&self, ledger: &Ledger, cooldown: &Cooldown, now: Timestamp) {
        let it = &self.all;
        for (state, entries) in ledger.by_phase(cooldown, now) {
            it.entries
                .get_or_create(&StateLabels { state })
                .set(count(entries));
        }
        it.resting.set(count(ledger.resting(now)));
        it.repeat_offenders
            .set(count(ledger.repeatedly_ineffective()));
    }

    /// Takes in a cycle, and how long it took.
    pub fn cycle(&self, outcome: &'static str, took: SignedDuration) {
        self.all
            .cycles
            .get_or_create(&CycleLabels { outcome })
            .inc();
        self.all.cycle.observe(took.as_secs_f64());
        if let Some(descheduler) = &self.descheduler {
            descheduler.cycle(took);
        }
    }

    /// Takes in how long a part of the work took.
    pub fn phase(&self, phase: Phase, took: SignedDuration) {
        self.all
            .phases
            .get_or_create(&PhaseLabels {
                phase: phase.label(),
            })
            .observe(took.as_secs_f64());
    }

    /// Takes in that usage was read: when, how old the newest sample of a node is, and how much made no sense.
    pub fn source_read(
        &self,
        source: &'static str,
        at: Timestamp,
        newest: Option<Timestamp>,
        skipped: usize,
    ) {
        let labels = SourceLabels { source };
        self.all.source_reads.get_or_create(&labels).inc();
        set_time(&self.all.source_read.get_or_create(&labels), at);
        if let Some(newest) = newest {
            set_time(&self.all.source_sample.get_or_create(&labels), newest);
        }
        self.all
            .source_skipped
            .get_or_create(&labels)
            .set(count(skipped));
    }

    /// Takes in that usage could not be read, and the kind of the reason.
    pub fn source_failed(&self, source: &'static str, kind: &'static str) {
        self.all
            .source_reads
            .get_or_create(&SourceLabels { source })
            .inc();
        self.all
            .source_errors
            .get_or_create(&SourceErrorLabels { source, kind })
            .inc();
    }

    /// Takes in which source decisions are made by; `None` where all are stale.
    pub fn source_in_use(
        &self,
        used: Option<&'static str>,
        all: impl IntoIterator<Item = &'static str>,
    ) {
        for source in all {
            self.all
                .source_in_use
                .get_or_create(&SourceLabels { source })
                .set(i64::from(used == Some(source)));
        }
    }
}

fn set_time(gauge: &Fraction, at: Timestamp) {
    gauge.set(at.as_duration().as_secs_f64());
}

fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
