//! Time that nodes spend above a target.

use std::fmt;
use std::iter::Sum;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize, Serializer};

/// Time that nodes spend above a target of one resource, summed over the nodes, in minutes. Two
/// nodes for half an hour are 60 node-minutes. Finite and not negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct NodeMinutes(f64);

impl NodeMinutes {
    /// No time.
    pub const ZERO: NodeMinutes = NodeMinutes(0.0);

    /// Creates a time; `None` if it is negative, infinite or not a number.
    pub fn new(minutes: f64) -> Option<Self> {
        (minutes.is_finite() && minutes >= 0.0).then_some(NodeMinutes(minutes))
    }

    /// Returns the time that one node spends above a target; zero for a negative duration.
    pub fn of(duration: SignedDuration) -> Self {
        NodeMinutes((duration.as_secs_f64() / 60.0).max(0.0))
    }

    /// Returns the minutes.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Returns the sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        NodeMinutes(self.0 + other.0)
    }

    /// Returns the difference, or zero if `other` is larger.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        NodeMinutes((self.0 - other.0).max(0.0))
    }
}

impl Sum for NodeMinutes {
    fn sum<I: Iterator<Item = NodeMinutes>>(iter: I) -> Self {
        iter.fold(NodeMinutes::ZERO, NodeMinutes::plus)
    }
}

impl fmt::Display for NodeMinutes {
    /// Writes whole minutes, with one decimal below ten if it is not zero.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0 * 10.0).round() / 10.0;
        let number = if tenths < 10.0 && tenths.fract() > 0.0 {
            format!("{tenths:.1}")
        } else {
            format!("{:.0}", self.0)
        };
        let s = if number == "1" { "" } else { "s" };
        write!(f, "{number} node-minute{s}")
    }
}

impl Serialize for NodeMinutes {
    /// Writes two decimals. Further digits are arithmetic noise.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64((self.0 * 100.0).round() / 100.0)
    }
}

impl<'de> Deserialize<'de> for NodeMinutes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let minutes = f64::deserialize(deserializer)?;
        let expected = "minutes from 0";
        NodeMinutes::new(minutes).ok_or_else(|| {
            serde::de::Error::invalid_value(serde::de::Unexpected::Float(minutes), &expected)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_infinite_and_nan_values_are_no_time() {
        for bad in [-0.1, f64::NAN, f64::INFINITY] {
            assert_eq!(NodeMinutes::new(bad), None);
        }
        assert_eq!(NodeMinutes::of(SignedDuration::from_secs(-1)), NodeMinutes::ZERO);
    }

    #[test]
    fn times_are_shown_in_minutes() {
        let shown = [0.0, 0.44, 1.0, 9.96, 34.4].map(|m| NodeMinutes(m).to_string());
        let expected = ["0", "0.4", "1", "10", "34"].map(|number| {
            let s = if number == "1" { "" } else { "s" };
            format!("{number} node-minute{s}")
        });
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_time_is_stored_with_two_decimals() {
        let text = serde_json::to_string(&NodeMinutes(34.236)).unwrap();
        assert_eq!(text, "34.24");
        assert_eq!(serde_json::from_str::<NodeMinutes>(&text).unwrap(), NodeMinutes(34.24));
        assert!(serde_json::from_str::<NodeMinutes>("-1").is_err());
    }
}
