//! The metrics as the registry holds them, and their labels.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};

use super::catalogue::{self, About};
use super::rightsizing::AdviceMetrics;
use crate::cluster::request_metrics::RequestMetrics;

/// A gauge of shares or times.
pub(super) type Fraction = Gauge<f64, AtomicU64>;
/// Histograms of how long something took.
pub(super) type Durations<L> = Family<L, Histogram, fn() -> Histogram>;

/// Every metric; clones share them.
#[derive(Clone, Debug)]
pub(super) struct Families {
    pub(super) registry: Arc<Registry>,
    pub(super) leader: Gauge,
    pub(super) node_ratio: Family<RatioLabels, Fraction>,
    pub(super) node_class: Family<VerdictLabels, Gauge>,
    pub(super) nodes: Family<ClassLabels, Gauge>,
    pub(super) band: Family<BandLabels, Fraction>,
    pub(super) mean: Family<BalanceLabels, Fraction>,
    pub(super) deviation: Family<BalanceLabels, Fraction>,
    pub(super) above_mean: Family<BalanceLabels, Fraction>,
    pub(super) outside_band: Family<PoolLabels, Gauge>,
    pub(super) halted: Gauge,
    pub(super) idle: Family<IdleLabels, Gauge>,
    pub(super) planned: Family<StrategyLabels, Gauge>,
    pub(super) kept: Family<RefusalLabels, Gauge>,
    pub(super) evictions: Family<OutcomeLabels, Counter>,
    pub(super) settled: Family<EndingLabels, Counter>,
    pub(super) landings: Family<LandingLabels, Counter>,
    pub(super) entries: Family<StateLabels, Gauge>,
    pub(super) resting: Gauge,
    pub(super) repeat_offenders: Gauge,
    pub(super) steered: Family<SteerLabels, Gauge>,
    pub(super) taints: Family<TaintLabels, Counter>,
    pub(super) cycles: Family<CycleLabels, Counter>,
    pub(super) cycle: Histogram,
    pub(super) phases: Durations<PhaseLabels>,
    pub(super) source_reads: Family<SourceLabels, Counter>,
    pub(super) source_errors: Family<SourceErrorLabels, Counter>,
    pub(super) source_skipped: Family<SourceLabels, Gauge>,
    pub(super) source_read: Family<SourceLabels, Fraction>,
    pub(super) source_sample: Family<SourceLabels, Fraction>,
    pub(super) source_in_use: Family<SourceLabels, Gauge>,
    pub(super) skipped: Gauge,
    pub(super) rightsizing: AdviceMetrics,
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
pub(super) struct EndingLabels {
    pub(super) ending: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct LandingLabels {
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
    pub(super) fn new(calls: &RequestMetrics) -> Self {
        let mut r = Registry::with_prefix(catalogue::PREFIX);
        let build: Family<BuildLabels, Gauge> = register(&mut r, &catalogue::BUILD_INFO);
        build
            .get_or_create(&BuildLabels {
                version: env!("CARGO_PKG_VERSION"),
            })
            .set(1);
        let mut families = Families {
            leader: register(&mut r, &catalogue::LEADER),
            node_ratio: register(&mut r, &catalogue::NODE_RATIO),
            node_class: register(&mut r, &catalogue::NODE_CLASS),
            nodes: register(&mut r, &catalogue::NODES),
            band: register(&mut r, &catalogue::BAND),
            mean: register(&mut r, &catalogue::MEAN),
            deviation: register(&mut r, &catalogue::DEVIATION),
            above_mean: register(&mut r, &catalogue::ABOVE_MEAN),
            outside_band: register(&mut r, &catalogue::OUTSIDE_BAND),
            halted: register(&mut r, &catalogue::HALTED),
            idle: register(&mut r, &catalogue::IDLE),
            planned: register(&mut r, &catalogue::PLANNED),
            kept: register(&mut r, &catalogue::KEPT),
            evictions: register(&mut r, &catalogue::EVICTIONS),
            settled: register(&mut r, &catalogue::SETTLED),
            landings: register(&mut r, &catalogue::LANDINGS),
            entries: register(&mut r, &catalogue::ENTRIES),
            resting: register(&mut r, &catalogue::RESTING),
            repeat_offenders: register(&mut r, &catalogue::REPEAT_OFFENDERS),
            steered: register(&mut r, &catalogue::STEERED),
            taints: register(&mut r, &catalogue::TAINTS),
            cycles: register(&mut r, &catalogue::CYCLES),
            cycle: add(&mut r, &catalogue::CYCLE, durations()),
            phases: add(
                &mut r,
                &catalogue::PHASE,
                Family::new_with_constructor(durations),
            ),
            source_reads: register(&mut r, &catalogue::SOURCE_READS),
            source_errors: register(&mut r, &catalogue::SOURCE_ERRORS),
            source_skipped: register(&mut r, &catalogue::SOURCE_SKIPPED),
            source_read: register(&mut r, &catalogue::SOURCE_READ),
            source_sample: register(&mut r, &catalogue::SOURCE_SAMPLE),
            source_in_use: register(&mut r, &catalogue::SOURCE_IN_USE),
            skipped: register(&mut r, &catalogue::SKIPPED),
            rightsizing: AdviceMetrics::register(&mut r),
            registry: Arc::default(),
        };
        add(&mut r, &catalogue::API_REQUESTS, calls.counted());
        families.registry = Arc::new(r);
        families
    }
}

/// From a cycle in which nothing changes to one in which every eviction waits for its answer.
fn durations() -> Histogram {
    Histogram::new([
        0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
    ])
}

pub(super) fn register<M: Metric + Default + Clone>(registry: &mut Registry, about: &About) -> M {
    add(registry, about, M::default())
}

pub(super) fn add<M: Metric + Clone>(registry: &mut Registry, about: &About, metric: M) -> M {
    registry.register(about.name, about.help, metric.clone());
    metric
}
