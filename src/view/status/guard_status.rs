//! Summarises the state of a guard for the status page.

use crate::model::guard::{GuardReport, GuardStop};
use crate::values::text::count;

use super::facts::GuardStatus;

impl GuardStatus {
    pub(super) fn of(report: &GuardReport) -> Self {
        let (state, message) = match (report.stops.split_first(), &report.missing) {
            (Some((first, others)), _) => ("stops", stops(first, others.len())),
            (None, Some(why)) => ("missing", format!("{why}, which allows evictions")),
            (None, None) => ("quiet", quiet(report).to_owned()),
        };
        GuardStatus {
            guard: report.guard.clone(),
            scope: report.scope.label(),
            value: report.highest,
            limit: report.limit,
            answered: report.answered,
            state,
            message,
        }
    }
}

fn stops(first: &GuardStop, others: usize) -> String {
    let GuardStop { target, cause, .. } = first;
    match others {
        0 => format!("{target}: {cause}"),
        more => format!("{target}: {cause}, and {}", count(more, "more stop")),
    }
}

fn quiet(report: &GuardReport) -> &'static str {
    match report.highest {
        None => "its query answers without a series",
        Some(value) if value <= report.limit => "its values are within the limit",
        Some(_) if report.unknown.is_empty() => "above the limit, but not for long enough yet",
        Some(_) => "above the limit for unknown objects",
    }
}
