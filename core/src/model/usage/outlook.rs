//! The cpu that is expected in each of the next 24 hours, by node and by pod.

use crate::model::snapshot::{NodeId, PodId};
use crate::values::Amount;

use super::compact::Compact;

/// Expected cpu by hour. The first hour is the one that has begun.
#[derive(Clone, Debug)]
pub struct Outlook {
    nodes: Vec<ExpectedDay<Option<Amount>>>,
    pods: Vec<ExpectedDay<Compact>>,
}

/// One value for each of the next hours.
pub type ExpectedDay<T> = [T; Outlook::HOURS];

impl Outlook {
    /// The number of hours.
    pub const HOURS: usize = 24;

    /// Creates an outlook without nodes, for so many pods that use nothing.
    pub(super) fn new(pods: usize) -> Self {
        Outlook { nodes: Vec::new(), pods: vec![ExpectedDay::default(); pods] }
    }

    pub(super) fn set_pod(&mut self, PodId(pod): PodId, cpu: ExpectedDay<Amount>) {
        self.pods[pod] = cpu.map(|cpu| Compact::new(cpu.as_f64()));
    }

    /// Adds the next node of the snapshot. An hour about which nothing is known has `None`.
    pub(super) fn add_node(&mut self, cpu: &ExpectedDay<Option<Amount>>) {
        self.nodes.push(*cpu);
    }

    /// Returns the cpu of a node, pods and remainder. An hour about which nothing is known has
    /// `None`.
    pub fn node(&self, NodeId(node): NodeId) -> ExpectedDay<Option<Amount>> {
        self.nodes.get(node).copied().unwrap_or_default()
    }

    /// Returns the cpu of a pod. Where nothing is known about an hour, its present usage counts.
    pub fn pod(&self, PodId(pod): PodId) -> ExpectedDay<Amount> {
        let cpu = self.pods.get(pod).copied().unwrap_or_default();
        cpu.map(|cpu| Amount::from_f64(cpu.get()))
    }
}
