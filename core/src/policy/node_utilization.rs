//! The strategies lowNodeUtilization and highNodeUtilization.

use super::{Basis, Names};
use crate::schema::kind::{Choice, Kind, choice, names_in_or_out};
use crate::schema::section::Section;

mod high;
mod low;

pub(super) use high::{emptying, high, high_defaults};
pub(super) use low::{LowArguments, low, only_pool};

const BASES: [Choice<Basis>; 2] = [
    ("actual", Basis::Actual, "the actual usage of nodes and pods"),
    ("requests", Basis::Requests, "the requests of pods, as the scheduler sees them"),
];
/// The same words, explained once.
const BASES_AGAIN: [Choice<Basis>; 2] =
    [("actual", Basis::Actual, ""), ("requests", Basis::Requests, "")];

/// The kind of the policy's `basis`.
pub(super) fn basis() -> Kind<Basis> {
    choice(&BASES)
}

/// Declares the namespaces whose pods a strategy may move.
fn evictable_namespaces<T: Clone + 'static>(
    section: Section<T>,
    names: fn(&mut T) -> &mut Names,
) -> Section<T> {
    section.field(
        "evictableNamespaces",
        "Namespaces whose pods this strategy may move, among those that `evictable` allows: \
         `exclude` or `include`, such as {include: [web]}.",
        names_in_or_out(),
        names,
    )
}
