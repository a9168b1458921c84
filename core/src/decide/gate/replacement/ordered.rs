//! A StatefulSet can create the replacement now.
//!
//! No condition of a StatefulSet says that the API server refuses its pods, because of a quota or a
//! webhook. One that waits for no pod and still lacks one cannot create it, and no other either.
//!
//! With `podManagementPolicy: OrderedReady`, the default, the controller creates no pod while one
//! of a lower ordinal is missing, terminating, not Ready, or Ready for less than `minReadySeconds`
//! (`updateStatefulSet` and `isRunningAndAvailable` in
//! kubernetes/pkg/controller/statefulset/stateful_set_control.go). OpenKruise's StatefulSet of the
//! group `apps.kruise.io` does the same.

use jiff::SignedDuration;

use crate::decide::draft::{Candidate, Draft};
use crate::decide::projection::WaitingOrdinal;
use crate::model::plan::{NoReplacementCause, OrderCause, Replacement};
use crate::model::snapshot::facts::{Numbering, Owner, OwnerFacts};
use crate::model::snapshot::{Pod, PodId};

use super::controller::{named, ordinal};

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Replacement> {
    let snapshot = draft.world.snapshot;
    let pod = snapshot.pod(candidate.pod);
    let set = pod.controller().filter(|owner| owner.kind == "StatefulSet");
    let Some((set, own)) = set.and_then(|set| Some((set, ordinal(pod, &set.name)?))) else {
        return Ok(());
    };
    let facts = snapshot.controller_facts(&pod.namespace, set);
    let find = || lowest_waiting(pod, set, facts, draft);
    let lowest = match snapshot.siblings(pod).next() {
        Some((sibling, _)) => draft.lowest_waiting(sibling, find),
        None => find(),
    };
    let waits = |pod, cause| Err(Replacement::WaitsInOrder { pod, cause });
    match lowest {
        Some((ordinal, None)) => {
            let cause = NoReplacementCause::NotCreated { ordinal };
            Err(Replacement::NoReplacement { owner: named(set), cause })
        }
        Some((lower, Some(cause))) if lower < own => waits(format!("{}-{lower}", set.name), cause),
        _ => moved_before(candidate.pod, set, facts, draft)
            .map_or(Ok(()), |moved| waits(moved, OrderCause::Moves)),
    }
}

/// A pod of an ordered set that the draft moves. The replacement of the higher ordinal waits for
/// the other one, whichever leaves first. Where the set is not known, only pods that are away
/// already count.
fn moved_before(
    id: PodId,
    set: &Owner,
    facts: Option<&OwnerFacts>,
    draft: &Draft<'_>,
) -> Option<String> {
    let snapshot = draft.world.snapshot;
    facts.and_then(|facts| facts.numbering.as_deref()).filter(|numbering| numbering.ordered)?;
    let namespace = &snapshot.pod(id).namespace;
    let moved = draft.accepted().filter(|moved| moved.pod != id);
    let mut moved = moved.map(|moved| snapshot.pod(moved.pod));
    let sibling = |other: &&Pod| other.namespace == *namespace && other.controller() == Some(set);
    Some(moved.find(sibling)?.name.clone())
}

/// The lowest ordinal of the set that has no pod, or whose pod is not available. A set that is
/// unknown creates its pods in order, and one that is not ordered waits for no pod.
fn lowest_waiting(
    pod: &Pod,
    set: &Owner,
    facts: Option<&OwnerFacts>,
    draft: &Draft<'_>,
) -> Option<WaitingOrdinal> {
    let snapshot = draft.world.snapshot;
    let numbered = |(_, other)| Some((ordinal(other, &set.name)?, other));
    let mut pods: Vec<(u32, &Pod)> = snapshot.siblings(pod).filter_map(numbered).collect();
    pods.sort_by_key(|(ordinal, _)| *ordinal);
    let numbering = facts.and_then(|facts| facts.numbering.as_deref());
    let wanted = facts.and_then(|facts| facts.wanted);
    let missing = numbering.and_then(|numbering| missing(numbering.first, wanted, &pods));
    let is_ordered = numbering.is_none_or(|numbering| numbering.ordered);
    let mut waiting = pods.iter().filter(|_| is_ordered).filter_map(|(ordinal, pod)| {
        let cause = unavailable(pod, numbering, draft)?;
        Some((*ordinal, Some(cause)))
    });
    let missing = missing.map(|ordinal| (ordinal, None));
    missing.into_iter().chain(waiting.next()).min_by_key(|one| one.0)
}

/// The lowest wanted ordinal without a pod. Of a set that does not say how many it wants, it is
/// below another one.
fn missing(first: u32, wanted: Option<u32>, pods: &[(u32, &Pod)]) -> Option<u32> {
    let last = pods.last().map_or(first, |(ordinal, _)| *ordinal);
    let end = wanted.map_or(last, |wanted| first.saturating_add(wanted));
    let present = pods.iter().map(|(ordinal, _)| *ordinal);
    let next = present.fold(first, |next, ordinal| next.saturating_add(u32::from(ordinal == next)));
    (next < end).then_some(next)
}

/// Why a pod is not available. Without the time of its condition, it is not where that matters, as
/// for the controller. A pod whose eviction is under way may still seem to be Ready.
fn unavailable(pod: &Pod, numbering: Option<&Numbering>, draft: &Draft<'_>) -> Option<OrderCause> {
    let min_ready = numbering.map_or(SignedDuration::ZERO, |numbering| numbering.min_ready);
    let has_passed = |since| draft.world.now.duration_since(since) > min_ready;
    if !pod.serves() || draft.world.is_under_way(pod) {
        Some(OrderCause::NotReady)
    } else if min_ready.is_positive() && !pod.ready_since().is_some_and(has_passed) {
        Some(OrderCause::NotAvailable)
    } else {
        None
    }
}
