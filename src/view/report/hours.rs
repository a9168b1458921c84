//! The hours in which the runs of two policies differ.

use maud::{Markup, html};

use crate::simulate::compare::{HourDifference, differing_hours};
use crate::simulate::trace::Trace;

use super::LabelledRun;
use super::tables::folding;

/// Further hours are folded.
const OPEN_HOURS: usize = 24;

/// A table with the time above target and the evictions of each run in the hours that differ.
pub(super) fn differing(runs: &[LabelledRun<'_>]) -> Markup {
    let traces: Vec<&Trace> = runs.iter().map(|run| run.trace).collect();
    let hours = differing_hours(&traces);
    html! {
        h3 { "Hours that differ" }
        @if hours.is_empty() {
            p.hint { "In every hour, both have the same evictions and time above target." }
        } @else {
            p.hint { "Times in UTC." }
            (folding(&hours, OPEN_HOURS, |hours| table(runs, hours)))
        }
    }
}

fn table(runs: &[LabelledRun<'_>], hours: &[HourDifference]) -> Markup {
    html! {
        div.wide {
            table.compare {
                thead {
                    tr {
                        th {}
                        th colspan=(runs.len()) { "minutes above target" }
                        th colspan=(runs.len()) { "evictions" }
                    }
                    tr {
                        th { "hour" }
                        @for run in runs.iter().chain(runs) { th { (run.label) } }
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
