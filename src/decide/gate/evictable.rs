//! Whether a pod may be evicted at all, given its own properties and the policy.
//!
//! The checks are those of descheduler's DefaultEvictor plugin, with three defects corrected:
//!
//! - The evict annotation never overrides mirror, static and terminating pods, and the value
//!   `false` protects a pod.
//! - The priority threshold applies whether or not system-critical pods are protected.
//! - Replicas are counted over the top controller, and only those that stay.
//!
//! The exact mode keeps these corrections. Comments name its other differences.

use jiff::SignedDuration;

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::{Refusal, UnknownObjects};
use crate::model::snapshot::facts::{DoNotDisrupt, PodPhase};
use crate::model::snapshot::objects::ObjectKind;
use crate::model::snapshot::{Pod, PodId, Snapshot, WorkloadId};
use crate::policy::{Basis, Evictable, PriorityThreshold, Protections, Rule, StorageClasses};

/// The priority of `system-cluster-critical`; higher ones are the system's own as well.
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
        Some("false") => return Err(Refusal::EvictFalse),
        Some(_) => return Ok(()),
        None => {}
    }
    if exact {
        // In descheduler the annotation overrides the labelSelector.
        selected(pod, rules)?;
    }
    protected(pod, &rules.protected, snapshot)?;
    if !exact {
        guarded(pod, &rules.protected, draft)?;
    }
    priority(pod, rules, snapshot)?;
    age(pod, rules, draft)?;
    pod.workload.map_or(Ok(()), |workload| {
        replicas(candidate, workload, rules, draft)
    })
}

/// Refuses a pod whose usage is needed but unknown, or whose node has an object that could not be
/// read.
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

