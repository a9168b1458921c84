//! Recorded usage: rows of numbers, one row for each pod, one number for each step of time.

use std::fmt;

use crate::schema::problem::printable;

/// The longest excerpt of an unreadable number, in characters.
const WIDEST: usize = 20;

/// The rows of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct UsageRows(Vec<Vec<f32>>);

/// A number that cannot be read, or a file without numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowProblem {
    /// The file has no rows.
    Empty,
    /// A field that is not a number of at least zero. Both positions count from one.
    Number {
        /// The line of the file.
        line: usize,
        /// The field of the line.
        field: usize,
        /// Its text.
        found: String,
    },
}

impl UsageRows {
    /// Parses lines of numbers that commas separate. Blank lines have no row.
    pub fn parse(text: &str) -> Result<Self, RowProblem> {
        let lines = text.lines().enumerate();
        let rows: Vec<Vec<f32>> = lines
            .filter(|(_, line)| !line.trim().is_empty())
            .map(|(i, line)| row(i + 1, line))
            .collect::<Result<_, _>>()?;
        if rows.is_empty() {
            return Err(RowProblem::Empty);
        }
        Ok(UsageRows(rows))
    }

    /// Creates rows; `None` without rows, or if one is empty.
    pub fn new(rows: Vec<Vec<f32>>) -> Option<Self> {
        let usable = !rows.is_empty() && rows.iter().all(|row| !row.is_empty());
        usable.then_some(UsageRows(rows))
    }

    /// Returns the number of rows, which is at least one.
    pub const fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the value of a row after this many steps, linear between two steps. After the last
    /// step the row starts again, and so do the rows after the last one.
    pub fn at(&self, row: usize, steps: f64) -> f64 {
        let row = &self.0[row % self.0.len()];
        let before = steps.floor();
        let (first, second) = (position(before, row.len()), position(before + 1.0, row.len()));
        let share = steps - before;
        f64::from(row[first]) * (1.0 - share) + f64::from(row[second]) * share
    }
}

/// Returns the position of a step in a row that repeats. Steps before the start are negative.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "the remainder is below the length of a row"
)]
fn position(step: f64, length: usize) -> usize {
    // The remainder of most steps is the step, and costs a division.
    if (0.0..length as f64).contains(&step) {
        return step as usize;
    }
    (step.rem_euclid(length as f64) as usize).min(length - 1)
}

fn row(line: usize, text: &str) -> Result<Vec<f32>, RowProblem> {
    let fields = text.split(',').enumerate();
    fields
        .map(|(i, field)| {
            let number = field.trim().parse().ok();
            number.filter(|n: &f32| n.is_finite() && *n >= 0.0).ok_or_else(|| RowProblem::Number {
                line,
                field: i + 1,
                found: printable(field.trim(), WIDEST),
            })
        })
        .collect()
}

impl fmt::Display for RowProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RowProblem::Empty => f.write_str("found no rows, expected lines of numbers"),
            RowProblem::Number { line, field, found } => write!(
                f,
                "line {line}, field {field}: found `{found}`, expected a number of at least 0"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> UsageRows {
        UsageRows::parse(text).unwrap()
    }

    #[expect(clippy::cast_possible_truncation, reason = "the values are small")]
    fn tenths(value: f64) -> i64 {
        (value * 10.0).round() as i64
    }

    #[test]
    fn values_are_linear_between_steps_and_start_again_after_the_last() {
        let rows = rows("10,20,0\n1\n");
        let at = |steps| tenths(rows.at(0, steps));
        assert_eq!(
            [0.0, 0.5, 1.0, 1.75, 2.5, 3.0, 3.5, -0.5].map(at),
            [100, 150, 200, 50, 50, 100, 150, 50]
        );
        assert_eq!([0.0, 7.3].map(|steps| tenths(rows.at(1, steps))), [10, 10]);
    }

    #[test]
    fn rows_start_again_after_the_last() {
        let rows = rows("1\n\n 2 \r\n3");
        assert_eq!([0, 1, 2, 3, 7].map(|row| tenths(rows.at(row, 0.0))), [10, 20, 30, 10, 20]);
    }

    #[test]
    fn an_invalid_number_is_named_with_its_place() {
        let problem = |text| UsageRows::parse(text).unwrap_err().to_string();
        assert_eq!(
            problem("1,2\n3,time"),
            "line 2, field 2: found `time`, expected a number of at least 0"
        );
        assert!(problem("1,-2").contains("field 2: found `-2`"));
        assert!(problem("1,,2").contains("field 2: found ``"));
        assert!(problem("1,NaN").contains("field 2: found `NaN`"));
        assert_eq!(problem("\n"), "found no rows, expected lines of numbers");
    }
}
