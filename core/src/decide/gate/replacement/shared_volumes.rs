//! No other pod holds a volume of the pod on its node, or waits for it.
//!
//! A `ReadWriteOnce` volume is attached to one node at a time. The scheduler does not look at it,
//! but the attach-detach controller refuses a second node as long as a pod of the first one uses
//! the volume (`isMultiAttachForbidden` in its reconciler), and the kubelet waits for ever. Where
//! pods of several nodes run with a claim, its driver does not attach, and nothing keeps the pod.
//! The same holds for a driver without a VolumeAttachment in the whole cluster while the pod runs
//! with its volume (`attachRequired: false`). The node must have one of another driver: a cluster
//! in a cluster and a part of a file may have none at all.
//! The scheduler itself gives a `ReadWriteOncePod` claim to one pod at a time (VolumeRestrictions),
//! regardless of the driver.
//! A pod that has not started elsewhere proves nothing: it may be the one that waits, and would get
//! the volume instead of the replacement.

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::Replacement;
use crate::model::snapshot::facts::{PodPhase, Volume};
use crate::model::snapshot::{Pod, Snapshot};

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Replacement> {
    let snapshot = draft.world.snapshot;
    let pod = snapshot.pod(candidate.pod);
    let is_shared = |claim| {
        let volume = snapshot.volume_of(claim);
        volume.is_some_and(|volume| volume.shared || is_never_attached(snapshot, pod, volume))
    };
    let exclusive = |name: &&String| {
        let claim = snapshot.claim(pod, name);
        claim.is_some_and(|claim| claim.one_pod || claim.one_node && !is_shared(claim))
    };
    for claim in pod.volumes.claims.iter().filter(exclusive) {
        let others = draft
            .index()
            .claim_users(&pod.namespace, claim)
            .iter()
            .filter(|user| **user != candidate.pod);
        let others: Vec<_> = others.map(|user| snapshot.pod(*user)).collect();
        let runs_elsewhere = |other: &&Pod| {
            let elsewhere = other.facts().node.is_some() && other.node != pod.node;
            elsewhere && other.phase == PodPhase::Running
        };
        if let Some(other) = others.first()
            && !others.iter().any(runs_elsewhere)
        {
            return Err(Replacement::SharedVolume {
                claim: claim.clone(),
                pod: other.name.clone(),
            });
        }
    }
    Ok(())
}

/// Whether the driver of a volume attaches nothing, as the attachments of all other volumes show.
fn is_never_attached(snapshot: &Snapshot, pod: &Pod, volume: &Volume) -> bool {
    let (Some((driver, _)), Some(node)) = (&volume.csi, pod.node) else {
        return false;
    };
    let node = &snapshot.node(node).name;
    let attachments = || snapshot.attachments.values();
    pod.phase == PodPhase::Running
        // This comes first, because it ends early for drivers that do attach.
        && attachments().all(|attachment| attachment.driver != *driver)
        && attachments().any(|attachment| attachment.node == *node)
}
