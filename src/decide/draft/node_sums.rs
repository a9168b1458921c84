//! Sums over the pods of each node, computed in one pass over all pods.

use crate::model::snapshot::facts::NonZeroRequests;
use crate::model::snapshot::{NodeId, Pod, Snapshot};
use crate::values::{Amount, PerResource};

/// The tables of a draft without decisions, by node and by pod.
pub(super) struct NodeSums {
    /// The requests of all pods that have not finished.
    pub(super) reserved: Vec<PerResource<Amount>>,
    /// The requests of the pods that stay.
    pub(super) requested: Vec<PerResource<Amount>>,
    pub(super) non_zero_requests: Vec<NonZeroRequests>,
    /// The node of each pod that has not finished.
    pub(super) places: Vec<Option<NodeId>>,
}

impl NodeSums {
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let nodes = snapshot.nodes.len();
        let zero = PerResource::all(snapshot.resources.count(), Amount::ZERO);
        let mut sums = NodeSums {
            reserved: vec![zero.clone(); nodes],
            requested: vec![zero; nodes],
            non_zero_requests: vec![NonZeroRequests::default(); nodes],
            places: Vec::with_capacity(snapshot.pods.len()),
        };
        for pod in &snapshot.pods {
            let node = pod.node.filter(|_| !pod.finished());
            sums.places.push(node);
            if let Some(node) = node {
                sums.add(node, pod);
            }
        }
        sums
    }

    fn add(&mut self, NodeId(node): NodeId, pod: &Pod) {
        let stays = pod.stays();
        for (resource, request) in pod.requests.iter() {
            let reserved = &mut self.reserved[node][resource];
            *reserved = reserved.plus(*request);
            if stays {
                let requested = &mut self.requested[node][resource];
                *requested = requested.plus(*request);
            }
        }
        let non_zero_requests = &mut self.non_zero_requests[node];
        *non_zero_requests = NonZeroRequests {
            cpu: non_zero_requests.cpu.plus(pod.non_zero_requests.cpu),
            memory: non_zero_requests.memory.plus(pod.non_zero_requests.memory),
        };
    }
}
