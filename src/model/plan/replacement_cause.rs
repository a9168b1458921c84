//! Why an eviction would cost a pod without a replacement, and the remedies.

use jiff::SignedDuration;

use super::duration_text::short;

/// Why a controller creates no replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoReplacementCause {
    /// It is being deleted.
    #[error("it is being deleted")]
    Deleting,
    /// It has as many pods as it wants without this one.
    #[error("it wants {wanted} and has {have}")]
    Enough {
        /// The pods that it wants.
        wanted: u32,
        /// The pods that it has.
        have: u32,
    },
}

/// Why a Job would fail by an eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobFailureCause {
    /// One more failed pod is too many.
    #[error("its backoffLimit is {limit}, and {failed} of its pods have failed")]
    BackoffLimit {
        /// The pods that have failed or are going to.
        failed: u32,
        /// The `backoffLimit`.
        limit: u32,
    },
    /// The index of the pod would fail.
    #[error("the limit for each index is {limit}, and its index has failed {}", times(*.failed))]
    IndexLimit {
        /// How often the index has failed; `None` if that is unknown.
        failed: Option<u32>,
        /// The `backoffLimitPerIndex`.
        limit: u32,
    },
    /// A rule of the `podFailurePolicy` says so.
    #[error("a rule of its podFailurePolicy fails it")]
    FailurePolicy,
    /// The work of the pod, begun again, would not end before the deadline.
    #[error("its deadline is in {}, and the pod has worked for {}", short(*.left), short(*.done))]
    Deadline {
        /// The time until the deadline.
        left: SignedDuration,
        /// The time for which the pod has run.
        done: SignedDuration,
    },
    /// Another controller manages the Job.
    #[error("another controller manages it (managedBy), whose rules are unknown")]
    Foreign,
}

fn times(failed: Option<u32>) -> String {
    failed.map_or_else(
        || "an unknown number of times".to_owned(),
        |n| format!("{n} times"),
    )
}

pub(super) const READY_REPLICAS: &str =
    "wait until other replicas are Ready, or lower `evictable.minReplicas`";
pub(super) const READY_REPLACEMENTS: &str = "wait until the replacements of the planned evictions are Ready, \
                                  or lower `evictable.minReplicas`";
pub(super) const UNKNOWN_OWNER: &str = "correct the owner reference of the pod, \
    or the object if it cannot be read; a file must contain it";
pub(super) const RUNS_TO_COMPLETION: &str = "wait until it has ended; \
    set `evictable.allow: [runsToCompletion]` only where the work can begin again";
pub(super) const JOB_WOULD_FAIL: &str = "wait until it has ended, \
    or give the Job a `podFailurePolicy` that ignores the condition DisruptionTarget";
pub(super) const NEW_VOLUME: &str = "give the claim a storage class with `volumeBindingMode: \
                          WaitForFirstConsumer`, or set `evictable.allow: [newVolumes]`";
pub(super) const RESOURCE_CLAIMS: &str = "set `evictable.allow: [resourceClaims]`; \
                               the forecast does not know which nodes have a device for it";

pub(super) fn missing_class(name: &str) -> String {
    format!("create PriorityClass {name}, or change the template")
}

pub(super) fn record_class(name: &str) -> String {
    format!("record PriorityClass {name} in the file")
}

pub(super) fn make_ready(pod: &str) -> String {
    format!("make {pod} Ready, or give the StatefulSet `podManagementPolicy: Parallel`")
}
