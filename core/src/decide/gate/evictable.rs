//! Whether a pod may be evicted at all, given its own properties and the policy.
//!
//! The checks are those of descheduler's DefaultEvictor plugin, with two defects corrected:
//!
//! - The evict annotation never overrides mirror, static and terminating pods, and the value
//!   `false` protects a pod. Only a policy may allow pods of a DaemonSet, system-critical pods and
//!   pods without a controller, because an annotation is not the operator's word.
//! - The priority threshold applies whether or not system-critical pods are protected.
//!
//! The exact mode keeps only what protects mirror, static and terminating pods and what the value
//! `false` protects, and shares the checks that do not differ.

use jiff::SignedDuration;

use crate::decide::draft::{Candidate, Draft};
use crate::model::ledger::key_of;
use crate::model::plan::{Protected, Refusal, Replacement, Stop, Temporary, UnknownObjects};
use crate::model::snapshot::facts::{DoNotDisrupt, PodPhase};
use crate::model::snapshot::objects::ObjectKind;
use crate::model::snapshot::{Pod, Snapshot};
use crate::policy::{
    Basis, Evictable, PriorityThreshold, Protections, SYSTEM_CRITICAL, StorageClasses,
};

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    let (snapshot, now) = (draft.world.snapshot, draft.world.now);
    let (pod, rules) = (snapshot.pod(candidate.pod), candidate.rules(draft.world));
    permitted(candidate, draft)?;
    selected(pod, rules)?;
    let asked = asks_for_eviction(pod)?;
    bare(pod, &rules.protected, pod.controller().is_some())?;
    if asked {
        daemon_set(pod, &rules.protected)?;
        return Ok(critical(rules, snapshot, pod)?);
    }
    protected(pod, &rules.protected, snapshot)?;
    // The kubelet deletes the emptyDir of a pod once it has finished, and keeps every hostPath.
    if !pod.finished() && !snapshot.migrates(pod) {
        local_storage(pod, &rules.protected)?;
    }
    marked(pod, &rules.protected, draft)?;
    priority(rules, snapshot, || snapshot.priority(pod))?;
    let age = now.duration_since(pod.started.unwrap_or(pod.created));
    old_enough(age, rules)
}

/// The checks that no annotation and no label of the pod overrides.
pub(super) fn permitted(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    let snapshot = draft.world.snapshot;
    let pod = snapshot.pod(candidate.pod);
    known(candidate, draft)?;
    by_nature(pod)?;
    if let Some(pause) = snapshot.pauses.of(&pod.namespace, draft.world.now) {
        return Err(Stop::Paused(pause.clone()).into());
    }
    let guards = draft.world.guards;
    if let Some(stop) = guards.stop_of(|| key_of(snapshot, pod), draft.world.now) {
        return Err(Stop::Guarded(Box::new(stop)).into());
    }
    let strategy = draft.world.strategy(candidate.strategy);
    in_namespace(pod, candidate.rules(draft.world), snapshot)?;
    let names = strategy.rule.evictable_namespaces();
    let admitted = names.is_none_or(|names| names.admit(&pod.namespace));
    if admitted { Ok(()) } else { Err(Protected::Namespace(pod.namespace.clone()).into()) }
}

/// Whether the pod's annotation asks for its eviction, or a refusal if it forbids that.
pub(super) fn asks_for_eviction(pod: &Pod) -> Result<bool, Protected> {
    if pod.annotations.forbids_eviction() {
        return Err(Protected::EvictFalse);
    }
    Ok(pod.annotations.asks_for_eviction())
}

