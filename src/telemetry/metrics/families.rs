//! All metric families.

use std::sync::Arc;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use super::catalogue::{self, plan, process};
use super::guards::GuardMetrics;
use super::registration::{FloatGauge, Labelled, Registrar};
use super::rightsizing::RightsizingMetrics;
use crate::cluster::failures::Failures;
use crate::cluster::request_metrics::RequestMetrics;

/// Every metric. Clones share the values.
#[derive(Clone, Debug)]
pub(super) struct Families {
    pub(super) registered: Arc<Registrar>,
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
        let mut r = Registrar::new(catalogue::PREFIX);
        let build: Labelled<Gauge> = r.labelled(&process::BUILD_INFO);
        build.of([env!("CARGO_PKG_VERSION")]).set(1);
        let mut families = Families {
            leader: r.plain(&process::LEADER),
            policy_reloads: r.labelled(&process::POLICY_RELOADS),
            policy_refused: r.plain(&process::POLICY_REFUSED),
            policy_since: r.plain(&process::POLICY_SINCE),
            node_ratio: r.labelled(&plan::NODE_RATIO),
            node_class: r.labelled(&plan::NODE_CLASS),
            nodes: r.labelled(&plan::NODES),
            band: r.labelled(&plan::BAND),
            mean: r.labelled(&plan::MEAN),
            deviation: r.labelled(&plan::DEVIATION),
            above_mean: r.labelled(&plan::ABOVE_MEAN),
            outside_band: r.labelled(&plan::OUTSIDE_BAND),
            halted: r.plain(&plan::HALTED),
            idle: r.labelled(&plan::IDLE),
            planned: r.labelled(&plan::PLANNED),
            proposed: r.plain(&plan::PROPOSED),
            kept: r.labelled(&plan::KEPT),
            evictions: r.labelled(&process::EVICTIONS),
            settled: r.labelled(&process::SETTLED),
            landings: r.labelled(&process::LANDINGS),
            relief: r.add(&process::RELIEF, ratios()),
            entries: r.labelled(&process::ENTRIES),
            resting: r.plain(&process::RESTING),
            repeat_offenders: r.plain(&process::REPEAT_OFFENDERS),
            rejected: r.plain(&process::REJECTED),
            lines: r.labelled(&process::RECORD_LINES),
            steered: r.labelled(&plan::STEERED),
            taints: r.labelled(&process::TAINTS),
            cycles: r.labelled(&process::CYCLES),
            cycle: r.add(&process::CYCLE, durations()),
            phases: r.labelled_by(&process::PHASE, durations),
            expectation_error: r.labelled(&process::EXPECTATION_ERROR),
            source_reads: r.labelled(&process::SOURCE_READS),
            source_errors: r.labelled(&process::SOURCE_ERRORS),
            source_skipped: r.labelled(&process::SOURCE_SKIPPED),
            source_read: r.labelled(&process::SOURCE_READ),
            source_sample: r.labelled(&process::SOURCE_SAMPLE),
            source_in_use: r.labelled(&process::SOURCE_IN_USE),
            guards: GuardMetrics::register(&mut r),
            skipped: r.plain(&plan::SKIPPED),
            rightsizing: RightsizingMetrics::register(&mut r),
            registered: Arc::default(),
        };
        r.add(&process::API_REQUESTS, requests.counted());
        r.add(&process::REQUEST_FAILURES, failures.counted());
        r.add(&process::FAILING, failures.lasting_seconds());
        families.registered = Arc::new(r);
        families
    }
}

/// Buckets from a cycle without changes to one in which each eviction waits for its response.
fn durations() -> Histogram {
    Histogram::new([0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0])
}

/// Buckets around one, with bounds at the distance up to which a prediction is close.
fn ratios() -> Histogram {
    Histogram::new([0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0])
}
