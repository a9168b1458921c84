//! The volumes that the replacement needs and that do not exist yet are provisioned where it lands.
//!
//! A class with `volumeBindingMode: Immediate` provisions a volume before the scheduler places the
//! pod, in a zone that nothing foresees. See
//! <https://kubernetes.io/docs/concepts/storage/storage-classes/#volume-binding-mode>.

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::Replacement;

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Replacement> {
    let snapshot = draft.world.snapshot;
    let new = snapshot.new_volumes(snapshot.pod(candidate.pod));
    let is_protected = candidate.rules(draft.world).protected.new_volumes;
    let unforeseen = new.iter().find(|volume| is_protected && !volume.follows());
    unforeseen.map_or(Ok(()), |volume| Err(Replacement::NewVolume(volume.claim.to_owned())))
}
