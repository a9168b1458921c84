//! Metrics of right-sizing: the number of workloads, and current and recommended requests of the
//! worst of them.

use crate::model::plan::Rightsizing;
use crate::model::snapshot::facts::OwnerKey;
use crate::values::Amount;

use super::families::Families;

impl Families {
    /// Shows the last result. All workloads are counted, but only the first `top` have their own
    /// series, because an unbounded label would overload Prometheus.
    pub(super) fn set_rightsizing(&self, rightsizing: &[Rightsizing], top: u32) {
        self.rightsizing_workloads.clear();
        self.rightsizing_request.clear();
        self.rightsizing_suggested.clear();
        for (resource, suggestion) in rightsizing.iter().flat_map(|workload| &workload.resources) {
            let direction = suggestion.direction.code();
            self.rightsizing_workloads.of([resource, direction]).inc();
        }
        for workload in rightsizing.iter().take(usize::try_from(top).unwrap_or(usize::MAX)) {
            for suggestion in workload.resources.values() {
                let labels = labels(&workload.workload, suggestion.resource);
                let amount = |amount| in_units(suggestion.resource, amount);
                let request = suggestion.request.unwrap_or_default();
                self.rightsizing_request.of(labels).set(amount(request));
                self.rightsizing_suggested.of(labels).set(amount(suggestion.suggested));
            }
        }
    }
}

fn labels<'w>(workload: &'w OwnerKey, resource: &'static str) -> [&'w str; 5] {
    let unit = if resource == "cpu" { "core" } else { "byte" };
    let OwnerKey { namespace, kind, name } = workload;
    [namespace, kind, name, resource, unit]
}

/// Converts cpu to cores and memory to bytes.
fn in_units(resource: &str, amount: Amount) -> f64 {
    let whole = if resource == "cpu" { Amount::NANOS } else { 1 };
    amount.as_f64() / Amount::new(whole).as_f64()
}
