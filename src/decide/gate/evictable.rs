//! Whether a pod may go at all: what it is, and what the policy says of such pods.
//!
//! The checks are those of descheduler's DefaultEvictor, with its defects mended: the evict annotation never overrides
//! mirror, static and terminating pods and honours `false`; the priority threshold holds whether or not
//! system-critical pods are protected; replicas are counted over the top controller, and only those that stay. These
//! stay mended in exact mode as well. What else differs there is said where it does.

use jiff::SignedDuration;

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::Refusal;
use crate::model::snapshot::facts::Phase;
use crate::model::snapshot::{Pod, PodId, Snapshot, WorkloadId};
use crate::policy::{Basis, Evictable, PriorityThreshold, Protections, Rule, StorageClasses};

/// Priorities from here on are the system's own (`system-cluster-critical` and above).
const SYSTEM_CRITICAL: i32 = 2_000_000_000;

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    let snapshot = draft.world.snapshot;
    let pod = snapshot.pod(candidate.pod);
    known(candidate, draft)?;
    by_nature(pod)?;
    let strategy = draft.strategy(candidate.strategy);
    let rules = &draft.world.policy.profiles[strategy.profile].evictable;
    let exact = draft.world.policy.exact;
    in_namespace(pod, rules, snapshot)?;
    if strategy
        .rule
        .evictable_namespaces()
        .is_some_and(|names| !names.admit(&pod.namespace))
    {
        return Err(Refusal::Namespace(pod.namespace.clone()));
    }
    if !exact {
        selected(pod, rules)?;
    }
    match pod.annotations.evict.as_deref() {
        Some("false") => return Err(Refusal::PreferNoEviction),
        Some(_) => return Ok(()),
        None => {}
    }
    if exact {
        // descheduler's annotation overrides its labelSelector.
        selected(pod, rules)?;
    }
    protected(pod, &rules.protected, snapshot)?;
    priority(pod, rules, snapshot)?;
    age(pod, rules, draft)?;
    pod.workload.map_or(Ok(()), |workload| {
        replicas(candidate, workload, rules, draft)
    })
}

/// Nothing is decided about a pod by figures that are not known, or on a node of which they may be wrong.
fn known(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    let world = draft.world;
    let pod = world.snapshot.pod(candidate.pod);
    if let Some(doubt) = pod.node.and_then(|n| world.snapshot.node(n).doubt.as_ref()) {
        return Err(Refusal::Doubtful(doubt.clone()));
    }
    match world.usage.unmeasured_pod(candidate.pod) {
        Some(why)
            if candidate
                .room
                .as_ref()
                .is_some_and(|r| r.basis == Basis::Actual) =>
        {
            Err(Refusal::Unmeasured(why))
        }
        Some(_) | None => Ok(()),
    }
}

/// What no policy may override.
fn by_nature(pod: &Pod) -> Result<(), Refusal> {
    if pod.terminating {
        return Err(Refusal::Terminating);
    }
    if pod.annotations.mirror {
        return Err(Refusal::Mirror);
    }
    if pod.annotations.static_pod {
        Err(Refusal::Static)
    } else {
        Ok(())
    }
}

fn in_namespace(pod: &Pod, rules: &Evictable, snapshot: &Snapshot) -> Result<(), Refusal> {
    let labels = snapshot.namespaces.get(&pod.namespace);
    // A namespace whose labels are not known meets no selector.
    let selected = rules
        .namespace_selector
        .as_ref()
        .is_none_or(|s| labels.is_some_and(|l| s.matches(l)));
    if !selected || !rules.namespaces.admit(&pod.namespace) {
        return Err(Refusal::Namespace(pod.namespace.clone()));
    }
    Ok(())
}

fn selected(pod: &Pod, rules: &Evictable) -> Result<(), Refusal> {
    match &rules.pod_selector {
        Some(selector) if !selector.matches(&pod.labels) => Err(Refusal::PodSelector),
        Some(_) | None => Ok(()),
    }
}

fn protected(pod: &Pod, rules: &Protections, snapshot: &Snapshot) -> Result<(), Refusal> {
    if rules.prefer_no_eviction && pod.annotations.prefer_no_eviction {
        return Err(Refusal::PreferNoEviction);
    }
    if rules.daemon_sets && pod.owners.iter().any(|o| o.kind == "DaemonSet") {
        return Err(Refusal::DaemonSet);
    }
    if pod.owners.is_empty() && (rules.failed_bare || pod.phase != Phase::Failed) {
        return Err(Refusal::Bare);
    }
    if rules.local_storage && pod.volumes.local {
        return Err(Refusal::LocalStorage);
    }
    if rules.resource_claims && pod.resource_claims {
        return Err(Refusal::ResourceClaims);
    }
    if rules.without_budget && pod.budgets.is_empty() {
        return Err(Refusal::NoBudget);
    }
    match rules
        .persistent_volumes
        .as_ref()
        .and_then(|classes| protecting_claim(pod, classes, snapshot))
    {
        Some(claim) => Err(Refusal::PersistentVolume(claim)),
        None => Ok(()),
    }
}

