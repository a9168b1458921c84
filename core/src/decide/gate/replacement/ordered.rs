//! A StatefulSet can create the replacement now.
//!
//! With `podManagementPolicy: OrderedReady`, the default, the controller creates no pod while one
//! of a lower ordinal is missing, terminating or not Ready (`updateStatefulSet` in
//! kubernetes/pkg/controller/statefulset/stateful_set_control.go).

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::Replacement;
use crate::model::snapshot::facts::OwnerFacts;
use crate::model::snapshot::{Pod, Snapshot};

use super::controller::siblings;

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Replacement> {
    let snapshot = draft.world.snapshot;
    let pod = snapshot.pod(candidate.pod);
    let controller = pod
        .controller()
        .filter(|owner| owner.is("apps", "StatefulSet"));
    let Some(controller) = controller else {
        return Ok(());
    };
    let facts = snapshot.controller_facts(&pod.namespace, controller);
    match waits_for(pod, &controller.name, facts, snapshot) {
        None => Ok(()),
        Some(lower) => Err(Replacement::WaitsInOrder(lower)),
    }
}

/// The pod of a lower ordinal that the StatefulSet waits for. One that is unknown creates its pods
/// in order.
fn waits_for(
    pod: &Pod,
    set: &str,
    facts: Option<&OwnerFacts>,
    snapshot: &Snapshot,
) -> Option<String> {
    let first = match facts {
        Some(facts) => Some(facts.ordered_from?),
        None => None,
    };
    let own = ordinal(pod, set)?;
    let mut lower: Vec<(u32, &Pod)> = siblings(pod, snapshot)
        .filter_map(|(_, other)| Some((ordinal(other, set)?, other)))
        .filter(|(ordinal, _)| *ordinal < own)
        .collect();
    lower.sort_by_key(|(ordinal, _)| *ordinal);
    let present = |ordinal: u32| lower.iter().any(|(other, _)| *other == ordinal);
    let missing = first.and_then(|first| (first..own).find(|ordinal| !present(*ordinal)));
    let waiting = lower
        .iter()
        .find(|(_, pod)| !pod.serves())
        .map(|(ordinal, _)| *ordinal);
    let lowest = missing.into_iter().chain(waiting).min()?;
    Some(format!("{set}-{lowest}"))
}

fn ordinal(pod: &Pod, set: &str) -> Option<u32> {
    pod.name.strip_prefix(set)?.strip_prefix('-')?.parse().ok()
}
