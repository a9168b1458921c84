//! Everything that the place of the replacement depends on is known.
//!
//! A file may lack whole kinds, and an account the right to list them. The scheduler then knows
//! more than the forecast: where volumes can be accessed (VolumeBinding, VolumeZone), how many a
//! node can still attach (NodeVolumeLimits), which pods a term means (InterPodAffinity).
//!
//! The namespace of the pod itself must be known where Namespaces are: the API server creates no
//! pod in one that does not exist (`Admit` of NamespaceLifecycle), and nothing is known of its
//! pauses.
//!
//! Some kinds keep no pod where a file lacks them, and the plan only says so. Without a CSINode,
//! the scheduler knows no attach limit either; and a plan from a file evicts nothing, even if it
//! counts no budget. Services change only the score of pods whose controller the scheduler does not
//! know, and of pods of a StatefulSet, which may have services of their own (`DefaultSelector`).
//! They also say which pods of an Argo Rollout replace each other.

use std::collections::BTreeMap;

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::{Replacement, UnknownKind, UnknownObjects};
use crate::model::snapshot::lacking::Lack;
use crate::model::snapshot::objects::ObjectKind;
use crate::model::snapshot::{Pod, PodId, ROLLOUT_REVISION, Snapshot};

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Replacement> {
    let mut unknown = unknown(candidate.pod, draft).into_iter();
    let keeping = unknown.find(UnknownObjects::keep_pods);
    keeping.map_or(Ok(()), |objects| Err(Replacement::Unknown(objects)))
}

/// Returns the objects that are not known, with the number of pods whose replacements depend on
/// them.
pub(in crate::decide::gate) fn kinds(draft: &Draft<'_>) -> Vec<UnknownKind> {
    let snapshot = draft.world.snapshot;
    let nothing_lacks = snapshot.lacking.is_empty() && draft.index().decides_all_namespaces();
    if nothing_lacks && snapshot.pod_namespaces().all(|name| has_namespace(snapshot, name)) {
        return Vec::new();
    }
    let mut depend: BTreeMap<UnknownObjects, usize> = BTreeMap::new();
    // A right that is missing is worth a word before a pod depends on it, and so are missing pods.
    for (kind, lack) in snapshot
        .lacking
        .iter()
        .filter(|(kind, lack)| **lack != Lack::NotInFile || **kind == ObjectKind::Pod)
    {
        depend.insert(UnknownObjects::all(*kind, *lack), 0);
    }
    for (first, run) in snapshot.pod_runs() {
        let replaced = run.iter().filter(|pod| is_replaced(pod)).count();
        if replaced == 0 {
            continue;
        }
        for objects in unknown(first, draft) {
            *depend.entry(objects).or_default() += replaced;
        }
    }
    depend.into_iter().map(|(objects, pods)| UnknownKind { objects, pods }).collect()
}

/// Returns true if a controller would replace the pod.
fn is_replaced(pod: &Pod) -> bool {
    pod.node.is_some() && pod.stays() && pod.workload.is_some()
}

fn unknown(pod: PodId, draft: &Draft<'_>) -> Vec<UnknownObjects> {
    let snapshot = draft.world.snapshot;
    let needed = snapshot.lacking.iter().filter(|(kind, _)| needs(draft, pod, **kind));
    let kinds = needed.map(|(kind, lack)| UnknownObjects::all(*kind, *lack));
    let own = snapshot.pod(pod).namespace.as_str();
    let own = Some(own).filter(|name| !has_namespace(snapshot, name));
    let of_terms = || draft.index().unknown_namespace(pod);
    let namespace = own.or_else(of_terms).map(|name| {
        let lack = snapshot.lacking.get(&ObjectKind::Namespace).copied();
        UnknownObjects::namespace(name, lack)
    });
    kinds.chain(namespace).collect()
}

/// Returns true if a namespace exists, or may exist because the kind is not known.
fn has_namespace(snapshot: &Snapshot, name: &str) -> bool {
    let is_known = snapshot.namespaces.contains_key(name);
    is_known || snapshot.lacking.contains_key(&ObjectKind::Namespace)
}

/// Returns true if the place of the pod's replacement depends on objects of this kind.
#[expect(clippy::wildcard_enum_match_arm, reason = "no rule of this file needs another kind")]
fn needs(draft: &Draft<'_>, id: PodId, kind: ObjectKind) -> bool {
    let snapshot = draft.world.snapshot;
    let pod = snapshot.pod(id);
    let claims = || pod.volumes.claims.iter().filter_map(|name| snapshot.claim(pod, name));
    match kind {
        ObjectKind::Claim => !pod.volumes.claims.is_empty(),
        ObjectKind::Volume => claims().any(|claim| claim.volume.is_some()),
        ObjectKind::StorageClass => {
            !pod.volumes.ephemeral.is_empty() || claims().any(|claim| claim.volume.is_none())
        }
        ObjectKind::CsiNode => !snapshot.attached_volumes(pod).is_empty(),
        ObjectKind::Attachment => is_limited(snapshot, pod),
        ObjectKind::Budget => true,
        ObjectKind::Service => {
            pod.labels.contains_key(ROLLOUT_REVISION)
                || pod.spread.is_empty() && draft.index().depends_on_services(id)
        }
        _ => false,
    }
}

/// Returns true if a driver of the pod's volumes has an attach limit.
fn is_limited(snapshot: &Snapshot, pod: &Pod) -> bool {
    snapshot.attached_volumes(pod).into_iter().any(|volume| snapshot.limits_driver(volume.driver))
}
