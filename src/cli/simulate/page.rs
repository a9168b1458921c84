//! A simulation as a page for people.

use std::fmt;

use crate::cli::file::counted;
use crate::cli::show::{Ink, Screen, columns};
use crate::model::plan::{Balance, short};
use crate::simulate::trace::{Event, Eviction, Refused, Trace};
use crate::values::Ratio;

mod nodes;

/// Longer lists are cut, unless all is asked for.
const MOST_EVICTIONS: usize = 12;
const MOST_EVENTS: usize = 12;

/// What happened, once or under two policies.
pub(super) struct Page<'t> {
    pub(super) traces: &'t [Trace],
    pub(super) head: &'t [String],
    /// Leave nothing out.
    pub(super) all: bool,
    pub(super) screen: Screen,
}

impl fmt::Display for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.head {
            writeln!(f, "{line}")?;
        }
        let Some(first) = self.traces.first() else {
            return Ok(());
        };
        let time = short(first.end.duration_since(first.start));
        writeln!(
            f,
            "simulated: {time}, from {:.0} to {:.0}",
            first.start, first.end
        )?;
        self.nodes(f)?;
        self.events(f, first)?;
        for trace in self.traces {
            self.evictions(f, trace)?;
            self.refusals(f, trace)?;
        }
        self.comes_to(f)?;
        if let [one] = self.traces {
            writeln!(f, "\n{}", self.screen.paint(Ink::Bold, &sentence(one)))?;
        }
        Ok(())
    }
}

