//! A node that runs another operating system than a pod needs.

use std::fmt;

/// A node that runs another operating system than a pod needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherSystem {
    /// The operating system that the pod needs.
    pub needs: String,
    /// The operating system of the node; `None` if it is unknown.
    pub runs: Option<String>,
}

impl fmt::Display for OtherSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.runs.as_deref().unwrap_or("an unknown operating system");
        write!(f, "it needs {}, and the node runs {runs}", self.needs)
    }
}
