//! Whether a pod can start with its claims and their volumes.
//!
//! kube-scheduler refuses a pod whose claim does not exist, is being deleted or is lost
//! (`podHasPVCs` of the VolumeBinding plugin), whose claim should have been bound before (the
//! unbound immediate claims of `PreFilter`), or whose claim names a volume that does not exist
//! (`checkBoundClaims`). The kubelet mounts no volume that belongs to another claim (`getPVSpec` in
//! kubernetes/pkg/kubelet/volumemanager/populator). The other states of a volume say that it is
//! about to go: the external attacher attaches no volume with a deletionTimestamp, and the phases
//! `Released` and `Failed` mean that the claim of the volume was deleted. Longhorn attaches a
//! volume with strict locality to no other node, which its older versions do not say by a node
//! affinity.

use crate::model::plan::ClaimFlaw;
use crate::model::snapshot::facts::{
    Claim, ClaimRef, ClaimState, EphemeralClaim, StorageClass, VolumeState,
};
use crate::model::snapshot::objects::ObjectKind;
use crate::model::snapshot::{Pod, Snapshot};

/// The effect of a claim on a pod that waits for a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hold {
    /// The scheduler can place the pod.
    Free,
    /// The claim may keep the pod waiting: it is about to be bound or not, or is not known.
    Doubtful,
    /// The scheduler places the pod on no node.
    Stuck,
}

/// Returns whether a claim keeps a pod waiting.
pub(super) fn hold(snapshot: &Snapshot, pod: &Pod, name: &str) -> Hold {
    let without = |kind, namespace: &str, object: &str| {
        if snapshot.may_lack(kind, namespace, object) { Hold::Doubtful } else { Hold::Stuck }
    };
    match claim_flaw(snapshot, pod, name) {
        None => match snapshot.claim(pod, name) {
            // An administrator may have created a volume for it.
            Some(claim) if claim.volume.is_none() && !is_provisioned(snapshot, claim) => {
                Hold::Doubtful
            }
            Some(_) | None => Hold::Free,
        },
        Some(ClaimFlaw::Missing) => without(ObjectKind::Claim, &pod.namespace, name),
        Some(ClaimFlaw::NoVolume(volume)) => without(ObjectKind::Volume, "", &volume),
        Some(ClaimFlaw::NoClass(class)) => without(ObjectKind::StorageClass, "", &class),
        Some(ClaimFlaw::Deleting | ClaimFlaw::Lost) => Hold::Stuck,
        Some(ClaimFlaw::Unreadable | ClaimFlaw::Unbound | ClaimFlaw::NoDefaultClass) => {
            Hold::Doubtful
        }
        // Only the kubelet and the attacher refuse such a volume.
        Some(
            ClaimFlaw::VolumeOfOther(_)
            | ClaimFlaw::VolumeDeleting(_)
            | ClaimFlaw::VolumeFailed(_)
            | ClaimFlaw::VolumeReleased(_)
            | ClaimFlaw::VolumeStrictlyLocal(_),
        ) => Hold::Free,
    }
}

fn is_provisioned(snapshot: &Snapshot, claim: &Claim) -> bool {
    snapshot.class_of_claim(claim).is_some_and(StorageClass::provisions)
}

/// Returns why a pod could not start with one of its claims.
pub fn claim_flaw(snapshot: &Snapshot, pod: &Pod, name: &str) -> Option<ClaimFlaw> {
    let Some(claim) = snapshot.claim(pod, name) else {
        let unreadable = snapshot.is_skipped(ObjectKind::Claim, &pod.namespace, name);
        return Some(if unreadable { ClaimFlaw::Unreadable } else { ClaimFlaw::Missing });
    };
    match claim.state {
        ClaimState::Deleting => Some(ClaimFlaw::Deleting),
        ClaimState::Lost => Some(ClaimFlaw::Lost),
        ClaimState::NotBoundYet => Some(ClaimFlaw::Unbound),
        ClaimState::Usable => match &claim.volume {
            Some(volume) => of_volume(snapshot, pod, name, claim, volume),
            None => unbound(snapshot, claim),
        },
    }
}

fn of_volume(
    snapshot: &Snapshot,
    pod: &Pod,
    claim_name: &str,
    claim: &Claim,
    name: &str,
) -> Option<ClaimFlaw> {
    let Some(volume) = snapshot.volumes.get(name) else {
        return Some(ClaimFlaw::NoVolume(name.to_owned()));
    };
    let of_other = |owner: &ClaimRef| {
        let differs = |one: &str, other: &str| !one.is_empty() && one != other;
        let uids = owner.uid.zip(claim.uid);
        differs(&owner.namespace, &pod.namespace)
            || owner.name != claim_name
            || uids.is_some_and(|(one, other)| one != other)
    };
    if volume.owner.as_deref().is_some_and(of_other) {
        return Some(ClaimFlaw::VolumeOfOther(name.to_owned()));
    }
    let strictly_local = volume.strictly_local && volume.nodes.is_none();
    match volume.state {
        VolumeState::Usable => {
            strictly_local.then(|| ClaimFlaw::VolumeStrictlyLocal(name.to_owned()))
        }
        VolumeState::Deleting => Some(ClaimFlaw::VolumeDeleting(name.to_owned())),
        VolumeState::Failed => Some(ClaimFlaw::VolumeFailed(name.to_owned())),
        VolumeState::Released => Some(ClaimFlaw::VolumeReleased(name.to_owned())),
    }
}

/// Only a claim whose class waits for a pod may be unbound (`IsDelayBindingMode`).
fn unbound(snapshot: &Snapshot, claim: &Claim) -> Option<ClaimFlaw> {
    let name = claim.class.as_ref().filter(|name| !name.is_empty());
    match (snapshot.class_of_claim(claim), name) {
        (Some(class), _) if class.waits => None,
        (None, Some(name)) => Some(ClaimFlaw::NoClass(name.clone())),
        (Some(_), _) | (None, None) => Some(ClaimFlaw::Unbound),
    }
}

/// Returns why a new claim for a generic ephemeral volume would never be bound. The claim of the
/// running pod was bound before, so its class may be gone. An empty name means a volume that an
/// administrator has made.
pub fn template_flaw(snapshot: &Snapshot, own: &EphemeralClaim) -> Option<ClaimFlaw> {
    if snapshot.class_of(own).is_some() {
        return None;
    }
    match own.class.as_deref() {
        Some("") => None,
        Some(name) => Some(ClaimFlaw::NoClass(name.to_owned())),
        None => Some(ClaimFlaw::NoDefaultClass),
    }
}
