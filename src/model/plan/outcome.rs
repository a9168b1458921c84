//! What became of a move.

use std::fmt;

/// What became of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The API server accepted the eviction.
    Evicted,
    /// 429: a budget, or the server's own load, forbids it now. Or another 4xx: a webhook does, or a right is missing.
    Refused(String),
    /// 404: the pod had gone.
    Gone,
    /// 409: a pod of that name is there, but another one.
    Changed,
    /// The API server answered with another error: the pod was not evicted.
    Failed(String),
    /// No answer came: whether the pod was evicted has to be seen.
    Unanswered(String),
    /// Not tried, since the API server had erred before, or another instance may lead by now.
    Untried,
}

impl Outcome {
    /// Every label that there is.
    pub const CODES: [&'static str; 7] = [
        "evicted",
        "refused",
        "gone",
        "changed",
        "failed",
        "unanswered",
        "untried",
    ];

    /// The stable label.
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

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Evicted => f.write_str("evicted"),
            Outcome::Refused(why) => write!(f, "refused by the API server: {why}"),
            Outcome::Gone => f.write_str("gone already"),
            Outcome::Changed => f.write_str("another pod of this name has taken its place"),
            Outcome::Failed(why) => write!(f, "failed: {why}"),
            Outcome::Unanswered(why) => write!(f, "no answer: {why}"),
            Outcome::Untried => {
                f.write_str("not tried, since the API server erred or the lead was lost")
            }
        }
    }
}
