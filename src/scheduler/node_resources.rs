//! NodeResourcesFit: what the pod requests must be free.

use crate::draft::Draft;
use crate::snapshot::PodId;
use crate::units::{Amount, ResourceId};

/// The first resource of which less is free than the pod requests. A request of nothing always fits.
pub(super) fn lacking(draft: &Draft<'_>, pod: PodId, free: impl Fn(ResourceId) -> Amount) -> Option<ResourceId> {
    let request = &draft.world.snapshot.pod(pod).requests;
    let short = |(r, wanted): &(ResourceId, &Amount)| **wanted > Amount::ZERO && **wanted > free(*r);
    request.iter().find(short).map(|(r, _)| r)
}
