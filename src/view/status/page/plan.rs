//! The last plan: its moves, the pods that stay, and the steering taints, each with the reason.

use maud::{Markup, html};

use crate::model::ledger::Aim;
use crate::model::plan::SteerValue;
use crate::values::text::count;

use super::super::StatusView;
use super::super::facts::{
    MoveStatus, PlanStatus, ProposalStatus, ProposedStatus, RefusalGroup, Truncated,
};
use super::parts::{ago, fold, folding, left_out, thousands, wide_table};

const OPEN: usize = 30;
const MOVE_HEADS: [&str; 4] = ["pod", "from → may land on", "reason", "outcome"];
const PROPOSED_HEADS: [&str; 3] = ["pod", "from → may land on", "reason"];
const KEPT_HEADS: [&str; 3] = ["pod", "node", "reason"];
const STEERING_HEADS: [&str; 3] = ["node", "taint", "reason"];

pub(super) fn section(view: &StatusView<'_>, plan: &PlanStatus) -> Markup {
    html! {
        section aria-labelledby="h-plan" {
            h2 #h-plan { "Last plan" }
            p.facts {
                "Decided " (ago(view, plan.at)) ", took " (plan.took_ms) " ms"
                @if plan.moves.total() > 0 {
                    ": " (count(plan.moves.total(), "move"))
                    @if plan.dry_run {
                        ", none made because this is a dry run"
                    } @else {
                        ", " (thousands(plan.evicted)) " made"
                    }
                }
                "."
            }
            @if let Some(halted) = &plan.halted {
                p.notice { b { "Halted:" } " " (halted) }
            }
            @for paused in &plan.paused {
                p.notice { b { "Paused:" } " " (paused) }
            }
            @for stop in &plan.guards.items {
                p.notice { b { "Stopped:" } " " (stop) }
            }
            (left_out(plan.guards.more, "stops of guards"))
            @if let Some(proposal) = &plan.proposal { (awaits_approval(proposal)) }
            @if plan.moves.total() > 0 {
                (moves(&plan.moves))
            } @else if plan.proposal.is_none() {
                p { "No moves planned." }
            }
            (notes(plan))
        }
        @if let Some(trial) = &plan.replica_trial { p.hint { (trial) "." } }
        @if !plan.kept.is_empty() { (kept(plan)) }
        @if shows_steering(plan) { (steering(plan)) }
    }
}

fn awaits_approval(proposal: &ProposalStatus) -> Markup {
    let evictions = count(proposal.evictions, "eviction");
    html! {
        p.notice {
            b { "Awaiting approval:" } " " (evictions) "."
            @if let Some(id) = &proposal.id {
                " To make them, run " code { "evenkeel approve " (id) } "."
            }
        }
        (folding(&proposal.moves.items, OPEN, "proposed", "more evictions", |moves, id| {
            wide_table(id, &PROPOSED_HEADS, &html! {
                @for status in moves { (proposed_row(status)) }
            })
        }))
        (left_out(proposal.moves.more, "evictions"))
    }
}

fn moves(moves: &Truncated<MoveStatus>) -> Markup {
    html! {
        (folding(&moves.items, OPEN, "moves", "more moves", |moves, id| {
            wide_table(id, &MOVE_HEADS, &html! {
                @for status in moves { (move_row(status)) }
            })
        }))
        (left_out(moves.more, "moves"))
    }
}

fn proposed_row(status: &ProposedStatus) -> Markup {
    let planned = &status.planned;
    html! {
        tr {
            th scope="row" { (planned.namespace) "/" (planned.pod) }
            td {
                (planned.node)
                @if !planned.possible_nodes.is_empty() {
                    (destinations(&planned.possible_nodes, status.may_land_more))
                }
            }
            td { (planned.why) small { (planned.strategy) } }
        }
    }
}

/// The nodes on which a replacement may land.
fn destinations(nodes: &[String], more: usize) -> Markup {
    html! {
        " → " (nodes.join(", "))
        @if more > 0 {
            " " span.soft { "and " (thousands(more)) " more" }
        }
    }
}