/// Refuses a pod whose usage is needed but unknown, or whose node has an object that could not be
/// read.
fn known(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Stop> {
    let world = draft.world;
    let pod = world.snapshot.pod(candidate.pod);
    if let Some(unreadable) = pod.node.and_then(|n| world.snapshot.node(n).unreadable.as_ref()) {
        return Err(Stop::Unreadable(unreadable.clone()));
    }
    let by_usage = candidate.destinations.as_ref().is_some_and(|r| r.basis == Basis::Actual);
    let unmeasured = world.usage.unmeasured_pod(candidate.pod).filter(|_| by_usage);
    unmeasured.map_or(Ok(()), |why| Err(Stop::Unmeasured(why)))
}

/// Refuses the pods that no policy may evict.
fn by_nature(pod: &Pod) -> Result<(), Refusal> {
    if pod.terminating {
        return Err(Temporary::Terminating.into());
    }
    if pod.annotations.eviction_in_progress {
        return Err(Temporary::UnderWay.into());
    }
    // Every mirror pod has its node as owner (the admission plugin NodeRestriction requires it),
    // and a file may lack the annotation.
    if pod.annotations.mirror || pod.owners.iter().any(|owner| owner.is("", "Node")) {
        return Err(Protected::Mirror.into());
    }
    if pod.annotations.static_pod { Err(Protected::Static.into()) } else { Ok(()) }
}

fn in_namespace(pod: &Pod, rules: &Evictable, snapshot: &Snapshot) -> Result<(), Protected> {
    let labels = snapshot.namespaces.get(&pod.namespace);
    // A namespace with unknown labels matches no selector.
    let selected =
        rules.namespace_selector.as_ref().is_none_or(|s| labels.is_some_and(|l| s.matches(l)));
    if !selected || !rules.namespaces.admit(&pod.namespace) {
        return Err(Protected::Namespace(pod.namespace.clone()));
    }
    Ok(())
}

pub(super) fn selected(pod: &Pod, rules: &Evictable) -> Result<(), Protected> {
    let selected = rules.pod_selector.as_ref().is_none_or(|s| s.matches(&pod.labels));
    if selected { Ok(()) } else { Err(Protected::PodSelector) }
}

/// Refuses a pod that is not `replaced`.
pub(super) fn bare(pod: &Pod, rules: &Protections, replaced: bool) -> Result<(), Replacement> {
    if replaced || pod.phase == PodPhase::Failed && !rules.failed_bare {
        Ok(())
    } else {
        Err(Replacement::Bare)
    }
}

pub(super) fn protected(
    pod: &Pod,
    rules: &Protections,
    snapshot: &Snapshot,
) -> Result<(), Refusal> {
    if rules.prefer_no_eviction && pod.annotations.prefer_no_eviction {
        return Err(Protected::PreferNoEviction.into());
    }
    daemon_set(pod, rules)?;
    if rules.without_budget && pod.budgets.is_empty() {
        return Err(Protected::NoBudget.into());
    }
    let classes = rules.persistent_volumes.as_ref();
    let claim = classes.and_then(|classes| protecting_claim(pod, classes, snapshot));
    claim.map_or(Ok(()), |claim| Err(Protected::PersistentVolume(claim).into()))
}

pub(super) fn local_storage(pod: &Pod, rules: &Protections) -> Result<(), Replacement> {
    if rules.local_storage && pod.volumes.local { Err(Replacement::LocalStorage) } else { Ok(()) }
}

pub(super) fn resource_claims(pod: &Pod, rules: &Protections) -> Result<(), Protected> {
    if rules.resource_claims && pod.resource_claims {
        return Err(Protected::ResourceClaims);
    }
    Ok(())
}

fn daemon_set(pod: &Pod, rules: &Protections) -> Result<(), Protected> {
    if rules.daemon_sets && pod.owners.iter().any(|o| o.kind == "DaemonSet") {
        return Err(Protected::DaemonSet);
    }
    Ok(())
}

/// Refuses a system-critical pod, and one whose priority is unknown.
fn critical(rules: &Evictable, snapshot: &Snapshot, pod: &Pod) -> Result<(), Protected> {
    let unknown = |class: &str| Protected::UnknownPriority(class.to_owned());
    let priority = snapshot.priority(pod).map_err(unknown)?;
    if rules.protected.system_critical && priority.is_some_and(|value| value >= SYSTEM_CRITICAL) {
        return Err(Protected::SystemCritical);
    }
    Ok(())
}

/// Refuses pods by what descheduler does not know, or keeps finished pods for as well. A finished
/// pod loses nothing.
fn marked(pod: &Pod, rules: &Protections, draft: &Draft<'_>) -> Result<(), Refusal> {
    if pod.finished() {
        return Ok(());
    }
    resource_claims(pod, rules)?;
    if rules.do_not_disrupt {
        do_not_disrupt(pod, draft)?;
    }
    if let Some(value) = pod.annotations.not_safe_to_evict.filter(|_| rules.safe_to_evict) {
        return Err(Protected::NotSafeToEvict(value).into());
    }
    // No API evicts a whole group, so a pod may go only as the last of its group.
    let gang = draft.world.snapshot.shared_gang(pod).filter(|_| rules.gangs);
    gang.map_or(Ok(()), |gang| Err(Protected::Gang(gang.to_string()).into()))
}

/// Refuses a pod that the annotation `karpenter.sh/do-not-disrupt` protects now.
pub fn do_not_disrupt(pod: &Pod, draft: &Draft<'_>) -> Result<(), Refusal> {
    match pod.annotations.do_not_disrupt {
        None => Ok(()),
        Some(DoNotDisrupt::Always) => Err(Protected::DoNotDisrupt.into()),
        Some(DoNotDisrupt::AfterStart(time)) => {
            let start = pod.started.unwrap_or(draft.world.now);
            let left = time.saturating_sub(draft.world.now.duration_since(start));
            if left.is_positive() { Err(Temporary::DoNotDisrupt(left).into()) } else { Ok(()) }
        }
    }
}

fn protecting_claim(pod: &Pod, classes: &StorageClasses, snapshot: &Snapshot) -> Option<String> {
    let protecting = pod.volumes.claims.iter().find(|claim| match classes {
        StorageClasses::Any => true,
        StorageClasses::Named(names) => {
            let claim = snapshot.claims.get(&(pod.namespace.clone(), (*claim).clone()));
            // A claim that is missing or has no class may be of any class. The empty one is none.
            let class = claim.and_then(|c| c.class.as_ref()).filter(|class| !class.is_empty());
            class.is_none_or(|class| names.contains(class))
        }
    });
    protecting.cloned()
}

/// Refuses by the priority of the pod, which is asked for only if it matters.
pub(super) fn priority<'s>(
    rules: &Evictable,
    snapshot: &Snapshot,
    of_pod: impl FnOnce() -> Result<Option<i32>, &'s str>,
) -> Result<(), Refusal> {
    let critical = rules.protected.system_critical;
    if !critical && rules.priority_below == PriorityThreshold::Value(SYSTEM_CRITICAL) {
        return Ok(());
    }
    let unknown = |class: &str| Protected::UnknownPriority(class.to_owned());
    let Some(priority) = of_pod().map_err(unknown)? else {
        return Ok(());
    };
    if critical && priority >= SYSTEM_CRITICAL {
        return Err(Protected::SystemCritical.into());
    }
    let threshold = match &rules.priority_below {
        PriorityThreshold::Value(SYSTEM_CRITICAL) => return Ok(()),
        PriorityThreshold::Value(value) => *value,
        PriorityThreshold::Class(name) => value_of_class(name, snapshot)?,
    };
    if priority < threshold {
        Ok(())
    } else {
        Err(Protected::Priority { priority, threshold }.into())
    }
}

fn value_of_class(name: &String, snapshot: &Snapshot) -> Result<i32, Refusal> {
    let kind = ObjectKind::Class;
    match (snapshot.classes.get(name), snapshot.lacking.get(&kind)) {
        (Some(value), _) => Ok(*value),
        (None, Some(lack)) => Err(Replacement::Unknown(UnknownObjects::all(kind, *lack)).into()),
        (None, None) => Err(Protected::UnknownPriorityClass(name.clone()).into()),
    }
}

pub(super) fn old_enough(age: SignedDuration, rules: &Evictable) -> Result<(), Refusal> {
    // A clock may be behind that of the API server.
    let (age, least) = (age.max(SignedDuration::ZERO), rules.min_pod_age);
    if age < least { Err(Temporary::Young { age, least }.into()) } else { Ok(()) }
}
