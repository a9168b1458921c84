//! The outcome of an eviction.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::model::guard::GuardStop;
use crate::model::ledger::Fault;
use crate::model::record::{EVICTION, REFUSAL};
use crate::model::snapshot::lacking::Lack;
use crate::model::snapshot::pause::{Pause, PauseScope, Pauses};

use super::Move;

/// The outcome of one eviction request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Outcome {
    /// The API server accepted the eviction.
    #[error("evicted")]
    Evicted,
    /// A webhook refused the request because another component evicts the pod later, such as a
    /// virtual machine that migrates first.
    #[error("accepted, another component evicts the pod later: {0}")]
    Deferred(String),
    /// HTTP 429 because of a budget.
    #[error("refused by a PodDisruptionBudget: {0}")]
    OverBudget(String),
    /// Another 4xx: a webhook or an admission policy refuses the eviction of this pod.
    #[error("refused by the API server: {0}")]
    Refused(String),
    /// HTTP 403 because the right to evict pods of this namespace is missing.
    #[error("no right to evict pods in its namespace: {0}")]
    Forbidden(String),
    /// HTTP 401: the API server does not accept the credentials.
    #[error("credentials rejected: {0}")]
    Unauthorized(String),
    /// HTTP 429 because of the load of the API server, and how long it asks to wait.
    #[error("the API server is busy: {0}")]
    Throttled(String, Option<Duration>),
    /// HTTP 404: the pod no longer exists.
    #[error("already gone")]
    Gone,
    /// HTTP 409: another pod has the name now.
    #[error("replaced by another pod of the same name")]
    Changed,
    /// The API server returned another error before it would have evicted the pod. Most often a
    /// webhook does not respond.
    #[error("failed: {0}")]
    Failed(String),
    /// No response arrived, or an error that does not say whether the pod is evicted.
    #[error("no usable response: {0}")]
    Unanswered(String),
    /// Not requested. The next plan decides about the pod again.
    #[error("not tried: {0}")]
    Untried(Untried),
}

/// The reason why a planned eviction was not requested.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum Untried {
    #[error("an earlier request of the plan failed")]
    Failed,
    #[error("the evictions of {0} workloads have failed one after the other")]
    FailingEverywhere(usize),
    #[error("the evictions of {0} other pods of its workload were rejected")]
    WorkloadRejected(usize),
    #[error("the right to evict pods in namespace {0} is missing")]
    Forbidden(String),
    #[error("leadership was lost")]
    NotLeading,
    #[error("the program is stopping")]
    Stopping,
    #[error("the plan is older than {0:#}")]
    Expired(SignedDuration),
    #[error("the API server has asked to wait")]
    Throttled,
    #[error("{0}")]
    Blind(String),
    #[error("pauses are unknown, because Namespaces cannot be listed: {0}")]
    PausesUnknown(Lack),
    #[error("{0}")]
    WrongClock(String),
    #[error("{0}")]
    Unsafe(String),
    #[error("the windows of the policy forbid evictions now")]
    OutsideWindow,
    #[error("{}", .0.sentence())]
    Paused(Pause),
    #[error("{0}")]
    Guarded(Box<GuardStop>),
    #[error("the pod has changed since the plan was made")]
    PodChanged,
    #[error("node {0}, where the replacement may land, has changed since the plan was made")]
    DestinationChanged(String),
    #[error("the cluster has changed since the plan was made: {0}")]
    Refused(String),
}

impl Untried {
    /// Returns the pause that stops a move now, if there is one.
    pub fn paused(planned: &Move, pauses: &Pauses, now: Timestamp) -> Option<Self> {
        let all = pauses.of_cluster(now);
        let pause = all.or_else(|| pauses.of(&planned.namespace, now));
        pause.cloned().map(Untried::Paused)
    }

    /// Returns true if the rest of the plan must wait too.
    pub fn ends_the_plan(&self) -> bool {
        if let Untried::Paused(pause) = self {
            return pause.scope == PauseScope::Cluster;
        }
        !matches!(
            self,
            Untried::PodChanged
                | Untried::Guarded(_)
                | Untried::DestinationChanged(_)
                | Untried::Refused(_)
                | Untried::WorkloadRejected(_)
                | Untried::Forbidden(_)
        )
    }
}

crate::codes! {
    Outcome::code {
        Evicted = "evicted",
        Deferred = "deferred",
        OverBudget | Refused = "refused",
        Forbidden = "forbidden",
        Unauthorized = "unauthorized",
        Throttled = "throttled",
        Gone = "gone",
        Changed = "changed",
        Failed = "failed",
        Unanswered = "unanswered",
        Untried = "untried",
    }
}

impl Outcome {
    /// Returns the reason why the rest of the plan must wait; `None` if it need not.
    ///
    /// Without a response the state of the API server is unknown. Whether rejections end a plan is
    /// for [`Setbacks`](super::Setbacks) to say.
    pub const fn ends_the_plan(&self) -> Option<Untried> {
        match self {
            Outcome::Unauthorized(_) | Outcome::Unanswered(_) => Some(Untried::Failed),
            Outcome::Throttled(..) => Some(Untried::Throttled),
            Outcome::Evicted
            | Outcome::Deferred(_)
            | Outcome::OverBudget(_)
            | Outcome::Refused(_)
            | Outcome::Forbidden(_)
            | Outcome::Gone
            | Outcome::Changed
            | Outcome::Failed(_)
            | Outcome::Untried(_) => None,
        }
    }

    /// Returns what the outcome says about the next attempt; `None` if the pod need not rest.
    pub const fn fault(&self) -> Option<Fault> {
        match self {
            Outcome::Refused(_) | Outcome::Failed(_) => Some(Fault::Pod),
            Outcome::Forbidden(_) => Some(Fault::NoRight),
            // The watches show within a minute whether the pod is still there.
            Outcome::OverBudget(_) | Outcome::Gone | Outcome::Changed | Outcome::Unanswered(_) => {
                Some(Fault::OldFacts)
            }
            Outcome::Evicted
            | Outcome::Deferred(_)
            | Outcome::Throttled(..)
            | Outcome::Unauthorized(_)
            | Outcome::Untried(_) => None,
        }
    }

    /// Returns the type of the line in the record; `None` if there is none, because nothing was
    /// asked of a pod that exists, or because the result is not known yet.
    pub const fn record_type(&self) -> Option<&'static str> {
        match self {
            Outcome::Evicted | Outcome::Deferred(_) => Some(EVICTION),
            Outcome::OverBudget(_)
            | Outcome::Refused(_)
            | Outcome::Forbidden(_)
            | Outcome::Unauthorized(_)
            | Outcome::Throttled(..)
            | Outcome::Failed(_) => Some(REFUSAL),
            Outcome::Gone | Outcome::Changed | Outcome::Unanswered(_) | Outcome::Untried(_) => None,
        }
    }

    /// Returns true if someone should know: a pod is not evicted, and no budget is the reason.
    pub const fn is_warning(&self) -> bool {
        matches!(
            self,
            Outcome::Refused(_)
                | Outcome::Forbidden(_)
                | Outcome::Unauthorized(_)
                | Outcome::Failed(_)
                | Outcome::Unanswered(_)
        )
    }

    /// Returns true if the pod is evicted, now or later.
    pub const fn is_made(&self) -> bool {
        matches!(self, Outcome::Evicted | Outcome::Deferred(_))
    }

    /// Returns true if the account may not evict the pod.
    pub const fn lacks_right(&self) -> bool {
        matches!(self, Outcome::Forbidden(_) | Outcome::Unauthorized(_))
    }
}
