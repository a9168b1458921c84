//! The last plan: its moves, the pods that stay, and the steering taints, each with the reason.

use maud::{Markup, html};

use crate::model::plan::SteerValue;
use crate::render::words::counted;

use super::super::StatusView;
use super::super::facts::{MoveStatus, RefusalGroup, Round, Truncated};
use super::parts::{ago, fold, folding, left_out, thousands, wide_table};

const OPEN: usize = 30;
const MOVE_HEADS: [&str; 4] = ["pod", "from → may land on", "reason", "outcome"];
const KEPT_HEADS: [&str; 3] = ["pod", "node", "reason"];
const STEERING_HEADS: [&str; 3] = ["node", "taint", "reason"];

/// The sections.
pub(super) fn section(view: &StatusView<'_>, round: &Round) -> Markup {
    html! {
        section aria-labelledby="h-plan" {
            h2 #h-plan { "Last plan" }
            p.facts {
                "Decided " (ago(view, round.at)) ", took " (round.took_ms) " ms"
                @if round.moves.total() > 0 {
                    ": " (counted(round.moves.total(), "move"))
                    @if round.dry_run {
                        ", none made because this is a dry run"
                    } @else {
                        ", " (thousands(round.evicted)) " made"
                    }
                }
                "."
            }
            @if let Some(halted) = &round.halted {
                p.notice { b { "Halted:" } " " (halted) }
            }
            (moves(&round.moves))
            (notes(round))
        }
        @if !round.kept.is_empty() { (kept(round)) }
        @if round.steering.total() > 0 { (steering(round)) }
    }
}

fn moves(moves: &Truncated<MoveStatus>) -> Markup {
    html! {
        @if moves.items.is_empty() {
            p { "No moves planned." }
        }
        (folding(&moves.items, OPEN, "moves", "more moves", |moves, id| {
            wide_table(id, &MOVE_HEADS, &html! {
                @for status in moves { (move_row(status)) }
            })
        }))
        (left_out(moves.more, "moves"))
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
                (planned.node) " → "
                @if planned.may_land.is_empty() {
                    span.soft { "not forecast" }
                } @else {
                    (planned.may_land.join(", "))
                }
                @if status.may_land_more > 0 {
                    " " span.soft { "and " (thousands(status.may_land_more)) " more" }
                }
            }
            td { (planned.reason) small { (planned.strategy) } }
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

/// Why strategies do nothing, and objects that could not be read.
fn notes(round: &Round) -> Markup {
    let skipped = &round.skipped;
    html! {
        @if !round.notes.is_empty() {
            ul.notes {
                @for note in &round.notes {
                    li { (note.strategy) ", pool " (note.pool) ": " (note.why) }
                }
            }
        }
        @if skipped.total() > 0 {
            @let summary = html! { (counted(skipped.total(), "object")) " could not be read" };
            (fold("plan", "skipped", &summary, &html! {
                ul { @for object in &skipped.items { li { (object) } } }
                (left_out(skipped.more, "objects"))
            }))
        }
    }
}

fn kept(round: &Round) -> Markup {
    html! {
        section aria-labelledby="h-kept" {
            h2 #h-kept { "Why pods stay" }
            p.hint { "Pods that a strategy would evict, grouped by the reason that keeps them." }
            @for group in &round.kept {
                @let summary = html! {
                    b { (thousands(group.pods.total())) } " " code { (group.code) } " " (group.message)
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

fn steering(round: &Round) -> Markup {
    let rows = html! {
        @for steer in &round.steering.items {
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
            (wide_table("w-steering", &STEERING_HEADS, &rows))
            (left_out(round.steering.more, "nodes"))
        }
    }
}
