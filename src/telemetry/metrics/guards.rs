//! Metrics of guards.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::model::guard::GuardReport;

use super::catalogue::process;
use super::registration::{FloatGauge, register};
use super::{Metrics, count};

/// The metrics of each guard.
#[derive(Clone, Debug)]
pub(super) struct GuardMetrics {
    value: Family<GuardLabels, FloatGauge>,
    stops: Family<GuardLabels, Gauge>,
    missing: Family<GuardLabels, Gauge>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct GuardLabels {
    guard: String,
}

impl GuardMetrics {
    pub(super) fn register(r: &mut Registry) -> Self {
        GuardMetrics {
            value: register(r, &process::GUARD_VALUE),
            stops: register(r, &process::GUARD_STOPS),
            missing: register(r, &process::GUARD_MISSING),
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
            let labels = GuardLabels {
                guard: report.guard.clone(),
            };
            if let Some(value) = report.highest {
                all.value.get_or_create(&labels).set(value.get());
            }
            let missing = i64::from(report.missing.is_some());
            all.missing.get_or_create(&labels).set(missing);
            let stops = all.stops.get_or_create(&labels);
            stops.set(count(report.stops.len()));
        }
    }
}
