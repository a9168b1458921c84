//! The ledger: recent evictions with their results, and workloads in cooldown.

use maud::{Markup, html};

use crate::values::text::{age, count};

use super::super::StatusView;
use super::super::facts::{LedgerEviction, LedgerStatus, RejectedPod, RestingWorkload, Truncated};
use super::parts::{ago, folding, left_out, wide_table};

const OPEN: usize = 12;
const HEADS: [&str; 5] = ["evicted", "pod", "from → to", "result", "cooldown"];
const REJECTED_HEADS: [&str; 3] = ["pod", "rejected evictions", "cooldown"];
const RESTING_HEADS: [&str; 3] = ["workload", "moves that did not help", "cooldown"];

pub(super) fn section(view: &StatusView<'_>, ledger: &LedgerStatus) -> Markup {
    let (entries, resting) = (&ledger.entries, &ledger.resting);
    html! {
        section aria-labelledby="h-ledger" {
            h2 #h-ledger { "Ledger" }
            @if entries.items.is_empty() && resting.items.is_empty()
                && ledger.rejected.items.is_empty() {
                p { "No recent evictions, and no workload in cooldown." }
            } @else {
                p.facts {
                    (count(entries.total(), "recent eviction"))
                    ", waiting for " (count(ledger.open, "replacement")) ", "
                    (count(resting.total(), "workload"))
                    " in cooldown because moves did not help."
                }
                (folding(&entries.items, OPEN, "ledger", "older evictions", |entries, id| {
                    wide_table(id, &HEADS, &rows(view, entries))
                }))
                (left_out(entries.more, "evictions"))
                (resting_table(view, resting))
                (rejected_table(view, &ledger.rejected))
            }
        }
    }
}

fn rows(view: &StatusView<'_>, entries: &[LedgerEviction]) -> Markup {
    html! {
        @for entry in entries {
            tr {
                td.when { (ago(view, entry.at)) }
                th scope="row" { (entry.pod) small { (entry.workload) } }
                td {
                    (entry.from) " → "
                    @match &entry.to {
                        Some(to) => (to),
                        None => span.soft { "unknown" },
                    }
                }
                td { span class=(result_class(&entry.state)) { (entry.message) } }
                td {
                    @match entry.rests_until {
                        Some(until) => { (age(until.duration_since(view.now))) " left" }
                        None => "–",
                    }
                }
            }
        }
    }
}

fn result_class(state: &str) -> &'static str {
    match state {
        "helped" | "renewed" => "done",
        "no-relief" | "same-node" | "hot-node" | "never-ready" | "got-worse" => "bad",
        _ => "soft",
    }
}

fn resting_table(view: &StatusView<'_>, resting: &Truncated<RestingWorkload>) -> Markup {
    let rows = html! {
        @for workload in &resting.items {
            tr {
                th scope="row" {
                    (workload.workload)
                    @if let Some(why) = &workload.got_worse { small { "got worse: " (why) } }
                }
                td { (workload.useless) }
                td { (age(workload.until.duration_since(view.now))) " left" }
            }
        }
    };
    html! {
        @if !resting.items.is_empty() {
            h3 { "Workloads in cooldown" }
            (wide_table("w-resting", &RESTING_HEADS, &rows))
            (left_out(resting.more, "workloads"))
        }
    }
}

fn rejected_table(view: &StatusView<'_>, rejected: &Truncated<RejectedPod>) -> Markup {
    let rows = html! {
        @for pod in &rejected.items {
            tr {
                th scope="row" { (pod.pod) small { (pod.workload) } }
                td { (pod.times) }
                td { (age(pod.until.duration_since(view.now))) " left" }
            }
        }
    };
    html! {
        @if !rejected.items.is_empty() {
            h3 { "Pods whose evictions were rejected" }
            (wide_table("w-rejected", &REJECTED_HEADS, &rows))
            (left_out(rejected.more, "pods"))
        }
    }
}
