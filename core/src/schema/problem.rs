//! Problems of a policy file with their positions, described so that they can be fixed without
//! looking anything up.

use std::fmt;

use serde::Serialize;

use crate::values::text::count;

/// The most problems that are shown; a file with so many usually has one cause.
const MOST_SHOWN: usize = 20;
/// The longest excerpts of a source line and of a value, in characters.
const WIDEST_LINE: usize = 120;
const WIDEST_VALUE: usize = 60;

/// A position in a file; both numbers count from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Position {
    /// The beginning of a file.
    pub(crate) const START: Position = Position { line: 1, column: 1 };
}

/// A kind of problem. The serialised names are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// The file is not YAML, or uses a refused part of YAML.
    Syntax,
    /// The version or kind of the file is not supported.
    UnsupportedVersion,
    /// A field that does not exist.
    UnknownField,
    /// A repeated field.
    RepeatedField,
    /// A required field is missing.
    MissingField,
    /// A value of the wrong type or form.
    WrongType,
    /// A value that is too large or too small.
    OutOfRange,
    /// An invalid label selector.
    BadSelector,
    /// Values that are valid alone but not together.
    Conflict,
    /// Valid, but not supported here.
    Unsupported,
    /// A warning: the field has no effect, or an unexpected one.
    Ignored,
    /// A warning: a deprecated field that still works.
    Deprecated,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The kind, for programs.
    pub code: Code,
    /// Counts from one.
    pub line: usize,
    /// In characters; counts from one.
    pub column: usize,
    /// The field, such as `strategies[0].lowNodeUtilization.thresholds.cpu`; empty for the whole
    /// file.
    pub path: String,
    /// The invalid value, if there is one.
    pub found: Option<String>,
    /// The expected value; without `found`, a sentence that describes the problem.
    pub expected: String,
}

impl Problem {
    pub(crate) fn new(
        code: Code,
        at: Position,
        path: &str,
        found: Option<String>,
        expected: impl fmt::Display,
    ) -> Self {
        let found = found.map(|f| printable(&f, WIDEST_VALUE));
        Problem {
            code,
            line: at.line,
            column: at.column,
            path: path.to_owned(),
            found,
            expected: expected.to_string(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        match &self.found {
            Some(found) => write!(f, "found {found}, expected {}", self.expected),
            None => f.write_str(&self.expected),
        }
    }
}

/// All problems of one policy file, from top to bottom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// The name of the file in messages.
    pub file: String,
    /// Never empty.
    pub problems: Vec<Problem>,
    text: String,
}

impl PolicyError {
    pub(crate) fn new(file: &str, text: &str, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|p| (p.line, p.column));
        PolicyError { file: file.to_owned(), problems, text: text.to_owned() }
    }
}

impl std::error::Error for PolicyError {}

impl PolicyError {
    /// Returns a text with every problem, as [`fmt::Display`] writes the first ones.
    pub fn with_every_problem(&self) -> String {
        AllProblems(self).to_string()
    }

    /// Writes a line for each of the first problems, and below it the line of the file with a mark
    /// at the position.
    fn write(&self, f: &mut fmt::Formatter<'_>, most: usize) -> fmt::Result {
        for (i, problem) in self.problems.iter().take(most).enumerate() {
            let end = if i == 0 { "" } else { "\n" };
            write!(f, "{end}{}:{}:{}: {problem}", self.file, problem.line, problem.column)?;
            let source = self.text.lines().nth(problem.line.saturating_sub(1)).unwrap_or_default();
            if !source.trim().is_empty() {
                let (shown, before) = excerpt(source, problem.column);
                write!(f, "\n  | {shown}\n  | {:before$}^", "")?;
            }
        }
        match self.problems.len().saturating_sub(most) {
            0 => Ok(()),
            more => write!(f, "\nand {}", count(more, "more problem")),
        }
    }
}

impl fmt::Display for PolicyError {
    /// Writes the first problems, for a log, an event or a page.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, MOST_SHOWN)
    }
}

/// An error, to be written with every problem.
struct AllProblems<'e>(&'e PolicyError);

impl fmt::Display for AllProblems<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write(f, usize::MAX)
    }
}

/// The part of a line around a column, and the number of its characters before that column.
fn excerpt(line: &str, column: usize) -> (String, usize) {
    let fits = line.chars().count() <= WIDEST_LINE;
    let start = if fits { 0 } else { column.saturating_sub(WIDEST_LINE * 2 / 3) };
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    let shown: String = line.chars().skip(start).take(WIDEST_LINE).map(visible).collect();
    let before = (column - 1 - start).min(shown.chars().count());
    (shown.trim_end().to_owned(), before)
}

/// The text with control characters escaped, because they could manipulate a terminal, and
/// shortened.
pub(crate) fn printable(text: &str, most: usize) -> String {
    let mut shown = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == most {
            shown.push('…');
            break;
        }
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn problem(line: usize, column: usize) -> Problem {
        Problem::new(Code::WrongType, Position { line, column }, "a.b", Some("x".into()), "y")
    }

    #[test]
    fn problems_are_shown_in_file_order_with_their_lines() {
        let error = PolicyError::new("p.yaml", "a:\n\tb: x", vec![problem(2, 5), problem(1, 1)]);
        assert_snapshot!(error, @"
        p.yaml:1:1: a.b: found x, expected y
          | a:
          | ^
        p.yaml:2:5: a.b: found x, expected y
          |  b: x
          |     ^
        ");
    }

    #[test]
    fn a_position_outside_the_file_is_shown_without_a_line() {
        let error = PolicyError::new("p.yaml", "", vec![problem(1, 1), problem(7, 3)]);
        assert_snapshot!(error, @"
        p.yaml:1:1: a.b: found x, expected y
        p.yaml:7:3: a.b: found x, expected y
        ");
    }

    #[test]
    fn a_long_line_is_cut_around_the_problem() {
        let line = format!("{}HERE{}", "a".repeat(500), "b".repeat(500));
        let (shown, before) = excerpt(&line, 501);
        assert_eq!(shown.chars().count(), WIDEST_LINE);
        assert_eq!(&shown[before..before + 4], "HERE");
    }

    #[test]
    fn problems_beyond_the_most_are_counted() {
        let error = PolicyError::new("p.yaml", "", vec![problem(1, 1); 23]);
        assert!(error.to_string().ends_with("\nand 3 more problems"));
        let all = error.with_every_problem();
        assert_eq!(all.matches("p.yaml:1:1").count(), 23, "{all}");
        assert!(!all.contains("more problem"));
    }

    #[test]
    fn found_values_are_escaped_and_shortened() {
        assert_eq!(printable("a\u{1b}[31m", 60), "a\\u{1b}[31m");
        assert_eq!(printable("abcdef", 3), "abc…");
    }

    #[test]
    fn codes_are_stable() {
        let json = serde_json::to_string(&problem(1, 2)).unwrap();
        assert_snapshot!(json,
            @"{\"code\":\"wrong-type\",\"line\":1,\"column\":\
                2,\"path\":\"a.b\",\"found\":\"x\",\"expected\":\"y\"}");
    }
}
