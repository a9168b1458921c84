//! The figures of a simulated run in words, the same in the terminal and on the page.

use std::collections::BTreeSet;

use crate::simulate::trace::{Eviction, Summary, TimeAbove, Trace};
use crate::values::Ratio;
use crate::values::text::duration;

/// Sentences about objects that these runs did not know, each once.
pub(super) fn unknown_objects<'t>(
    traces: impl IntoIterator<Item = &'t Trace>,
) -> BTreeSet<&'t str> {
    traces.into_iter().flat_map(|trace| &trace.unknown_objects).map(String::as_str).collect()
}

/// Why a run has fewer evictions than its policy planned, as sentences.
pub(super) fn caveats(trace: &Trace) -> impl Iterator<Item = String> {
    withheld(trace).map(str::to_owned).into_iter().chain(stopped(trace))
}

/// Why planned evictions were not made.
pub(super) fn withheld(trace: &Trace) -> Option<&'static str> {
    if trace.dry_run {
        Some("the policy is a dry run, which evicts nothing")
    } else if trace.evictions.is_empty() && trace.refusals.contains_key("needs-approval") {
        Some("evictions waited for an approval")
    } else {
        None
    }
}

/// The cycles in which all evictions were stopped, with the last reason.
fn stopped(trace: &Trace) -> Option<String> {
    let halted = trace.refusals.get("halted")?;
    let (stopped, cycles) = (trace.summary.stopped, trace.summary.cycles);
    Some(format!("evictions were stopped in {stopped} of {cycles} cycles: {}", halted.last))
}

/// Returns the longest time until no node was hot any more.
pub(super) fn time_to_balance(trace: &Trace) -> String {
    let summary = &trace.summary;
    match summary.time_to_balance {
        _ if !has_target(trace) => "no target".to_owned(),
        None => "not reached".to_owned(),
        Some(_) if is_balance_unknown(summary) => "unknown".to_owned(),
        Some(time) if time.is_zero() => "always balanced".to_owned(),
        Some(time) => duration(time),
    }
}

/// Returns the evictions that hot nodes needed first, and in the end. None are counted for a node
/// that all its movable pods together would not relieve.
pub(super) fn still_needed(trace: &Trace) -> String {
    let needed = trace.summary.needed;
    needed.map_or("–".to_owned(), |(first, last)| format!("{first} → {last}"))
}

/// Returns true if a strategy has a target above which a node is hot.
pub(super) fn has_target(trace: &Trace) -> bool {
    trace.targets_vary || trace.bands.values().any(|band| band.target < Ratio::ONE)
}

/// Returns true if no decision found a hot node, but some did not know the usage of all nodes.
pub(super) fn is_balance_unknown(summary: &Summary) -> bool {
    let never_hot = summary.time_to_balance.is_some_and(|time| time.is_zero());
    never_hot && !summary.unknown_nodes.is_empty()
}

/// The minutes that nodes spent above their target, by resource.
pub(super) fn minutes_above_target(trace: &Trace) -> String {
    let of = |(name, time): (&String, &TimeAbove)| format!("{name} {}", time.total.as_mins());
    let each: Vec<String> = trace.summary.above_target.iter().map(of).collect();
    match each[..] {
        [] if trace.targets_vary => "not counted: the targets vary".to_owned(),
        [] => "no target of usage".to_owned(),
        [_, ..] => each.join(", "),
    }
}

/// The node of the replacement.
pub(super) fn destination(eviction: &Eviction) -> &str {
    eviction.to.as_deref().unwrap_or("no node yet")
}
