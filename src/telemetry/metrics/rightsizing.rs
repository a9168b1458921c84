//! Metrics of right-sizing: the number of workloads, and current and recommended requests of the
//! worst of them.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::model::plan::{Rightsizing, Suggestion};
use crate::values::Amount;

use super::catalogue::plan;
use super::registration::{FloatGauge, register};

/// Metrics of right-sizing.
#[derive(Clone, Debug)]
pub(super) struct RightsizingMetrics {
    workloads: Family<DirectionLabels, Gauge>,
    request: Family<WorkloadLabels, FloatGauge>,
    suggested: Family<WorkloadLabels, FloatGauge>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DirectionLabels {
    resource: &'static str,
    direction: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WorkloadLabels {
    namespace: String,
    kind: String,
    workload: String,
    resource: &'static str,
    unit: &'static str,
}

impl RightsizingMetrics {
    pub(super) fn register(r: &mut Registry) -> Self {
        RightsizingMetrics {
            workloads: register(r, &plan::RIGHTSIZING_WORKLOADS),
            request: register(r, &plan::RIGHTSIZING_REQUEST),
            suggested: register(r, &plan::RIGHTSIZING_SUGGESTED),
        }
    }

    /// Shows the last result. All workloads are counted, but only the first `top` have their own
    /// series, because an unbounded label would overload Prometheus.
    pub(super) fn set(&self, rightsizing: &[Rightsizing], top: u32) {
        self.workloads.clear();
        self.request.clear();
        self.suggested.clear();
        for (resource, suggestion) in rightsizing.iter().flat_map(|workload| &workload.resources) {
            self.workloads
                .get_or_create(&DirectionLabels {
                    resource,
                    direction: suggestion.direction.code(),
                })
                .inc();
        }
        for workload in rightsizing
            .iter()
            .take(usize::try_from(top).unwrap_or(usize::MAX))
        {
            for suggestion in workload.resources.values() {
                let labels = labels(workload, suggestion);
                let request = suggestion.request.unwrap_or_default();
                self.request
                    .get_or_create(&labels)
                    .set(in_units(suggestion.resource, request));
                self.suggested
                    .get_or_create(&labels)
                    .set(in_units(suggestion.resource, suggestion.suggested));
            }
        }
    }
}

fn labels(rightsizing: &Rightsizing, suggestion: &Suggestion) -> WorkloadLabels {
    WorkloadLabels {
        namespace: rightsizing.workload.namespace.clone(),
        kind: rightsizing.workload.kind.clone(),
        workload: rightsizing.workload.name.clone(),
        resource: suggestion.resource,
        unit: if suggestion.resource == "cpu" {
            "core"
        } else {
            "byte"
        },
    }
}

/// Converts cpu to cores and memory to bytes.
fn in_units(resource: &str, amount: Amount) -> f64 {
    let whole = if resource == "cpu" { Amount::NANOS } else { 1 };
    amount.as_f64() / Amount::new(whole).as_f64()
}
