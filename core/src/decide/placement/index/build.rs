//! Construction of the lookup tables from a snapshot.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::model::search_start::NodeOrder;
use crate::model::snapshot::facts::{Owner, PodAffinityTerm, Role};
use crate::model::snapshot::{AttachedVolume, NodeId, Pod, PodId, Snapshot, WorkloadId};
use crate::values::selector::Labels;

use super::{IndexedTerm, LabelGroup, NodeImage, Pods, TermKind};

/// Returns the pods of a run that have not finished.
fn unfinished(first: PodId, run: &[Pod]) -> impl Iterator<Item = PodId> {
    let pods = run.iter().enumerate().filter(|(_, pod)| !pod.finished());
    pods.map(move |(offset, _)| PodId(first.0 + offset))
}

/// Groups the pods by namespace and labels. Returns the groups and the position of each pod's
/// group.
pub(super) fn label_groups(snapshot: &Snapshot) -> (Vec<LabelGroup<'_>>, Vec<usize>) {
    let mut known: BTreeMap<(&str, &Labels), usize> = BTreeMap::new();
    let (mut all, mut of): (Vec<LabelGroup<'_>>, Vec<usize>) = (Vec::new(), Vec::new());
    for (first, run) in snapshot.pod_runs() {
        let (namespace, labels) = (run[0].namespace.as_str(), &*run[0].labels);
        let place = *known.entry((namespace, labels)).or_insert(all.len());
        if place == all.len() {
            all.push(LabelGroup {
                namespace,
                labels,
                pods: Vec::new(),
                matched_by: OnceCell::new(),
            });
        }
        all[place].pods.extend(unfinished(first, run));
        of.extend(run.iter().map(|_| place));
    }
    (all, of)
}

/// Returns namespace, kind and name of a controller whose selector the scheduler would use.
fn controller(pod: &Pod) -> Option<(&str, &str, &str)> {
    let owner = pod.controller()?;
    let asked = owner.is("apps", "ReplicaSet")
        || owner.is("apps", "StatefulSet")
        || owner.is("", "ReplicationController");
    asked.then_some((pod.namespace.as_str(), owner.kind.as_str(), owner.name.as_str()))
}

/// Groups the pods by controller. Returns the groups and the position of each pod's group.
pub(super) fn siblings(snapshot: &Snapshot) -> (Vec<Pods>, Vec<Option<usize>>) {
    let mut all: Vec<Vec<PodId>> = Vec::new();
    let mut known = BTreeMap::new();
    let mut of = Vec::new();
    for (first, run) in snapshot.pod_runs() {
        let place = controller(&run[0]).map(|key| *known.entry(key).or_insert(all.len()));
        if let Some(place) = place {
            if place == all.len() {
                all.push(Vec::new());
            }
            all[place].extend(unfinished(first, run));
        }
        of.extend(run.iter().map(|_| place));
    }
    (all.into_iter().map(Rc::from).collect(), of)
}

/// Returns for each pod how many pods of the same controller stay; zero without a workload.
pub(super) fn controlled(snapshot: &Snapshot) -> Vec<u32> {
    let mut counts: BTreeMap<(WorkloadId, Option<&Owner>), u32> = BTreeMap::new();
    for (_, run) in snapshot.pod_runs() {
        if let Some(key) = workload_and_controller(&run[0]) {
            let staying: u32 = run.iter().map(|pod| u32::from(pod.stays())).sum();
            *counts.entry(key).or_default() += staying;
        }
    }
    let runs = snapshot.pod_runs().flat_map(|(_, run)| {
        let count = workload_and_controller(&run[0]).map_or(0, |key| counts[&key]);
        run.iter().map(move |_| count)
    });
    runs.collect()
}

fn workload_and_controller(pod: &Pod) -> Option<(WorkloadId, Option<&Owner>)> {
    Some((pod.workload?, pod.controller()))
}

/// Collects the affinity terms. Returns them and the positions of each pod's own terms.
pub(super) fn terms(snapshot: &Snapshot) -> (Vec<IndexedTerm<'_>>, Vec<Rc<[usize]>>) {
    let mut known = BTreeMap::new();
    let mut all: Vec<IndexedTerm<'_>> = Vec::new();
    let mut of = Vec::with_capacity(snapshot.pods.len());
    for (first, run) in snapshot.pod_runs() {
        let mut own = Vec::new();
        for (kind, term) in terms_of(&run[0]) {
            let namespace = run[0].namespace.as_str();
            let place = *known.entry((namespace, kind, term)).or_insert(all.len());
            if place == all.len() {
                all.push(IndexedTerm {
                    kind,
                    term,
                    namespace,
                    pods: Vec::new(),
                    matched: OnceCell::new(),
                });
            }
            all[place].pods.extend(unfinished(first, run));
            own.push(place);
        }
        let own: Rc<[usize]> = own.into();
        of.extend(run.iter().map(|_| Rc::clone(&own)));
    }
    (all, of)
}

fn terms_of(pod: &Pod) -> impl Iterator<Item = (TermKind, &PodAffinityTerm)> {
    let anti_affinity = pod.required_anti_affinity.iter();
    let anti_affinity = anti_affinity.map(|term| (TermKind::RequiredAntiAffinity, term));
    let affinity = pod.required_affinity.iter();
    let affinity = affinity.map(|term| (TermKind::RequiredAffinity, term));
    let preferred = pod.preferred_terms.iter();
    let preferred =
        preferred.map(|weighted| (TermKind::Preferred(weighted.weight), &weighted.term));
    anti_affinity.chain(affinity).chain(preferred)
}

/// Collects the images that containers use and nodes have.
pub(super) fn images(snapshot: &Snapshot) -> BTreeMap<&str, NodeImage> {
    let containers = snapshot
        .pods
        .iter()
        .flat_map(|p| p.containers.iter())
        .filter(|c| c.role != Role::Ephemeral);
    let asked: BTreeSet<&str> = containers.map(|c| c.image.as_str()).collect();
    let mut all: BTreeMap<&str, NodeImage> = BTreeMap::new();
    for node in snapshot.node_ids() {
        for image in &snapshot.node(node).images {
            for name in image.names.iter().filter(|n| asked_for(&asked, n)) {
                let stored = all
                    .entry(name)
                    .or_insert_with(|| NodeImage { size: image.size, nodes: Vec::new() });
                if stored.nodes.last() != Some(&node) {
                    stored.nodes.push(node);
                }
            }
        }
    }
    all
}

/// Collects the volumes that CSI drivers attach for pods that have not finished, sorted by pod.
pub(super) fn attached(snapshot: &Snapshot) -> Vec<(PodId, AttachedVolume<'_>)> {
    let pods = snapshot.pod_ids().filter(|p| !snapshot.pod(*p).finished());
    let volumes = |p: PodId| {
        let volumes = snapshot.attached_volumes(snapshot.pod(p));
        volumes.into_iter().map(move |volume| (p, volume))
    };
    pods.flat_map(volumes).collect()
}

/// Collects these volumes by the node of their pods, sorted, each once.
pub(super) fn attached_by_node<'w>(
    snapshot: &Snapshot,
    attached: &[(PodId, AttachedVolume<'w>)],
) -> Vec<Vec<AttachedVolume<'w>>> {
    let mut by_node = vec![Vec::new(); snapshot.nodes.len()];
    for (pod, volume) in attached {
        if let Some(NodeId(node)) = snapshot.pod(*pod).node {
            by_node[node].push(*volume);
        }
    }
    for volumes in &mut by_node {
        volumes.sort_unstable();
        volumes.dedup();
    }
    by_node
}

/// Collects the pods that stay, by the claims that they use.
pub(super) fn claim_users(snapshot: &Snapshot) -> BTreeMap<&str, BTreeMap<&str, Vec<PodId>>> {
    let mut users: BTreeMap<&str, BTreeMap<&str, Vec<PodId>>> = BTreeMap::new();
    for (id, pod) in snapshot.pod_ids().zip(&snapshot.pods) {
        if !pod.stays() {
            continue;
        }
        for claim in &pod.volumes.claims {
            let of_namespace = users.entry(&pod.namespace).or_default();
            of_namespace.entry(claim).or_default().push(id);
        }
    }
    users
}

/// Compares image names. A container may omit the tag `latest`.
fn asked_for(asked: &BTreeSet<&str>, name: &str) -> bool {
    asked.contains(name) || name.strip_suffix(":latest").is_some_and(|bare| asked.contains(bare))
}

/// The labels of the region and of the zone of a node. The older one counts first.
const ZONE_LABELS: [[&str; 2]; 2] = [
    ["failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"],
    ["failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"],
];

/// Returns the nodes in the order in which the scheduler visits them: one of each zone in turn,
/// with the zones in the order in which it learned of them (`nodeTree` and `GetZoneKey` in
/// kube-scheduler).
pub(super) fn rotation(snapshot: &Snapshot, order: NodeOrder) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = snapshot.node_ids().collect();
    if order == NodeOrder::Creation {
        nodes.sort_by_key(|node| snapshot.node(*node).created);
    }
    let mut turns: BTreeMap<_, usize> = BTreeMap::new();
    let mut zones: Vec<Vec<NodeId>> = Vec::new();
    for node in nodes {
        let labels = &snapshot.node(node).labels;
        let zone = ZONE_LABELS.map(|keys| {
            keys.into_iter().find_map(|key| labels.get(key)).map_or("", String::as_str)
        });
        let turn = *turns.entry(zone).or_insert(zones.len());
        if turn == zones.len() {
            zones.push(Vec::new());
        }
        zones[turn].push(node);
    }
    let longest = zones.iter().map(Vec::len).max().unwrap_or_default();
    (0..longest)
        .flat_map(|turn| zones.iter().filter_map(move |nodes| nodes.get(turn).copied()))
        .collect()
}
