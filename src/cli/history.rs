//! `evenkeel history`: the lines of the record, and their sums by week.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::Serialize;

use crate::model::record::RecordLine;
use crate::values::text::count;
use crate::view::history::{self, HistoryText, Week};
use crate::view::screen::Screen;

use super::plan::OutputFormat;
use super::{complain, examples, file, screen, write_json};

/// The most lines that are named on standard error.
const MOST_NAMED: usize = 20;

/// Prints the record of evictions, refusals and outcomes, and sums it by week.
///
/// Lines about the same fact count once.
#[derive(Debug, clap::Args)]
#[command(after_help = examples::HISTORY)]
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
        OutputFormat::Text => Ok(write!(out, "{}", history.text(screen()))?),
    }
}

impl RecordHistory {
    fn read(&mut self, path: &Path) -> anyhow::Result<()> {
        let label = file::label(path);
        let input: Box<dyn BufRead> = if path == Path::new("-") {
            Box::new(io::stdin().lock())
        } else {
            let file = File::open(path).context("cannot read the file");
            let file = file.with_context(|| label.clone())?;
            Box::new(BufReader::new(file))
        };
        for (index, line) in input.split(b'\n').enumerate() {
            let line = line.with_context(|| label.clone())?;
            self.read_line(&label, index + 1, &line);
        }
        Ok(())
    }

    fn read_line(&mut self, file: &str, line: usize, text: &[u8]) {
        // Editors put a byte order mark before the first line.
        let text = String::from_utf8_lossy(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text));
        if text.trim().is_empty() {
            return;
        }
        match RecordLine::parse(&text) {
            Ok(read) => self.lines.push(read),
            Err(error) => {
                self.unread.push(UnreadLine {
                    file: file.to_owned(),
                    line,
                    why: error.to_string(),
                });
            }
        }
    }

    fn text(&self, screen: Screen) -> HistoryText<'_> {
        HistoryText { lines: &self.lines, weeks: &self.weeks, screen }
    }

    /// Drops repeated lines, and sums the others.
    fn finish(&mut self) {
        let mut known = BTreeSet::new();
        self.lines.retain(|line| known.insert((line.source.clone(), line.id.clone())));
        self.lines.sort_by(|a, b| (a.time, &a.id).cmp(&(b.time, &b.id)));
        self.weeks = history::sums(&self.lines);
    }
}

#[cfg(test)]
mod tests;
