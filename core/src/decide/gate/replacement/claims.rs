//! The claims and volumes of the pod exist and can be used. Controllers create no claim again,
//! except for generic ephemeral volumes, of which only the storage class must exist.

use crate::decide::draft::{Candidate, Draft};
use crate::decide::scheduler::{claim_flaw, template_flaw};
use crate::model::plan::Replacement;

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Replacement> {
    let snapshot = draft.world.snapshot;
    let pod = snapshot.pod(candidate.pod);
    let claims = pod.volumes.claims.iter().map(|name| (name, claim_flaw(snapshot, pod, name)));
    let own = pod.volumes.ephemeral.iter();
    let own = own.map(|template| (&template.name, template_flaw(snapshot, template)));
    let mut flawed = claims.chain(own).filter_map(|(name, flaw)| Some((name.clone(), flaw?)));
    flawed.next().map_or(Ok(()), |(claim, flaw)| Err(Replacement::Claim { claim, flaw }))
}
