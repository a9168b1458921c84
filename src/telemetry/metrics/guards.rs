//! Metrics of guards.

use prometheus_client::metrics::gauge::Gauge;

use crate::model::guard::GuardReport;

use super::catalogue::process;
use super::registration::{FloatGauge, Labelled, Registrar};
use super::{Metrics, count};

/// The metrics of each guard.
#[derive(Clone, Debug)]
pub(super) struct GuardMetrics {
    value: Labelled<FloatGauge>,
    stops: Labelled<Gauge>,
    missing: Labelled<Gauge>,
}

impl GuardMetrics {
    pub(super) fn register(r: &mut Registrar) -> Self {
        GuardMetrics {
            value: r.labelled(&process::GUARD_VALUE),
            stops: r.labelled(&process::GUARD_STOPS),
            missing: r.labelled(&process::GUARD_MISSING),
        }
    }
}

impl Metrics {
    /// Records the state of each guard.
    pub fn guards(&self, reports: &[GuardReport]) {
        let all = &self.all.guards;
        all.value.clear();
        all.stops.clear();
        all.missing.clear();
        for report in reports {
            let guard = [&*report.guard];
            if let Some(value) = report.highest {
                all.value.of(guard).set(value.get());
            }
            let missing = i64::from(report.missing.is_some());
            all.missing.of(guard).set(missing);
            all.stops.of(guard).set(count(report.stops.len()));
        }
    }
}
