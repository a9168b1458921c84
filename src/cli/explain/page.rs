//! An explanation as a page for people.

use std::fmt;

use crate::cli::show::{Ink, Screen, columns};
use crate::decide::explain::{
    CodedMessage, CpuAndMemory, Explanation, LoadSummary, PastEviction, StrategyVerdict,
    WorkloadRecord,
};
use crate::model::plan::{PodVerdict, short};
use crate::values::Amount;
use jiff::{SignedDuration, Timestamp};

use super::spark;

/// An explanation, and how to show it.
pub(super) struct Page<'e> {
    pub(super) explanation: &'e Explanation,
    /// What was looked at, when and by which policy.
    pub(super) head: &'e [String],
    /// Leave nothing out.
    pub(super) all: bool,
    pub(super) screen: Screen,
}

impl fmt::Display for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.head {
            writeln!(f, "{line}")?;
        }
        match self.explanation {
            Explanation::Pod(it) => self.pod(f, it),
            Explanation::Node(it) => self.node(f, it),
            Explanation::Workload(it) => self.workload(f, it),
        }
    }
}

impl Page<'_> {
    pub(super) fn title(&self, f: &mut fmt::Formatter<'_>, title: &str, note: &str) -> fmt::Result {
        let line = format!(
            "{}  {}",
            self.screen.paint(Ink::Bold, title),
            self.screen.paint(Ink::Dim, note)
        );
        writeln!(f, "\n{}", line.trim_end())
    }

    /// What it is about, and what it comes to.
    pub(super) fn headline(
        &self,
        f: &mut fmt::Formatter<'_>,
        what: &str,
        about: &[String],
    ) -> fmt::Result {
        writeln!(f)?;
        let about: Vec<&str> = about
            .iter()
            .map(String::as_str)
            .filter(|text| !text.is_empty())
            .collect();
        let lines = folded(
            &format!("{what}  {}", about.join(", ")),
            self.screen.width,
            4,
        );
        for (i, line) in lines.iter().enumerate() {
            match line.strip_prefix(what).filter(|_| i == 0) {
                Some(rest) => writeln!(f, "{}{rest}", self.screen.paint(Ink::Bold, what))?,
                None => writeln!(f, "{line}")?,
            }
        }
        Ok(())
    }

    /// A text behind a head, folded under itself.
    pub(super) fn beside(
        &self,
        f: &mut fmt::Formatter<'_>,
        head: &str,
        text: &str,
        ink: Option<Ink>,
    ) -> fmt::Result {
        let indent = head.chars().count();
        let lines = folded(&format!("{head}{text}"), self.screen.width, indent);
        for line in lines {
            match ink.zip(line.char_indices().nth(indent)) {
                Some((ink, (at, _))) => {
                    writeln!(f, "{}{}", &line[..at], self.screen.paint(ink, &line[at..]))?
                }
                None => writeln!(f, "{}", line.trim_end())?,
            }
        }
        Ok(())
    }

    /// What would have to change, under what was said.
    pub(super) fn remedy(
        &self,
        f: &mut fmt::Formatter<'_>,
        indent: usize,
        remedy: Option<&str>,
    ) -> fmt::Result {
        let Some(remedy) = remedy else { return Ok(()) };
        self.beside(f, &" ".repeat(indent), &to_change(remedy), Some(Ink::Dim))
    }

    pub(super) fn halted(
        &self,
        f: &mut fmt::Formatter<'_>,
        halted: Option<&CodedMessage>,
    ) -> fmt::Result {
        let Some(halted) = halted else { return Ok(()) };
        self.beside(
            f,
            "",
            &format!("nothing is considered: {}", halted.message),
            Some(Ink::Doubt),
        )?;
        self.remedy(f, 0, halted.remedy.as_deref())
    }

    /// The window as a line for cpu and one for memory.
    pub(super) fn load(&self, f: &mut fmt::Formatter<'_>, load: &LoadSummary) -> fmt::Result {
        let window = short(SignedDuration::from_secs(load.window_seconds));
        let samples = match load.samples.len() {
            0 => "no sample".to_owned(),
            1 => "one sample".to_owned(),
            count => format!("{count} samples"),
        };
        let by = if load.estimated {
            "an estimate, for want of samples"
        } else {
            smoothing(load)
        };
        self.title(
            f,
            "Usage",
            &format!("window of {window}, {samples}; decisions go by {by}"),
        )?;
        let row = |name: &str, of: fn(&CpuAndMemory) -> Amount, text: fn(Amount) -> String| {
            let amounts: Vec<Amount> = load.samples.iter().map(|point| of(&point.used)).collect();
            let told = |word: &str, amount: Option<Amount>| {
                amount
                    .map(|a| format!("{word} {}", text(a)))
                    .unwrap_or_default()
            };
            // One sample has no course.
            let course = |amount: Option<Amount>| amount.filter(|_| amounts.len() > 1);
            let line = if amounts.len() > 1 {
                spark::line(&amounts)
            } else {
                String::new()
            };
            let window = vec![
                name.to_owned(),
                line,
                told("min", course(amounts.iter().min().copied())),
                told("now", amounts.last().copied()),
                told("max", course(amounts.iter().max().copied())),
            ];
            let figures = vec![
                told(
                    if load.estimated {
                        "estimated"
                    } else {
                        "smoothed"
                    },
                    load.smoothed.as_ref().map(of),
                ),
                told("requests", Some(of(&load.requests))),
                told("of", load.allocatable.as_ref().map(of)),
            ];
            (window, figures)
        };
        let rows = [
            row("cpu", |used| used.cpu_nanocores, spark::cores),
            row("memory", |used| used.memory_bytes, spark::bytes),
        ];
        let whole = without_empty(
            rows.iter()
                .map(|(window, figures)| [&window[..], figures].concat())
                .collect(),
        );
        let whole = columns(&whole);
        if whole
            .iter()
            .all(|line| line.chars().count() <= self.screen.width)
        {
            whole.iter().try_for_each(|line| writeln!(f, "{line}"))?;
        } else {
            let windows = columns(&without_empty(
                rows.iter().map(|(window, _)| window.clone()).collect(),
            ));
            let figures = columns(&without_empty(
                rows.iter().map(|(_, figures)| figures.clone()).collect(),
            ));
            for (window, figures) in windows.iter().zip(figures) {
                writeln!(f, "{window}\n        {figures}")?;
            }
        }
        let Some(why) = &load.unknown else {
            return Ok(());
        };
        self.beside(f, "unknown: ", &why.message, Some(Ink::Doubt))?;
        self.remedy(f, 9, why.remedy.as_deref())
    }

    pub(super) fn ledger(
        &self,
        f: &mut fmt::Formatter<'_>,
        it: &WorkloadRecord,
        now: Timestamp,
    ) -> fmt::Result {
        self.title(
            f,
            "Ledger",
            &format!("what is remembered of {}", it.workload),
        )?;
        if let Some(rest) = &it.rest {
            self.beside(f, "rests: ", &rest.message, Some(Ink::Doubt))?;
            self.remedy(f, 7, rest.remedy.as_deref())?;
        }
        if let Some(useless) = &it.useless {
            let moves = if useless.times == 1 {
                "the last move".to_owned()
            } else {
                format!("the last {} moves", useless.times)
            };
            let left = useless.until.duration_since(now);
            let rests = if left > SignedDuration::ZERO {
                format!("rests for another {}", short(left))
            } else {
                format!("rested until {:.0}", useless.until)
            };
            writeln!(f, "{moves} did not help; the workload {rests}")?;
        }
        if it.away > 0 {
            let most = it
                .most_away
                .map(|most| format!(", of {most} that may be"))
                .unwrap_or_default();
            writeln!(
                f,
                "away now, without a replacement that is Ready: {}{most}",
                it.away
            )?;
        }
        if it.evictions.is_empty() {
            return writeln!(f, "no eviction");
        }
        for line in columns(
            &it.evictions
                .iter()
                .map(|e| row_of(e, now))
                .collect::<Vec<_>>(),
        ) {
            writeln!(f, "{line}")?;
        }
        Ok(())
    }

    pub(super) fn ink(word: &PodVerdict) -> Ink {
        match word {
            PodVerdict::Moved { .. } => Ink::Cold,
            PodVerdict::Kept(_) => Ink::Doubt,
            PodVerdict::NotSelected(_) => Ink::Dim,
        }
    }

    /// How many lines of a list are shown, and how many are left out.
    pub(super) const fn fit(&self, lines: usize, most: usize) -> (usize, usize) {
        if self.all || lines <= most {
            (lines, 0)
        } else {
            (most, lines - most)
        }
    }

    pub(super) fn more(
        &self,
        f: &mut fmt::Formatter<'_>,
        left_out: usize,
        what: &str,
    ) -> fmt::Result {
        let text = format!("… {left_out} more {what}: --all lists them");
        if left_out == 0 {
            Ok(())
        } else {
            writeln!(f, "{}", self.screen.paint(Ink::Dim, &text))
        }
    }
}

