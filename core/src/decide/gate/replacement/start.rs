//! New pods of the controller start.
//!
//! Pods that run may be the last ones of a template that does not work any more: the registry has
//! lost its image, a ConfigMap or Secret that it names is gone, or its program needs something at
//! the start that is not there now. The newest pod of the same controller shows that if it is not
//! Ready after ten minutes, or at once if the kubelet gives a reason, with which it retries without
//! end (`ErrImagePull` and others in kubernetes/pkg/kubelet/images/types.go, `CrashLoopBackOff` and
//! others in pkg/kubelet/container/sync_result.go). Once a pod that was created later is Ready, it
//! shows nothing any more. A node that does not work says nothing about a template.
//!
//! A pod of the controller that kube-scheduler binds to no node, although the forecast finds one
//! for it, contradicts the forecast of every replacement that is like it.
//!
//! A StatefulSet creates a pod when the one before has gone. If one does not end, because a
//! finalizer is not removed, the others may not either.

use jiff::{SignedDuration, Timestamp};

use crate::decide::draft::{Candidate, Draft};
use crate::decide::projection::LONG_START;
use crate::model::plan::{Replacement, StartFlaw};
use crate::model::snapshot::facts::NodeClosure;
use crate::model::snapshot::{Pod, PodId};

use super::controller::named;

/// The reasons why a container waits while all goes well. All others last until somebody changes
/// something.
const USUAL: [&str; 2] = ["ContainerCreating", "PodInitializing"];
/// The reason that may lie in this one pod: its image and its configuration are there.
const CRASH_LOOP: &str = "CrashLoopBackOff";
/// A container with so many restarts fails again and again, even if it runs for now.
const MANY_RESTARTS: u32 = 3;
/// The time in which a controller creates the pods of one rollout.
const ROLLOUT: SignedDuration = SignedDuration::from_mins(1);

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Replacement> {
    let snapshot = draft.world.snapshot;
    let pod = snapshot.pod(candidate.pod);
    // The workload loses nothing with a pod that does not serve.
    let Some(owner) = pod.controller().filter(|_| pod.serves()) else {
        return Ok(());
    };
    let first = snapshot.siblings(pod).next();
    let failing = first.and_then(|(id, _)| draft.failing_start(id, || failing(pod, draft)));
    failing.map_or(Ok(()), |(other, flaw)| {
        let pod = snapshot.pod(other).name.clone();
        Err(Replacement::DoesNotStart { owner: named(owner), pod, flaw })
    })
}

/// A pod of the same controller that does not start and is newer than those that serve, or that
/// should have a node.
fn failing(pod: &Pod, draft: &Draft<'_>) -> Option<(PodId, StartFlaw)> {
    let snapshot = draft.world.snapshot;
    let serving = snapshot.siblings(pod).filter(|(_, other)| other.serves());
    let newest = serving.map(|(_, other)| other.created).max()?;
    let mut siblings = snapshot.siblings(pod);
    if let Some((id, _)) = siblings.find(|(_, other)| hangs(other, draft)) {
        return Some((id, StartFlaw::Hangs));
    }
    let mut others = snapshot.siblings(pod).filter(|(_, other)| other.stays() && !other.ready);
    others.find_map(|(id, _)| Some((id, flaw(id, newest, draft)?)))
}

/// Whether a pod of a StatefulSet, which creates the next one when it has gone, does not end.
fn hangs(pod: &Pod, draft: &Draft<'_>) -> bool {
    let (snapshot, now) = (draft.world.snapshot, draft.world.now);
    pod.ends.is_some_and(|ends| now.duration_since(ends) >= LONG_START)
        && pod.controller().is_some_and(|owner| owner.kind == "StatefulSet")
        && pod.node.is_some_and(|node| snapshot.node(node).ready)
}

/// Why a pod does not start, given the creation of the newest one that serves.
fn flaw(id: PodId, newest: Timestamp, draft: &Draft<'_>) -> Option<StartFlaw> {
    let (snapshot, now) = (draft.world.snapshot, draft.world.now);
    let pod = snapshot.pod(id);
    if pod.node.is_none() && !pod.gated {
        // A pod with a nominated node waits until other pods have left it.
        let unplaced = pod.is_unplaced(now) && pod.nominated.is_none() && draft.expects(id);
        return unplaced.then_some(StartFlaw::Unplaced);
    }
    let fails = |node| {
        !snapshot.node(node).ready || draft.closure(node) == Some(NodeClosure::StartsNothing)
    };
    let newer = pod.created > newest;
    // After the end of a container, the kubelet has to find its image again.
    let began = pod.readiness_since().unwrap_or(pod.created);
    let found = match waits(pod) {
        Some(CRASH_LOOP) if !newer => None,
        Some(reason) if newest.duration_since(began) <= ROLLOUT => {
            Some(StartFlaw::Waits(reason.to_owned()))
        }
        _ => (newer && is_late(pod, now)).then_some(StartFlaw::Late),
    };
    found.filter(|_| !pod.node.is_some_and(fails))
}

fn waits(pod: &Pod) -> Option<&str> {
    let mut waiting = pod.containers.iter().filter_map(|container| container.waiting.as_deref());
    waiting.find(|reason| !USUAL.contains(reason))
}

/// Whether a pod that is not Ready should be. One that was Ready can start.
fn is_late(pod: &Pod, now: Timestamp) -> bool {
    let began = pod.started.unwrap_or(pod.created);
    let never_ready =
        pod.readiness_since().is_none_or(|since| since.duration_since(began) < LONG_START);
    let restarts = pod.containers.iter().any(|container| container.restarts >= MANY_RESTARTS);
    now.duration_since(began) >= LONG_START && (never_ready || restarts)
}
