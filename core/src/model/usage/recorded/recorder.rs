//! Joins readings of a range of time with the pods that exist now.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::model::snapshot::{Pod, Snapshot};
use crate::model::usage::{Measure, Readings};

use super::predecessors::Predecessors;
use super::{HistoryRange, PodHistory, RecordedUsage, UsageHistory};

/// One in this many values of a node must be certain for the others to be left out.
const LEAST_CERTAIN: usize = 4;

/// Collects the readings of a range, in the order of time.
pub struct UsageRecorder<'s> {
    snapshot: &'s Snapshot,
    range: HistoryRange,
    /// The positions of all pods seen so far in `tracks`. The pods of the snapshot come first, in
    /// its order.
    ids: BTreeMap<(String, String), usize>,
    tracks: Vec<PodHistory>,
    nodes: BTreeMap<String, NodeTrack>,
    /// The pods that are on each node now, with the time since when.
    present: BTreeMap<String, Vec<(Timestamp, usize)>>,
}

/// The remainder of a node that belongs to no pod.
struct NodeTrack {
    /// The steps at which it is certain.
    certain: RecordedUsage,
    /// All steps.
    rough: RecordedUsage,
    /// The pods of the last step.
    pods: Option<Vec<usize>>,
}

/// The usage of the pods of a node at one step.
#[derive(Default)]
struct PodSum {
    used: Measure,
    pods: Vec<usize>,
}

impl<'s> UsageRecorder<'s> {
    /// Starts without readings. The snapshot has the pods that exist now.
    pub fn new(snapshot: &'s Snapshot, range: HistoryRange) -> Self {
        let name = |pod: &Pod| (pod.namespace.clone(), pod.name.clone());
        let ids = snapshot.pods.iter().map(name).enumerate();
        let mut present: BTreeMap<String, Vec<(Timestamp, usize)>> = BTreeMap::new();
        for (id, pod) in snapshot.pods.iter().enumerate() {
            if let Some(node) = pod.facts().node.clone().filter(|_| !pod.finished()) {
                let since = pod.started.unwrap_or(pod.created);
                present.entry(node).or_default().push((since, id));
            }
        }
        UsageRecorder {
            snapshot,
            range,
            ids: ids.map(|(id, name)| (name, id)).collect(),
            tracks: vec![blank(range); snapshot.pods.len()],
            nodes: BTreeMap::new(),
            present,
        }
    }

    /// Adds the readings of one step.
    pub fn add(&mut self, at: Timestamp, readings: &Readings) {
        let Some(step) = self.range.position(at) else {
            return;
        };
        let mut sums = self.add_pods(step, readings);
        for (node, sample) in &readings.nodes {
            let sum = sums.remove(node.as_str()).unwrap_or_default();
            self.add_node(step, node, sample.used, sum);
        }
    }

    /// Adds the pods and returns their sum on each node.
    fn add_pods<'r>(&mut self, step: usize, readings: &'r Readings) -> BTreeMap<&'r str, PodSum>
    where
        's: 'r,
    {
        let mut sums: BTreeMap<&str, PodSum> = BTreeMap::new();
        for (name, sample) in &readings.pods {
            let id = self.id(name);
            let track = &mut self.tracks[id];
            track.usage.set(step, Some(sample.used));
            let now = self.snapshot.pods.get(id);
            let node = readings.placed.get(name).map(String::as_str);
            // Some sources do not report the node. Then the present node of the pod counts.
            let Some(node) = node.or_else(|| now?.facts().node.as_deref()) else {
                continue;
            };
            track.node.get_or_insert_with(|| node.to_owned());
            let sum = sums.entry(node).or_default();
            sum.used = sum.used.plus(sample.used);
            sum.pods.push(id);
        }
        sums
    }

    fn id(&mut self, name: &(String, String)) -> usize {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        self.tracks.push(blank(self.range));
        self.ids.insert(name.clone(), self.tracks.len() - 1);
        self.tracks.len() - 1
    }

    /// Adds the remainder of a node. It is certain if every pod of the node was measured, and no
    /// pod came or left at this step or the next. Otherwise it may include the usage of a pod.
    fn add_node(&mut self, step: usize, node: &str, used: Measure, sum: PodSum) {
        let PodSum { used: of_pods, mut pods } = sum;
        pods.sort_unstable();
        let at = self.range.time(step);
        let present = self.present.get(node).into_iter().flatten();
        let complete =
            present.filter(|(since, _)| *since <= at).all(|(_, id)| pods.binary_search(id).is_ok());
        let range = self.range;
        let track = self.nodes.entry(node.to_owned());
        let track = track.or_insert_with(|| NodeTrack::new(range));
        track.add(step, used.minus(of_pods), pods, complete);
    }

    /// Returns the usage of the nodes and pods that exist now.
    ///
    /// A pod that was created later continues the row of the pod of its workload that ended when it
    /// began.
    pub fn finish(self) -> UsageHistory {
        let mut history = UsageHistory::new(self.range);
        let known = |name: &String| self.snapshot.find_node(name).is_some();
        let nodes = self.nodes.into_iter().filter(|(name, _)| known(name));
        history.nodes = nodes.map(|(name, track)| (name, track.row())).collect();
        let predecessors = Predecessors::new(self.snapshot, self.range, &self.ids, &self.tracks);
        for (id, pod) in self.snapshot.pods.iter().enumerate() {
            if !pod.stays() {
                continue;
            }
            let joined = predecessors.joined(id);
            if !joined.usage.is_empty() {
                let name = (pod.namespace.clone(), pod.name.clone());
                history.pods.insert(name, joined);
            }
        }
        history
    }
}

impl NodeTrack {
    fn new(range: HistoryRange) -> Self {
        NodeTrack {
            certain: RecordedUsage::unknown(range.steps),
            rough: RecordedUsage::unknown(range.steps),
            pods: None,
        }
    }

    fn add(&mut self, step: usize, rest: Measure, pods: Vec<usize>, complete: bool) {
        self.rough.set(step, Some(rest));
        let changed = self.pods.as_ref().is_some_and(|last| *last != pods);
        if changed {
            // A pod that is measured now may have been on the node unmeasured before.
            self.certain.set(step.saturating_sub(1), None);
        }
        if complete && !changed {
            self.certain.set(step, Some(rest));
        }
        self.pods = Some(pods);
    }

    /// Returns the certain values. If they are few, because pods come and leave all the time,
    /// uncertain ones are better.
    fn row(self) -> RecordedUsage {
        if self.certain.count() * LEAST_CERTAIN < self.rough.count() {
            self.rough
        } else {
            self.certain
        }
    }
}

fn blank(range: HistoryRange) -> PodHistory {
    PodHistory { usage: RecordedUsage::unknown(range.steps), node: None }
}

#[cfg(test)]
mod tests;
