//! The scheduler chooses the node of the replacement.
//!
//! A pod whose template has `nodeName` is bound when it is created. The scheduler never sees it
//! (`assignedPod` in kubernetes/pkg/scheduler/eventhandlers.go), so it comes back to the same node.

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::Replacement;

use super::controller::named;

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Replacement> {
    let snapshot = draft.world.snapshot;
    let pod = snapshot.pod(candidate.pod);
    let Some(owner) = pod.controller() else {
        return Ok(());
    };
    let facts = snapshot.controller_facts(&pod.namespace, owner);
    match facts.and_then(|facts| facts.node.as_deref()) {
        None => Ok(()),
        Some(node) => Err(Replacement::NamesNode {
            owner: named(owner),
            node: node.to_owned(),
        }),
    }
}
