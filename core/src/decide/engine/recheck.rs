//! Checks a planned move again just before it is made, because a plan takes a while to execute.

use std::sync::Arc;

use jiff::Timestamp;

use crate::model::plan::{Move, Untried};
use crate::model::snapshot::{Pod, Snapshot};

use super::Engine;

impl Engine {
    /// Returns the reason why a move must not be made now; `None` if it may be.
    ///
    /// `decided` is the snapshot of the plan and `current` a newer one. The cluster must be
    /// healthy, no guard may stop the move, and the pod and every node where its replacement may
    /// land must be as they were.
    pub fn recheck(
        &self,
        planned: &Move,
        decided: &Snapshot,
        current: &Snapshot,
        now: Timestamp,
    ) -> Option<Untried> {
        if let Some(halt) = self.halt(current, now) {
            return Some(Untried::Unsafe(halt.to_string()));
        }
        if !is_same_pod(planned, decided, current) {
            return Some(Untried::PodChanged);
        }
        if let Some(stop) = self.guards.stop_of(|| planned.ledger_key(), now) {
            return Some(Untried::Guarded(Box::new(stop)));
        }
        let changed = planned
            .possible_nodes
            .iter()
            .find(|node| !is_same_destination(node, decided, current));
        changed.map(|node| Untried::DestinationChanged(node.clone()))
    }
}

fn is_same_pod(planned: &Move, decided: &Snapshot, current: &Snapshot) -> bool {
    let id = |snapshot: &Snapshot| snapshot.find_pod(&planned.namespace, &planned.pod);
    let (Some(before), Some(after)) = (id(decided), id(current)) else {
        return false;
    };
    if !are_same_claims(current.pod(after), decided, current) {
        return false;
    }
    let (before, after) = (decided.pod(before).facts(), current.pod(after).facts());
    // An object without an event since the decision still shares its facts.
    after.uid == planned.uid && (Arc::ptr_eq(before, after) || before == after)
}

/// Whether the claims of the pod and their volumes are as they were.
fn are_same_claims(pod: &Pod, decided: &Snapshot, current: &Snapshot) -> bool {
    pod.volumes.claims.iter().all(|name| {
        let (before, after) = (decided.claim(pod, name), current.claim(pod, name));
        let volume = |snapshot: &'_ Snapshot| {
            let name = after?.volume.as_ref()?;
            snapshot.volumes.get(name).cloned()
        };
        before == after && volume(decided) == volume(current)
    })
}

/// Whether a node still takes the same pods. Its images may differ: each replacement that lands
/// there adds some.
fn is_same_destination(name: &str, decided: &Snapshot, current: &Snapshot) -> bool {
    let (Some(before), Some(after)) = (decided.find_node(name), current.find_node(name)) else {
        return false;
    };
    let (before, after) = (decided.node(before), current.node(after));
    after.ready == before.ready
        && after.closures == before.closures
        && after.cordoned == before.cordoned
        && after.taints == before.taints
        && after.csi_drivers == before.csi_drivers
        && after.labels == before.labels
        && after.unreadable.is_some() == before.unreadable.is_some()
        && (**after).allocatable == (**before).allocatable
}
