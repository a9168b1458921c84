//! Kinds of which no object is known, although the cluster may have some.

use std::fmt;

use serde::Serialize;

/// The reason why no object of a kind is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lack {
    /// The file has no object of the kind.
    NotInFile,
    /// The API server refuses to list the kind (401 or 403).
    Forbidden,
    /// The API server does not serve the kind (404).
    NotServed,
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Lack::NotInFile => "the file has none",
            Lack::Forbidden => "evenkeel may not list them",
            Lack::NotServed => "the API server does not serve them",
        })
    }
}
