//! The guards of the policy.

use maud::{Markup, html};

use super::super::StatusView;
use super::super::facts::{GuardStatus, PlanStatus};
use super::parts::{ago, left_out, wide_table};

const HEADS: [&str; 6] = ["guard", "scope", "newest value", "limit", "answered", "state"];

/// The section; nothing if the policy has no guard.
pub(super) fn section(view: &StatusView<'_>, plan: &PlanStatus) -> Markup {
    let guards = &plan.guard_states;
    let rows = html! {
        @for guard in &guards.items { (row(view, guard)) }
    };
    html! {
        @if guards.total() > 0 {
            section aria-labelledby="h-guards" {
                h2 #h-guards { "Guards" }
                p.hint { "Queries that stop evictions while their value is above the limit." }
                (wide_table("w-guards", &HEADS, &rows))
                (left_out(guards.more, "guards"))
            }
        }
    }
}

fn row(view: &StatusView<'_>, guard: &GuardStatus) -> Markup {
    let is_quiet = guard.state == "quiet";
    html! {
        tr {
            th scope="row" { (guard.guard) }
            td { (guard.scope) }
            td { @match guard.value { Some(value) => (value), None => "none" } }
            td { (guard.limit) }
            td { @match guard.answered { Some(at) => (ago(view, at)), None => "never" } }
            td { span.bad[!is_quiet] { (guard.state) } ": " (guard.message) }
        }
    }
}
