//! Pods that wait for a node. The scheduler places them before the replacements of later evictions,
//! so their room is taken although they are on no node yet.

use crate::model::snapshot::{NodeId, PodId};
use crate::values::{Amount, ResourceId};

use super::{Landing, Placement};

impl Placement<'_> {
    /// Reserves room for a pod that waits, on the node where the scheduler is expected to put it.
    pub fn expect(&mut self, pod: PodId, landing: Landing) {
        let Some(node) = landing.on else { return };
        self.count(node, self.snapshot.pod(pod), Amount::plus);
        self.places[pod.0] = Some(node);
        self.waiting.entry(node).or_default().push(pod);
        self.starts = landing.starts.into();
    }

    /// Returns true if a pod is on no node yet, and the placement expects it on one.
    pub fn expects(&self, pod: PodId) -> bool {
        self.snapshot.pod(pod).node.is_none() && self.place(pod).is_some()
    }

    /// Returns the part of the requests on a node that is reserved for pods that wait.
    pub fn promised(&self, node: NodeId, resource: ResourceId) -> Amount {
        let here = self.waiting.get(&node).into_iter().flatten();
        here.map(|pod| self.snapshot.pod(*pod).requests[resource]).sum()
    }
}
