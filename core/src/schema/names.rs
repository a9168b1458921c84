//! Lists of names to include or exclude.

/// Names that are included, or excluded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Names {
    /// All names except these.
    Except(Vec<String>),
    /// Only these names.
    Only(Vec<String>),
}

impl Names {
    /// All names.
    pub const ALL: Names = Names::Except(Vec::new());

    /// Whether this name is included.
    pub fn admit(&self, name: &str) -> bool {
        match self {
            Names::Except(names) => !names.iter().any(|n| n == name),
            Names::Only(names) => names.iter().any(|n| n == name),
        }
    }
}
