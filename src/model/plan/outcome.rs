//! The outcome of an eviction.

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
    /// Not tried, because an earlier request failed or because this instance may no longer be the
    /// leader.
    #[error("not tried: the API server failed before, or leadership was lost")]
    Untried,
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
            Outcome::Untried => "untried",
        }
    }
}
