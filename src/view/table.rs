//! Tables and folded text for the terminal.

use std::fmt::Write as _;

use comfy_table::ColumnConstraint::Absolute;
use comfy_table::{CellAlignment, ContentArrangement, Width, presets};

/// Spaces between two columns.
const GAP: usize = 2;
/// A folded column is never narrower than this, even if the line then exceeds the terminal.
const LEAST_FOLDED: usize = 12;

/// Plain text in columns. Columns without any text are left out, and no line ends in a space.
///
/// Cells hold no colours: escape sequences would count as visible characters.
#[derive(Clone, Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
    right: Vec<usize>,
}

impl Table {
    /// A table of these rows; a row may have fewer cells than others.
    pub fn new(rows: impl IntoIterator<Item = Vec<String>>) -> Self {
        Table { rows: rows.into_iter().map(plain).collect(), right: Vec::new() }
    }

    /// Aligns a column to the right, for numbers.
    #[must_use]
    pub fn right(mut self, column: usize) -> Self {
        self.right.push(column);
        self
    }

    /// One line for each row.
    pub fn lines(&self) -> Vec<String> {
        self.layout(usize::MAX)
    }

    /// The lines of the table with its last column folded, so that they fit into `width` columns.
    pub fn folded(&self, width: usize) -> Vec<String> {
        self.layout(width)
    }

    fn layout(&self, width: usize) -> Vec<String> {
        let widths = self.widths();
        // An empty column would still take its gap.
        let shown: Vec<usize> = (0..widths.len()).filter(|i| widths[*i] > 0).collect();
        let Some((last, others)) = shown.split_last() else {
            return Vec::new();
        };
        let mut table = comfy_table::Table::new();
        table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
        for row in &self.rows {
            let cells = shown.iter().map(|i| row.get(*i).map_or("", String::as_str));
            table.add_row(cells);
        }
        let used: usize = others.iter().map(|i| widths[*i] + GAP).sum();
        let room = width.saturating_sub(used).max(LEAST_FOLDED);
        for (position, i) in shown.iter().enumerate() {
            let Some(column) = table.column_mut(position) else {
                continue;
            };
            let gap = if i == last { 0 } else { GAP };
            let width = if i == last { widths[*i].min(room) } else { widths[*i] };
            column.set_padding((0, saturated(gap)));
            column.set_constraint(Absolute(Width::Fixed(saturated(width + gap))));
            if self.right.contains(i) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        // comfy-table fills every cell with spaces up to the width of its column.
        table.lines().map(|line| line.trim_end().to_owned()).collect()
    }

    /// The width of the widest cell of each column.
    fn widths(&self) -> Vec<usize> {
        let mut widths = vec![0; self.rows.iter().map(Vec::len).max().unwrap_or(0)];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = display_width(cell).max(*width);
            }
        }
        widths
    }
}

fn saturated(width: usize) -> u16 {
    u16::try_from(width).unwrap_or(u16::MAX)
}

/// Breaks a text at spaces into lines of at most `width` columns; all lines but the first are
/// indented.
///
/// A text without room beside its indent starts at the fourth column instead.
pub fn folded(text: &str, width: usize, indent: usize) -> Vec<String> {
    let indent = if indent + 20 > width { 4 } else { indent };
    let indent = " ".repeat(indent);
    let options = textwrap::Options::new(width)
        .subsequent_indent(&indent)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(false);
    let lines = textwrap::wrap(text, options);
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

/// The cells without control characters, which would count as visible ones and could manipulate a
/// terminal. A cell is one line, even if a message contains line breaks.
fn plain(mut row: Vec<String>) -> Vec<String> {
    for cell in row.iter_mut().filter(|cell| cell.contains(char::is_control)) {
        let mut shown = String::new();
        for c in cell.chars() {
            match c {
                '\n' => shown.push(' '),
                c if c.is_control() => push_escaped(&mut shown, c),
                c => shown.push(c),
            }
        }
        *cell = shown;
    }
    row
}

/// Adds a character in the form of JSON, so that the value of a text in JSON stays.
pub(crate) fn push_escaped(text: &mut String, c: char) {
    // Writing to a text cannot fail.
    let _ = write!(text, "\\u{:04x}", u32::from(c));
}

/// The columns that a text takes in a terminal.
pub fn display_width(text: &str) -> usize {
    textwrap::core::display_width(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&[&str]]) -> Vec<Vec<String>> {
        let row = |row: &&[&str]| row.iter().map(|cell| (*cell).to_owned()).collect();
        rows.iter().map(row).collect()
    }

    #[test]
    fn columns_line_up_and_empty_ones_are_left_out() {
        let table = Table::new(rows(&[&["a", "", "1", "x"], &["bcd", "", "20"]])).right(2);
        assert_eq!(table.lines(), ["a     1  x", "bcd  20"]);
        assert!(Table::new(Vec::new()).lines().is_empty());
        assert!(Table::new(Vec::new()).folded(80).is_empty());
    }

    #[test]
    fn a_cell_is_one_line_without_control_characters() {
        let table = Table::new(rows(&[&["a\nb\u{1b}[31mc", "d"]]));
        assert_eq!(table.lines(), ["a b\\u001b[31mc  d"]);
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(
            Table::new(rows(&[&["節点", "a"], &["n1", "b"]])).lines(),
            ["節点  a", "n1    b"]
        );
    }

    #[test]
    fn the_last_column_is_folded_under_itself() {
        let text = "a sentence that is longer than the room beside its head";
        let lines = Table::new(rows(&[&["code", text], &["other-code", "short"]])).folded(40);
        assert_eq!(
            lines,
            [
                "code        a sentence that is longer",
                "            than the room beside its",
                "            head",
                "other-code  short",
            ]
        );
    }

    #[test]
    fn a_text_is_folded_at_spaces_and_keeps_those_between_its_parts() {
        assert_eq!(
            folded("head  one two three four five six", 25, 6),
            ["head  one two three four", "    five six"]
        );
        assert_eq!(folded("  a b", 25, 2), ["  a b"]);
    }
}
