//! Workloads whose requests are far from their usage. The scheduler sees only requests, so it
//! cannot balance such pods.

use jiff::SignedDuration;
use maud::{Markup, html};

use crate::model::plan::{Rightsizing, Suggestion};
use crate::values::quantity;
use crate::values::text::age;

use super::super::facts::PlanStatus;
use super::parts::{left_out, wide_table};

const HEADS: [&str; 5] = ["workload", "pods measured", "cpu", "memory", "error"];

/// The section; empty without rightsizing.
pub(super) fn section(plan: &PlanStatus) -> Markup {
    let workloads = &plan.rightsizing;
    let Some(longest) = workloads.items.iter().map(|workload| workload.span).max() else {
        return html! {};
    };
    html! {
        section aria-labelledby="h-rightsizing" {
            h2 #h-rightsizing { "Requests far from usage" }
            p.hint {
                "Per pod, all containers together: current request → recommended request. "
                "Measured over " (age(longest))
                @if longest < SignedDuration::from_hours(24) {
                    ". This may not include a peak: measure for a day before you lower a request."
                } @else { "." }
                " The error is the difference over all pods, as a share of the cluster."
            }
            (wide_table("w-rightsizing", &HEADS, &html! {
                @for workload in &workloads.items { (row(workload)) }
            }))
            (left_out(workloads.more, "workloads"))
        }
    }
}

fn row(workload: &Rightsizing) -> Markup {
    let worst = workload.resources.values().max_by(|a, b| a.wrong_by.order(b.wrong_by));
    html! {
        tr {
            th scope="row" { (workload.workload) }
            td { (workload.measured) " of " (workload.pods) }
            @for resource in ["cpu", "memory"] {
                td {
                    @match workload.resources.get(resource) {
                        Some(suggestion) => (change(suggestion)),
                        None => span.soft { "fits" },
                    }
                }
            }
            td {
                (workload.wrong_by())
                @if let Some(worst) = worst { " of all " (worst.resource) }
            }
        }
    }
}

fn change(suggestion: &Suggestion) -> Markup {
    let resource = suggestion.resource;
    html! {
        @match suggestion.request {
            Some(request) => (quantity::text(resource, request)),
            None => "none",
        }
        " → " b { (quantity::text(resource, suggestion.suggested)) }
        @if suggestion.limit == Some(suggestion.suggested) { ", its limit" }
    }
}
