//! Conversion of pods.

use jiff::{SignedDuration, Timestamp};

use crate::model::api::{
    ApiCondition, ApiMetadata, ApiPod, ApiPodSpec, ApiPodStatus, ApiToleration, ApiVolume,
};
use crate::model::snapshot::facts::{
    Annotations, Condition, ConditionState, DoNotDisrupt, EphemeralClaim, NodeFeature,
    NotSafeToEvict, PodFacts, PodPhase, PodSizes, PodSpecFacts, Qos, Tolerates, Toleration,
    Volumes,
};

use super::{
    Wrong, affinity, annotation, containers, effect, filled, gang, killed, limits, name_of,
    namespace_of, owners_of, requests, spread, time, uid_of,
};

/// Converts a pod.
pub(super) fn read(pod: &ApiPod) -> Result<PodFacts, Wrong> {
    let ApiPod { metadata: meta, spec, status } = pod;
    let started = time("status.startTime", status.start_time)?;
    Ok(PodFacts {
        namespace: namespace_of(meta),
        name: name_of(meta)?,
        uid: uid_of("Pod", meta)?,
        labels: meta.labels.clone().into(),
        node: filled(&spec.node_name),
        phase: phase(&status.phase)?,
        ready: status.conditions.iter().any(containers::is_ready),
        terminating: meta.deletion_timestamp.is_some(),
        // An unreadable time does not change that it is being deleted.
        ends: time("metadata.deletionTimestamp", meta.deletion_timestamp).unwrap_or_default(),
        // Only an object from a file can lack it. The pod is at least as old as its start says.
        created: time("metadata.creationTimestamp", meta.creation_timestamp)?
            .or(started)
            .unwrap_or(Timestamp::UNIX_EPOCH),
        started,
        running_since: containers::running_since(status),
        reason: filled(&status.reason),
        conditions: status.conditions.iter().map(condition).collect::<Result<_, _>>()?,
        volumes: volumes(meta, spec).into(),
        containers: containers::of_pod(spec, status)?.into(),
        sizes: sizes(spec, status)?.into(),
        spec: spec_facts(pod)?.into(),
    })
}

fn spec_facts(pod: &ApiPod) -> Result<PodSpecFacts, Wrong> {
    let (meta, spec, status) = (&pod.metadata, &pod.spec, &pod.status);
    let labels = &meta.labels;
    Ok(PodSpecFacts {
        annotations: annotations(meta),
        gang: gang::of_pod(meta, spec),
        owners: owners_of(meta),
        priority: spec.priority,
        priority_class: filled(&spec.priority_class_name),
        runs_once: ["Never", "OnFailure"].contains(&spec.restart_policy.as_str()),
        preempts: spec.preemption_policy != "Never",
        // Once a pod is bound, its nomination has no effect.
        nominated: filled(&status.nominated_node_name).filter(|_| spec.node_name.is_empty()),
        grace: grace(spec),
        qos: qos(spec, status)?,
        os: filled(&spec.os.name),
        needs: needs(spec),
        // `None` means the default scheduler, however it is written.
        scheduler: filled(&spec.scheduler_name).filter(|n| n != "default-scheduler"),
        gated: !spec.scheduling_gates.is_empty(),
        ports: containers::host_ports(spec),
        tolerations: spec
            .tolerations
            .iter()
            .enumerate()
            .map(|(i, found)| toleration(i, found))
            .collect::<Result<_, _>>()?,
        node_selector: spec.node_selector.clone(),
        required_nodes: affinity::required_nodes(spec)?,
        preferred_nodes: affinity::preferred_nodes(spec)?,
        spread: spread::of_pod(spec, labels)?,
        required_anti_affinity: affinity::required_anti_affinity(spec, labels)?,
        required_affinity: affinity::required_affinity(spec, labels)?,
        preferred_terms: affinity::preferred_terms(spec, labels)?,
        resource_claims: !spec.resource_claims.is_empty()
            || status.extended_resource_claim_status.is_some(),
    })
}

fn sizes(spec: &ApiPodSpec, status: &ApiPodStatus) -> Result<PodSizes, Wrong> {
    Ok(PodSizes {
        requests: requests::of_pod(spec, status)?,
        overhead: requests::overhead(spec)?,
        init_peak: requests::init_peak(spec, status)?,
        limits: limits::of_pod(spec)?,
        killed_at: killed::memory(spec, status)?,
        non_zero_requests: requests::non_zero_requests(spec, status)?,
        non_zero_requests_of_containers: requests::non_zero_requests_of_containers(spec, status)?,
    })
}

fn needs(spec: &ApiPodSpec) -> Vec<NodeFeature> {
    let strict = spec.security_context.supplemental_groups_policy == "Strict";
    let needs = [
        strict.then_some(NodeFeature::StrictGroups),
        (spec.host_users == Some(false)).then_some(NodeFeature::UserNamespaces),
        filled(&spec.runtime_class_name).map(NodeFeature::Handler),
    ];
    needs.into_iter().flatten().collect()
}

/// The API server always sets the grace period. An object from a file may lack it.
fn grace(spec: &ApiPodSpec) -> SignedDuration {
    let seconds = spec.termination_grace_period_seconds;
    seconds.map_or(PodSpecFacts::USUAL_GRACE, SignedDuration::from_secs)
}

