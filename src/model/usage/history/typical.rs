//! What stands in for a pod that is too new to have samples.

use std::collections::BTreeMap;

use statrs::statistics::{Data, OrderStatistics};

use crate::model::snapshot::{PodId, Snapshot, WorkloadId};
use crate::model::usage::{Measure, Unmeasured};
use crate::values::Amount;

/// What the pods of a workload typically use, where one of them has to be guessed.
pub(super) fn by_workload(
    snapshot: &Snapshot,
    known: &[Result<Measure, Unmeasured>],
) -> BTreeMap<WorkloadId, Measure> {
    let mut typical = BTreeMap::new();
    for (position, workload) in snapshot.workloads.iter().enumerate() {
        // Only those are asked for that stand in for some other.
        if workload.pods.iter().all(|PodId(p)| known[*p].is_ok()) {
            continue;
        }
        let used: Vec<Measure> = workload
            .pods
            .iter()
            .filter_map(|PodId(p)| known[*p].ok())
            .collect();
        if !used.is_empty() {
            let middle = |of: fn(&Measure) -> Amount| {
                let mut data = Data::new(used.iter().map(|m| of(m).as_f64()).collect::<Vec<_>>());
                Amount::from_f64(data.median())
            };
            typical.insert(
                WorkloadId(position),
                Measure {
                    cpu: middle(|m| m.cpu),
                    memory: middle(|m| m.memory),
                },
            );
        }
    }
    typical
}
