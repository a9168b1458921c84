//! A StatefulSet can create the replacement now.
//!
//! With `podManagementPolicy: OrderedReady`, the default, the controller creates no pod while one
//! of a lower ordinal is missing, terminating or not Ready (`updateStatefulSet` in
//! kubernetes/pkg/controller/statefulset/stateful_set_control.go).

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::Replacement;
use crate::model::snapshot::{Pod, Snapshot};

use super::controller::{ordinal, siblings};

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Replacement> {
    let snapshot = draft.world.snapshot;
    let pod = snapshot.pod(candidate.pod);
    let controller = pod
        .controller()
        .filter(|owner| owner.is("apps", "StatefulSet"));
    let Some(controller) = controller else {
        return Ok(());
    };
    match waits_for(pod, &controller.name, draft) {
        None => Ok(()),
        Some(lower) => Err(Replacement::WaitsInOrder(lower)),
    }
}

/// The pod of a lower ordinal that the StatefulSet waits for. One that is unknown creates its pods
/// in order.
fn waits_for(pod: &Pod, set: &str, draft: &Draft<'_>) -> Option<String> {
    let snapshot = draft.world.snapshot;
    let controller = pod.controller()?;
    let facts = snapshot.controller_facts(&pod.namespace, controller);
    let numbering = facts.and_then(|facts| facts.numbering.as_deref());
    if numbering.is_some_and(|numbering| !numbering.ordered) {
        return None;
    }
    let first = numbering.map(|numbering| numbering.first);
    let own = ordinal(pod, set)?;
    let find = || lowest_waiting(pod, set, first, snapshot);
    let lowest = match siblings(pod, snapshot).next() {
        Some((sibling, _)) => draft.lowest_waiting(sibling, find),
        None => find(),
    };
    let lower = lowest.filter(|lowest| *lowest < own)?;
    Some(format!("{set}-{lower}"))
}

/// The lowest ordinal of the StatefulSet that has no pod, counted from its first ordinal if that is
/// known, or whose pod does not serve.
fn lowest_waiting(pod: &Pod, set: &str, first: Option<u32>, snapshot: &Snapshot) -> Option<u32> {
    let numbered = |(_, other)| Some((ordinal(other, set)?, other));
    let mut pods: Vec<(u32, &Pod)> = siblings(pod, snapshot).filter_map(numbered).collect();
    pods.sort_by_key(|(ordinal, _)| *ordinal);
    let missing = first.map(|first| {
        let present = pods.iter().map(|(ordinal, _)| *ordinal);
        present.fold(first, |next, ordinal| {
            next.saturating_add(u32::from(ordinal == next))
        })
    });
    let mut waiting = pods.iter().filter(|(_, pod)| !pod.serves());
    let waiting = waiting.next().map(|(ordinal, _)| *ordinal);
    missing.into_iter().chain(waiting).min()
}