fn move_row(status: &MoveStatus) -> Markup {
    let planned = &status.planned;
    html! {
        tr {
            th scope="row" {
                (planned.namespace) "/" (planned.pod)
                @if let Some(workload) = &planned.workload { small { (workload) } }
            }
            td {
                (planned.node)
                @if planned.aim == Aim::Clear {
                    span.soft { ", removed" }
                } @else if planned.possible_nodes.is_empty() {
                    " → " span.soft { "not forecast" }
                } @else {
                    (destinations(&planned.possible_nodes, status.may_land_more))
                }
            }
            td {
                (planned.why())
                small { (planned.strategy) }
            }
            td { (outcome(status)) }
        }
    }
}

fn outcome(status: &MoveStatus) -> Markup {
    match (status.outcome, &status.message) {
        (Some("evicted"), _) => html! { span.done { "evicted" } },
        (Some(_), Some(message)) => html! { span.bad { (message) } },
        _ => html! { span.soft { "dry run" } },
    }
}

/// Why strategies do nothing, and objects that are not known or could not be read.
fn notes(plan: &PlanStatus) -> Markup {
    let skipped = &plan.skipped;
    html! {
        @if !plan.notes.is_empty() {
            ul.notes {
                @for note in &plan.notes {
                    li { (note.strategy) ", pool " (note.pool) ": " (note.why) }
                }
            }
        }
        @if !plan.unknown.items.is_empty() {
            ul.notes {
                @for unknown in &plan.unknown.items {
                    li { (unknown) "; " (unknown.objects.remedy()) }
                }
            }
        }
        @if let Some(nodes) = &plan.nodes_in_use {
            ul.notes { li { (nodes) } }
        }
        @if let Some(none) = plan.no_trend {
            ul.notes { li { (none) } }
        }
        @if skipped.total() > 0 {
            @let summary = html! { (count(skipped.total(), "object")) " could not be read" };
            (fold("plan", "skipped", &summary, &html! {
                ul { @for object in &skipped.items { li { (object) } } }
                (left_out(skipped.more, "objects"))
            }))
        }
    }
}

fn kept(plan: &PlanStatus) -> Markup {
    html! {
        section aria-labelledby="h-kept" {
            h2 #h-kept { "Why pods stay" }
            p.hint { "Pods that a strategy would evict, grouped by the reason that keeps them." }
            @for group in &plan.kept {
                @let summary = html! {
                    b { (thousands(group.pods.total())) } " "
                    code { (group.code) } " " (group.message)
                };
                (fold("kept", group.code, &summary, &kept_table(group)))
            }
        }
    }
}

fn kept_table(group: &RefusalGroup) -> Markup {
    let rows = html! {
        @for kept in &group.pods.items {
            tr {
                th scope="row" { (kept.namespace) "/" (kept.pod) }
                td { (kept.node) }
                td { (kept.refusal) small { (kept.strategy) } }
            }
        }
    };
    html! {
        (wide_table(group.code, &KEPT_HEADS, &rows))
        (left_out(group.pods.more, "pods"))
    }
}

const fn shows_steering(plan: &PlanStatus) -> bool {
    plan.steering.total() > 0 || plan.steering_denied.is_some() || plan.steering_trial.is_some()
}

fn steering(plan: &PlanStatus) -> Markup {
    let rows = html! {
        @for steer in &plan.steering.items {
            tr {
                th scope="row" { (steer.node) }
                td {
                    (steer.action.code())
                    @if let Some(value) = steer.action.value().map(SteerValue::text) {
                        " " code { (value) }
                    }
                }
                td { (steer.why) }
            }
        }
    };
    html! {
        section aria-labelledby="h-steering" {
            h2 #h-steering { "Steering" }
            p.hint { "PreferNoSchedule taints that make nodes the scheduler's last choice." }
            @if let Some(reason) = &plan.steering_denied {
                p.notice {
                    b { "Disabled:" } " no permission to change taints; replacements may return to \
                    hot nodes, so more pods stay: " (reason)
                }
            }
            @if let Some(trial) = &plan.steering_trial { p { (trial) "." } }
            @if plan.steering.total() > 0 {
                (wide_table("w-steering", &STEERING_HEADS, &rows))
            }
            (left_out(plan.steering.more, "nodes"))
        }
    }
}
