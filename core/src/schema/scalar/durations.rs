//! Durations in the notation of Kubernetes, which is that of Go.

use jiff::SignedDuration;

use crate::schema::problem::Code;
use crate::schema::read::Spot;
use crate::schema::scalar::text;

/// The longest duration of a policy: a year.
const LONGEST: SignedDuration = SignedDuration::from_hours(8760);

/// The units and their seconds. Days and longer units are missing, because their length varies.
const UNITS: [(&str, f64); 8] = [
    ("h", 3600.0),
    ("m", 60.0),
    ("s", 1.0),
    ("ms", 1e-3),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("μs", 1e-6),
    ("ns", 1e-9),
];

impl Spot<'_, '_> {
    /// A duration such as `1h30m`, from `least` to a year.
    pub(crate) fn duration(self, least: SignedDuration) -> Option<SignedDuration> {
        let expected =
            format!("a duration from {least:#} to {LONGEST:#}, such as 90s, 5m or 1h30m");
        let lenient = self.lenient();
        self.scalar(&expected, |node| {
            let written = text(node)?;
            let in_go = as_in_go(written).ok_or(Code::WrongType)?;
            let duration = if lenient {
                in_go
            } else {
                // Refuses what Go also reads: `0`, `.5h` and `1h1h`.
                written.parse().map_err(|_| Code::WrongType)?
            };
            if (least..=LONGEST).contains(&duration) { Ok(duration) } else { Err(Code::OutOfRange) }
        })
    }
}

/// A duration as `time.ParseDuration` in Go reads it, except for negative ones.
fn as_in_go(text: &str) -> Option<SignedDuration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Some(SignedDuration::ZERO);
    }
    let is_of_number = |c: char| c.is_ascii_digit() || c == '.';
    let mut sum = None;
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|c| !is_of_number(c))?);
        let (unit, next) = after.split_at(after.find(is_of_number).unwrap_or(after.len()));
        let (_, seconds) = UNITS.iter().find(|(name, _)| *name == unit)?;
        // Rust's `parse` takes `5.` and `.5`, as Go does, but no point alone.
        let count: f64 = number.parse().ok()?;
        let more = SignedDuration::try_from_secs_f64(count * seconds).ok()?;
        sum = Some(sum.unwrap_or(SignedDuration::ZERO).checked_add(more)?);
        rest = next;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_reads_numbers_with_units_in_any_order() {
        for (text, seconds) in [
            ("0", 0.0),
            ("+0", 0.0),
            ("1h30m", 5400.0),
            ("+90s", 90.0),
            (".5h", 1800.0),
            ("1.h", 3600.0),
            ("1m1h1m", 3720.0),
            ("1ns", 1e-9),
            ("3us", 3e-6),
            ("3µs", 3e-6),
            ("3μs", 3e-6),
            ("1.5ms", 1.5e-3),
            ("8760h", 8760.0 * 3600.0),
        ] {
            let expected = SignedDuration::try_from_secs_f64(seconds).ok();
            assert_eq!(as_in_go(text), expected, "{text}");
        }
    }

    #[test]
    fn go_reads_no_clock_no_iso_and_no_long_names() {
        for text in [
            "",
            "+",
            "5",
            "00",
            "-5m",
            "1:30:00",
            "PT5M",
            "5min",
            "5minutes",
            "1hr",
            "1d",
            "1w",
            "5 m",
            "1h 5m",
            ".h",
            "1.2.3s",
            "5M",
            "++5m",
            "5m+",
            "1e3s",
            "1_0s",
            "999999999999999999999h",
        ] {
            assert_eq!(as_in_go(text), None, "{text}");
        }
    }
}
