//! The tables of a run: evictions, refusals and events.

use std::cmp::Reverse;

use maud::{Markup, html};

use crate::simulate::trace::{Event, Eviction, Trace};
use crate::values::text::{age, count as counted};

use crate::view::figures::destination;

use super::marks::{helped, landed_as_forecast};

/// Further evictions are folded.
const OPEN_EVICTIONS: usize = 50;
/// Further events are folded.
const OPEN_EVENTS: usize = 12;

const EVICTION_HEADS: [&str; 6] = ["time", "pod", "from → to", "forecast", "result", "reason"];

/// Every eviction, in order.
pub(super) fn evictions(trace: &Trace) -> Markup {
    if trace.evictions.is_empty() {
        return html! { p.hint { "No pod was evicted." } };
    }
    folding(&trace.evictions, OPEN_EVICTIONS, |evictions| eviction_table(trace, evictions))
}

/// The first `open` items as they are and the others folded.
pub(super) fn folding<T>(items: &[T], open: usize, table: impl Fn(&[T]) -> Markup) -> Markup {
    let (open, folded) = items.split_at(items.len().min(open));
    html! {
        (table(open))
        @if !folded.is_empty() {
            details {
                summary { (folded.len()) " more" }
                (table(folded))
            }
        }
    }
}

fn eviction_table(trace: &Trace, evictions: &[Eviction]) -> Markup {
    html! {
        div.wide {
            table.evictions {
                colgroup {
                    col.c-time; col.c-pod; col.c-move; col.c-forecast; col.c-helped; col.c-why;
                }
                thead { tr { @for head in EVICTION_HEADS { th { (head) } } } }
                tbody { @for eviction in evictions { (eviction_row(trace, eviction)) } }
            }
        }
    }
}

fn eviction_row(trace: &Trace, eviction: &Eviction) -> Markup {
    let class = match eviction.helped {
        Some(true) => "yes",
        Some(false) => "no",
        None => "unknown",
    };
    html! {
        tr {
            td.when { (age(eviction.at.duration_since(trace.start))) }
            td {
                (eviction.namespace) "/" (eviction.pod)
                @if let Some(workload) = &eviction.workload { br; span.soft { (workload) } }
            }
            td {
                (eviction.from) " → "
                @match &eviction.to {
                    Some(to) => (to),
                    None => em { (destination(eviction)) },
                }
            }
            td {
                @match &eviction.foreseen {
                    None => span.soft { "–" },
                    Some(_) if landed_as_forecast(eviction) => span.soft { "as forecast" },
                    Some(node) => (node),
                }
            }
            td { span class=(class) { (helped(eviction)) } }
            td { (eviction.reason) br; span.soft { (eviction.strategy) } }
        }
    }
}

/// Refusals by code, the most frequent first.
pub(super) fn refusals(trace: &Trace) -> Markup {
    if trace.refusals.is_empty() {
        return html! { p.hint { "No candidate was refused." } };
    }
    let mut refusals: Vec<_> = trace.refusals.iter().collect();
    refusals.sort_by_key(|(code, refused)| (Reverse(refused.times), code.as_str()));
    html! {
        div.wide {
            table.refusals {
                thead { tr { th.figure { "count" } th { "code" } th { "last message" } } }
                tbody {
                    @for (code, refused) in refusals {
                        tr {
                            td.figure { (refused.times) }
                            td { code { (code) } }
                            td { (refused.last) }
                        }
                    }
                }
            }
        }
    }
}

/// Events, numbered like the flags in the charts.
pub(super) fn events(trace: &Trace) -> Markup {
    let (open, folded) = trace.events.split_at(trace.events.len().min(OPEN_EVENTS));
    html! {
        @if !open.is_empty() { (event_list(trace, 1, open)) }
        @if !folded.is_empty() {
            details {
                summary { (counted(folded.len(), "more event")) }
                (event_list(trace, OPEN_EVENTS + 1, folded))
            }
        }
    }
}

fn event_list(trace: &Trace, start: usize, events: &[Event]) -> Markup {
    html! {
        ol.events start=(start) {
            @for event in events {
                li {
                    span.when { (age(event.at.duration_since(trace.start))) } " "
                    (event.what)
                }
            }
        }
    }
}