fn protecting_claim(pod: &Pod, classes: &StorageClasses, snapshot: &Snapshot) -> Option<String> {
    let protects = |claim: &&String| match classes {
        StorageClasses::Any => true,
        StorageClasses::Named(names) => {
            let claim = snapshot
                .claims
                .get(&(pod.namespace.clone(), (*claim).clone()));
            // A claim that is not there, or has no class, may be of any.
            claim
                .and_then(|c| c.class.as_ref())
                .is_none_or(|class| names.contains(class))
        }
    };
    pod.volumes.claims.iter().find(protects).cloned()
}

fn priority(pod: &Pod, rules: &Evictable, snapshot: &Snapshot) -> Result<(), Refusal> {
    let Some(priority) = pod.priority else {
        return Ok(());
    };
    if rules.protected.system_critical && priority >= SYSTEM_CRITICAL {
        return Err(Refusal::SystemCritical);
    }
    let threshold = match &rules.priority_below {
        PriorityThreshold::Value(SYSTEM_CRITICAL) => return Ok(()),
        PriorityThreshold::Value(value) => *value,
        PriorityThreshold::Class(name) => *snapshot
            .classes
            .get(name)
            .ok_or_else(|| Refusal::UnknownPriorityClass(name.clone()))?,
    };
    if priority < threshold {
        Ok(())
    } else {
        Err(Refusal::Priority {
            priority,
            threshold,
        })
    }
}

fn age(pod: &Pod, rules: &Evictable, draft: &Draft<'_>) -> Result<(), Refusal> {
    // descheduler protects a pod that its kubelet has not taken on yet, however long ago it was created.
    let since = pod
        .started
        .or((!draft.world.policy.exact).then_some(pod.created));
    let age = since.map_or(SignedDuration::ZERO, |since| {
        draft.world.now.duration_since(since)
    });
    let least = rules.min_pod_age;
    if age < least {
        Err(Refusal::Young { age, least })
    } else {
        Ok(())
    }
}

/// Whether descheduler sees no more of a pod: one that had ended is gone as soon as it is evicted. It counts when it
/// lists the pods of a node, save for PodLifeTime, which lists those of all nodes before it evicts one.
fn gone(pod: PodId, candidate: &Candidate, draft: &Draft<'_>) -> bool {
    let snapshot = draft.world.snapshot;
    let node = |p: PodId| snapshot.pod(p).node;
    let by_node = !matches!(
        draft.strategy(candidate.strategy).rule,
        Rule::PodLifeTime(_)
    );
    let listed_before = |by: &Candidate| {
        by.strategy == candidate.strategy && !(by_node && node(pod) != node(candidate.pod))
    };
    snapshot.pod(pod).finished() && draft.move_of(pod).is_some_and(|(by, _)| !listed_before(by))
}

fn replicas(
    candidate: &Candidate,
    workload: WorkloadId,
    rules: &Evictable,
    draft: &Draft<'_>,
) -> Result<(), Refusal> {
    let (snapshot, exact, pod) = (
        draft.world.snapshot,
        draft.world.policy.exact,
        candidate.pod,
    );
    let least = rules.min_replicas;
    let finished = snapshot.pod(pod).finished();
    let have = match (finished, exact) {
        // What has finished takes nothing away by going.
        (true, false) => return Ok(()),
        // descheduler asks it of finished pods too, and then counts them.
        (true, true) => {
            let there = snapshot
                .workload(workload)
                .pods
                .iter()
                .filter(|p| !gone(**p, candidate, draft))
                .count();
            u32::try_from(there).unwrap_or(u32::MAX)
        }
        (false, _) => snapshot.replicas(workload),
    };
    if have < least {
        return Err(Refusal::TooFewReplicas { have, least });
    }
    if exact {
        return Ok(());
    }
    let others = snapshot
        .workload(workload)
        .pods
        .iter()
        .filter(|p| **p != pod && snapshot.pod(**p).serves());
    let (planned, left): (Vec<PodId>, Vec<PodId>) = others.partition(|p| draft.moves(**p));
    let count = |pods: &[PodId]| u32::try_from(pods.len()).unwrap_or(u32::MAX);
    let (planned, left, least) = (count(&planned), count(&left), least.saturating_sub(1));
    // A pod that does not serve takes nothing away by going.
    if !snapshot.pod(pod).serves() || left >= least {
        return Ok(());
    }
    let planned = if left.saturating_add(planned) < least {
        0
    } else {
        planned
    };
    Err(Refusal::LastReady {
        left,
        least,
        planned,
    })
}
