//! The outcome of an eviction.

use std::time::Duration;

use jiff::SignedDuration;

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
    /// HTTP 429 because of a budget, or another 4xx: a webhook refuses the eviction, or a
    /// permission is missing.
    #[error("refused by the API server: {0}")]
    Refused(String),
    /// HTTP 429 because of the load of the API server, and how long it asks to wait.
    #[error("the API server is busy: {0}")]
    Throttled(String, Option<Duration>),
    /// HTTP 404: the pod no longer exists.
    #[error("already gone")]
    Gone,
    /// HTTP 409: another pod has the name now.
    #[error("replaced by another pod of the same name")]
    Changed,
    /// The API server returned another error and did not evict the pod.
    #[error("failed: {0}")]
    Failed(String),
    /// No response arrived, so the pod may or may not be evicted.
    #[error("no response: {0}")]
    Unanswered(String),
    /// Not requested. The next plan decides about the pod again.
    #[error("not tried: {0}")]
    Untried(Untried),
}

/// The reason why a planned eviction was not requested.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Untried {
    /// An earlier request of the plan failed.
    #[error("an earlier request of the plan failed")]
    Failed,
    /// Leadership was lost.
    #[error("leadership was lost")]
    NotLeading,
    /// The program is stopping.
    #[error("the program is stopping")]
    Stopping,
    /// The plan took too long.
    #[error("the plan is older than {0:#}")]
    Expired(SignedDuration),
    /// The API server has asked to wait.
    #[error("the API server has asked to wait")]
    Throttled,
    /// A watch fails, so the cluster may have changed.
    #[error("{0}")]
    Blind(String),
    /// The local clock and that of the API server differ.
    #[error("{0}")]
    WrongClock(String),
    /// The cluster has become unhealthy.
    #[error("{0}")]
    Unsafe(String),
    /// The pod is not as it was when the plan was made.
    #[error("the pod has changed since the plan was made")]
    PodChanged,
    /// A node where the replacement may land is not as it was when the plan was made.
    #[error("node {0}, where the replacement may land, has changed since the plan was made")]
    DestinationChanged(String),
}

impl Untried {
    /// Returns true if the rest of the plan must wait too.
    pub const fn ends_the_plan(&self) -> bool {
        !matches!(self, Untried::PodChanged | Untried::DestinationChanged(_))
    }
}

impl Outcome {
    /// Returns the reason why the rest of the plan must wait; `None` if it need not.
    ///
    /// After a failure the state of the API server is unknown.
    pub const fn ends_the_plan(&self) -> Option<Untried> {
        match self {
            Outcome::Failed(_) | Outcome::Unanswered(_) => Some(Untried::Failed),
            Outcome::Throttled(..) => Some(Untried::Throttled),
            Outcome::Evicted
            | Outcome::Deferred(_)
            | Outcome::Refused(_)
            | Outcome::Gone
            | Outcome::Changed
            | Outcome::Untried(_) => None,
        }
    }

    /// Every code.
    pub const CODES: [&'static str; 9] = [
        "evicted",
        "deferred",
        "refused",
        "throttled",
        "gone",
        "changed",
        "failed",
        "unanswered",
        "untried",
    ];

    /// Returns the stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Outcome::Evicted => "evicted",
            Outcome::Deferred(_) => "deferred",
            Outcome::Refused(_) => "refused",
            Outcome::Throttled(..) => "throttled",
            Outcome::Gone => "gone",
            Outcome::Changed => "changed",
            Outcome::Failed(_) => "failed",
            Outcome::Unanswered(_) => "unanswered",
            Outcome::Untried(_) => "untried",
        }
    }
}
