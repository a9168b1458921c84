//! The usage that is expected of pods: that of the fullest hour of their node.

use jiff::{SignedDuration, Timestamp};

use crate::model::snapshot::{Node, PodId, Snapshot};
use crate::model::usage::{Measure, PodUsage, rhythm};
use crate::values::Amount;

use super::series::PodSeries;

/// Returns the expected usage of the pods; `None` if nothing has been learned yet.
pub(super) fn of_pods(
    snapshot: &Snapshot,
    present: &[PodUsage],
    series: &[Option<&PodSeries>],
    (now, ahead): (Timestamp, SignedDuration),
) -> Option<Vec<PodUsage>> {
    let expect = |PodId(pod): PodId, hour: i64| {
        let PodUsage::Known(used) = present[pod] else {
            return None;
        };
        let rhythm = series[pod]?.rhythm.as_ref()?;
        let cpu = rhythm.expected(now, hour, used.cpu)?;
        Some(Measure { cpu, ..used })
    };
    let mut expected = present.to_vec();
    let mut learned = false;
    for node in &snapshot.nodes {
        let load = |hour: i64| -> Amount {
            let pods = node.pods.iter();
            pods.map(|pod| expect(*pod, hour).unwrap_or(present[pod.0].on_node()).cpu)
                .sum()
        };
        let Some(hour) = rhythm::hours(now, ahead).max_by_key(|hour| load(*hour)) else {
            continue;
        };
        for (pod, used) in known(node, |pod| expect(pod, hour)) {
            expected[pod.0] = PodUsage::Known(used);
            learned = true;
        }
    }
    learned.then_some(expected)
}

fn known(
    node: &Node,
    expect: impl Fn(PodId) -> Option<Measure>,
) -> impl Iterator<Item = (PodId, Measure)> {
    let pods = node.pods.iter();
    pods.filter_map(move |pod| Some((*pod, expect(*pod)?)))
}
