//! Findings about a pod. Several of them together can be the reason for its eviction.

use jiff::SignedDuration;

use crate::values::text;

/// One property of a pod that the policy selects.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Finding {
    /// The pod is in phase Failed.
    #[error("has failed")]
    Failed,
    /// The pod is too old.
    #[error("is {} old, older than {}", text::age(*.age), text::age(*.most))]
    Age {
        /// The age of the pod.
        age: SignedDuration,
        /// The highest age that the policy allows.
        most: SignedDuration,
    },
    /// The pod is in a listed state: a phase, or a reason of the pod or of a container.
    #[error("is in the state {0}")]
    State(String),
    /// The pod has a listed condition.
    #[error("has the condition {kind}={status}{}", in_brackets(.reason))]
    Condition {
        /// The type of the condition.
        kind: String,
        /// The status of the condition.
        status: String,
        /// The reason of the condition, often empty.
        reason: String,
    },
    /// A container ended with a listed exit code.
    #[error("has a container that ended with exit code {0}")]
    ExitCode(i32),
    /// The pod has an owner of a listed kind.
    #[error("belongs to a {0}")]
    Owner(String),
}

fn in_brackets(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(" ({reason})") }
}
