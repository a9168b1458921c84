//! All metric families with their labels.

use std::sync::Arc;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::catalogue::{self, plan, process};
use super::guards::GuardMetrics;
use super::registration::{Durations, FloatGauge, add, register};
use super::rightsizing::RightsizingMetrics;
use crate::cluster::failures::Failures;
use crate::cluster::request_metrics::RequestMetrics;

/// Every metric. Clones share the values.
#[derive(Clone, Debug)]
pub(super) struct Families {
    pub(super) registry: Arc<Registry>,
    pub(super) leader: Gauge,
    pub(super) policy_reloads: Family<CycleLabels, Counter>,
    pub(super) policy_refused: Gauge,
    pub(super) policy_since: FloatGauge,
    pub(super) node_ratio: Family<RatioLabels, FloatGauge>,
    pub(super) node_class: Family<VerdictLabels, Gauge>,
    pub(super) nodes: Family<ClassLabels, Gauge>,
    pub(super) band: Family<BandLabels, FloatGauge>,
    pub(super) mean: Family<BalanceLabels, FloatGauge>,
    pub(super) deviation: Family<BalanceLabels, FloatGauge>,
    pub(super) above_mean: Family<BalanceLabels, FloatGauge>,
    pub(super) outside_band: Family<PoolLabels, Gauge>,
    pub(super) halted: Gauge,
    pub(super) idle: Family<IdleLabels, Gauge>,
    pub(super) planned: Family<StrategyLabels, Gauge>,
    pub(super) proposed: Gauge,
    pub(super) kept: Family<RefusalLabels, Gauge>,
    pub(super) evictions: Family<OutcomeLabels, Counter>,
    pub(super) settled: Family<EndingLabels, Counter>,
    pub(super) landings: Family<ForecastLabels, Counter>,
    pub(super) relief: Histogram,
    pub(super) entries: Family<StateLabels, Gauge>,
    pub(super) resting: Gauge,
    pub(super) repeat_offenders: Gauge,
    pub(super) rejected: Gauge,
    pub(super) lines: Family<LineLabels, Counter>,
    pub(super) steered: Family<SteerLabels, Gauge>,
    pub(super) taints: Family<TaintLabels, Counter>,
    pub(super) cycles: Family<CycleLabels, Counter>,
    pub(super) cycle: Histogram,
    pub(super) phases: Durations<PhaseLabels>,
    pub(super) expectation_error: Family<ForecastLabels, FloatGauge>,
    pub(super) source_reads: Family<SourceLabels, Counter>,
    pub(super) source_errors: Family<SourceErrorLabels, Counter>,
    pub(super) source_skipped: Family<SourceLabels, Gauge>,
    pub(super) source_read: Family<SourceLabels, FloatGauge>,
    pub(super) source_sample: Family<SourceLabels, FloatGauge>,
    pub(super) source_in_use: Family<SourceLabels, Gauge>,
    pub(super) guards: GuardMetrics,
    pub(super) skipped: Gauge,
    pub(super) rightsizing: RightsizingMetrics,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RatioLabels {
    pub(super) node: String,
    pub(super) resource: String,
    pub(super) basis: &'static str,
    pub(super) smoothing: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct VerdictLabels {
    pub(super) node: String,
    pub(super) strategy: &'static str,
    pub(super) class: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ClassLabels {
    pub(super) strategy: &'static str,
    pub(super) class: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct BandLabels {
    pub(super) pool: String,
    pub(super) resource: String,
    pub(super) basis: &'static str,
    pub(super) bound: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct BalanceLabels {
    pub(super) pool: String,
    pub(super) resource: String,
    pub(super) basis: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct PoolLabels {
    pub(super) pool: String,
    pub(super) basis: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct IdleLabels {
    pub(super) strategy: &'static str,
    pub(super) pool: String,
    pub(super) code: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct StrategyLabels {
    pub(super) strategy: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RefusalLabels {
    pub(super) strategy: &'static str,
    pub(super) code: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OutcomeLabels {
    pub(super) strategy: &'static str,
    pub(super) outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct LineLabels {
    pub(super) result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct EndingLabels {
    pub(super) ending: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ForecastLabels {
    pub(super) forecast: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct StateLabels {
    pub(super) state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct SteerLabels {
    pub(super) action: &'static str,
    pub(super) code: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct TaintLabels {
    pub(super) action: &'static str,
    pub(super) outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct CycleLabels {
    pub(super) outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct PhaseLabels {
    pub(super) phase: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct SourceLabels {
    pub(super) source: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct SourceErrorLabels {
    pub(super) source: &'static str,
    pub(super) kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BuildLabels {
    version: &'static str,
}

impl Families {
    pub(super) fn new(requests: &RequestMetrics, failures: &Failures) -> Self {
        let mut r = Registry::with_prefix(catalogue::PREFIX);
        let build: Family<BuildLabels, Gauge> = register(&mut r, &process::BUILD_INFO);
        build
            .get_or_create(&BuildLabels {
                version: env!("CARGO_PKG_VERSION"),
            })
            .set(1);
        let mut families = Families {
            leader: register(&mut r, &process::LEADER),
            policy_reloads: register(&mut r, &process::POLICY_RELOADS),
            policy_refused: register(&mut r, &process::POLICY_REFUSED),
            policy_since: register(&mut r, &process::POLICY_SINCE),
            node_ratio: register(&mut r, &plan::NODE_RATIO),
            node_class: register(&mut r, &plan::NODE_CLASS),
            nodes: register(&mut r, &plan::NODES),
            band: register(&mut r, &plan::BAND),
            mean: register(&mut r, &plan::MEAN),
            deviation: register(&mut r, &plan::DEVIATION),
            above_mean: register(&mut r, &plan::ABOVE_MEAN),
            outside_band: register(&mut r, &plan::OUTSIDE_BAND),
            halted: register(&mut r, &plan::HALTED),
            idle: register(&mut r, &plan::IDLE),
            planned: register(&mut r, &plan::PLANNED),
            proposed: register(&mut r, &plan::PROPOSED),
            kept: register(&mut r, &plan::KEPT),
            evictions: register(&mut r, &process::EVICTIONS),
            settled: register(&mut r, &process::SETTLED),
            landings: register(&mut r, &process::LANDINGS),
            relief: add(&mut r, &process::RELIEF, ratios()),
            entries: register(&mut r, &process::ENTRIES),
            resting: register(&mut r, &process::RESTING),
            repeat_offenders: register(&mut r, &process::REPEAT_OFFENDERS),
            rejected: register(&mut r, &process::REJECTED),
            lines: register(&mut r, &process::RECORD_LINES),
            steered: register(&mut r, &plan::STEERED),
            taints: register(&mut r, &process::TAINTS),
            cycles: register(&mut r, &process::CYCLES),
            cycle: add(&mut r, &process::CYCLE, durations()),
            phases: add(
                &mut r,
                &process::PHASE,
                Family::new_with_constructor(durations),
            ),
            expectation_error: register(&mut r, &process::EXPECTATION_ERROR),
            source_reads: register(&mut r, &process::SOURCE_READS),
            source_errors: register(&mut r, &process::SOURCE_ERRORS),
            source_skipped: register(&mut r, &process::SOURCE_SKIPPED),
            source_read: register(&mut r, &process::SOURCE_READ),
            source_sample: register(&mut r, &process::SOURCE_SAMPLE),
            source_in_use: register(&mut r, &process::SOURCE_IN_USE),
            guards: GuardMetrics::register(&mut r),
            skipped: register(&mut r, &plan::SKIPPED),
            rightsizing: RightsizingMetrics::register(&mut r),
            registry: Arc::default(),
        };
        add(&mut r, &process::API_REQUESTS, requests.counted());
        add(&mut r, &process::REQUEST_FAILURES, failures.counted());
        add(&mut r, &process::FAILING, failures.lasting_seconds());
        families.registry = Arc::new(r);
        families
    }
}

/// Buckets from a cycle without changes to one in which each eviction waits for its response.
fn durations() -> Histogram {
    Histogram::new([
        0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
    ])
}

/// Buckets around one, with bounds at the distance up to which a prediction is close.
fn ratios() -> Histogram {
    Histogram::new([0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0])
}
