//! Typical usage of a workload, which stands in for pods that are too new to have samples.

use std::collections::BTreeMap;

use statrs::statistics::{Data, OrderStatistics};

use crate::model::snapshot::{PodId, Snapshot, WorkloadId};
use crate::model::usage::{Measure, Unmeasured};
use crate::values::Amount;

/// Returns the median usage of the pods of each workload that has a pod without known usage.
pub(super) fn by_workload(
    snapshot: &Snapshot,
    known: &[Result<Measure, Unmeasured>],
) -> BTreeMap<WorkloadId, Measure> {
    let mut typical = BTreeMap::new();
    for (position, workload) in snapshot.workloads.iter().enumerate() {
        // Only workloads with a pod of unknown usage need an estimate.
        if workload.pods.iter().all(|PodId(p)| known[*p].is_ok()) {
            continue;
        }
        let used: Vec<Measure> =
            workload.pods.iter().filter_map(|PodId(p)| known[*p].as_ref().ok().copied()).collect();
        if !used.is_empty() {
            let median = |of: fn(&Measure) -> Amount| {
                let mut data = Data::new(used.iter().map(|m| of(m).as_f64()).collect::<Vec<_>>());
                Amount::from_f64(data.median())
            };
            typical.insert(
                WorkloadId(position),
                Measure { cpu: median(|m| m.cpu), memory: median(|m| m.memory) },
            );
        }
    }
    typical
}
