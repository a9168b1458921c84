//! Whether the program grew.
//!
//! The first quarter of the samples is the warm-up: windows of usage fill, the allocator takes its
//! arenas. The rest is split into two halves. A figure is flat if its median of the second half is
//! at most its allowance above the median of the first. Medians, because a sample in the middle of
//! a cycle is higher.

use std::fmt::Write as _;

use super::sample::Sample;

/// A figure that must stay flat.
struct Figure {
    name: &'static str,
    of: fn(&Sample) -> f64,
    /// The allowed growth as a share of the first half, and the growth that is always allowed.
    allowed: (f64, f64),
}

const FIGURES: [Figure; 7] = [
    Figure {
        name: "memory (MiB)",
        of: |s| whole(s.memory_kibibytes) / 1024.0,
        allowed: (0.05, 1.0),
    },
    Figure { name: "descriptors", of: |s| count(s.descriptors), allowed: (0.0, 3.0) },
    Figure { name: "threads", of: |s| whole(s.threads), allowed: (0.0, 1.0) },
    Figure { name: "metric series", of: |s| count(s.series), allowed: (0.02, 0.0) },
    Figure { name: "ledger entries", of: |s| count(s.ledger_entries), allowed: (0.15, 5.0) },
    Figure { name: "ledger (KiB)", of: |s| count(s.ledger_bytes) / 1024.0, allowed: (0.15, 2.0) },
    Figure {
        name: "status page (KiB)",
        of: |s| count(s.page_bytes) / 1024.0,
        allowed: (0.15, 2.0),
    },
];

/// One sample a minute.
const ROWS: usize = 6;

fn count(number: usize) -> f64 {
    whole(number as u64)
}

fn whole(number: u64) -> f64 {
    f64::from(u32::try_from(number).unwrap())
}

fn median(samples: &[Sample], of: fn(&Sample) -> f64) -> f64 {
    let mut values: Vec<f64> = samples.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The samples as a table.
pub(super) fn table(samples: &[Sample]) -> String {
    let mut text = "| s | cycles | evictions | pods | nodes |".to_owned();
    for figure in &FIGURES {
        let _ = write!(text, " {} |", figure.name);
    }
    let _ = write!(text, "\n|{}", "---|".repeat(5 + FIGURES.len()));
    let last = samples.len().saturating_sub(1);
    let shown = |i: usize| i.is_multiple_of(ROWS) || i == last;
    for (_, s) in samples.iter().enumerate().filter(|(i, _)| shown(*i)) {
        let (seconds, cycles, evictions) = (s.after.as_secs(), s.cycles, s.evictions);
        let (pods, nodes) = (s.pods, s.nodes);
        let _ = write!(text, "\n| {seconds} | {cycles} | {evictions} | {pods} | {nodes} |");
        for figure in &FIGURES {
            let _ = write!(text, " {:.1} |", (figure.of)(s));
        }
    }
    text + "\n"
}

/// A table of the medians, and whether every figure is flat.
pub(super) fn judged(samples: &[Sample]) -> (String, bool) {
    let (_, steady) = samples.split_at(samples.len() / 4);
    let (first, second) = steady.split_at(steady.len() / 2);
    let mut text = "| figure | first half | second half | allowed | highest | |\n".to_owned();
    text += "|---|---|---|---|---|---|\n";
    let mut all_flat = true;
    for figure in &FIGURES {
        let (before, after) = (median(first, figure.of), median(second, figure.of));
        let allowed = before + (before * figure.allowed.0).max(figure.allowed.1);
        let highest = samples.iter().map(figure.of).fold(0.0, f64::max);
        let verdict = if after <= allowed { "flat" } else { "grows" };
        all_flat &= after <= allowed;
        let _ = writeln!(
            text,
            "| {} | {before:.1} | {after:.1} | {allowed:.1} | {highest:.1} | {verdict} |",
            figure.name
        );
    }
    (text, all_flat)
}
