//! New pods of the controller start.
//!
//! Pods that run may be the last ones of a template that does not work any more: the registry has
//! lost its image, a ConfigMap or Secret that it names is gone, or its program needs something at
//! the start that is not there now. A newer pod of the same controller shows that: the kubelet
//! retries without end and gives a reason (`ErrImagePull` and others in
//! kubernetes/pkg/kubelet/images/types.go, `CrashLoopBackOff` and others in
//! pkg/kubelet/container/sync_result.go). Once a pod that was created later is Ready, it shows
//! nothing any more.

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::Replacement;
use crate::model::snapshot::{Pod, PodId, Snapshot};

use super::controller::named;

/// The reasons why a container waits that last until somebody changes something.
const FAILURES: [&str; 8] = [
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImageNeverPull",
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "RunContainerError",
];

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Replacement> {
    let snapshot = draft.world.snapshot;
    let pod = snapshot.pod(candidate.pod);
    // The workload loses nothing with a pod that does not serve.
    let Some(owner) = pod.controller().filter(|_| pod.serves()) else {
        return Ok(());
    };
    let first = snapshot.siblings(pod).next();
    let failing = first.and_then(|(id, _)| draft.failing_start(id, || failing(pod, snapshot)));
    match failing.map(|id| snapshot.pod(id)) {
        None => Ok(()),
        Some(newer) => Err(Replacement::DoesNotStart {
            owner: named(owner),
            pod: newer.name.clone(),
            reason: failure(newer).unwrap_or_default().to_owned(),
        }),
    }
}

/// A pod of the same controller that does not start and is newer than those that serve.
fn failing(pod: &Pod, snapshot: &Snapshot) -> Option<PodId> {
    let serving = snapshot.siblings(pod).filter(|(_, other)| other.serves());
    let newest = serving.map(|(_, other)| other.created).max();
    let mut failing = snapshot.siblings(pod).filter(|(_, other)| {
        other.stays() && !other.ready && Some(other.created) > newest && failure(other).is_some()
    });
    failing.next().map(|(id, _)| id)
}

fn failure(pod: &Pod) -> Option<&str> {
    let mut waiting = pod.containers.iter().filter_map(|container| container.waiting.as_deref());
    waiting.find(|reason| FAILURES.contains(reason))
}
