//! `evenkeel history`: the lines of the record, and their sums by week.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::Serialize;

use crate::model::record::RecordLine;
use crate::render::table::Table;
use crate::values::text::count;

use super::plan::OutputFormat;
use super::show::Screen;
use super::{complain, file, write_json};

use self::weeks::Week;

mod weeks;

const EXAMPLES: &str = "\
Examples:
  evenkeel history record.jsonl                        what was evicted and refused, and the weeks
  kubectl logs deploy/evenkeel | grep specversion | evenkeel history
                                                       the same from standard output of a pod
  evenkeel history -o json old.jsonl record.jsonl      two files as one, for other programs

`evenkeel run --record` writes the record.";

/// The most lines that are named on standard error.
const MOST_NAMED: usize = 20;

/// Prints the record of evictions, refusals and outcomes, and sums it by week.
///
/// Lines about the same fact count once.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct RecordHistoryArgs {
    /// Files with lines of the record; `-` is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    files: Vec<PathBuf>,
    /// Print only the weeks
    #[arg(long)]
    weeks: bool,
    /// Format of the output: tables, or JSON with every detail
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t)]
    output: OutputFormat,
}

/// Lines of all files, oldest first, each fact once.
#[derive(Debug, Default, Serialize)]
struct RecordHistory {
    lines: Vec<RecordLine>,
    weeks: Vec<Week>,
    unread: Vec<UnreadLine>,
}

/// A line that is not part of a record.
#[derive(Debug, Serialize)]
struct UnreadLine {
    file: String,
    /// The number of the line, from 1.
    line: usize,
    why: String,
}

impl fmt::Display for UnreadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; skipped", self.file, self.line, self.why)
    }
}

pub(super) fn run(args: &RecordHistoryArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut history = RecordHistory::default();
    for path in &args.files {
        history.read(path)?;
    }
    history.finish();
    for unread in history.unread.iter().take(MOST_NAMED) {
        complain(&unread.to_string());
    }
    if history.unread.len() > MOST_NAMED {
        let more = count(history.unread.len() - MOST_NAMED, "line");
        complain(&format!("{more} more skipped; -o json names them"));
    }
    if history.lines.is_empty() && !history.unread.is_empty() {
        bail!("history: found no line of a record");
    }
    if args.weeks {
        history.lines.clear();
    }
    match args.output {
        OutputFormat::Json => write_json(out, &history),
        OutputFormat::Text => Ok(write!(out, "{}", history.text(Screen::of_stdout()))?),
    }
}

impl RecordHistory {
    fn read(&mut self, path: &Path) -> anyhow::Result<()> {
        let label = file::label(path);
        let input: Box<dyn BufRead> = if path == Path::new("-") {
            Box::new(io::stdin().lock())
        } else {
            let file = File::open(path).with_context(|| label.clone())?;
            Box::new(BufReader::new(file))
        };
        for (index, line) in input.split(b'\n').enumerate() {
            let line = line.with_context(|| label.clone())?;
            self.read_line(&label, index + 1, &line);
        }
        Ok(())
    }

    fn read_line(&mut self, file: &str, line: usize, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        if text.trim().is_empty() {
            return;
        }
        match RecordLine::parse(&text) {
            Ok(read) => self.lines.push(read),
            Err(error) => self.unread.push(UnreadLine {
                file: file.to_owned(),
                line,
                why: error.to_string(),
            }),
        }
    }

    /// Drops repeated lines, and sums the others.
    fn finish(&mut self) {
        let mut known = BTreeSet::new();
        self.lines
            .retain(|line| known.insert((line.source.clone(), line.id.clone())));
        self.lines
            .sort_by(|a, b| (a.time, &a.id).cmp(&(b.time, &b.id)));
        self.weeks = weeks::sums(&self.lines);
    }

    fn text(&self, screen: Screen) -> String {
        let mut text = String::new();
        if self.lines.is_empty() && self.weeks.is_empty() {
            text.push_str("no lines\n");
        }
        let rows = self.lines.iter().map(row);
        let mut tables = vec![Table::new(rows)];
        if !self.weeks.is_empty() {
            tables.push(weeks::table(&self.weeks));
        }
        tables.retain(|table| !table.lines().is_empty());
        for (position, table) in tables.iter().enumerate() {
            if position > 0 {
                text.push('\n');
            }
            for line in table.folded(screen.width) {
                text.push_str(&line);
                text.push('\n');
            }
        }
        text
    }
}

/// The time, the result, the pod, its nodes and the reason.
fn row(line: &RecordLine) -> Vec<String> {
    let time = line.time.strftime("%Y-%m-%d %H:%M:%SZ").to_string();
    let Ok(Some(details)) = line.details() else {
        let subject = line.subject.clone();
        return match line.event() {
            Some(event) => vec![time, event.outcome, subject, String::new(), event.message],
            None => vec![time, line.kind.clone(), subject],
        };
    };
    let nodes = match &details.to {
        Some(to) => format!("{} -> {to}", details.node),
        None => details.node,
    };
    let words = [details.message, details.strategy, details.reason];
    let words: Vec<String> = words.into_iter().flatten().collect();
    let words = words.join(": ");
    vec![time, details.outcome, line.subject.clone(), nodes, words]
}

#[cfg(test)]
mod tests;
