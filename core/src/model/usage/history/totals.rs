//! The smoothed usage of a node, and how it relates to that of its pods.

use jiff::Timestamp;

use crate::model::snapshot::{NodeId, Snapshot};
use crate::model::usage::{Measure, PodUsage, Sample, Unmeasured};
use crate::values::Amount;

use super::alignment::since;
use super::plausible::not_below;
use super::series::Remainder;

/// The part of the cpu of its pods that a node uses at least: a half. Their windows differ.
const LEAST_CPU: u64 = 2;
/// The same of memory: a hundredth. Working sets of pods have page cache in them that node-exporter
/// does not count for the node.
const LEAST_MEMORY: u64 = 100;

/// Smoothed samples of a node.
pub(super) struct NodeTotals {
    /// The usage that belongs to no pod.
    pub(super) remainder: Measure,
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
        remainder: Measure,
        smooth: impl Fn(&mut dyn Iterator<Item = Sample>) -> Measure,
    ) -> Self {
        let of_pods = |r: &Remainder| Sample { used: r.of_pods, ..r.sample };
        NodeTotals {
            remainder,
            own: smooth(&mut samples.clone().map(|r| r.sample)),
            of_pods: smooth(&mut samples.clone().map(of_pods)),
            from: samples.map(|r| r.sample.at).next().unwrap_or(Timestamp::UNIX_EPOCH),
        }
    }

    /// Requires that the node's own samples do not contradict those of its pods: the pods that were
    /// part of all of them cannot use much more than the node does. Then one of both is wrong by a
    /// factor, such as one of units, and nothing tells which.
    pub(super) fn check(
        &self,
        snapshot: &Snapshot,
        node: NodeId,
        pods: &[PodUsage],
    ) -> Result<(), Unmeasured> {
        if self.covers_pods() {
            return Ok(());
        }
        let present = sum(snapshot, node, pods, |pod| !self.is_later(snapshot, *pod));
        let least = |of_pods: Amount, part: u64| Amount::new(of_pods.get() / part);
        let cpu = self.of_pods.cpu.min(present.cpu);
        not_below("cpu", self.own.cpu, least(cpu, LEAST_CPU), cpu)?;
        let memory = self.of_pods.memory.min(present.memory);
        not_below("memory", self.own.memory, least(memory, LEAST_MEMORY), memory)
    }

    /// Returns how much more the pods of the node use, by their own samples, than the node does by
    /// its own.
    ///
    /// The windows of node and pods begin and end at different times, so that one sample tells
    /// nothing. But if the pods have used more than the node over all samples together, both
    /// cannot be right, and the node's own sample decides. Pods that came later are not part of it.
    pub(super) fn excess(&self, snapshot: &Snapshot, node: NodeId, pods: &[PodUsage]) -> Measure {
        if self.covers_pods() {
            return Measure::default();
        }
        let later = |pod: &usize| self.is_later(snapshot, *pod);
        let most = self.own.plus(sum(snapshot, node, pods, later));
        let excess = sum(snapshot, node, pods, |_| true).plus(self.remainder).minus(most);
        let of = |own: Amount, of_pods: Amount, excess: Amount| {
            if own < of_pods { excess } else { Amount::ZERO }
        };
        Measure {
            cpu: of(self.own.cpu, self.of_pods.cpu, excess.cpu),
            memory: of(self.own.memory, self.of_pods.memory, excess.memory),
        }
    }

    /// Whether the node uses at least what its pods do, as it should.
    fn covers_pods(&self) -> bool {
        self.own.cpu >= self.of_pods.cpu && self.own.memory >= self.of_pods.memory
    }

    /// Whether a pod came after the oldest sample.
    fn is_later(&self, snapshot: &Snapshot, pod: usize) -> bool {
        since(&snapshot.pods[pod]) > self.from
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