/// What would have to change, or that nothing has to.
pub(super) fn to_change(remedy: &str) -> String {
    match remedy.strip_prefix("nothing") {
        Some(rest) => format!("nothing to change{rest}"),
        None => format!("to change that: {remedy}"),
    }
}

/// `goes`, `stays` or `not asked`.
pub(super) const fn verb(said: &StrategyVerdict) -> &'static str {
    match said.word {
        PodVerdict::Moved { .. } => "goes",
        PodVerdict::Kept(_) => "stays",
        PodVerdict::NotSelected(_) => "not asked",
    }
}

fn smoothing(load: &LoadSummary) -> &'static str {
    match load.smoothing {
        "half_life" => "a mean that fades with age",
        "percentile" => "a percentile of them",
        "max" => "the largest",
        _ => "their mean",
    }
}

fn row_of(it: &PastEviction, now: Timestamp) -> Vec<String> {
    let rests = it
        .rests_until
        .map(|until| until.duration_since(now))
        .filter(|left| *left > SignedDuration::ZERO);
    vec![
        format!("{} ago", short(now.duration_since(it.at))),
        it.pod.clone(),
        format!("{} → {}", it.from, it.to.as_deref().unwrap_or("?")),
        it.message.clone(),
        rests
            .map(|left| format!("rests for another {}", short(left)))
            .unwrap_or_default(),
    ]
}

