//! Pods that have been moved, or deleted, and hold their requests until they end.
//!
//! kube-scheduler counts them while it places the replacements, so the nodes that give pods have no
//! room yet. A pod may take its whole grace period to end.

use jiff::SignedDuration;

use crate::model::snapshot::facts::PodSpecFacts;
use crate::model::snapshot::{NodeId, PodId};
use crate::values::Amount;

use super::{Candidate, Draft, Landing};

impl<'w> Draft<'w> {
    /// Returns a copy in which every pod that leaves soon has ended, as in a later cycle.
    /// Replacements are where the draft expects them.
    #[must_use]
    pub fn settled(&self) -> Draft<'w> {
        let mut settled = self.trial();
        settled.open = None;
        settled.end_lingering();
        let snapshot = self.world.snapshot;
        for id in snapshot.pod_ids() {
            if snapshot.pod(id).terminating && self.ends_soon(id) {
                settled.end(id);
            }
        }
        settled
    }

    /// Returns a copy of a settled draft in which one more pod has moved, and has ended if it does
    /// so soon.
    #[must_use]
    pub fn settled_after(&self, candidate: Candidate, landing: Landing) -> Draft<'w> {
        let mut settled = self.trial();
        settled.open = None;
        settled.book(candidate, landing);
        settled.end_lingering();
        settled
    }

    /// Whether a pod that leaves will have ended by the next cycle. One whose end is long overdue
    /// is on a node that does not answer, and may hold its room for ever.
    fn ends_soon(&self, id: PodId) -> bool {
        let (world, pod) = (self.world, self.world.snapshot.pod(id));
        let soon = world.policy.interval.max(PodSpecFacts::USUAL_GRACE);
        let left = pod
            .ends
            .map_or(pod.grace, |ends| ends.duration_since(world.now));
        left <= soon && left >= -soon
    }

    /// Removes the requests of a terminating pod.
    fn end(&mut self, id: PodId) {
        let pod = self.world.snapshot.pod(id);
        let Some(node) = self.places[id.0].take() else {
            return;
        };
        self.reserve(node, &pod.requests, pod.non_zero_requests, Amount::minus);
    }

    /// Forgets the moved pods that end soon.
    fn end_lingering(&mut self) {
        let mut lingering = std::mem::take(&mut self.lingering);
        for pods in &mut lingering {
            pods.retain(|pod| !self.ends_soon(*pod));
        }
        self.lingering = lingering;
    }

    /// Remembers a moved pod on the node that it leaves.
    pub(super) fn linger(&mut self, from: NodeId, pod: PodId) {
        self.lingering[from.0].push(pod);
    }

    /// Returns the nodes that moved pods leave, in order.
    pub fn left(&self) -> impl Iterator<Item = NodeId> {
        let nodes = self.lingering.iter().enumerate();
        nodes
            .filter(|(_, pods)| !pods.is_empty())
            .map(|(node, _)| NodeId(node))
    }

    /// Returns the moved pods that hold their requests on a node until they end.
    pub fn lingering(&self, node: NodeId) -> &[PodId] {
        &self.lingering[node.0]
    }

    /// Returns true if a moved pod may still hold its room when the replaced pod of another move
    /// has ended, because its grace period is longer.
    pub fn outlasts(&self, moved: PodId, other: PodId) -> bool {
        let grace = |id: PodId| -> SignedDuration { self.world.snapshot.pod(id).grace };
        self.moves(moved) && grace(moved) > grace(other)
    }
}
