//! Why an eviction would cost a pod without a replacement.

use jiff::SignedDuration;

use crate::values::text::duration;

/// Why a controller creates no replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoReplacementCause {
    /// It is being deleted.
    #[error("it is being deleted")]
    Deleting,
    /// It says that it cannot create pods.
    #[error("its condition ReplicaFailure says that it cannot create pods")]
    Failing,
    /// It has as many pods as it wants without this one.
    #[error("it wants {wanted} and has {have}")]
    Enough {
        /// The pods that it wants.
        wanted: u32,
        /// The pods that it has.
        have: u32,
    },
    /// It is a StatefulSet whose ordinals do not include that of the pod.
    #[error("it wants only the ordinals {first} to {last}")]
    Ordinal {
        /// The first ordinal.
        first: u32,
        /// The last one.
        last: u32,
    },
}

impl OrderCause {
    /// Returns the change that would let the pod move.
    pub(super) fn remedy(self, pod: &str) -> String {
        match self {
            OrderCause::NotReady => format!("make {pod} Ready"),
            OrderCause::NotAvailable => format!("wait until {pod} is available"),
            OrderCause::Moves => format!("wait until {pod} is Ready again"),
        }
    }
}

impl NoReplacementCause {
    /// Returns the change that would let the pod move.
    pub const fn remedy(self) -> &'static str {
        match self {
            NoReplacementCause::Deleting
            | NoReplacementCause::Enough { .. }
            | NoReplacementCause::Ordinal { .. } => "nothing: it is not wanted any more",
            NoReplacementCause::Failing => {
                "remove what refuses its pods, such as a quota or a webhook; the condition names it"
            }
        }
    }
}

impl JobFailureCause {
    /// Returns the change that would let the pod move. The `podFailurePolicy` of a Job cannot
    /// change.
    pub(super) const fn remedy(self) -> &'static str {
        match self {
            JobFailureCause::BackoffLimit { .. } | JobFailureCause::IndexLimit { .. } => {
                "wait until it has ended; give the next Job a `podFailurePolicy` that ignores the \
                 condition DisruptionTarget"
            }
            JobFailureCause::FailurePolicy => {
                "wait until it has ended; in the next Job, let the first rule of the \
                 `podFailurePolicy` ignore the condition DisruptionTarget"
            }
            JobFailureCause::Deadline { .. } => {
                "wait until it has ended, or raise `activeDeadlineSeconds` of the Job"
            }
            JobFailureCause::Foreign => "wait until it has ended",
        }
    }
}

/// Why a StatefulSet that creates pods in order waits for another pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderCause {
    /// It is missing, terminating or not Ready.
    #[error("is not Ready")]
    NotReady,
    /// It has been Ready for less than the `minReadySeconds` of the StatefulSet.
    #[error("has been Ready for less than minReadySeconds")]
    NotAvailable,
    /// The same plan moves it.
    #[error("moves before it")]
    Moves,
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
    #[error("its deadline is in {}, and the pod has worked for {}", duration(*.left), duration(*.done))]
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
    failed.map_or_else(|| "an unknown number of times".to_owned(), |n| format!("{n} times"))
}
