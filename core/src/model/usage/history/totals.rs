//! The smoothed usage of a node, and how it relates to that of its pods.

use jiff::Timestamp;

use crate::model::snapshot::{NodeId, Snapshot};
use crate::model::usage::{Measure, PodUsage, Sample};
use crate::values::Amount;

use super::alignment::since;
use super::series::Remainder;

/// Smoothed samples of a node.
pub(super) struct NodeTotals {
    /// The usage that belongs to no pod.
    pub(super) rest: Measure,
    /// The usage that the source reports for the node itself.
    own: Measure,
    /// The usage of the pods that were part of it.
    of_pods: Measure,
    /// The time of the oldest of these samples.
    from: Timestamp,
}

impl NodeTotals {
    /// Smooths the totals of some samples of a node.
    pub(super) fn new<'r>(
        samples: impl Iterator<Item = &'r Remainder> + Clone,
        rest: Measure,
        smooth: impl Fn(&mut dyn Iterator<Item = Sample>) -> Measure,
    ) -> Self {
        let of_pods = |r: &Remainder| Sample { used: r.of_pods, ..r.sample };
        NodeTotals {
            rest,
            own: smooth(&mut samples.clone().map(|r| r.sample)),
            of_pods: smooth(&mut samples.clone().map(of_pods)),
            from: samples.map(|r| r.sample.at).next().unwrap_or(Timestamp::UNIX_EPOCH),
        }
    }

    /// Returns how much more the pods of the node use, by their own samples, than the node does by
    /// its own.
    ///
    /// The windows of node and pods begin and end at different times, so that one sample tells
    /// nothing. But if the pods have used more than the node over all samples together, both
    /// cannot be right, and the node's own sample decides. Pods that came later are not part of it.
    pub(super) fn excess(&self, snapshot: &Snapshot, node: NodeId, pods: &[PodUsage]) -> Measure {
        if self.own.cpu >= self.of_pods.cpu && self.own.memory >= self.of_pods.memory {
            return Measure::default();
        }
        let later = |pod: &usize| since(&snapshot.pods[*pod]) > self.from;
        let most = self.own.plus(sum(snapshot, node, pods, later));
        let excess = sum(snapshot, node, pods, |_| true).plus(self.rest).minus(most);
        let of = |own: Amount, of_pods: Amount, excess: Amount| {
            if own < of_pods { excess } else { Amount::ZERO }
        };
        Measure {
            cpu: of(self.own.cpu, self.of_pods.cpu, excess.cpu),
            memory: of(self.own.memory, self.of_pods.memory, excess.memory),
        }
    }
}

/// Returns the usage of the pods that stay on a node.
pub(super) fn by_pods(snapshot: &Snapshot, node: NodeId, pods: &[PodUsage]) -> Measure {
    sum(snapshot, node, pods, |_| true)
}

/// A terminating pod frees its share soon. The landing gate adds it where it still counts.
fn sum(
    snapshot: &Snapshot,
    node: NodeId,
    pods: &[PodUsage],
    counts: impl Fn(&usize) -> bool,
) -> Measure {
    let on_node = snapshot.node(node).pods.iter();
    let staying = on_node.filter(|pod| snapshot.pod(**pod).stays());
    let counted = staying.map(|pod| pod.0).filter(counts);
    counted.map(|pod| pods[pod].on_node()).fold(Measure::default(), Measure::plus)
}
