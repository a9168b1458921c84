//! The replacement is of the template of the pod, and the scheduler chooses its node.
//!
//! A pod whose template has `nodeName` is bound when it is created. The scheduler never sees it
//! (`assignedPod` in kubernetes/pkg/scheduler/eventhandlers.go), so it comes back to the same node.
//! A pod with scheduling gates waits until some program or person has removed them. See
//! <https://kubernetes.io/docs/concepts/scheduling-eviction/pod-scheduling-readiness/>.
//!
//! A StatefulSet creates a pod by the newest revision of its template, also while its rollout is
//! stuck, or waits for a person (`OnDelete`). That revision may have other needs, or not work. A
//! Deployment has one ReplicaSet for each revision, which replaces its own pods.

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::Replacement;
use crate::model::snapshot::Pod;
use crate::model::snapshot::facts::{Numbering, Owner};

use super::controller::{named, ordinal};

/// The label of a pod that names the revision of its template.
const REVISION: &str = "controller-revision-hash";

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
        None => same_revision(pod, owner, facts.numbering.as_deref()),
    }
}

/// Refuses a pod that its StatefulSet would replace by one of the newest revision, if it is of
/// another one.
fn same_revision(
    pod: &Pod,
    owner: &Owner,
    numbering: Option<&Numbering>,
) -> Result<(), Replacement> {
    let newest = numbering.and_then(|numbering| numbering.newest.as_ref());
    let (Some(newest), Some(own)) = (newest, pod.labels.get(REVISION)) else {
        return Ok(());
    };
    let by_newest = ordinal(pod, &owner.name).is_some_and(|ordinal| ordinal >= newest.from);
    // A pod of a broken revision has to leave before its StatefulSet goes on.
    if by_newest && newest.name != *own && pod.serves() {
        return Err(Replacement::OtherRevision {
            owner: named(owner),
            revision: newest.name.clone(),
        });
    }
    Ok(())
}
