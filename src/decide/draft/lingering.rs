//! Requests that moved pods hold on the nodes that they leave, until they end.
//!
//! kube-scheduler counts them while it places the replacements, so the nodes that give pods have no
//! room yet.

use crate::model::snapshot::facts::Presumed;
use crate::model::snapshot::{NodeId, PodId};
use crate::values::{Amount, PerResource};

use super::{Candidate, Draft, Landing};

/// The requests of the pods that leave one node.
#[derive(Clone, Debug)]
pub struct LingeringRequests {
    /// By resource.
    pub requests: PerResource<Amount>,
    /// As the scheduler counts them for scores.
    pub presumed: Presumed,
}

impl<'w> Draft<'w> {
    /// Returns a copy in which every pod that leaves has ended, as in a later cycle. Replacements
    /// are where the draft expects them.
    #[must_use]
    pub fn settled(&self) -> Draft<'w> {
        let mut settled = self.trial();
        settled.open = None;
        settled.lingering.clear();
        let snapshot = self.world.snapshot;
        for id in snapshot.pod_ids().filter(|p| snapshot.pod(*p).terminating) {
            settled.end(id);
        }
        settled
    }

    /// Returns a copy of a settled draft in which one more pod has moved and ended.
    #[must_use]
    pub fn settled_after(&self, candidate: Candidate, landing: Landing) -> Draft<'w> {
        let mut settled = self.trial();
        settled.open = None;
        settled.book(candidate, landing);
        settled.lingering.clear();
        settled
    }

    /// Removes the requests of a terminating pod.
    fn end(&mut self, id: PodId) {
        let pod = self.world.snapshot.pod(id);
        let Some(node) = self.places[id.0].take() else {
            return;
        };
        self.reserve(node, &pod.requests, pod.presumed, Amount::minus);
    }

    /// Remembers the requests of a moved pod on the node that it leaves.
    pub(super) fn linger(&mut self, from: NodeId, pod: PodId) {
        let snapshot = self.world.snapshot;
        let none = || LingeringRequests {
            requests: PerResource::all(snapshot.resources.count(), Amount::ZERO),
            presumed: Presumed::default(),
        };
        let sum = self.lingering.entry(from).or_insert_with(none);
        let pod = snapshot.pod(pod);
        for r in snapshot.resources.ids() {
            sum.requests[r] = sum.requests[r].plus(pod.requests[r]);
        }
        sum.presumed.cpu = sum.presumed.cpu.plus(pod.presumed.cpu);
        sum.presumed.memory = sum.presumed.memory.plus(pod.presumed.memory);
    }

    /// Returns the nodes that moved pods leave, in order.
    pub fn left(&self) -> impl Iterator<Item = NodeId> {
        self.lingering.keys().copied()
    }

    /// Returns the requests that the moved pods of a node hold until they end; `None` if no pod of
    /// the node moves.
    pub fn lingering(&self, node: NodeId) -> Option<&LingeringRequests> {
        self.lingering.get(&node)
    }
}
