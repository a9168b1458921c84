//! A Job survives the eviction of its pod.
//!
//! The Job controller counts a pod that is being deleted as failed, at once or when it has ended,
//! and fails the Job when more pods have failed than `backoffLimit` allows, or the index when its
//! own failures exceed `backoffLimitPerIndex` (`syncJob`, `getNewFinishedPods`, `isPodFailed` and
//! `onlyReplaceFailedPods` in kubernetes/pkg/controller/job/job_controller.go;
//! indexed_job_utils.go). A rule of its `podFailurePolicy` may ignore the pod, because the API
//! server marks it with the condition `DisruptionTarget`, or fail the Job at once
//! (pod_failure_policy.go; the first rule that matches decides). At `activeDeadlineSeconds` the Job
//! fails in any case.

use jiff::SignedDuration;

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::{JobFailureCause, Replacement};
use crate::model::snapshot::Pod;
use crate::model::snapshot::facts::{JobFacts, PodPhase, WhenEvicted};

use super::controller::named;

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Replacement> {
    let snapshot = draft.world.snapshot;
    let pod = snapshot.pod(candidate.pod);
    let controller = pod.controller().filter(|owner| owner.is("batch", "Job"));
    let Some(controller) = controller else {
        return Ok(());
    };
    let facts = snapshot.controller_facts(&pod.namespace, controller);
    let Some(job) = facts.and_then(|facts| facts.job.as_deref()) else {
        return Err(Replacement::UnknownOwner(named(controller)));
    };
    let failure = failure(pod, job, draft);
    failure.map_or(Ok(()), |cause| Err(Replacement::JobWouldFail { job: named(controller), cause }))
}

/// Why the Job would fail; `None` if it survives.
fn failure(pod: &Pod, job: &JobFacts, draft: &Draft<'_>) -> Option<JobFailureCause> {
    if job.foreign {
        return Some(JobFailureCause::Foreign);
    }
    let late = past_deadline(pod, job, draft);
    match job.when_evicted {
        WhenEvicted::FailsJob | WhenEvicted::FailsIndex => Some(JobFailureCause::FailurePolicy),
        WhenEvicted::Ignored => late,
        WhenEvicted::Counts => late.or_else(|| past_limit(pod, job, draft)),
    }
}

/// The new pod needs at least the time for which this one has worked.
fn past_deadline(pod: &Pod, job: &JobFacts, draft: &Draft<'_>) -> Option<JobFailureCause> {
    let (now, begun) = (draft.world.now, pod.started.unwrap_or(pod.created));
    let left = job.deadline?.duration_since(now).max(SignedDuration::ZERO);
    let done = now.duration_since(begun);
    (left <= done).then_some(JobFailureCause::Deadline { left, done })
}

fn past_limit(pod: &Pod, job: &JobFacts, draft: &Draft<'_>) -> Option<JobFailureCause> {
    if let Some(limit) = job.backoff_limit_per_index {
        let failed = pod.annotations.index_failures;
        if failed.is_none_or(|failed| failed >= limit) {
            return Some(JobFailureCause::IndexLimit { failed, limit });
        }
    }
    let snapshot = draft.world.snapshot;
    let count = || {
        let failed = snapshot.siblings(pod).filter(|(_, other)| has_failed(other, job));
        let ending = snapshot.siblings(pod).filter(|(_, other)| ends(other, job, draft));
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        (number(failed.count()), number(ending.count()))
    };
    let (seen, ending) = match snapshot.siblings(pod).next() {
        Some((first, _)) => draft.failed_of_job(first, count),
        None => count(),
    };
    let controller = pod.controller();
    let moving = draft.count(|_, other| {
        let counted = has_failed(other, job) || ends(other, job, draft);
        !counted && other.namespace == pod.namespace && other.controller() == controller
    });
    // The status of the Job follows its pods after a while.
    let failed = job.failed.max(seen).saturating_add(ending).saturating_add(moving);
    let limit = job.backoff_limit;
    (failed >= limit).then_some(JobFailureCause::BackoffLimit { failed, limit })
}

/// Whether the Job controller counts a pod as failed now.
fn has_failed(pod: &Pod, job: &JobFacts) -> bool {
    pod.phase == PodPhase::Failed || is_ending(pod) && !job.counts_late
}

/// Whether the Job controller will count a pod as failed because it is being deleted, or is about
/// to be.
fn ends(pod: &Pod, job: &JobFacts, draft: &Draft<'_>) -> bool {
    let about_to = || !pod.finished() && draft.world.is_under_way(pod);
    (is_ending(pod) || about_to()) && !has_failed(pod, job)
}

fn is_ending(pod: &Pod) -> bool {
    pod.terminating && pod.phase != PodPhase::Succeeded
}
