//! The hours in which two policies differ.

use std::fmt;

use crate::simulate::compare::{HourDifference, differing_hours};
use crate::simulate::trace::Trace;
use crate::values::text::count;
use crate::view::screen::shown;
use crate::view::table::Table;

use super::SimulationText;

/// More hours are cut unless `--all` is given.
const MOST_HOURS: usize = 12;

impl SimulationText<'_> {
    /// Writes the time above target and the evictions of each policy in these hours.
    pub(super) fn hours(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.traces.len() < 2 {
            return Ok(());
        }
        let traces: Vec<&Trace> = self.traces.iter().collect();
        let hours = differing_hours(&traces);
        if hours.is_empty() {
            return self.screen.title(f, "Hours that differ", "none");
        }
        let note = "node-minutes above target; evictions (UTC)";
        self.screen.title(f, "Hours that differ", note)?;
        let (most, left_out) = shown(self.all, hours.len(), MOST_HOURS);
        let mut rows = vec![self.hour_heads()];
        rows.extend(hours[..most].iter().map(hour_row));
        self.screen.table(f, &Table::new(rows))?;
        self.screen.left_out(f, left_out, " hours")
    }

    fn hour_heads(&self) -> Vec<String> {
        self.row("", |trace| trace.policy.clone())
    }
}

fn hour_row(hour: &HourDifference) -> Vec<String> {
    let figures = |(run, evictions): (usize, &usize)| {
        let evictions = count(*evictions, "eviction");
        format!("{}; {evictions}", hour.minutes_text(run))
    };
    std::iter::once(hour.hour_text())
        .chain(hour.evictions.iter().enumerate().map(figures))
        .collect()
}
