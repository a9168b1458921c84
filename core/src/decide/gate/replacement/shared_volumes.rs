//! No other pod holds a volume of the pod on its node.
//!
//! A `ReadWriteOnce` volume is attached to one node at a time. The scheduler does not look at it,
//! but the attach-detach controller refuses a second node as long as a pod of the first one uses
//! the volume (`isMultiAttachForbidden` in its reconciler), and the kubelet waits for ever. Where
//! pods of several nodes already share a claim, its driver does not attach, and nothing keeps the
//! pod.

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::Replacement;

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Replacement> {
    let snapshot = draft.world.snapshot;
    let pod = snapshot.pod(candidate.pod);
    let one_node = |name: &&String| snapshot.claim(pod, name).is_some_and(|c| c.one_node);
    for claim in pod.volumes.claims.iter().filter(one_node) {
        let others = draft
            .index()
            .claim_users(&pod.namespace, claim)
            .iter()
            .filter(|user| **user != candidate.pod);
        let others: Vec<_> = others.map(|user| snapshot.pod(*user)).collect();
        if let Some(other) = others.first()
            && others.iter().all(|other| other.node == pod.node)
        {
            return Err(Replacement::SharedVolume {
                claim: claim.clone(),
                pod: other.name.clone(),
            });
        }
    }
    Ok(())
}
