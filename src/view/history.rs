//! The lines of the record as a table, and their sums by week.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use serde::Serialize;

use crate::model::record::{EVICTION, EvictionDetails, OUTCOME, REFUSAL, RecordLine};
use crate::model::relief::CycleRelief;
use crate::values::{NodeMinutes, Ratio};
use crate::view::scale::count;
use crate::view::screen::{Screen, padded};
use crate::view::table::Table;

/// The most workloads of a week that are named.
const MOST_WORKLOADS: usize = 3;

/// The sums of a week from Monday to Sunday, in UTC. An outcome counts in the week of its eviction.
#[derive(Debug, Serialize)]
pub(crate) struct Week {
    monday: Date,
    /// Pods that were evicted.
    evictions: usize,
    /// Evictions that reached their purpose.
    helped: usize,
    /// Evictions that did not help.
    ineffective: usize,
    /// Evictions without an outcome yet.
    pending: usize,
    /// Evictions that the API server refused, or of which there was no response.
    refusals: usize,
    /// The mean relief of the evictions whose relief is known, by resource.
    relief: BTreeMap<String, MeanRelief>,
    /// The relief by moves; `None` if that is not known of any.
    worth: Option<WeekWorth>,
    /// The workloads with the most evictions.
    most_moved: Vec<MovedWorkload>,
}

/// The relief by moves whose result is known.
#[derive(Debug, Default, Serialize)]
struct WeekWorth {
    moves: usize,
    predicted: NodeMinutes,
    achieved: NodeMinutes,
}

/// The usage that left a node with a pod, as a share of the node.
#[derive(Debug, Serialize)]
struct MeanRelief {
    mean: Ratio,
    /// The number of evictions whose relief is known.
    evictions: usize,
}

#[derive(Debug, Serialize)]
struct MovedWorkload {
    workload: String,
    evictions: usize,
}

/// The lines of a week, which are summed when all are known.
#[derive(Default)]
struct WeekLines {
    evictions: BTreeMap<EvictionKey, EvictionDetails>,
    outcomes: BTreeMap<EvictionKey, EvictionDetails>,
    /// The evictions that another component promised. One that it makes has another time.
    deferred: BTreeSet<EvictionKey>,
    refusals: usize,
    worth: Option<WeekWorth>,
}

/// The uid of a pod, and the time of the decision.
type EvictionKey = (String, Timestamp);

/// Returns the sums of the weeks that have lines about evictions, oldest first.
pub(crate) fn sums(lines: &[RecordLine]) -> Vec<Week> {
    let mut weeks: BTreeMap<Date, WeekLines> = BTreeMap::new();
    for line in lines {
        if let Some(relief) = CycleRelief::of_line(line) {
            let week = weeks.entry(monday(relief.decided)).or_default();
            week.worth.get_or_insert_default().add(&relief);
            continue;
        }
        let Ok(Some(details)) = line.details() else {
            continue;
        };
        let key = (details.uid.clone(), details.decided);
        let week = weeks.entry(monday(details.decided)).or_default();
        match line.kind.as_str() {
            // A deferred eviction counts once it is made.
            EVICTION if details.outcome == "evicted" => {
                week.evictions.insert(key, details);
            }
            EVICTION if details.outcome == "deferred" => {
                week.deferred.insert(key);
            }
            OUTCOME if details.outcome != "landed" => {
                week.outcomes.insert(key, details);
            }
            REFUSAL => week.refusals += 1,
            _ => {}
        }
    }
    let weeks = weeks.into_iter();
    weeks.map(|(monday, lines)| lines.sum(monday)).collect()
}

fn monday(time: Timestamp) -> Date {
    let date = time.to_zoned(TimeZone::UTC).date();
    let days = i64::from(date.weekday().to_monday_zero_offset());
    date.saturating_sub(Span::new().days(days))
}

impl WeekWorth {
    fn add(&mut self, relief: &CycleRelief) {
        self.moves += relief.moves;
        self.predicted = self.predicted.plus(relief.predicted);
        self.achieved = self.achieved.plus(relief.achieved);
    }
}

impl WeekLines {
    fn sum(self, monday: Date) -> Week {
        let with = |outcomes: &[&str]| {
            let made = self.outcomes.iter().filter(|(key, _)| !self.deferred.contains(key));
            made.filter(|(_, details)| outcomes.contains(&details.outcome.as_str())).count()
        };
        let settled: BTreeSet<&EvictionKey> = self.outcomes.keys().collect();
        let pending = self.evictions.keys().filter(|key| !settled.contains(key));
        Week {
            monday,
            evictions: self.evictions.len(),
            helped: with(&["helped", "renewed"]),
            ineffective: with(&["no-relief", "same-node", "hot-node", "never-ready", "got-worse"]),
            pending: pending.count(),
            refusals: self.refusals,
            relief: self.relief(),
            most_moved: self.most_moved(),
            worth: self.worth,
        }
    }

