//! All metric families.

use std::sync::Arc;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use super::catalogue::{self, plan, process};
use super::registration::{FloatGauge, Labelled, Registrar};
use crate::cluster::failures::Failures;
use crate::cluster::request_metrics::RequestMetrics;

/// Declares each metric once: its field, its type and its registration.
macro_rules! families {
    (|$r:ident| $($field:ident: $type:ty = $register:expr,)+) => {
        /// Every metric. Clones share the values.
        #[derive(Clone, Debug)]
        pub(super) struct Families {
            pub(super) registered: Arc<Registrar>,
            $(pub(super) $field: $type,)+
        }

        impl Families {
            /// Registers all metrics, in this order.
            fn register($r: &mut Registrar) -> Self {
                Families { $($field: $register,)+ registered: Arc::default() }
            }
        }
    };
}

families! { |r|
    leader: Gauge = r.plain(&process::LEADER),
    policy_reloads: Labelled<Counter> = r.labelled(&process::POLICY_RELOADS),
    policy_refused: Gauge = r.plain(&process::POLICY_REFUSED),
    policy_since: FloatGauge = r.plain(&process::POLICY_SINCE),
    node_ratio: Labelled<FloatGauge> = r.labelled(&plan::NODE_RATIO),
    node_class: Labelled<Gauge> = r.labelled(&plan::NODE_CLASS),
    nodes: Labelled<Gauge> = r.labelled(&plan::NODES),
    band: Labelled<FloatGauge> = r.labelled(&plan::BAND),
    mean: Labelled<FloatGauge> = r.labelled(&plan::MEAN),
    deviation: Labelled<FloatGauge> = r.labelled(&plan::DEVIATION),
    above_mean: Labelled<FloatGauge> = r.labelled(&plan::ABOVE_MEAN),
    outside_band: Labelled<Gauge> = r.labelled(&plan::OUTSIDE_BAND),
    halted: Gauge = r.plain(&plan::HALTED),
    idle: Labelled<Gauge> = r.labelled(&plan::IDLE),
    planned: Labelled<Gauge> = r.labelled(&plan::PLANNED),
    proposed: Gauge = r.plain(&plan::PROPOSED),
    kept: Labelled<Gauge> = r.labelled(&plan::KEPT),
    evictions: Labelled<Counter> = r.labelled(&process::EVICTIONS),
    settled: Labelled<Counter> = r.labelled(&process::SETTLED),
    landings: Labelled<Counter> = r.labelled(&process::LANDINGS),
    relief: Histogram = r.add(&process::RELIEF, ratios()),
    entries: Labelled<Gauge> = r.labelled(&process::ENTRIES),
    resting: Gauge = r.plain(&process::RESTING),
    repeat_offenders: Gauge = r.plain(&process::REPEAT_OFFENDERS),
    rejected: Gauge = r.plain(&process::REJECTED),
    lines: Labelled<Counter> = r.labelled(&process::RECORD_LINES),
    steered: Labelled<Gauge> = r.labelled(&plan::STEERED),
    taints: Labelled<Counter> = r.labelled(&process::TAINTS),
    cycles: Labelled<Counter> = r.labelled(&process::CYCLES),
    cycle: Histogram = r.add(&process::CYCLE, durations()),
    phases: Labelled<Histogram> = r.labelled_by(&process::PHASE, durations),
    expectation_error: Labelled<FloatGauge> = r.labelled(&process::EXPECTATION_ERROR),
    source_reads: Labelled<Counter> = r.labelled(&process::SOURCE_READS),
    source_errors: Labelled<Counter> = r.labelled(&process::SOURCE_ERRORS),
    source_skipped: Labelled<Gauge> = r.labelled(&process::SOURCE_SKIPPED),
    source_read: Labelled<FloatGauge> = r.labelled(&process::SOURCE_READ),
    source_sample: Labelled<FloatGauge> = r.labelled(&process::SOURCE_SAMPLE),
    source_in_use: Labelled<Gauge> = r.labelled(&process::SOURCE_IN_USE),
    guard_value: Labelled<FloatGauge> = r.labelled(&process::GUARD_VALUE),
    guard_stops: Labelled<Gauge> = r.labelled(&process::GUARD_STOPS),
    guard_missing: Labelled<Gauge> = r.labelled(&process::GUARD_MISSING),
    skipped: Gauge = r.plain(&plan::SKIPPED),
    rightsizing_workloads: Labelled<Gauge> = r.labelled(&plan::RIGHTSIZING_WORKLOADS),
    rightsizing_request: Labelled<FloatGauge> = r.labelled(&plan::RIGHTSIZING_REQUEST),
    rightsizing_suggested: Labelled<FloatGauge> = r.labelled(&plan::RIGHTSIZING_SUGGESTED),
}

impl Families {
    pub(super) fn new(requests: &RequestMetrics, failures: &Failures) -> Self {
        let mut r = Registrar::new(catalogue::PREFIX);
        let build: Labelled<Gauge> = r.labelled(&process::BUILD_INFO);
        build.of([env!("CARGO_PKG_VERSION")]).set(1);
        let mut families = Families::register(&mut r);
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
