//! The claims and volumes of the pod exist and can be used.
//!
//! kube-scheduler refuses a pod whose claim does not exist, is being deleted or is lost
//! (`podHasPVCs` of the VolumeBinding plugin), whose claim should have been bound before (the
//! unbound immediate claims of `PreFilter`), or whose claim names a volume that does not exist
//! (`checkBoundClaims`). The kubelet mounts no volume that belongs to another claim (`getPVSpec` in
//! kubernetes/pkg/kubelet/volumemanager/populator). The other states of a volume say that it is about to go: the external
//! attacher attaches no volume with a deletionTimestamp, and the phases `Released` and `Failed`
//! mean that the claim of the volume was deleted. Controllers create no such claim again, except
//! for generic ephemeral volumes, which are not asked about here.

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::{ClaimFlaw, Replacement};
use crate::model::snapshot::facts::{Claim, ClaimRef, ClaimState, VolumeState};
use crate::model::snapshot::objects::ObjectKind;
use crate::model::snapshot::{Pod, Snapshot};

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Replacement> {
    let snapshot = draft.world.snapshot;
    let pod = snapshot.pod(candidate.pod);
    for name in &pod.volumes.claims {
        if let Some(flaw) = flaw(snapshot, pod, name) {
            let claim = name.clone();
            return Err(Replacement::Claim { claim, flaw });
        }
    }
    Ok(())
}

fn flaw(snapshot: &Snapshot, pod: &Pod, name: &str) -> Option<ClaimFlaw> {
    let Some(claim) = snapshot.claim(pod, name) else {
        let unreadable = snapshot.is_skipped(ObjectKind::Claim, &pod.namespace, name);
        return Some(if unreadable {
            ClaimFlaw::Unreadable
        } else {
            ClaimFlaw::Missing
        });
    };
    match claim.state {
        ClaimState::Deleting => Some(ClaimFlaw::Deleting),
        ClaimState::Lost => Some(ClaimFlaw::Lost),
        ClaimState::NotBoundYet => Some(ClaimFlaw::Unbound),
        ClaimState::Usable => match &claim.volume {
            Some(volume) => of_volume(snapshot, pod, (name, claim), volume),
            None => unbound(snapshot, claim),
        },
    }
}

fn of_volume(
    snapshot: &Snapshot,
    pod: &Pod,
    (claim_name, claim): (&str, &Claim),
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
    match volume.state {
        VolumeState::Usable => None,
        VolumeState::Deleting => Some(ClaimFlaw::VolumeDeleting(name.to_owned())),
        VolumeState::Failed => Some(ClaimFlaw::VolumeFailed(name.to_owned())),
        VolumeState::Released => Some(ClaimFlaw::VolumeReleased(name.to_owned())),
    }
}

/// Only a claim whose class waits for a pod may be unbound (`IsDelayBindingMode`). Admission gives
/// a claim the default class, so one without a class has none.
fn unbound(snapshot: &Snapshot, claim: &Claim) -> Option<ClaimFlaw> {
    let Some(name) = &claim.class else {
        return Some(ClaimFlaw::Unbound);
    };
    match snapshot.storage_classes.get(name) {
        Some(class) if class.waits => None,
        Some(_) => Some(ClaimFlaw::Unbound),
        None => Some(ClaimFlaw::NoClass(name.clone())),
    }
}
