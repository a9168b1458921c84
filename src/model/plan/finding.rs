//! What a strategy found about a pod, where several things together are its reason.

use std::fmt;

use jiff::SignedDuration;

use super::refusal::whole;

/// What a strategy found about a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It has failed for good.
    Failed,
    /// It is too old.
    Age {
        /// Its age.
        age: SignedDuration,
        /// The age that is put up with.
        most: SignedDuration,
    },
    /// It is in a state that the policy lists: a phase, or a reason of the pod or of a container.
    State(String),
    /// One of its conditions is as the policy lists it.
    Condition {
        /// Its type.
        kind: String,
        /// Its status.
        status: String,
        /// Its reason, often empty.
        reason: String,
    },
    /// A container ended with a code that the policy lists.
    ExitCode(i32),
    /// It has an owner of a kind that the policy lists.
    Owner(String),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Failed => f.write_str("has failed"),
            Finding::Age { age, most } => {
                write!(f, "is {} old, older than {}", whole(*age), whole(*most))
            }
            Finding::State(state) => write!(f, "is in the state {state}"),
            Finding::Condition {
                kind,
                status,
                reason,
            } if reason.is_empty() => {
                write!(f, "has the condition {kind}={status}")
            }
            Finding::Condition {
                kind,
                status,
                reason,
            } => write!(f, "has the condition {kind}={status} ({reason})"),
            Finding::ExitCode(code) => write!(f, "has a container that ended with code {code}"),
            Finding::Owner(kind) => write!(f, "belongs to a {kind}"),
        }
    }
}

/// All of them as one sentence.
pub(super) fn sentence(findings: &[Finding], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (i, finding) in findings.iter().enumerate() {
        let before = match i {
            0 => "",
            _ if i + 1 == findings.len() => " and ",
            _ => ", ",
        };
        write!(f, "{before}{finding}")?;
    }
    Ok(())
}
