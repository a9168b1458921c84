//! The usage that is expected of pods: that of the fullest hour of their node.

use jiff::{SignedDuration, Timestamp};

use crate::model::snapshot::{PodId, Snapshot};
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
    let case = Expectation {
        snapshot,
        present,
        series,
        now,
    };
    let mut expected = present.to_vec();
    let mut learned = false;
    for node in &snapshot.nodes {
        let load = |hour: i64| -> Amount {
            let pods = node.pods.iter();
            pods.map(|pod| case.of(*pod, hour).unwrap_or(present[pod.0]).on_node().cpu)
                .sum()
        };
        let Some(hour) = rhythm::hours(now, ahead).max_by_key(|hour| load(*hour)) else {
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

    /// The median of what the pods of the same workload usually use in an hour. A pod that was just
    /// moved has no samples yet, but will soon have its share of the load.
    fn usual_of_siblings(&self, pod: PodId, hour: i64) -> Option<Amount> {
        let workload = self.snapshot.workload(self.snapshot.pod(pod).workload?);
        let siblings = workload.pods.iter();
        let mut usual: Vec<Amount> = siblings
            .filter_map(|sibling| self.rhythm(*sibling)?.usual(hour))
            .collect();
        usual.sort_unstable();
        usual.get(usual.len() / 2).copied()
    }

    fn rhythm(&self, pod: PodId) -> Option<&Rhythm> {
        self.series[pod.0]?.rhythm.as_deref()
    }
}
