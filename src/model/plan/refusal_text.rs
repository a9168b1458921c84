//! Parts of the sentences of refusals.

use jiff::SignedDuration;

use crate::policy::Basis;
use crate::values::Ratio;

use super::duration_text::short;

pub(super) fn for_another(left: Option<SignedDuration>) -> String {
    left.map_or_else(String::new, |left| format!(" for another {}", short(left)))
}

pub(super) fn pods_are(count: u32) -> String {
    format!("{count} {}", if count == 1 { "pod is" } else { "pods are" })
}

pub(super) fn last_moves(times: u32) -> String {
    match times {
        1 => "the last move of its workload".to_owned(),
        times => format!("the last {times} moves of its workload"),
    }
}

pub(super) fn last_evictions(times: u32) -> String {
    match times {
        1 => "its last eviction was".to_owned(),
        times => format!("its last {times} evictions were"),
    }
}

pub(super) fn would(chance: Ratio) -> &'static str {
    if chance < Ratio::ONE {
        "could"
    } else {
        "would"
    }
}

/// Returns the words after a ratio that say when it is expected; none for a ratio at once.
pub const fn horizon(within_a_day: bool) -> &'static str {
    if within_a_day { " within a day" } else { "" }
}

pub(super) const fn weighed(basis: Basis) -> &'static str {
    if matches!(basis, Basis::Requests) {
        "requests"
    } else {
        "usage"
    }
}
