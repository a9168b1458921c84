//! The strategies lowNodeUtilization and highNodeUtilization.

use super::{Basis, HighNodeUtilization, LowNodeUtilization, Names, Strategy};
use crate::schema::kind::{Choice, Kind, choice, names_in_or_out};
use crate::schema::problem::Code;
use crate::schema::read::Fields;
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
    section.field("evictableNamespaces", names_in_or_out(), names).help(
        "Namespaces whose pods this strategy may move, among those that `evictable` allows: `exclude` or `include`, such as {include: [web]}.",
    )
}

/// Warns of two strategies that undo the moves of each other. Fixed targets are ceilings of
/// highNodeUtilization; distances from the mean are none.
pub(super) fn check(f: &mut Fields<'_, '_>, list: &str, strategies: &[Strategy]) {
    let mut low = strategies.iter().filter_map(|s| LowNodeUtilization::of(&s.rule));
    let packs = strategies.iter().any(|s| HighNodeUtilization::of(&s.rule).is_some());
    if packs && low.any(|low| low.deviation) {
        let sentence = "LowNodeUtilization with useDeviationThresholds moves pods back to the nodes that HighNodeUtilization empties; use thresholds that are no deviations, or one of the two strategies";
        f.warn(Code::Ignored, list, sentence);
    }
}
