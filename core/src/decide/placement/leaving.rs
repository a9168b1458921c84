//! Pods that have been moved, or deleted, and hold their requests until they end.
//!
//! kube-scheduler counts them while it places the replacements, so the nodes that give pods have no
//! room yet. A pod may take its whole grace period to end.

use jiff::{SignedDuration, Timestamp};

use crate::model::snapshot::facts::PodSpecFacts;
use crate::model::snapshot::{NodeId, Pod, PodId};

use super::Placement;

impl Placement<'_> {
    /// Ends every pod that leaves soon, as in a later cycle. Replacements stay where they are
    /// expected.
    pub fn end_leaving(&mut self, now: Timestamp) {
        self.end_moved(now);
        let (snapshot, soon) = (self.snapshot, self.soon());
        for (id, pod) in snapshot.pod_ids().zip(&snapshot.pods) {
            if pod.terminating && ends_within(pod, soon, now) {
                self.unbind(id);
            }
        }
    }

    /// Ends only the moved pods that leave soon.
    pub fn end_moved(&mut self, now: Timestamp) {
        let (snapshot, soon) = (self.snapshot, self.soon());
        for pods in &mut self.lingering {
            pods.retain(|id| !ends_within(snapshot.pod(*id), soon, now));
        }
    }

    /// The time within which a pod that leaves ends before the next cycle.
    fn soon(&self) -> SignedDuration {
        self.policy.interval.max(PodSpecFacts::USUAL_GRACE)
    }

    /// Returns the nodes that moved pods leave, in order.
    pub fn left(&self) -> impl Iterator<Item = NodeId> {
        let nodes = self.lingering.iter().enumerate();
        nodes.filter(|(_, pods)| !pods.is_empty()).map(|(node, _)| NodeId(node))
    }

    /// Returns the moved pods that hold their requests on a node until they end.
    pub fn lingering(&self, node: NodeId) -> &[PodId] {
        &self.lingering[node.0]
    }

    /// Returns true if a moved pod may still hold its requests when the replaced pod of another
    /// move has ended, because its grace period is longer.
    pub fn outlasts(&self, moved: PodId, other: PodId) -> bool {
        let grace = |id: PodId| -> SignedDuration { self.snapshot.pod(id).grace };
        // Grace periods mostly are equal, and this is asked for each node of each forecast.
        grace(moved) > grace(other) && self.moves(moved)
    }
}

/// Whether a pod that leaves will have ended by then. One whose end is long overdue is on a node
/// that does not answer, and may hold its requests for ever.
fn ends_within(pod: &Pod, soon: SignedDuration, now: Timestamp) -> bool {
    let left = pod.ends.map_or(pod.grace, |ends| ends.duration_since(now));
    left <= soon && left >= -soon
}