fn annotations(meta: &ApiMetadata) -> Annotations {
    let find = |name: &str| annotation(meta, name);
    Annotations {
        mirror: find("kubernetes.io/config.mirror").is_some(),
        static_pod: find("kubernetes.io/config.source").is_some_and(|source| source != "api"),
        evict: find("descheduler.alpha.kubernetes.io/evict").map(str::to_owned),
        prefer_no_eviction: find("descheduler.alpha.kubernetes.io/prefer-no-eviction")
            // descheduler checks only that the annotation exists. "false" is accepted as a way to
            // turn it off.
            .is_some_and(|v| v != "false"),
        // The ReplicaSet controller, which defines this annotation, also treats an invalid value as
        // zero.
        deletion_cost: find("controller.kubernetes.io/pod-deletion-cost")
            .and_then(|cost| cost.parse().ok())
            .unwrap_or_default(),
        not_safe_to_evict: find("cluster-autoscaler.kubernetes.io/safe-to-evict")
            .and_then(NotSafeToEvict::of_value),
        do_not_disrupt: find("karpenter.sh/do-not-disrupt").and_then(do_not_disrupt),
        eviction_in_progress: find("descheduler.alpha.kubernetes.io/eviction-in-progress")
            .is_some(),
        request_evict_only: find("descheduler.alpha.kubernetes.io/request-evict-only").is_some(),
        index_failures: find("batch.kubernetes.io/job-index-failure-count")
            .and_then(|count| count.parse().ok()),
        evict_single_replica: find("evenkeel.io/evict-single-replica") == Some("true"),
    }
}

/// Karpenter ignores an invalid value and a duration that is not positive.
fn do_not_disrupt(value: &str) -> Option<DoNotDisrupt> {
    if value == "true" {
        return Some(DoNotDisrupt::Always);
    }
    let time: SignedDuration = value.parse().ok()?;
    time.is_positive().then_some(DoNotDisrupt::AfterStart(time))
}

fn phase(found: &str) -> Result<PodPhase, Wrong> {
    match found {
        "" | "Pending" => Ok(PodPhase::Pending),
        "Running" => Ok(PodPhase::Running),
        "Succeeded" => Ok(PodPhase::Succeeded),
        "Failed" => Ok(PodPhase::Failed),
        "Unknown" => Ok(PodPhase::Unknown),
        other => Err(format!(
            "status.phase: found {other:?}, expected Pending, Running, Succeeded, Failed or Unknown"
        )),
    }
}

fn qos(spec: &ApiPodSpec, status: &ApiPodStatus) -> Result<Qos, Wrong> {
    match status.qos_class.as_str() {
        // The API server always sets it. An object from a file may lack the status.
        "" => requests::qos(spec),
        "BestEffort" => Ok(Qos::BestEffort),
        "Burstable" => Ok(Qos::Burstable),
        "Guaranteed" => Ok(Qos::Guaranteed),
        other => Err(format!(
            "status.qosClass: found {other:?}, expected BestEffort, Burstable or Guaranteed"
        )),
    }
}

fn toleration(i: usize, toleration: &ApiToleration) -> Result<Toleration, Wrong> {
    let field = format!("spec.tolerations[{i}]");
    let value = toleration.value.clone();
    let number = || {
        value.parse().map_err(|_| {
            format!("{field}.value: found {value:?}, expected an integer, as Lt and Gt need")
        })
    };
    let operator = match toleration.operator.as_str() {
        "Exists" => Tolerates::Any,
        "" | "Equal" => Tolerates::Equal(value),
        "Gt" => Tolerates::Above(number()?),
        "Lt" => Tolerates::Below(number()?),
        other => {
            return Err(format!(
                "{field}.operator: found {other:?}, expected Exists, Equal, Lt or Gt"
            ));
        }
    };
    let bound =
        filled(&toleration.effect).map(|e| effect(&format!("{field}.effect"), &e)).transpose()?;
    Ok(Toleration {
        key: filled(&toleration.key),
        operator,
        effect: bound,
        seconds: toleration.toleration_seconds,
    })
}

fn condition(condition: &ApiCondition) -> Result<Condition, Wrong> {
    let since = time("status.conditions[].lastTransitionTime", condition.last_transition_time)?;
    let state = ConditionState {
        kind: condition.kind.clone(),
        status: condition.status.clone(),
        reason: condition.reason.clone(),
    };
    Ok(Condition { state: state.into(), since })
}

fn volumes(meta: &ApiMetadata, spec: &ApiPodSpec) -> Volumes {
    let all = || spec.volumes.iter().map(|v| &v.source);
    Volumes {
        // descheduler counts the same two kinds of volumes as local storage.
        local: all().any(|v| v.empty_dir.is_some() || v.host_path.is_some()),
        claims: all()
            .filter_map(|v| v.persistent_volume_claim.as_ref())
            .map(|c| c.claim_name.clone())
            .collect(),
        ephemeral: spec.volumes.iter().filter_map(|v| ephemeral_claim(meta, v)).collect(),
        inline_drivers: all()
            .filter_map(|v| v.csi.as_ref())
            .map(|csi| csi.driver.clone())
            .collect(),
        never_pulled: all()
            .filter_map(|v| v.image.as_ref())
            .filter(|image| image.pull_policy == "Never")
            .map(|image| image.reference.clone())
            .collect(),
    }
}

fn ephemeral_claim(meta: &ApiMetadata, volume: &ApiVolume) -> Option<EphemeralClaim> {
    let template = &volume.source.ephemeral.as_ref()?.volume_claim_template;
    Some(EphemeralClaim {
        name: format!("{}-{}", meta.name, volume.name),
        class: template.spec.storage_class_name.clone(),
    })
}

#[cfg(test)]
pub(super) mod tests;
