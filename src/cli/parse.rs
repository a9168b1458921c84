//! Parsers for the values of flags. Each error names the expected value.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Arg, ArgAction};
use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp};

/// A duration such as `90s`, `6h` or `2w`. A day has 24 hours.
fn duration(text: &str) -> Option<SignedDuration> {
    let span: Span = text.parse().ok()?;
    span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()
}

/// A flag that may have a value: `--flag`, `--flag=true` or `--flag=false`.
pub(super) trait BooleanFlag {
    /// Takes such values.
    #[must_use]
    fn boolean(self) -> Self;
}

impl BooleanFlag for Arg {
    fn boolean(self) -> Self {
        self.action(ArgAction::Set)
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_name("BOOL")
            .value_parser(boolean)
    }
}

/// The value of a boolean flag, as descheduler takes it (`ParseBool` in Go's package strconv).
pub(super) fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("expected true or false".to_owned()),
    }
}

/// A duration above zero, such as `5m`.
pub(super) fn positive_duration(text: &str) -> Result<SignedDuration, String> {
    duration(text)
        .filter(SignedDuration::is_positive)
        .ok_or_else(|| "expected a duration such as 5m".to_owned())
}

/// How long a pause lasts: up to a century, because its end is written as a date.
pub(super) fn pause_time(text: &str) -> Result<SignedDuration, String> {
    let longest = SignedDuration::from_hours(5200 * 7 * 24);
    duration(text)
        .filter(|time| time.is_positive() && *time <= longest)
        .ok_or_else(|| "expected a duration up to 5200w, such as 2h".to_owned())
}

/// The reason of a pause. As an annotation, `false` pauses nothing.
pub(super) fn pause_reason(text: &str) -> Result<String, String> {
    if text == "false" {
        return Err("expected a reason; the annotation false pauses nothing".to_owned());
    }
    Ok(text.to_owned())
}

/// The `source` of CloudEvents, which is part of a URI.
pub(super) fn source(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_graphic() && !"<>\"{}|\\^`".contains(c);
    if text.is_empty() || !text.chars().all(is_plain) {
        return Err("expected a name such as evenkeel/prod".to_owned());
    }
    Ok(text.to_owned())
}

/// A duration for timers, which are never negative, such as `15s`.
pub(super) fn timer(text: &str) -> Result<Duration, String> {
    let parsed: Option<SignedDuration> = text.parse().ok();
    parsed
        .and_then(|duration| Duration::try_from(duration).ok())
        .ok_or_else(|| "expected a duration such as 15s".to_owned())
}

/// The simulated time of a run: from one minute to one year.
pub(super) fn simulated_time(text: &str) -> Result<SignedDuration, String> {
    duration(text)
        .filter(|time| (60..=365 * 86_400).contains(&time.as_secs()))
        .ok_or_else(|| "expected a duration from 1m to 365d, such as 6h".to_owned())
}

/// The length of a usage history: from ten minutes to twelve weeks.
pub(super) fn history_length(text: &str) -> Result<SignedDuration, String> {
    duration(text)
        .filter(|length| (600..=12 * 7 * 86_400).contains(&length.as_secs()))
        .ok_or_else(|| "expected a duration from 10m to 12w, such as 24h or 2w".to_owned())
}

/// The time between two values of a usage history: whole seconds, from 10s to 1h.
pub(super) fn history_step(text: &str) -> Result<SignedDuration, String> {
    let parsed: Option<SignedDuration> = text.parse().ok();
    parsed
        .filter(|step| (10..=3600).contains(&step.as_secs()) && step.subsec_nanos() == 0)
        .ok_or_else(|| "expected a duration from 10s to 1h, such as 5m".to_owned())
}

/// The interval between two cycles: `0`, or at least one second.
pub(super) fn interval(text: &str) -> Result<SignedDuration, String> {
    let parsed = match text {
        "0" => Some(SignedDuration::ZERO),
        text => text.parse().ok(),
    };
    parsed
        .filter(|interval| interval.is_zero() || *interval >= SignedDuration::from_secs(1))
        .ok_or_else(|| "expected a duration such as 5m, or 0 to run once".to_owned())
}

/// A time in RFC 3339, or in seconds since 1970.
pub(super) fn timestamp(text: &str) -> Result<Timestamp, String> {
    let expected = "expected a time such as 2026-01-31T12:00:00Z, or Unix seconds";
    if let Ok(timestamp) = text.parse() {
        return Ok(timestamp);
    }
    let seconds = text.parse().map_err(|_| expected.to_owned())?;
    Timestamp::from_second(seconds).map_err(|_| expected.to_owned())
}

/// An IP address and a port to listen on.
pub(super) fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let parsed = text.parse();
    parsed.map_err(|_| "expected an address such as 0.0.0.0:8080 or [::]:8080".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_in_go() {
        assert_eq!(timer("2m17s"), Ok(Duration::from_secs(137)));
        assert_eq!(timer("500ms"), Ok(Duration::from_millis(500)));
        assert!(timer("-5s").is_err() && timer("soon").is_err());
        assert!(positive_duration("0s").is_err() && positive_duration("-5m").is_err());
        assert_eq!(positive_duration("1.5h"), Ok(SignedDuration::from_mins(90)));
    }

    #[test]
    fn an_interval_is_zero_or_at_least_one_second() {
        assert_eq!(interval("0"), Ok(SignedDuration::ZERO));
        assert_eq!(interval("5m"), Ok(SignedDuration::from_mins(5)));
        assert!(interval("10ms").is_err() && interval("-5m").is_err());
    }

    #[test]
    fn a_history_is_minutes_to_weeks_long() {
        for (text, hours) in [("24h", 24), ("7d", 168), ("2w", 336), ("1d12h", 36)] {
            assert_eq!(history_length(text), Ok(SignedDuration::from_hours(hours)));
        }
        for text in ["5m", "13w", "1mo", "soon", "-1d"] {
            assert!(history_length(text).is_err(), "{text}");
        }
        assert!(history_step("5m").is_ok() && history_step("1s").is_err());
        assert!(history_step("10500ms").is_err());
    }

    #[test]
    fn a_pause_and_a_simulation_may_last_days() {
        let days = |days: i64| Ok(SignedDuration::from_hours(24 * days));
        assert_eq!(pause_time("1d"), days(1));
        assert_eq!(simulated_time("1w"), days(7));
        assert_eq!(simulated_time("365d"), days(365));
        for text in ["30s", "366d", "1mo"] {
            assert!(simulated_time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_time_is_rfc_3339_or_unix_seconds() {
        assert_eq!(timestamp("1767225600"), timestamp("2026-01-01T00:00:00Z"));
        assert!(timestamp("noon").is_err());
    }
}
