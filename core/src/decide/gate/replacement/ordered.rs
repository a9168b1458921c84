//! A StatefulSet can create the replacement now.
//!
//! With `podManagementPolicy: OrderedReady`, the default, the controller creates no pod while one
//! of a lower ordinal is missing, terminating, not Ready, or Ready for less than `minReadySeconds`
//! (`updateStatefulSet` and `isRunningAndAvailable` in
//! kubernetes/pkg/controller/statefulset/stateful_set_control.go). OpenKruise's StatefulSet of the
//! group `apps.kruise.io` does the same.

use jiff::{SignedDuration, Timestamp};

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::{OrderCause, Replacement};
use crate::model::snapshot::facts::{Numbering, Owner};
use crate::model::snapshot::{Pod, PodId};

use super::controller::ordinal;

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Replacement> {
    let snapshot = draft.world.snapshot;
    let pod = snapshot.pod(candidate.pod);
    let controller = pod.controller().filter(|owner| owner.kind == "StatefulSet");
    let Some(controller) = controller else {
        return Ok(());
    };
    let waits = waits_for(candidate.pod, controller, draft);
    waits.map_or(Ok(()), |(pod, cause)| Err(Replacement::WaitsInOrder { pod, cause }))
}

/// The pod that the StatefulSet waits for, or that would wait for this one. A StatefulSet that is
/// unknown creates its pods in order.
fn waits_for(id: PodId, controller: &Owner, draft: &Draft<'_>) -> Option<(String, OrderCause)> {
    let snapshot = draft.world.snapshot;
    let (pod, set) = (snapshot.pod(id), controller.name.as_str());
    let facts = snapshot.controller_facts(&pod.namespace, controller);
    let numbering = facts.and_then(|facts| facts.numbering.as_deref());
    if numbering.is_some_and(|numbering| !numbering.ordered) {
        return None;
    }
    let own = ordinal(pod, set)?;
    let find = || lowest_waiting(pod, set, numbering, draft);
    let lowest = match snapshot.siblings(pod).next() {
        Some((sibling, _)) => draft.lowest_waiting(sibling, find),
        None => find(),
    };
    if let Some((lower, cause)) = lowest.filter(|(lowest, _)| *lowest < own) {
        return Some((format!("{set}-{lower}"), cause));
    }
    // The replacement of the higher ordinal waits for the other one, whichever leaves first. Where
    // the kind is not known, only pods that are away already count.
    numbering?;
    let moved = draft.accepted().filter(|moved| moved.pod != id);
    let mut moved = moved.map(|moved| snapshot.pod(moved.pod));
    let sibling =
        |other: &&Pod| other.namespace == pod.namespace && other.controller() == Some(controller);
    Some((moved.find(sibling)?.name.clone(), OrderCause::Moves))
}

/// The lowest ordinal of the StatefulSet that has no pod, counted from its first ordinal if that is
/// known, or whose pod is not available.
fn lowest_waiting(
    pod: &Pod,
    set: &str,
    numbering: Option<&Numbering>,
    draft: &Draft<'_>,
) -> Option<(u32, OrderCause)> {
    let (snapshot, now) = (draft.world.snapshot, draft.world.now);
    let numbered = |(_, other)| Some((ordinal(other, set)?, other));
    let mut pods: Vec<(u32, &Pod)> = snapshot.siblings(pod).filter_map(numbered).collect();
    pods.sort_by_key(|(ordinal, _)| *ordinal);
    let missing = numbering.map(|numbering| {
        let present = pods.iter().map(|(ordinal, _)| *ordinal);
        let next = present
            .fold(numbering.first, |next, ordinal| next.saturating_add(u32::from(ordinal == next)));
        (next, OrderCause::NotReady)
    });
    let min_ready = numbering.map_or(SignedDuration::ZERO, |numbering| numbering.min_ready);
    let mut waiting = pods.iter().filter_map(|(ordinal, pod)| {
        let cause = unavailable(pod, min_ready, now)?;
        Some((*ordinal, cause))
    });
    let waiting = waiting.next();
    missing.into_iter().chain(waiting).min_by_key(|one| one.0)
}

/// Why a pod is not available. Without the time of its condition, it is not where that matters, as
/// for the controller.
fn unavailable(pod: &Pod, min_ready: SignedDuration, now: Timestamp) -> Option<OrderCause> {
    let has_passed = |since| now.duration_since(since) > min_ready;
    if !pod.serves() {
        Some(OrderCause::NotReady)
    } else if min_ready.is_positive() && !pod.ready_since().is_some_and(has_passed) {
        Some(OrderCause::NotAvailable)
    } else {
        None
    }
}
