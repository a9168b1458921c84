//! Groups of pods that start and stop together.

use std::fmt;

/// A group of pods that start and stop together. Without one of them, the others wait or restart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gang {
    /// The kind of the group, such as `PodGroup`.
    pub kind: &'static str,
    /// The name of the group, in the namespace of its pods.
    pub name: String,
}

impl fmt::Display for Gang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}
