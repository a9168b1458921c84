//! What is advised about requests, in figures: how many workloads, and of the worst what they request and had better request.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::model::plan::{Rightsizing, Suggestion};
use crate::values::Amount;

use super::catalogue;
use super::families::{Fraction, register};

#[derive(Clone, Debug)]
pub(super) struct AdviceMetrics {
    workloads: Family<DirectionLabels, Gauge>,
    request: Family<WorkloadLabels, Fraction>,
    suggested: Family<WorkloadLabels, Fraction>,
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

impl AdviceMetrics {
    pub(super) fn register(r: &mut Registry) -> Self {
        AdviceMetrics {
            workloads: register(r, &catalogue::ADVICE_WORKLOADS),
            request: register(r, &catalogue::ADVICE_REQUEST),
            suggested: register(r, &catalogue::ADVICE_SUGGESTED),
        }
    }

    /// Takes in the last rightsizing: all of it in the counts, and of single workloads the first so many, for a label that
    /// knows no bound would burden Prometheus.
    pub(super) fn take(&self, rightsizing: &[Rightsizing], top: u32) {
        self.workloads.clear();
        self.request.clear();
        self.suggested.clear();
        for (resource, it) in rightsizing.iter().flat_map(|a| &a.resources) {
            self.workloads
                .get_or_create(&DirectionLabels {
                    resource,
                    direction: it.direction.code(),
                })
                .inc();
        }
        for it in rightsizing
            .iter()
            .take(usize::try_from(top).unwrap_or(usize::MAX))
        {
            for suggestion in it.resources.values() {
                let labels = labels(it, suggestion);
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

fn labels(it: &Rightsizing, of: &Suggestion) -> WorkloadLabels {
    WorkloadLabels {
        namespace: it.workload.namespace.clone(),
        kind: it.workload.kind.clone(),
        workload: it.workload.name.clone(),
        resource: of.resource,
        unit: if of.resource == "cpu" { "core" } else { "byte" },
    }
}

/// Cores of cpu, bytes of memory.
fn in_units(resource: &str, amount: Amount) -> f64 {
    let whole = if resource == "cpu" { Amount::NANOS } else { 1 };
    amount.as_f64() / Amount::new(whole).as_f64()
}
