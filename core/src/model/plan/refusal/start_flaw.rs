//! Pods that do not start, or do not make room for a new one.

/// The reason why a pod does not start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartFlaw {
    /// A container of it waits for this reason.
    #[error("waits with {0}")]
    Waits(String),
    /// kube-scheduler binds it to no node.
    #[error("has no node, although the forecast finds one for it")]
    Unplaced,
    /// It is not Ready although it has had the time.
    #[error("was not Ready within ten minutes")]
    Late,
    /// A StatefulSet waits for its end before it creates the next one.
    #[error("should have ended more than ten minutes ago")]
    Hangs,
}

impl StartFlaw {
    /// Returns the change that would let new pods start.
    pub(super) fn remedy(&self, pod: &str) -> String {
        match self {
            StartFlaw::Hangs => {
                format!("make {pod} end: its finalizers and events say what keeps it")
            }
            StartFlaw::Waits(_) | StartFlaw::Unplaced | StartFlaw::Late => {
                format!("make {pod} start: its status and events say what it lacks")
            }
        }
    }
}