    fn relief(&self) -> BTreeMap<String, MeanRelief> {
        let mut sums: BTreeMap<String, (Ratio, usize)> = BTreeMap::new();
        for relief in self.evictions.values().filter_map(|d| d.relief.as_ref()) {
            let sum = sums.entry(relief.resource.clone()).or_default();
            *sum = (sum.0.plus(relief.share), sum.1 + 1);
        }
        let mean = |(resource, (sum, evictions)): (String, (Ratio, usize))| {
            let mean = Ratio::new(sum.get() / count(evictions))?;
            Some((resource, MeanRelief { mean, evictions }))
        };
        sums.into_iter().filter_map(mean).collect()
    }

    fn most_moved(&self) -> Vec<MovedWorkload> {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for details in self.evictions.values() {
            *counts.entry(details.workload.to_string()).or_default() += 1;
        }
        let mut moved: Vec<MovedWorkload> = counts
            .into_iter()
            .map(|(workload, evictions)| MovedWorkload { workload, evictions })
            .collect();
        // Stable, so that equal counts stay in the order of names.
        moved.sort_by_key(|moved| Reverse(moved.evictions));
        moved.truncate(MOST_WORKLOADS);
        moved
    }
}

impl fmt::Display for WeekWorth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0} of {:.0}", self.achieved.get(), self.predicted.get())
    }
}

/// Returns the table of the weeks: the relief by the usage at the decision, and that which was
/// measured an hour later, if they are known.
fn table(weeks: &[Week]) -> Table {
    let is_measured = weeks.iter().any(|week| week.worth.is_some());
    let is_known = weeks.iter().any(|week| !week.relief.is_empty());
    let mut heads = vec!["week of", "evicted", "helped", "useless", "pending", "refused"];
    heads.extend(is_known.then_some("relief"));
    heads.extend(is_measured.then_some("minutes saved"));
    let rows = weeks.iter().map(|week| {
        let relief = week.relief.iter();
        let relief = relief.map(|(resource, relief)| format!("{resource} {}", relief.mean));
        let worth = week.worth.as_ref().map(WeekWorth::to_string).unwrap_or_default();
        let mut row = vec![
            week.monday.to_string(),
            week.evictions.to_string(),
            week.helped.to_string(),
            week.ineffective.to_string(),
            week.pending.to_string(),
            week.refusals.to_string(),
        ];
        row.extend(is_known.then(|| relief.collect::<Vec<_>>().join(", ")));
        row.extend(is_measured.then_some(worth));
        row
    });
    let heads = heads.into_iter().map(str::to_owned).collect();
    let mut table = Table::new(std::iter::once(heads).chain(rows));
    for column in 1..=5 {
        table = table.right(column);
    }
    table
}

/// Returns the table of the workloads with the most evictions, which would not fit into that of the
/// weeks.
fn most_moved(weeks: &[Week]) -> Table {
    let moved = weeks.iter().filter(|week| !week.most_moved.is_empty());
    let mut rows: Vec<Vec<String>> = moved
        .map(|week| {
            let moved = week.most_moved.iter();
            let moved = moved.map(|moved| format!("{} {}", moved.workload, moved.evictions));
            vec![week.monday.to_string(), moved.collect::<Vec<_>>().join(", ")]
        })
        .collect();
    if !rows.is_empty() {
        rows.insert(0, ["week of", "most moved"].map(str::to_owned).to_vec());
    }
    Table::new(rows)
}

/// The lines, and below them the tables of the weeks.
pub(crate) struct HistoryText<'h> {
    pub(crate) lines: &'h [RecordLine],
    pub(crate) weeks: &'h [Week],
    pub(crate) screen: Screen,
}

impl fmt::Display for HistoryText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lines.is_empty() && self.weeks.is_empty() {
            return writeln!(f, "no lines");
        }
        let (heads, reasons): (Vec<_>, Vec<_>) = self.lines.iter().map(row).unzip();
        for (head, reason) in padded(&Table::new(heads).lines()).iter().zip(&reasons) {
            self.screen.beside_or_below(f, head, reason, None)?;
        }
        if self.weeks.is_empty() {
            return Ok(());
        }
        let tables = [table(self.weeks), most_moved(self.weeks)];
        let tables = tables.iter().filter(|table| !table.lines().is_empty());
        for (position, table) in tables.enumerate() {
            if position > 0 || !self.lines.is_empty() {
                writeln!(f)?;
            }
            self.screen.table(f, table)?;
        }
        Ok(())
    }
}

/// The time, the result, the pod and its nodes; and the reason.
fn row(line: &RecordLine) -> (Vec<String>, String) {
    let time = line.time.strftime("%Y-%m-%d %H:%M:%SZ").to_string();
    let Ok(Some(details)) = line.details() else {
        let subject = line.subject.clone();
        return match line.event() {
            Some(event) => (vec![time, event.outcome, subject], event.message),
            None => (vec![time, line.kind.clone(), subject], String::new()),
        };
    };
    let nodes = match &details.to {
        Some(to) => format!("{} -> {to}", details.node),
        None => details.node,
    };
    let words = [details.message, details.strategy, details.reason];
    let words: Vec<String> = words.into_iter().flatten().collect();
    (vec![time, details.outcome, line.subject.clone(), nodes], words.join(": "))
}
