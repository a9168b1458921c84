//! The claims and volumes of the pod exist and can be used. Controllers create no claim again,
//! except for generic ephemeral volumes, of which only the storage class must exist.

use crate::decide::draft::{Candidate, Draft};
use crate::decide::scheduler::{claim_flaw, template_flaw};
use crate::model::plan::Replacement;

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Replacement> {
    let snapshot = draft.world.snapshot;
    let pod = snapshot.pod(candidate.pod);
    for name in &pod.volumes.claims {
        if let Some(flaw) = claim_flaw(snapshot, pod, name) {
            let claim = name.clone();
            return Err(Replacement::Claim { claim, flaw });
        }
    }
    for own in &pod.volumes.ephemeral {
        if let Some(flaw) = template_flaw(snapshot, own) {
            let claim = own.name.clone();
            return Err(Replacement::Claim { claim, flaw });
        }
    }
    Ok(())
}
