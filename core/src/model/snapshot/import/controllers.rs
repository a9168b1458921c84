//! Conversion of controllers that create pods.

use jiff::{SignedDuration, Timestamp};

use crate::model::api::{
    ApiJob, ApiJobSpec, ApiJobStatus, ApiMetadata, ApiOnExitCodes, ApiPodFailureRule,
    ApiPodTemplate, ApiReplicaSet, ApiReplicaSetCondition, ApiStatefulSet,
};
use crate::model::snapshot::facts::{
    CreationFailure, JobFacts, Numbering, OVER_QUOTA, OwnerFacts, Revision, UidHash, WhenEvicted,
};
use crate::model::snapshot::objects::Name;

use super::{Wrong, controller, count, filled, full_name, time};

/// The default of `backoffLimit` (`SetDefaults_Job` in kubernetes/pkg/apis/batch/v1/defaults.go).
const BACKOFF_LIMIT: u32 = 6;

/// The exit codes of a container that the kubelet stops: by SIGTERM, or by SIGKILL after the grace
/// period.
const STOPPED: [i32; 2] = [143, 137];

/// Converts a ReplicaSet or a ReplicationController.
pub(super) fn replica_set(set: &ApiReplicaSet) -> Result<(Name, OwnerFacts), Wrong> {
    let facts = OwnerFacts {
        above: controller(&set.metadata),
        wanted: wanted(set.spec.replicas)?,
        fails: set.status.conditions.iter().find_map(creation_failure),
        ..common(&set.metadata, &set.spec.template)
    };
    Ok((full_name(&set.metadata)?, facts))
}

/// Why a condition says that the API server refuses the pods, because of a quota or an
/// admission webhook (`calculateStatus` in kubernetes/pkg/controller/replicaset/
/// replica_set_utils.go, also for ReplicationControllers). With the reason `FailedDelete` there are
/// too many pods instead.
fn creation_failure(condition: &ApiReplicaSetCondition) -> Option<CreationFailure> {
    let fails = condition.kind == "ReplicaFailure"
        && condition.status == "True"
        && condition.reason != "FailedDelete";
    let over_quota = condition.message.contains(OVER_QUOTA);
    let why = if over_quota { CreationFailure::Quota } else { CreationFailure::Other };
    fails.then_some(why)
}

/// Converts a StatefulSet.
pub(super) fn stateful_set(set: &ApiStatefulSet) -> Result<(Name, OwnerFacts), Wrong> {
    let first = count("spec.ordinals.start", set.spec.ordinals.start)?;
    let numbering = Numbering {
        first,
        ordered: set.spec.pod_management_policy != "Parallel",
        min_ready: SignedDuration::from_secs(set.spec.min_ready_seconds.into()),
        newest: newest(set, first)?,
    };
    let facts = OwnerFacts {
        wanted: wanted(set.spec.replicas)?,
        numbering: Some(Box::new(numbering)),
        ..common(&set.metadata, &set.spec.template)
    };
    Ok((full_name(&set.metadata)?, facts))
}

/// The newest revision, and the ordinal from which pods are created by it
/// (`newVersionedStatefulSetPod` in kubernetes/pkg/controller/statefulset/stateful_set_utils.go).
/// The strategy `OnDelete` has no partition.
fn newest(set: &ApiStatefulSet, first: u32) -> Result<Option<Revision>, Wrong> {
    let partition = set.spec.update_strategy.rolling_update.partition;
    let partition = count("spec.updateStrategy.rollingUpdate.partition", partition)?;
    let revision = |name| Revision { name, from: first.saturating_add(partition) };
    Ok(filled(&set.status.update_revision).map(revision))
}

/// Converts a Job.
pub(super) fn job(job: &ApiJob) -> Result<(Name, OwnerFacts), Wrong> {
    let facts = OwnerFacts {
        above: controller(&job.metadata),
        wanted: wanted_by_job(job)?,
        job: Some(Box::new(job_facts(job)?)),
        ..common(&job.metadata, &job.spec.template)
    };
    Ok((full_name(&job.metadata)?, facts))
}

fn common(meta: &ApiMetadata, template: &ApiPodTemplate) -> OwnerFacts {
    let node = template.spec.node_name.as_str();
    OwnerFacts {
        uid: UidHash::of(&meta.uid),
        deleting: meta.deletion_timestamp.is_some(),
        node: (!node.is_empty()).then(|| node.into()),
        gated: !template.spec.scheduling_gates.is_empty(),
        ..OwnerFacts::default()
    }
}

fn wanted(replicas: Option<i32>) -> Result<Option<u32>, Wrong> {
    replicas.map(|found| count("spec.replicas", found)).transpose()
}

