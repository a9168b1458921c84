//! The outcome of an eviction.

use jiff::SignedDuration;

/// The outcome of one eviction request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Outcome {
    /// The API server accepted the eviction.
    #[error("evicted")]
    Evicted,
    /// HTTP 429: a budget or the load of the API server forbids the eviction now. Or another 4xx: a
    /// webhook refuses it, or a permission is missing.
    #[error("refused by the API server: {0}")]
    Refused(String),
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
    /// A watch fails, so the cluster may have changed.
    #[error("{0}")]
    Blind(String),
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
    /// Every code.
    pub const CODES: [&'static str; 7] = [
        "evicted",
        "refused",
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
            Outcome::Refused(_) => "refused",
            Outcome::Gone => "gone",
            Outcome::Changed => "changed",
            Outcome::Failed(_) => "failed",
            Outcome::Unanswered(_) => "unanswered",
            Outcome::Untried(_) => "untried",
        }
    }
}
