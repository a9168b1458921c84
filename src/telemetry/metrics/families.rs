//! All metric families.

use std::sync::Arc;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::catalogue::{self, plan, process};
use super::guards::GuardMetrics;
use super::registration::{FloatGauge, Labelled, add, labelled, labelled_by, register};
use super::rightsizing::RightsizingMetrics;
use crate::cluster::failures::Failures;
use crate::cluster::request_metrics::RequestMetrics;

/// Every metric. Clones share the values.
#[derive(Clone, Debug)]
pub(super) struct Families {
    pub(super) registry: Arc<Registry>,
    pub(super) leader: Gauge,
    pub(super) policy_reloads: Labelled<Counter>,
    pub(super) policy_refused: Gauge,
    pub(super) policy_since: FloatGauge,
    pub(super) node_ratio: Labelled<FloatGauge>,
    pub(super) node_class: Labelled<Gauge>,
    pub(super) nodes: Labelled<Gauge>,
    pub(super) band: Labelled<FloatGauge>,
    pub(super) mean: Labelled<FloatGauge>,
    pub(super) deviation: Labelled<FloatGauge>,
    pub(super) above_mean: Labelled<FloatGauge>,
    pub(super) outside_band: Labelled<Gauge>,
    pub(super) halted: Gauge,
    pub(super) idle: Labelled<Gauge>,
    pub(super) planned: Labelled<Gauge>,
    pub(super) proposed: Gauge,
    pub(super) kept: Labelled<Gauge>,
    pub(super) evictions: Labelled<Counter>,
    pub(super) settled: Labelled<Counter>,
    pub(super) landings: Labelled<Counter>,
    pub(super) relief: Histogram,
    pub(super) entries: Labelled<Gauge>,
    pub(super) resting: Gauge,
    pub(super) repeat_offenders: Gauge,
    pub(super) rejected: Gauge,
    pub(super) lines: Labelled<Counter>,
    pub(super) steered: Labelled<Gauge>,
    pub(super) taints: Labelled<Counter>,
    pub(super) cycles: Labelled<Counter>,
    pub(super) cycle: Histogram,
    pub(super) phases: Labelled<Histogram>,
    pub(super) expectation_error: Labelled<FloatGauge>,
    pub(super) source_reads: Labelled<Counter>,
    pub(super) source_errors: Labelled<Counter>,
    pub(super) source_skipped: Labelled<Gauge>,
    pub(super) source_read: Labelled<FloatGauge>,
    pub(super) source_sample: Labelled<FloatGauge>,
    pub(super) source_in_use: Labelled<Gauge>,
    pub(super) guards: GuardMetrics,
    pub(super) skipped: Gauge,
    pub(super) rightsizing: RightsizingMetrics,
}

impl Families {
    pub(super) fn new(requests: &RequestMetrics, failures: &Failures) -> Self {
        let mut r = Registry::with_prefix(catalogue::PREFIX);
        let build: Labelled<Gauge> = labelled(&mut r, &process::BUILD_INFO);
        build.of([env!("CARGO_PKG_VERSION")]).set(1);
        let mut families = Families {
            leader: register(&mut r, &process::LEADER),
            policy_reloads: labelled(&mut r, &process::POLICY_RELOADS),
            policy_refused: register(&mut r, &process::POLICY_REFUSED),
            policy_since: register(&mut r, &process::POLICY_SINCE),
            node_ratio: labelled(&mut r, &plan::NODE_RATIO),
            node_class: labelled(&mut r, &plan::NODE_CLASS),
            nodes: labelled(&mut r, &plan::NODES),
            band: labelled(&mut r, &plan::BAND),
            mean: labelled(&mut r, &plan::MEAN),
            deviation: labelled(&mut r, &plan::DEVIATION),
            above_mean: labelled(&mut r, &plan::ABOVE_MEAN),
            outside_band: labelled(&mut r, &plan::OUTSIDE_BAND),
            halted: register(&mut r, &plan::HALTED),
            idle: labelled(&mut r, &plan::IDLE),
            planned: labelled(&mut r, &plan::PLANNED),
            proposed: register(&mut r, &plan::PROPOSED),
            kept: labelled(&mut r, &plan::KEPT),
            evictions: labelled(&mut r, &process::EVICTIONS),
            settled: labelled(&mut r, &process::SETTLED),
            landings: labelled(&mut r, &process::LANDINGS),
            relief: add(&mut r, &process::RELIEF, ratios()),
            entries: labelled(&mut r, &process::ENTRIES),
            resting: register(&mut r, &process::RESTING),
            repeat_offenders: register(&mut r, &process::REPEAT_OFFENDERS),
            rejected: register(&mut r, &process::REJECTED),
            lines: labelled(&mut r, &process::RECORD_LINES),
            steered: labelled(&mut r, &plan::STEERED),
            taints: labelled(&mut r, &process::TAINTS),
            cycles: labelled(&mut r, &process::CYCLES),
            cycle: add(&mut r, &process::CYCLE, durations()),
            phases: labelled_by(&mut r, &process::PHASE, durations),
            expectation_error: labelled(&mut r, &process::EXPECTATION_ERROR),
            source_reads: labelled(&mut r, &process::SOURCE_READS),
            source_errors: labelled(&mut r, &process::SOURCE_ERRORS),
            source_skipped: labelled(&mut r, &process::SOURCE_SKIPPED),
            source_read: labelled(&mut r, &process::SOURCE_READ),
            source_sample: labelled(&mut r, &process::SOURCE_SAMPLE),
            source_in_use: labelled(&mut r, &process::SOURCE_IN_USE),
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
