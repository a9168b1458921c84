//! The usage that is expected of pods: that of the fullest hour of their node.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use jiff::{SignedDuration, Timestamp};

use crate::model::snapshot::{PodId, Snapshot, WorkloadId};
use crate::model::usage::rhythm::{self, Rhythm};
use crate::model::usage::{Measure, PodUsage};
use crate::values::Amount;

use super::series::PodSeries;

/// Returns the expected usage of the pods; `None` if nothing has been learned yet.
pub(super) fn of_pods(
    snapshot: &Snapshot,
    present: &[PodUsage],
    series: &[Option<&PodSeries>],
    (now, ahead): (Timestamp, SignedDuration),
) -> Option<Vec<PodUsage>> {
    let hours = rhythm::hours(now, ahead);
    let mut case = Expectation {
        snapshot,
        present,
        series,
        now,
        usual: BTreeMap::new(),
    };
    case.learn_from_siblings(hours.clone());
    let mut expected = present.to_vec();
    let mut learned = false;
    for node in &snapshot.nodes {
        let load = |hour: i64| -> Amount {
            let pods = node.pods.iter();
            pods.map(|pod| case.of(*pod, hour).unwrap_or(present[pod.0]).on_node().cpu)
                .sum()
        };
        let Some(hour) = hours.clone().max_by_key(|hour| load(*hour)) else {
            continue;
        };
        for pod in &node.pods {
            if let Some(usage) = case.of(*pod, hour) {
                expected[pod.0] = usage;
                learned = true;
            }
        }
    }
    learned.then_some(expected)
}

/// Present usage and what was learned, by position in the snapshot.
struct Expectation<'e> {
    snapshot: &'e Snapshot,
    present: &'e [PodUsage],
    series: &'e [Option<&'e PodSeries>],
    now: Timestamp,
    /// The median of what the pods of a workload usually use in an hour, for workloads with a pod
    /// that has no samples.
    usual: BTreeMap<(WorkloadId, i64), Amount>,
}

impl Expectation<'_> {
    /// The usage of a pod that is expected in an hour; `None` if nothing is known about the hour.
    fn of(&self, pod: PodId, hour: i64) -> Option<PodUsage> {
        match self.present[pod.0] {
            PodUsage::Known(used) => {
                let cpu = self.rhythm(pod)?.expected(self.now, hour, used.cpu)?;
                Some(PodUsage::Known(Measure { cpu, ..used }))
            }
            PodUsage::Estimated(used) => {
                let own = self.rhythm(pod).and_then(|rhythm| rhythm.usual(hour));
                let cpu = own.or_else(|| self.usual_of_siblings(pod, hour))?;
                Some(PodUsage::Estimated(Measure { cpu, ..used }))
            }
            PodUsage::Unknown(..) => None,
        }
    }

    /// Computes the median of what the pods of each workload usually use in these hours. A pod that
    /// was just moved has no samples yet, but will soon have its share of the load.
    fn learn_from_siblings(&mut self, hours: RangeInclusive<i64>) {
        for (position, workload) in self.snapshot.workloads.iter().enumerate() {
            let mut pods = workload.pods.iter();
            if !pods.any(|pod| matches!(self.present[pod.0], PodUsage::Estimated(_))) {
                continue;
            }
            for hour in hours.clone() {
                let pods = workload.pods.iter();
                let usual = pods.filter_map(|pod| self.rhythm(*pod)?.usual(hour));
                let mut usual: Vec<Amount> = usual.collect();
                usual.sort_unstable();
                if let Some(median) = usual.get(usual.len() / 2) {
                    self.usual.insert((WorkloadId(position), hour), *median);
                }
            }
        }
    }

    fn usual_of_siblings(&self, pod: PodId, hour: i64) -> Option<Amount> {
        let workload = self.snapshot.pod(pod).workload?;
        self.usual.get(&(workload, hour)).copied()
    }

    fn rhythm(&self, pod: PodId) -> Option<&Rhythm> {
        self.series[pod.0]?.rhythm.as_deref()
    }
}
