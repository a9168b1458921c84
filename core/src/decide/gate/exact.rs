//! The checks of the exact mode, where they differ: those of descheduler.

use jiff::SignedDuration;

use crate::decide::draft::{Candidate, Draft, Prospect};
use crate::model::plan::Refusal;
use crate::policy::Rule;

use super::evictable::{
    asks_for_eviction, bare, local_storage, old_enough, permitted, priority, protected, selected,
};
use super::replicas::enough;
use super::{Checks, cooldown, disruption};

mod landing;

/// Descheduler asks for no replacement, asks nothing again, makes no forecast, and has no memory
/// between cycles. Its evictions are recorded nevertheless.
pub(super) static CHECKS: Checks = Checks {
    evictable,
    replacement: |_, _, _| Ok(()),
    replicas,
    disruption: disruption::admit,
    again: |_, _| Ok(()),
    cooldown: |_, draft| cooldown::recordable(draft, true),
    worth: |_, _| Ok(()),
    landing: |candidate, draft| {
        landing::admit(candidate, draft)?;
        Ok(Prospect::certain())
    },
    landings: |_, _, _| Vec::new(),
    unknown_kinds: |_| Vec::new(),
};

/// Whether a pod may be evicted at all.
fn evictable(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    let (snapshot, now) = (draft.world.snapshot, draft.world.now);
    let (pod, rules) = (snapshot.pod(candidate.pod), candidate.rules(draft.world));
    permitted(candidate, draft)?;
    // In descheduler the annotation overrides the labelSelector.
    if asks_for_eviction(pod)? {
        return Ok(());
    }
    selected(pod, rules)?;
    // Every owner reference counts as a controller.
    bare(pod, &rules.protected, !pod.owners.is_empty())?;
    protected(pod, &rules.protected, snapshot)?;
    local_storage(pod, &rules.protected)?;
    // Descheduler drops the threshold together with the protection of system-critical pods.
    if rules.protected.system_critical {
        // A pod without a resolved priority has none.
        priority(rules, snapshot, || Ok(pod.priority))?;
    }
    // A pod that the kubelet has not started yet is young, even if it was created long ago.
    let age = pod.started.map(|start| now.duration_since(start));
    old_enough(age.unwrap_or(SignedDuration::ZERO), rules)
}

/// Whether a pod has enough siblings. Descheduler counts the pods of its owner, such as a
/// ReplicaSet, in every phase, and only if the pod has one owner.
fn replicas(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    let snapshot = draft.world.snapshot;
    let pod = snapshot.pod(candidate.pod);
    let least = candidate.rules(draft.world).min_replicas;
    let [owner] = pod.owners.as_slice() else {
        return Ok(());
    };
    if least <= 1 || pod.annotations.asks_for_eviction() {
        return Ok(());
    }
    let gone = draft.count(|moved, other| {
        let is_sibling =
            || other.namespace == pod.namespace && other.owners.iter().any(|one| one.same(owner));
        other.finished() && is_sibling() && gone(moved, candidate, draft)
    });
    Ok(enough(draft.pods_of_owner(&pod.namespace, owner).saturating_sub(gone), least)?)
}

/// Whether descheduler no longer sees a finished pod: it is gone as soon as it is evicted.
///
/// Descheduler counts when it lists the pods of a node. PodLifeTime lists the pods of all nodes
/// before it evicts one.
fn gone(moved: &Candidate, candidate: &Candidate, draft: &Draft<'_>) -> bool {
    let snapshot = draft.world.snapshot;
    let by_node = !matches!(draft.world.strategy(candidate.strategy).rule, Rule::PodLifeTime(_));
    let same_node = snapshot.pod(moved.pod).node == snapshot.pod(candidate.pod).node;
    moved.strategy != candidate.strategy || (by_node && !same_node)
}
