//! Sums over the pods of each node, computed in one pass over all pods.

use crate::model::snapshot::facts::Presumed;
use crate::model::snapshot::{NodeId, Pod, Snapshot};
use crate::values::{Amount, PerResource};

/// The tables of a draft without decisions, by node and by pod.
pub(super) struct NodeSums {
    /// The requests of all pods that have not finished.
    pub(super) reserved: Vec<PerResource<Amount>>,
    /// The requests of the pods that stay.
    pub(super) requested: Vec<PerResource<Amount>>,
    pub(super) presumed: Vec<Presumed>,
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
            presumed: vec![Presumed::default(); nodes],
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
        let presumed = &mut self.presumed[node];
        *presumed = Presumed {
            cpu: presumed.cpu.plus(pod.presumed.cpu),
            memory: presumed.memory.plus(pod.presumed.memory),
        };
    }
}
