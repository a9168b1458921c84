//! The earlier evictions of a workload.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use crate::decide::explain::{PastEviction, WorkloadRecord};
use crate::values::text::duration;
use crate::view::screen::Ink;
use crate::view::table::Table;

use super::ExplanationText;

impl ExplanationText<'_> {
    pub(super) fn ledger(
        &self,
        f: &mut fmt::Formatter<'_>,
        memory: &WorkloadRecord,
        now: Timestamp,
    ) -> fmt::Result {
        let note = format!("earlier evictions of {}", memory.workload);
        self.screen.title(f, "Ledger", &note)?;
        if let Some(rest) = &memory.rest {
            self.screen.beside(f, "rests: ", &rest.message, Some(Ink::Warning))?;
            self.remedy(f, 7, rest.remedy.as_deref())?;
        }
        self.ineffective_moves(f, memory, now)?;
        if memory.away > 0 {
            let most = memory.most_away;
            let most = most.map_or(String::new(), |most| format!(" of at most {most}"));
            let text = format!("evicted pods without a Ready replacement: {}{most}", memory.away);
            self.screen.line(f, &text, None)?;
        }
        if memory.evictions.is_empty() {
            return writeln!(f, "no evictions");
        }
        let rows = memory.evictions.iter().map(|eviction| eviction_row(eviction, now));
        self.screen.table(f, &Table::new(rows))
    }

    /// Writes how often the last moves did not help, and how long the workload rests for that.
    fn ineffective_moves(
        &self,
        f: &mut fmt::Formatter<'_>,
        memory: &WorkloadRecord,
        now: Timestamp,
    ) -> fmt::Result {
        let Some(useless) = &memory.useless else {
            return Ok(());
        };
        let moves = if useless.times == 1 {
            "the last move".to_owned()
        } else {
            format!("the last {} moves", useless.times)
        };
        let left = useless.until.duration_since(now);
        let rests = if left.is_positive() {
            format!("rests for another {}", duration(left))
        } else {
            format!("rested until {:.0}", useless.until)
        };
        let text = format!("{moves} did not help; the workload {rests}");
        self.screen.line(f, &text, None)
    }
}

fn eviction_row(eviction: &PastEviction, now: Timestamp) -> Vec<String> {
    let rests = eviction.rests_until.map(|until| until.duration_since(now));
    let rests = rests.filter(SignedDuration::is_positive);
    let to = eviction.to.as_deref().unwrap_or("?");
    vec![
        format!("{} ago", duration(now.duration_since(eviction.at))),
        eviction.pod.clone(),
        format!("{} → {to}", eviction.from),
        eviction.message.clone(),
        rests.map_or(String::new(), |left| format!("rests for another {}", duration(left))),
    ]
}
