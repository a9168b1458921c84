//! The usage of a pod or node over the window, as one line per resource.

use std::fmt;

use jiff::SignedDuration;

use crate::decide::explain::LoadSummary;
use crate::model::usage::Measure;
use crate::values::Amount;
use crate::values::text::{count, duration};
use crate::view::screen::Ink;
use crate::view::table::{Table, display_width};

use super::ExplanationText;
use super::spark;

/// How a resource is read from a sample, and how its amounts are written.
struct Resource {
    name: &'static str,
    of: fn(&Measure) -> Amount,
    text: fn(Amount) -> String,
}

const RESOURCES: [Resource; 2] = [
    Resource { name: "cpu", of: |used| used.cpu, text: spark::cores },
    Resource { name: "memory", of: |used| used.memory, text: spark::bytes },
];

impl ExplanationText<'_> {
    pub(super) fn load(&self, f: &mut fmt::Formatter<'_>, load: &LoadSummary) -> fmt::Result {
        let window = duration(SignedDuration::from_secs(load.window_seconds));
        let samples = count(load.samples.len(), "sample");
        let mut note = format!("{samples} in {window}");
        if load.unknown.is_none() {
            note.push_str("; decisions use ");
            note.push_str(smoothing(load));
        }
        self.screen.title(f, "Usage", &note)?;
        let rows = RESOURCES.map(|resource| [resource.window(load), resource.figures(load)]);
        let lines = Table::new(rows.iter().map(|parts| parts.concat())).lines();
        if lines.iter().all(|line| display_width(line) <= self.screen.width) {
            lines.iter().try_for_each(|line| writeln!(f, "{line}"))?;
        } else {
            // Two lines per resource: the samples, and below them the figures.
            let [windows, figures] =
                [0, 1].map(|part| Table::new(rows.iter().map(|parts| parts[part].clone())).lines());
            for (window, figures) in windows.iter().zip(figures) {
                writeln!(f, "{window}\n        {figures}")?;
            }
        }
        let Some(unknown) = &load.unknown else {
            return Ok(());
        };
        self.screen.beside(f, "unknown: ", &unknown.message, Some(Ink::Warning))?;
        self.remedy(f, 9, unknown.remedy.as_deref())
    }
}

impl Resource {
    /// The samples: a sparkline, the minimum, the newest and the maximum.
    fn window(&self, load: &LoadSummary) -> Vec<String> {
        let samples = load.samples.iter().map(|sample| (self.of)(&sample.used));
        let samples: Vec<Amount> = samples.collect();
        let newest = self.figure("now", samples.last().copied());
        // One sample has no minimum, maximum or trend.
        if samples.len() < 2 {
            return vec![self.name.to_owned(), newest];
        }
        vec![
            self.name.to_owned(),
            spark::line(&samples),
            self.figure("min", samples.iter().min().copied()),
            newest,
            self.figure("max", samples.iter().max().copied()),
        ]
    }

    /// The value that decisions use, the requests, and the allocatable amount of a node.
    fn figures(&self, load: &LoadSummary) -> Vec<String> {
        let smoothed = if load.estimated { "estimated" } else { "smoothed" };
        // A node that reports none is not one without cpu or memory.
        let allocatable = load.allocatable.as_ref().map(self.of);
        let allocatable = allocatable.filter(|amount| *amount > Amount::ZERO);
        vec![
            self.figure(smoothed, load.smoothed.as_ref().map(self.of)),
            self.figure("requests", Some((self.of)(&load.requests))),
            self.figure("of", allocatable),
        ]
    }

    fn figure(&self, label: &str, amount: Option<Amount>) -> String {
        amount.map_or(String::new(), |amount| format!("{label} {}", (self.text)(amount)))
    }
}

/// The value that decisions use.
fn smoothing(load: &LoadSummary) -> &'static str {
    match load.smoothing {
        _ if load.estimated => "an estimate, because there are no samples",
        "half_life" => "an average with a half-life",
        "trend" if load.has_trend => "the expectation by their trend",
        "trend" => "the newest usage, because there is no trend yet",
        "percentile" => "a percentile of them",
        "max" => "their maximum",
        _ => "their mean",
    }
}
