//! NodeResourcesFit: what the pod requests must be free.

use crate::draft::Draft;
use crate::snapshot::{NodeId, PodId};
use crate::units::{Amount, ResourceId};

/// The first resource of which less is free than the pod requests. A request of nothing always fits.
pub(super) fn lacking(draft: &Draft<'_>, pod: PodId, free: impl Fn(ResourceId) -> Amount) -> Option<ResourceId> {
    let request = &draft.world.snapshot.pod(pod).requests;
    let short = |(r, wanted): &(ResourceId, &Amount)| **wanted > Amount::ZERO && **wanted > free(*r);
    request.iter().find(short).map(|(r, _)| r)
}

/// The mean share of cpu and memory that would be left unrequested, from 0 to 100 (`LeastAllocated`).
pub(super) fn spare(draft: &Draft<'_>, pod: PodId, node: NodeId) -> i64 {
    let request = &draft.world.snapshot.pod(pod).requests;
    let left = |r: ResourceId| {
        let whole = draft.world.snapshot.node(node).allocatable[r].get();
        let free = draft.free(node, r).minus(request[r]).get();
        i64::try_from(free.saturating_mul(100).checked_div(whole).unwrap_or_default()).unwrap_or_default()
    };
    i64::midpoint(left(ResourceId::CPU), left(ResourceId::MEMORY))
}