impl Page<'_> {
    fn title(&self, f: &mut fmt::Formatter<'_>, title: &str, note: &str) -> fmt::Result {
        writeln!(
            f,
            "\n{}  {}",
            self.screen.paint(Ink::Bold, title),
            self.screen.paint(Ink::Dim, note)
        )
    }

    const fn fit(&self, lines: usize, most: usize) -> (usize, usize) {
        if self.all || lines <= most {
            (lines, 0)
        } else {
            (most, lines - most)
        }
    }

    fn more(&self, f: &mut fmt::Formatter<'_>, left_out: usize, what: &str) -> fmt::Result {
        let text = format!("… {left_out} more {what}: --all lists them");
        if left_out == 0 {
            Ok(())
        } else {
            writeln!(f, "{}", self.screen.paint(Ink::Dim, &text))
        }
    }

    fn events(&self, f: &mut fmt::Formatter<'_>, trace: &Trace) -> fmt::Result {
        if trace.events.is_empty() {
            return Ok(());
        }
        self.title(f, "Events", "what happened by itself")?;
        let (shown, left_out) = self.fit(trace.events.len(), MOST_EVENTS);
        let row = |e: &Event| vec![short(e.at.duration_since(trace.start)), e.what.clone()];
        for line in columns(&trace.events[..shown].iter().map(row).collect::<Vec<_>>()) {
            writeln!(f, "{line}")?;
        }
        self.more(f, left_out, "events")
    }

    fn evictions(&self, f: &mut fmt::Formatter<'_>, trace: &Trace) -> fmt::Result {
        if trace.evictions.is_empty() {
            return Ok(());
        }
        self.title(f, "Evictions", &format!("from → to{}", self.of(trace)))?;
        let (shown, left_out) = self.fit(trace.evictions.len(), MOST_EVICTIONS);
        let row = |e: &Eviction| {
            let to = e.to.as_deref().unwrap_or("nowhere yet");
            let helped = match e.helped {
                Some(true) => "helped",
                Some(false) => "did not help",
                None => "",
            };
            let time = short(e.at.duration_since(trace.start));
            vec![
                time,
                format!("{}/{}", e.namespace, e.pod),
                format!("{} → {to}", e.from),
                helped.to_owned(),
            ]
        };
        let rows: Vec<Vec<String>> = trace.evictions[..shown].iter().map(row).collect();
        for line in columns(&rows) {
            writeln!(f, "{line}")?;
        }
        self.more(f, left_out, "evictions")
    }

    fn refusals(&self, f: &mut fmt::Formatter<'_>, trace: &Trace) -> fmt::Result {
        if trace.refusals.is_empty() {
            return Ok(());
        }
        self.title(
            f,
            "What stayed, and why",
            &format!(
                "how often in all cycles, and the last reason{}",
                self.of(trace)
            ),
        )?;
        let mut refusals: Vec<_> = trace.refusals.iter().collect();
        refusals.sort_by_key(|(_, refused)| std::cmp::Reverse(refused.times));
        let row = |(code, refused): &(&String, &Refused)| {
            vec![
                format!("{:>6}", refused.times),
                (*code).clone(),
                refused.last.clone(),
            ]
        };
        columns(&refusals.iter().map(row).collect::<Vec<_>>())
            .iter()
            .try_for_each(|line| writeln!(f, "{line}"))
    }

    /// Which policy a section is about, where there are two.
    fn of(&self, trace: &Trace) -> String {
        if self.traces.len() > 1 {
            format!("; under {}", trace.policy)
        } else {
            String::new()
        }
    }

    /// The figures, a column for each policy.
    fn comes_to(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let evenness = if self.traces.len() > 1 {
            "at the end"
        } else {
            "before the first eviction → at the end"
        };
        self.title(
            f,
            "Outcome",
            &format!("standard deviation {evenness}: less is better"),
        )?;
        let mut rows: Vec<Vec<String>> = Vec::new();
        if self.traces.len() > 1 {
            rows.push(
                std::iter::once(String::new())
                    .chain(self.traces.iter().map(|t| t.policy.clone()))
                    .collect(),
            );
        }
        let mut row = |name: &str, of: &dyn Fn(&Trace) -> String| {
            rows.push(
                std::iter::once(name.to_owned())
                    .chain(self.traces.iter().map(of))
                    .collect(),
            );
        };
        row("evictions", &|t| t.summary.evictions.to_string());
        row("that helped", &|t| t.summary.helped.to_string());
        row("landed as foreseen", &|t| {
            format!("{} of {}", t.summary.foreseen.0, t.summary.foreseen.1)
        });
        row("time to balance", &time_to_balance);
        row("pods without a node", &|t| t.summary.pending.to_string());
        row("nodes without workload", &|t| {
            t.summary.empty_nodes.to_string()
        });
        if let [one] = self.traces {
            rows.extend(
                one.summary
                    .before
                    .iter()
                    .flat_map(|(resource, before)| evened(one, resource, *before)),
            );
        } else {
            for resource in ["cpu", "memory"] {
                let even = |t: &Trace| {
                    nodes::evenness(t, resource).map_or("?".to_owned(), |r| r.to_string())
                };
                let name = format!("{resource} standard deviation by usage");
                rows.push(
                    std::iter::once(name)
                        .chain(self.traces.iter().map(even))
                        .collect(),
                );
            }
        }
        columns(&rows)
            .iter()
            .try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// How much more even the cluster has become in a resource.
fn evened(trace: &Trace, resource: &str, before: Balance) -> [Vec<String>; 2] {
    let after = trace.summary.after.get(resource).copied().unwrap_or(before);
    let row = |name: &str, of: fn(Balance) -> Ratio| {
        vec![
            format!("{resource} {name}"),
            format!("{} → {}", of(before), of(after)),
        ]
    };
    [
        row("standard deviation", |b| b.deviation),
        row("fullest above mean", |b| b.above_mean),
    ]
}

fn time_to_balance(trace: &Trace) -> String {
    match trace.summary.time_to_balance {
        None => "not reached".to_owned(),
        Some(time) if time.is_zero() => "never out of it".to_owned(),
        Some(time) => short(time),
    }
}

/// The run in one sentence.
fn sentence(trace: &Trace) -> String {
    let summary = &trace.summary;
    let evictions = counted(
        usize::try_from(summary.evictions).unwrap_or(usize::MAX),
        "eviction",
        "evictions",
    );
    let helped = match (summary.evictions, summary.helped) {
        (0, _) => String::new(),
        (1, 1) => ", which helped".to_owned(),
        (all, helped) if all == helped => ", all of them helped".to_owned(),
        (_, helped) => format!(", {helped} of them helped"),
    };
    let balance = match summary.time_to_balance {
        _ if trace.bands.values().all(|band| band.high == Ratio::ONE) => String::new(),
        None => "; some node was hot to the end".to_owned(),
        Some(time) if time.is_zero() => "; no node was ever hot".to_owned(),
        Some(time) => format!("; no node was hot any more after {}", short(time)),
    };
    format!("{evictions}{helped}{balance}")
}
