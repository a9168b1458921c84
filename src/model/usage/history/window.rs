//! The samples of a window as they came, for people to look at, and for those who want more than one figure of them.

use std::collections::VecDeque;

use crate::model::snapshot::{NodeId, PodId, Snapshot};
use crate::model::usage::Sample;

use super::{History, Remainder, beside, series_of};

impl History {
    /// The samples of each pod of a snapshot, by its position, the oldest first; `None` where it has none.
    pub fn samples(&self, snapshot: &Snapshot) -> Vec<Option<&VecDeque<Sample>>> {
        self.series(snapshot)
            .into_iter()
            .map(|series| series.map(|s| &s.samples))
            .collect()
    }

    /// The samples of a pod that the window holds, the oldest first.
    pub fn pod_window(&self, snapshot: &Snapshot, pod: PodId) -> Vec<Sample> {
        let it = snapshot.pod(pod);
        let of = self
            .pods
            .binary_search_by(|s| beside::order((&s.pod.namespace, &s.pod.name), it));
        let series = of
            .ok()
            .map(|position| &self.pods[position])
            .filter(|series| series_of(series, it));
        series
            .map(|series| series.samples.iter().copied().collect())
            .unwrap_or_default()
    }

    /// The totals of a node that the window holds, the oldest first.
    pub fn node_window(&self, snapshot: &Snapshot, node: NodeId) -> Vec<Sample> {
        let series = self.nodes.get(&snapshot.node(node).name);
        let total = |r: &Remainder| Sample {
            used: r.total,
            ..r.sample
        };
        series
            .map(|series| series.remainders.iter().map(total).collect())
            .unwrap_or_default()
    }
}
