//! The scheduler chooses the node of the replacement.
//!
//! A pod whose template has `nodeName` is bound when it is created. The scheduler never sees it
//! (`assignedPod` in kubernetes/pkg/scheduler/eventhandlers.go), so it comes back to the same node.
//! A pod with scheduling gates waits until some program or person has removed them. See
//! <https://kubernetes.io/docs/concepts/scheduling-eviction/pod-scheduling-readiness/>.

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::Replacement;

use super::controller::named;

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Replacement> {
    let snapshot = draft.world.snapshot;
    let pod = snapshot.pod(candidate.pod);
    let Some(owner) = pod.controller() else {
        return Ok(());
    };
    let Some(facts) = snapshot.controller_facts(&pod.namespace, owner) else {
        return Ok(());
    };
    match facts.node.as_deref() {
        Some(node) => Err(Replacement::NamesNode { owner: named(owner), node: node.to_owned() }),
        None if facts.gated => Err(Replacement::Gated(named(owner))),
        None => Ok(()),
    }
}