/// Refuses the pods that no policy may evict.
fn by_nature(pod: &Pod) -> Result<(), Refusal> {
    if pod.terminating {
        return Err(Refusal::Terminating);
    }
    if pod.annotations.eviction_in_progress {
        return Err(Refusal::UnderWay);
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
    // A namespace with unknown labels matches no selector.
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
    if pod.owners.is_empty() && (rules.failed_bare || pod.phase != PodPhase::Failed) {
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

/// Refuses pods by marks that descheduler does not know. A finished pod loses nothing.
fn guarded(pod: &Pod, rules: &Protections, draft: &Draft<'_>) -> Result<(), Refusal> {
    if pod.finished() {
        return Ok(());
    }
    if rules.do_not_disrupt {
        do_not_disrupt(pod, draft)?;
    }
    if rules.safe_to_evict && pod.annotations.safe_to_evict == Some(false) {
        return Err(Refusal::NotSafeToEvict);
    }
    match draft.world.snapshot.shared_gang(pod) {
        // No API evicts a whole group, so a pod may go only as the last of its group.
        Some(gang) if rules.gangs => Err(Refusal::Gang(gang.to_string())),
        Some(_) | None => Ok(()),
    }
}

fn do_not_disrupt(pod: &Pod, draft: &Draft<'_>) -> Result<(), Refusal> {
    match pod.annotations.do_not_disrupt {
        None => Ok(()),
        Some(DoNotDisrupt::Always) => Err(Refusal::DoNotDisrupt(None)),
        Some(DoNotDisrupt::AfterStart(time)) => {
            let start = pod.started.unwrap_or(draft.world.now);
            let left = time.saturating_sub(draft.world.now.duration_since(start));
            if left.is_positive() {
                Err(Refusal::DoNotDisrupt(Some(left)))
            } else {
                Ok(())
            }
        }
    }
}

fn protecting_claim(pod: &Pod, classes: &StorageClasses, snapshot: &Snapshot) -> Option<String> {
    let mut claims = pod.volumes.claims.iter();
    let protecting = claims.find(|claim| match classes {
        StorageClasses::Any => true,
        StorageClasses::Named(names) => {
            let claim = snapshot
                .claims
                .get(&(pod.namespace.clone(), (*claim).clone()));
            // A claim that is missing or has no class may be of any class.
            claim
                .and_then(|c| c.class.as_ref())
                .is_none_or(|class| names.contains(class))
        }
    });
    protecting.cloned()
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
        PriorityThreshold::Class(name) => value_of_class(name, snapshot)?,
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

fn value_of_class(name: &String, snapshot: &Snapshot) -> Result<i32, Refusal> {
    let kind = ObjectKind::Class;
    match (snapshot.classes.get(name), snapshot.lacking.get(&kind)) {
        (Some(value), _) => Ok(*value),
        (None, Some(lack)) => Err(Refusal::Unknown(UnknownObjects::all(kind, *lack))),
        (None, None) => Err(Refusal::UnknownPriorityClass(name.clone())),
    }
}

fn age(pod: &Pod, rules: &Evictable, draft: &Draft<'_>) -> Result<(), Refusal> {
    // Descheduler protects a pod that the kubelet has not started yet, even if it was created long
    // ago.
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

/// Whether descheduler no longer sees a pod: a finished pod is gone as soon as it is evicted.
///
/// Descheduler counts when it lists the pods of a node. PodLifeTime lists the pods of all nodes
/// before it evicts one.
fn gone(pod: PodId, candidate: &Candidate, draft: &Draft<'_>) -> bool {
    let snapshot = draft.world.snapshot;
    let Some((by, _)) = draft.move_of(pod) else {
        return false;
    };
    let by_node = !matches!(
        draft.strategy(candidate.strategy).rule,
        Rule::PodLifeTime(_)
    );
    let same_node = snapshot.pod(pod).node == snapshot.pod(candidate.pod).node;
    let listed_before = by.strategy == candidate.strategy && (same_node || !by_node);
    snapshot.pod(pod).finished() && !listed_before
}

/// Returns the replicas that the pod's workload needs. Its owner may admit a short downtime.
///
/// A budget admits one only if the policy says so: many charts contain a budget with
/// `maxUnavailable: 1`, whether or not the workload has a second replica.
fn least_replicas(pod: &Pod, rules: &Evictable, draft: &Draft<'_>) -> u32 {
    let allows_one = match pod.budgets[..] {
        [only] => draft.world.snapshot.budgets[only.0].allowed > 0,
        _ => false,
    };
    let by_budget = !rules.protected.single_replicas_with_budget && allows_one;
    let admitted = pod.annotations.evict_single_replica || by_budget;
    if admitted && !draft.world.policy.exact {
        rules.min_replicas.min(1)
    } else {
        rules.min_replicas
    }
}

/// Refuses a pod of a workload that has too few replicas, or too few that would stay Ready.
fn replicas(
    candidate: &Candidate,
    workload: WorkloadId,
    rules: &Evictable,
    draft: &Draft<'_>,
) -> Result<(), Refusal> {
    let (snapshot, exact) = (draft.world.snapshot, draft.world.policy.exact);
    let least = least_replicas(snapshot.pod(candidate.pod), rules, draft);
    let have = match (snapshot.pod(candidate.pod).finished(), exact) {
        // The workload loses nothing with a finished pod.
        (true, false) => return Ok(()),
        // Descheduler checks finished pods as well, and then counts them.
        (true, true) => {
            let pods = snapshot.workload(workload).pods.iter();
            let seen = pods.filter(|p| !gone(**p, candidate, draft));
            u32::try_from(seen.count()).unwrap_or(u32::MAX)
        }
        (false, _) => snapshot.replicas(workload),
    };
    if have < least {
        return Err(Refusal::TooFewReplicas { have, least });
    }
    if exact {
        return Ok(());
    }
    ready_replicas(candidate.pod, workload, least.saturating_sub(1), draft)
}

/// Refuses a serving pod if fewer than `least` other replicas would stay Ready.
fn ready_replicas(
    pod: PodId,
    workload: WorkloadId,
    least: u32,
    draft: &Draft<'_>,
) -> Result<(), Refusal> {
    let snapshot = draft.world.snapshot;
    // The workload loses nothing with a pod that does not serve.
    if !snapshot.pod(pod).serves() {
        return Ok(());
    }
    let (mut planned, mut left) = (0_u32, 0_u32);
    for other in &snapshot.workload(workload).pods {
        if *other == pod || !snapshot.pod(*other).serves() {
            continue;
        }
        if draft.moves(*other) {
            planned += 1;
        } else {
            left += 1;
        }
    }
    if left >= least {
        return Ok(());
    }
    // Without the planned moves there would be too few as well, so they are not the cause.
    if left.saturating_add(planned) < least {
        planned = 0;
    }
    Err(Refusal::LastReady {
        left,
        least,
        planned,
    })
}
