//! The hours in which the runs of two policies differ.

use maud::{Markup, html};

use crate::simulate::compare::{HourDifference, differing_hours};
use crate::simulate::trace::Trace;

use super::LabelledRun;

/// Further hours are folded.
const OPEN_HOURS: usize = 24;

/// A table with the time above target and the evictions of each run in the hours that differ.
pub(super) fn differing(runs: &[LabelledRun<'_>]) -> Markup {
    let traces: Vec<&Trace> = runs.iter().map(|run| run.trace).collect();
    let hours = differing_hours(&traces);
    let (open, folded) = hours.split_at(hours.len().min(OPEN_HOURS));
    html! {
        h3 { "Hours that differ" }
        @if open.is_empty() {
            p.hint { "In every hour, both have the same evictions and time above target." }
        } @else {
            p.hint { "Minutes that nodes spent above their target, and evictions. Times in UTC." }
            (table(runs, open))
        }
        @if !folded.is_empty() {
            details {
                summary { (folded.len()) " more" }
                (table(runs, folded))
            }
        }
    }
}

fn table(runs: &[LabelledRun<'_>], hours: &[HourDifference]) -> Markup {
    html! {
        div.wide {
            table.compare {
                thead {
                    tr {
                        th { "hour" }
                        @for run in runs { th { "above target: " (run.label) } }
                        @for run in runs { th { "evictions: " (run.label) } }
                    }
                }
                tbody { @for hour in hours { (row(hour)) } }
            }
        }
    }
}

fn row(hour: &HourDifference) -> Markup {
    html! {
        tr {
            th { (hour.hour_text()) }
            @for run in 0..hour.evictions.len() { td { (hour.minutes_text(run)) } }
            @for evictions in &hour.evictions { td { (evictions) } }
        }
    }
}
