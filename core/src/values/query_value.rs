//! The value of a query: a number in the unit of the query.

use std::cmp::Ordering;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

/// The value of a query. It may be negative or infinite, and is never not-a-number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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

/// As a number, or as the text `inf` or `-inf`, because JSON has no infinite numbers.
impl Serialize for QueryValue {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if self.0.is_finite() { s.serialize_f64(self.0) } else { s.collect_str(self) }
    }
}

impl<'de> Deserialize<'de> for QueryValue {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(f64),
            Text(String),
        }
        let number = match Written::deserialize(d)? {
            Written::Number(number) => Some(number),
            Written::Text(text) => text.parse().ok(),
        };
        number.and_then(QueryValue::new).ok_or_else(|| D::Error::custom("expected a number"))
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

    #[test]
    fn values_are_read_back_as_they_were_and_infinite_ones_are_text() {
        let values = [0.05, -2.5, f64::INFINITY, f64::NEG_INFINITY].map(QueryValue::new);
        let text = serde_json::to_string(&values).unwrap();
        assert_eq!(text, r#"[0.05,-2.5,"inf","-inf"]"#);
        assert_eq!(serde_json::from_str::<[Option<QueryValue>; 4]>(&text).unwrap(), values);
        assert!(serde_json::from_str::<QueryValue>("\"nan\"").is_err());
    }
}
