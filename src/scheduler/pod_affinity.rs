//! InterPodAffinity, the required anti-affinity of the pod itself: none of those it avoids may be in the same place.

use crate::draft::Draft;
use crate::snapshot::facts::Neighbours;
use crate::snapshot::{NodeId, Pod, PodId, Snapshot};

/// Whether some pod that this one avoids is on the node, or on another of the same zone.
pub(super) fn avoids(draft: &Draft<'_>, pod: PodId, node: NodeId) -> bool {
    let it = draft.world.snapshot.pod(pod);
    it.avoids.iter().any(|term| finds(draft, term, pod, node))
}

/// Whether some pod that this one avoids is on this very node now, by a term whose label the node has.
pub(super) fn avoids_on(draft: &Draft<'_>, pod: PodId, node: NodeId) -> bool {
    let snapshot = draft.world.snapshot;
    let (it, there) = (snapshot.pod(pod), snapshot.node(node));
    it.avoids
        .iter()
        .filter(|term| there.labels.contains_key(&term.topology_key))
        .any(|term| there.pods.iter().any(|other| *other != pod && selects(snapshot, term, it, snapshot.pod(*other))))
}

fn finds(draft: &Draft<'_>, term: &Neighbours, pod: PodId, node: NodeId) -> bool {
    let snapshot = draft.world.snapshot;
    let Some(place) = snapshot.node(node).labels.get(&term.topology_key) else { return false };
    let same_place = |n: &NodeId| snapshot.node(*n).labels.get(&term.topology_key) == Some(place);
    snapshot
        .node_ids()
        .filter(same_place)
        .flat_map(|n| draft.pods_on(n))
        .any(|other| other != pod && selects(snapshot, term, snapshot.pod(pod), snapshot.pod(other)))
}

/// Whether a term of this pod means that other one, wherever the two are.
pub(super) fn selects(snapshot: &Snapshot, term: &Neighbours, of: &Pod, other: &Pod) -> bool {
    let by_label = || {
        let labels = snapshot.namespaces.get(&other.namespace);
        term.namespace_selector.as_ref().zip(labels).is_some_and(|(s, labels)| s.matches(labels))
    };
    let own = term.namespaces.is_empty() && term.namespace_selector.is_none() && other.namespace == of.namespace;
    let in_scope = own || term.namespaces.contains(&other.namespace) || by_label();
    in_scope && term.pods.as_ref().is_some_and(|s| s.matches(&other.labels))
}