/// Leaves out columns in which no row has anything.
pub(super) fn without_empty(rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let used: Vec<bool> = (0..count)
        .map(|i| {
            rows.iter()
                .any(|row| row.get(i).is_some_and(|cell| !cell.is_empty()))
        })
        .collect();
    let kept = |row: Vec<String>| {
        row.into_iter()
            .zip(&used)
            .filter(|(_, used)| **used)
            .map(|(cell, _)| cell)
            .collect()
    };
    rows.into_iter().map(kept).collect()
}

/// Breaks a line at spaces, so that it fits; what follows is indented.
pub(super) fn folded(text: &str, width: usize, indent: usize) -> Vec<String> {
    let indent = if indent + 20 > width { 4 } else { indent };
    let (mut lines, mut line, mut length) = (Vec::new(), String::new(), 0);
    let head: String = text.chars().take_while(|c| *c == ' ').collect();
    line.push_str(&head);
    length += head.len();
    let mut first = true;
    for word in text[head.len()..].split(' ') {
        let more = word.chars().count() + usize::from(!first);
        if !first && length + more > width && length > indent {
            lines.push(std::mem::take(&mut line));
            line = " ".repeat(indent);
            length = indent;
        } else if !first {
            line.push(' ');
            length += 1;
        }
        line.push_str(word);
        length += word.chars().count();
        first = false;
    }
    lines.push(line);
    lines
}
