//! Nominations: room that pods have reserved on a node before they are bound.
//!
//! After it has removed pods for another one, kube-scheduler writes the node into
//! `status.nominatedNodeName` of the pod that waits, and keeps the room free of pods of lower
//! priority. See "User exposed information" in
//! <https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/>.

use super::{NodeId, PodId, Snapshot};

impl Snapshot {
    /// Returns the pods that have reserved room on a node, sorted by node.
    pub fn nominated(&self) -> &[(NodeId, PodId)] {
        &self.nominated
    }

    /// Returns the node where a pod that is not bound has reserved room.
    pub fn nomination(&self, pod: PodId) -> Option<NodeId> {
        self.pod(pod).nominated.as_ref()?;
        let own = self.nominated.iter().find(|(_, other)| *other == pod);
        own.map(|(node, _)| *node)
    }

    pub(super) fn join_nominations(&mut self) {
        let reserves = |id: PodId| {
            let pod = self.pod(id);
            let name = pod.nominated.as_deref().filter(|_| !pod.finished())?;
            Some((self.find_node(name)?, id))
        };
        let mut nominated: Vec<_> = self.pod_ids().filter_map(reserves).collect();
        nominated.sort_unstable();
        self.nominated = nominated;
    }
}
