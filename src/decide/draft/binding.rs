//! Pods that the scheduler binds to nodes, in a simulation or before the present.

use crate::model::snapshot::facts::NonZeroRequests;
use crate::model::snapshot::{Departure, NodeId, PodId};
use crate::model::usage::Measure;
use crate::values::{Amount, PerResource};

use super::Draft;

impl Draft<'_> {
    /// Records that the scheduler put a pending pod on a node.
    pub fn bind(&mut self, pod: PodId, node: NodeId) {
        let used = self.used(pod);
        self.shift(node, pod, |m| m.plus(used), Amount::plus);
        self.places[pod.0] = Some(node);
        self.landed.entry(node).or_default().push(pod);
    }

    /// Takes a pod off its node, as it was before the scheduler bound it.
    pub fn unbind(&mut self, pod: PodId) {
        let used = self.used(pod);
        if let Some(node) = self.places[pod.0].take() {
            self.shift(node, pod, |m| m.minus(used), Amount::minus);
        }
    }

    /// Adds the requests of a pod that has ended, as they were before.
    pub fn hold(&mut self, departure: &Departure) {
        let (node, non_zero_requests) = (departure.node, departure.non_zero_requests);
        self.reserve(node, &departure.requests, non_zero_requests, Amount::plus);
    }

    /// Removes the requests of a pod that has ended.
    pub fn release(&mut self, departure: &Departure) {
        let (node, non_zero_requests) = (departure.node, departure.non_zero_requests);
        self.reserve(node, &departure.requests, non_zero_requests, Amount::minus);
    }

    /// Changes what the scheduler counts as requested on a node.
    pub(super) fn reserve(
        &mut self,
        node: NodeId,
        requests: &PerResource<Amount>,
        non_zero_requests: NonZeroRequests,
        by: fn(Amount, Amount) -> Amount,
    ) {
        for (resource, request) in requests.iter() {
            let reserved = &mut self.reserved[node.0][resource];
            *reserved = by(*reserved, *request);
        }
        let sum = &mut self.non_zero_requests[node.0];
        sum.cpu = by(sum.cpu, non_zero_requests.cpu);
        sum.memory = by(sum.memory, non_zero_requests.memory);
    }

    /// The usage of a pod that changes its node; zero if it is unknown.
    fn used(&self, pod: PodId) -> Measure {
        self.world.usage.pod(pod).unwrap_or_default()
    }
}
