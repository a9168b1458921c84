//! The value of a query: a number in the unit of the query.

use std::cmp::Ordering;
use std::fmt;

use serde::Serialize;

/// The value of a query. It may be negative or infinite, and is never not-a-number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct QueryValue(f64);

impl QueryValue {
    /// Creates a value; `None` if it is not a number.
    pub const fn new(value: f64) -> Option<Self> {
        if value.is_nan() { None } else { Some(QueryValue(value)) }
    }

    /// Returns the number.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl Eq for QueryValue {}

impl PartialOrd for QueryValue {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for QueryValue {
    fn cmp(&self, other: &Self) -> Ordering {
        // Always comparable, because no value is not-a-number.
        self.0.partial_cmp(&other.0).unwrap_or(Ordering::Equal)
    }
}

impl fmt::Display for QueryValue {
    /// Writes at most four decimals, and a very small value by its exponent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounded = (self.0 * 1e4).round() / 1e4;
        if self.0 != 0.0 && self.0.abs() < 1e-3 {
            write!(f, "{:.2e}", self.0)
        } else if rounded.is_finite() {
            write!(f, "{rounded}")
        } else {
            write!(f, "{}", self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_with_few_digits() {
        let shown = [0.0, 1.0, 0.05, 1.0 / 3.0, -2.5, 1e-5, 3e20, f64::INFINITY]
            .map(|value| QueryValue::new(value).unwrap().to_string());
        assert_eq!(
            shown,
            ["0", "1", "0.05", "0.3333", "-2.5", "1.00e-5", "300000000000000000000", "inf"]
        );
    }

    #[test]
    fn values_are_ordered_and_not_a_number_is_none() {
        let value = |value| QueryValue::new(value).unwrap();
        assert!(value(f64::NEG_INFINITY) < value(-1.0) && value(-1.0) < value(0.0));
        assert_eq!(value(-0.0), value(0.0));
        assert_eq!(QueryValue::new(f64::NAN), None);
    }
}
