//! The hours in which two runs differ.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::trace::{Trace, hour_since, start_of_hour};

/// An hour of the clock, with the figures of each run in the order of the runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HourDifference {
    /// The start of the hour.
    pub start: Timestamp,
    /// The minutes that nodes spent above their target, summed over the nodes, by resource. `None`
    /// if a policy has no target of actual usage for the resource.
    pub minutes_above_target: BTreeMap<String, Vec<Option<i64>>>,
    /// Evictions.
    pub evictions: Vec<usize>,
}

/// Returns the hours in which the time above target, in whole minutes, or the number of evictions
/// differs between runs of one scenario.
pub fn differing_hours(traces: &[&Trace]) -> Vec<HourDifference> {
    let Some(first) = traces.first() else {
        return Vec::new();
    };
    let end = traces.iter().map(|trace| trace.end).max();
    let hours = hour_since(first.start, end.unwrap_or(first.end)) + 1;
    let evictions: Vec<Vec<usize>> = traces.iter().map(|t| evictions(t, hours)).collect();
    let all = (0..hours).map(|hour| HourDifference {
        start: start_of_hour(first.start, hour),
        minutes_above_target: minutes(traces, hour),
        evictions: evictions.iter().map(|by_hour| by_hour[hour]).collect(),
    });
    all.filter(HourDifference::differs).collect()
}

/// The number of evictions in each hour.
fn evictions(trace: &Trace, hours: usize) -> Vec<usize> {
    let mut by_hour = vec![0; hours];
    for eviction in &trace.evictions {
        if let Some(count) = by_hour.get_mut(hour_since(trace.start, eviction.at)) {
            *count += 1;
        }
    }
    by_hour
}

fn minutes(traces: &[&Trace], hour: usize) -> BTreeMap<String, Vec<Option<i64>>> {
    let resources = traces.iter().flat_map(|trace| trace.summary.above_target.keys());
    let resources: BTreeSet<&String> = resources.collect();
    let rows = resources.into_iter().map(|resource| {
        let row = traces.iter().map(|trace| {
            let time = trace.summary.above_target.get(resource)?;
            Some(time.by_hour.get(hour).map_or(0, SignedDuration::as_mins))
        });
        (resource.clone(), row.collect())
    });
    rows.collect()
}

impl HourDifference {
    /// Returns the minutes above target of a run as text: `cpu 34, memory 0`.
    pub fn minutes_text(&self, run: usize) -> String {
        let rows = self.minutes_above_target.iter();
        let each = rows.filter_map(|(resource, row)| {
            let minutes = row.get(run).copied().flatten()?;
            Some(format!("{resource} {minutes}"))
        });
        let each: Vec<String> = each.collect();
        if each.is_empty() { "not counted".to_owned() } else { each.join(", ") }
    }

    /// Returns the hour as text, in UTC: `2026-11-20 14:00`.
    pub fn hour_text(&self) -> String {
        self.start.strftime("%Y-%m-%d %H:%M").to_string()
    }

    /// A resource without a target in one of the policies is no difference.
    fn differs(&self) -> bool {
        let mut rows = self.minutes_above_target.values();
        unequal(&self.evictions) || rows.any(|row| unequal(row.iter().flatten()))
    }
}

fn unequal<T: PartialEq>(values: impl IntoIterator<Item = T>) -> bool {
    let mut values = values.into_iter();
    let first = values.next();
    values.any(|value| Some(value) != first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hour(minutes: [Option<i64>; 2], evictions: [usize; 2]) -> HourDifference {
        HourDifference {
            start: "2026-11-20T14:00:00Z".parse().unwrap(),
            minutes_above_target: BTreeMap::from([("cpu".to_owned(), minutes.to_vec())]),
            evictions: evictions.to_vec(),
        }
    }

    #[test]
    fn an_hour_differs_by_its_minutes_or_its_evictions() {
        assert!(hour([Some(1), Some(2)], [0, 0]).differs());
        assert!(hour([Some(1), Some(1)], [0, 3]).differs());
        assert!(!hour([Some(1), Some(1)], [3, 3]).differs());
        assert!(
            !hour([Some(1), None], [3, 3]).differs(),
            "without a target there is nothing to compare"
        );
    }

    #[test]
    fn an_hour_in_words_has_its_start_and_each_target() {
        let hour = hour([Some(34), None], [0, 1]);
        assert_eq!(hour.hour_text(), "2026-11-20 14:00");
        assert_eq!([hour.minutes_text(0), hour.minutes_text(1)], ["cpu 34", "not counted"]);
    }
}
