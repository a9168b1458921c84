//! The raw samples of the window, for people and for statistics other than the smoothed value.

use crate::model::snapshot::{NodeId, PodId, Snapshot};
use crate::model::usage::Sample;

use super::alignment::order;
use super::{History, PodSamples};

impl History {
    /// Returns the samples of each pod of a snapshot by position, oldest first; `None` for a pod
    /// without samples.
    pub fn samples(&self, snapshot: &Snapshot) -> Vec<Option<&PodSamples>> {
        self.series(snapshot).into_iter().map(|series| series.map(|s| &s.samples)).collect()
    }

    /// Returns the samples of a pod in the window, oldest first.
    pub fn pod_window(&self, snapshot: &Snapshot, pod: PodId) -> Vec<Sample> {
        let pod = snapshot.pod(pod);
        let position = self.pods.binary_search_by(|s| order(&s.pod.namespace, &s.pod.name, pod));
        let series = position
            .ok()
            .map(|position| &self.pods[position])
            .filter(|series| series.belongs_to(pod));
        series.map(|series| series.samples.iter().collect()).unwrap_or_default()
    }

    /// Returns the node totals in the window, oldest first.
    pub fn node_window(&self, snapshot: &Snapshot, node: NodeId) -> Vec<Sample> {
        let series = self.nodes.get(&snapshot.node(node).name);
        series
            .map(|series| series.remainders.iter().map(|r| r.sample).collect())
            .unwrap_or_default()
    }
}
