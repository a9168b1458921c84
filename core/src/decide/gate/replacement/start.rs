//! New pods of the controller start.
//!
//! Pods that run may be the last ones of a template that does not work any more: the registry has
//! lost its image, a ConfigMap or Secret that it names is gone, or its program needs something at
//! the start that is not there now. A newer pod of the same controller shows that: the kubelet
//! retries without end and gives a reason (`ErrImagePull` and others in
//! kubernetes/pkg/kubelet/images/types.go, `CrashLoopBackOff` and others in
//! pkg/kubelet/container/sync_result.go). Once a pod that was created later is Ready, it shows
//! nothing any more.
//!
//! A pod of the controller that kube-scheduler binds to no node, although the forecast finds one
//! for it, contradicts the forecast of every replacement that is like it.

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::{Replacement, StartFlaw};
use crate::model::snapshot::{Pod, PodId};

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
    let failing = first.and_then(|(id, _)| draft.failing_start(id, || failing(pod, draft)));
    match failing.map(|id| snapshot.pod(id)) {
        None => Ok(()),
        Some(other) => Err(Replacement::DoesNotStart {
            owner: named(owner),
            pod: other.name.clone(),
            flaw: match failure(other) {
                Some(reason) => StartFlaw::Waits(reason.to_owned()),
                None => StartFlaw::Unplaced,
            },
        }),
    }
}

/// A pod of the same controller that does not start and is newer than those that serve, or that
/// should have a node.
fn failing(pod: &Pod, draft: &Draft<'_>) -> Option<PodId> {
    let (snapshot, now) = (draft.world.snapshot, draft.world.now);
    let serving = snapshot.siblings(pod).filter(|(_, other)| other.serves());
    let newest = serving.map(|(_, other)| other.created).max();
    let mut failing = snapshot.siblings(pod).filter(|(id, other)| {
        let fails = || Some(other.created) > newest && failure(other).is_some();
        // A pod with a nominated node waits until other pods have left it.
        let unplaced = || other.is_unplaced(now) && other.nominated.is_none() && draft.expects(*id);
        other.stays() && !other.ready && (fails() || unplaced())
    });
    failing.next().map(|(id, _)| id)
}

fn failure(pod: &Pod) -> Option<&str> {
    let mut waiting = pod.containers.iter().filter_map(|container| container.waiting.as_deref());
    waiting.find(|reason| FAILURES.contains(reason))
}
