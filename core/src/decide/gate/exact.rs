//! The checks of the exact mode, where they differ: those of descheduler.

use jiff::SignedDuration;

use crate::decide::draft::{Candidate, Draft, Prospect};
use crate::decide::scheduler;
use crate::model::plan::{Misfit, Refusal, Replacement};
use crate::model::snapshot::NodeId;
use crate::policy::Rule;
use crate::values::selector::Selector;

use super::evictable::{
    asks_for_eviction, bare, local_storage, old_enough, permitted, priority, protected,
    resource_claims, selected,
};
use super::replicas::enough;
use super::{Checks, ReplacementRule, cooldown, disruption};

/// Descheduler asks for no replacement, asks nothing again, makes no forecast, and has no memory
/// between cycles. Its evictions are recorded nevertheless, and the API server may refuse them.
pub(super) static CHECKS: Checks = Checks {
    evictable,
    replacement: ReplacementRule::check_eviction,
    replicas,
    disruption: disruption::admit,
    again: |_, _| Ok(()),
    cooldown: |_, draft| cooldown::recordable(draft, true),
    worth: |_, _| Ok(()),
    landing: |candidate, draft| {
        has_room(candidate, draft)?;
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
    resource_claims(pod, &rules.protected)?;
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

/// Descheduler's check instead of a forecast (`nodeFit`): requires a node with room among those of
/// the strategy, if it limits them, and the same or another one among those of the profile, if it
/// asks for that.
fn has_room(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    if let Some(destinations) = &candidate.destinations {
        some_fits(candidate, draft, destinations.nodes.iter().copied(), None)?;
    }
    let rules = candidate.rules(draft.world);
    if rules.node_fit {
        let nodes = draft.world.snapshot.node_ids();
        some_fits(candidate, draft, nodes, rules.destinations.as_ref())?;
    }
    Ok(())
}

/// Requires that one of these nodes can take the pod. Its own node and those that the selector
/// excludes do not count.
fn some_fits(
    candidate: &Candidate,
    draft: &Draft<'_>,
    nodes: impl Iterator<Item = NodeId>,
    selector: Option<&Selector>,
) -> Result<(), Refusal> {
    let snapshot = draft.world.snapshot;
    let home = snapshot.pod(candidate.pod).node;
    let mut misfits: Vec<Misfit> = Vec::new();
    for node in nodes.filter(|n| Some(*n) != home) {
        if selector.is_some_and(|s| !s.matches(&snapshot.node(node).labels)) {
            misfits.push(Misfit::Excluded);
            continue;
        }
        match scheduler::fits_today(draft, candidate.pod, node) {
            Ok(()) => return Ok(()),
            Err(why) => misfits.push(why),
        }
    }
    Err(Replacement::NoRoom(misfits.into_iter().collect()).into())
}
