//! Documents in YAML: declared fields with their positions, and every problem at once.
//!
//! A reader asks a tree for typed values. A section declares fields, and from the declaration they
//! are read, written and documented. The module knows nothing of the fields of a policy.

pub(crate) mod compare;
pub(crate) mod item;
pub(crate) mod kind;
pub mod names;
pub(crate) mod outline;
pub mod problem;
pub(crate) mod read;
pub(crate) mod scalar;
pub(crate) mod section;
pub mod share;
pub(crate) mod tree;
pub(crate) mod wording;
