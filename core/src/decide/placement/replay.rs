//! Pods that the scheduler binds to nodes and pods that end, in a simulation or before the present.

use crate::model::snapshot::{Departure, NodeId, PodId};
use crate::values::Amount;

use super::Placement;

impl Placement<'_> {
    /// Puts a pod without a node on a node.
    pub fn bind(&mut self, pod: PodId, node: NodeId) {
        let facts = self.snapshot.pod(pod);
        self.count(node, facts, Amount::plus);
        self.places[pod.0] = Some(node);
        self.landed.entry(node).or_default().push(pod);
    }

    /// Takes a pod off its node, as it was before the scheduler bound it or after it has ended.
    pub fn unbind(&mut self, pod: PodId) {
        let facts = self.snapshot.pod(pod);
        if let Some(node) = self.places[pod.0].take() {
            self.count(node, facts, Amount::minus);
        }
    }

    /// Adds the requests of a pod that has ended, as they were before.
    pub fn hold(&mut self, ended: &Departure) {
        let (node, non_zero_requests) = (ended.node, ended.non_zero_requests);
        self.reserve(node, &ended.requests, non_zero_requests, Amount::plus);
    }

    /// Removes the requests of a pod that has ended.
    pub fn release(&mut self, ended: &Departure) {
        let (node, non_zero_requests) = (ended.node, ended.non_zero_requests);
        self.reserve(node, &ended.requests, non_zero_requests, Amount::minus);
    }
}
