//! Tables in text: one row a line, with columns between bars. Other lines are comments.

/// Returns the columns of each row.
pub(crate) fn rows(table: &str) -> impl Iterator<Item = Vec<&str>> {
    let rows = table.lines().filter(|line| line.contains('|'));
    rows.map(|row| row.split('|').map(str::trim).collect())
}
