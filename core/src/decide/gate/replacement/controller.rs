//! A controller creates the replacement.
//!
//! Only the owner reference with `controller: true` names who replaces a pod; the others only tell
//! the garbage collector when to delete it. `kubectl drain` (k8s.io/kubectl/pkg/drain/filters.go)
//! and cluster-autoscaler (simulator/drainability/rules/replicated) decide in the same way.
//!
//! A controller that does not exist any more creates nothing: the garbage collector is about to
//! delete its pods. One that is being deleted, or that has as many pods as it wants without this
//! one, creates nothing either (`syncReplicaSet` in kubernetes/pkg/controller/replicaset, `syncJob`
//! in kubernetes/pkg/controller/job). One whose pods the API server refuses does not either
//! ([`crate::decide::projection::FailingCreation`]).
//! A StatefulSet creates every pod of its ordinals, and deletes all others (`updateStatefulSet` in
//! kubernetes/pkg/controller/statefulset/stateful_set_control.go sorts them into `condemned`).

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::{NoReplacementCause, Replacement};
use crate::model::snapshot::Pod;
use crate::model::snapshot::facts::{Owner, OwnerFacts};

/// The kinds of which every object is watched, with their API groups.
const WATCHED: [(&str, &str); 4] = [
    ("apps", "ReplicaSet"),
    ("", "ReplicationController"),
    ("apps", "StatefulSet"),
    ("batch", "Job"),
];

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Replacement> {
    let snapshot = draft.world.snapshot;
    let pod = snapshot.pod(candidate.pod);
    let Some(controller) = pod.controller() else {
        return Err(Replacement::Bare);
    };
    if is_watched(controller) {
        match snapshot.controller_facts(&pod.namespace, controller) {
            Some(facts) => replaces(candidate, draft, controller, facts)?,
            // A file may lack the whole kind. Of a Job, too much depends on its fields.
            None if controller.kind == "Job" || snapshot.knows_owners(&controller.kind) => {
                return Err(Replacement::UnknownOwner(named(controller)));
            }
            None => {}
        }
    }
    is_admitted(pod, controller, draft)
}

/// The API server admits new pods of the workload, as far as conditions show.
fn is_admitted(pod: &Pod, controller: &Owner, draft: &Draft<'_>) -> Result<(), Replacement> {
    let workload = pod.workload.map(|workload| &draft.world.snapshot.workload(workload).key);
    let (owner, cause) = match workload.filter(|workload| draft.failing().has_workload(workload)) {
        Some(workload) => {
            (format!("{} {}", workload.kind, workload.name), NoReplacementCause::Failing)
        }
        None if draft.failing().has_namespace(&pod.namespace) => {
            (named(controller), NoReplacementCause::OthersFail)
        }
        None => return Ok(()),
    };
    Err(Replacement::NoReplacement { owner, cause })
}

fn is_watched(controller: &Owner) -> bool {
    WATCHED.iter().any(|(group, kind)| controller.is(group, kind))
}

fn replaces(
    candidate: &Candidate,
    draft: &Draft<'_>,
    controller: &Owner,
    facts: &OwnerFacts,
) -> Result<(), Replacement> {
    let refusal = |cause| Replacement::NoReplacement { owner: named(controller), cause };
    if facts.deleting {
        return Err(refusal(NoReplacementCause::Deleting));
    }
    let pod = draft.world.snapshot.pod(candidate.pod);
    let Some(wanted) = facts.wanted else {
        return Ok(());
    };
    let ordinal = ordinal(pod, &controller.name).filter(|_| wanted > 0);
    let Some((numbering, ordinal)) = facts.numbering.as_deref().zip(ordinal) else {
        let have = draft.index().controlled(candidate.pod);
        let enough = || refusal(NoReplacementCause::Enough { wanted, have });
        return if wanted < have { Err(enough()) } else { Ok(()) };
    };
    let first = numbering.first;
    if (first..first.saturating_add(wanted)).contains(&ordinal) {
        return Ok(());
    }
    let last = first.saturating_add(wanted.saturating_sub(1));
    Err(refusal(NoReplacementCause::Ordinal { first, last }))
}

/// The number at the end of the name of a StatefulSet's pod.
pub(super) fn ordinal(pod: &Pod, set: &str) -> Option<u32> {
    pod.name.strip_prefix(set)?.strip_prefix('-')?.parse().ok()
}

pub(super) fn named(controller: &Owner) -> String {
    format!("{} {}", controller.kind, controller.name)
}
