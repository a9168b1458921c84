//! Tables and folded text for the terminal.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Width, presets};

/// Spaces between two columns.
const GAP: u16 = 2;
/// A folded column is never narrower than this, even if the line then exceeds the terminal.
const LEAST_FOLDED: usize = 24;

/// Plain text in columns. Columns without any text are left out, and no line ends in a space.
///
/// Cells hold no colours: escape sequences would count as visible characters.
#[derive(Debug)]
pub struct Table(comfy_table::Table);

impl Table {
    /// A table of these rows; a row may have fewer cells than others.
    pub fn new(rows: impl IntoIterator<Item = Vec<String>>) -> Self {
        let mut table = comfy_table::Table::new();
        table
            .load_preset(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled);
        for row in rows {
            // A cell is one line, even if a message contains line breaks.
            table.add_row(row.into_iter().map(|cell| cell.replace('\n', " ")));
        }
        table.discover_columns();
        let widths = table.column_max_content_widths();
        let last = widths.iter().rposition(|width| *width > 0);
        for (i, width) in widths.iter().enumerate() {
            let Some(column) = table.column_mut(i) else {
                continue;
            };
            column.set_padding((0, if Some(i) == last { 0 } else { GAP }));
            if *width == 0 {
                column.set_constraint(ColumnConstraint::Hidden);
            }
        }
        Table(table)
    }

    /// Aligns a column to the right, for numbers.
    #[must_use]
    pub fn right(mut self, column: usize) -> Self {
        if let Some(column) = self.0.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        self
    }

    /// One line for each row.
    pub fn lines(&self) -> Vec<String> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let lines = self.0.lines();
        lines.map(|line| line.trim_end().to_owned()).collect()
    }

    /// The lines of the table with its last column folded, so that they fit into `width` columns.
    pub fn folded(mut self, width: usize) -> Vec<String> {
        let widths = self.0.column_max_content_widths();
        let Some(last) = widths.iter().rposition(|width| *width > 0) else {
            return Vec::new();
        };
        let shown = widths[..last].iter().filter(|width| **width > 0);
        let used: usize = shown.map(|width| usize::from(*width + GAP)).sum();
        let room = width.saturating_sub(used).max(LEAST_FOLDED);
        let room = u16::try_from(room).unwrap_or(u16::MAX);
        if let Some(column) = self.0.column_mut(last).filter(|_| widths[last] > room) {
            column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(room)));
            self.0.set_content_arrangement(ContentArrangement::Dynamic);
        }
        self.lines()
    }
}

/// Breaks a text at spaces into lines of at most `width` columns; all lines but the first are indented.
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
    lines
        .into_iter()
        .map(|line| line.trim_end().to_owned())
        .collect()
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