/// The pods that the Job controller keeps running (`manageJob` in
/// kubernetes/pkg/controller/job/job_controller.go). A Job without `completions` creates none once
/// a pod has succeeded.
fn wanted_by_job(job: &ApiJob) -> Result<Option<u32>, Wrong> {
    let (spec, status) = (&job.spec, &job.status);
    let ended =
        |kind: &str| ["Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"].contains(&kind);
    let has_ended = status.conditions.iter().any(|c| c.status == "True" && ended(&c.kind));
    if spec.suspend || has_ended {
        return Ok(Some(0));
    }
    let Some(parallelism) = spec.parallelism else {
        return Ok(None);
    };
    let parallelism = count("spec.parallelism", parallelism)?;
    let succeeded = count("status.succeeded", status.succeeded)?;
    Ok(Some(match spec.completions {
        Some(all) => parallelism.min(count("spec.completions", all)?.saturating_sub(succeeded)),
        None if succeeded > 0 => 0,
        None => parallelism,
    }))
}

fn job_facts(job: &ApiJob) -> Result<JobFacts, Wrong> {
    let (spec, status) = (&job.spec, &job.status);
    let per_index = spec.backoff_limit_per_index;
    let per_index = per_index.map(|n| count("spec.backoffLimitPerIndex", n)).transpose()?;
    let usual = if per_index.is_some() { u32::MAX } else { BACKOFF_LIMIT };
    let limit = spec.backoff_limit.map(|n| count("spec.backoffLimit", n)).transpose()?;
    Ok(JobFacts {
        backoff_limit: limit.unwrap_or(usual),
        backoff_limit_per_index: per_index,
        failed: failed(status)?,
        counts_late: counts_late(spec),
        when_evicted: when_evicted(spec),
        deadline: deadline(job)?,
        foreign: !["", "kubernetes.io/job-controller"].contains(&spec.managed_by.as_str()),
    })
}

/// The pods that have failed, with those that the controller has noted and not added up yet
/// (`syncJob` in kubernetes/pkg/controller/job/job_controller.go).
fn failed(status: &ApiJobStatus) -> Result<u32, Wrong> {
    let counted = count("status.failed", status.failed)?;
    let uncounted = status.uncounted_terminated_pods.failed.len();
    Ok(counted.saturating_add(u32::try_from(uncounted).unwrap_or(u32::MAX)))
}

/// Whether a pod that is being deleted counts only once it has ended (`onlyReplaceFailedPods` in
/// kubernetes/pkg/controller/job/job_controller.go).
fn counts_late(spec: &ApiJobSpec) -> bool {
    spec.pod_replacement_policy == "Failed" || spec.pod_failure_policy.is_some()
}

fn deadline(job: &ApiJob) -> Result<Option<Timestamp>, Wrong> {
    let start = time("status.startTime", job.status.start_time)?;
    let limit = job.spec.active_deadline_seconds.map(SignedDuration::from_secs);
    Ok(start.zip(limit).and_then(|(start, limit)| start.checked_add(limit).ok()))
}

/// The action of the first rule that matches an evicted pod (`matchPodFailurePolicy` in
/// kubernetes/pkg/controller/job/pod_failure_policy.go). The API server marks such a pod with the
/// condition `DisruptionTarget`.
fn when_evicted(spec: &ApiJobSpec) -> WhenEvicted {
    let policy = spec.pod_failure_policy.iter();
    match policy
        .flat_map(|policy| &policy.rules)
        .find(|rule| matches_evicted(rule))
        .map(|rule| rule.action.as_str())
    {
        Some("Ignore") => WhenEvicted::Ignored,
        Some("FailJob") => WhenEvicted::FailsJob,
        Some("FailIndex") => WhenEvicted::FailsIndex,
        Some(_) | None => WhenEvicted::Counts,
    }
}

/// Whether a rule matches an evicted pod. A rule that ignores exit codes is passed over, because a
/// container may end with any other code.
fn matches_evicted(rule: &ApiPodFailureRule) -> bool {
    let by_code = rule.on_exit_codes.as_ref().is_some_and(matches_stopped);
    let by_condition = rule.on_pod_conditions.iter().any(|condition| {
        condition.kind == "DisruptionTarget" && ["", "True"].contains(&condition.status.as_str())
    });
    by_condition || by_code && rule.action != "Ignore"
}

fn matches_stopped(codes: &ApiOnExitCodes) -> bool {
    let listed = |code: &i32| codes.values.contains(code);
    match codes.operator.as_str() {
        "In" => STOPPED.iter().any(listed),
        _ => !STOPPED.iter().all(listed),
    }
}
