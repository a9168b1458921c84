//! The section `windows`: times at which evictions are allowed or forbidden.

use std::collections::BTreeSet;
use std::fmt;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};
use serde_json::json;

use super::Policy;
use crate::schema::item::Item;
use crate::schema::kind::Kind;
use crate::schema::problem::Code;
use crate::schema::read::{Fields, Spot};
use crate::schema::scalar;
use crate::schema::section::Section;

const MINUTES_OF_A_DAY: u16 = 24 * 60;
/// A window repeats every week. A week more, because a change of the clock may skip a window.
const DAYS_TO_LOOK_AT: usize = 15;
const LONGEST_WAIT: SignedDuration = SignedDuration::from_hours(24 * 15);
const EXPECTED: &str = "a window such as Mon-Fri 22:00-06:00, Sat or 01:00-05:00";
/// The days in the order of the week.
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// When evictions are allowed.
#[derive(Clone, Debug, PartialEq)]
pub struct Windows {
    /// The time zone of the windows.
    zone: TimeZone,
    /// Evictions are allowed only in these; always if there is none.
    allow: Vec<EvictionWindow>,
    /// Evictions are forbidden in these, even if they are allowed above.
    forbid: Vec<EvictionWindow>,
}

/// A part of each week.
#[derive(Clone, Debug, PartialEq, Eq)]
struct EvictionWindow {
    /// The days on which it starts, Monday first.
    days: [bool; 7],
    /// Its start, in minutes after midnight.
    from: u16,
    /// Its end. At or before the start, it is on the next day.
    until: u16,
}

impl Windows {
    /// How long evictions are still forbidden; `None` if they are allowed now.
    pub fn closed_for(&self, now: Timestamp) -> Option<SignedDuration> {
        if self.is_open(now) {
            return None;
        }
        let opens = self.opens_after(now);
        Some(opens.map_or(LONGEST_WAIT, |opens| opens.duration_since(now)))
    }

    /// The next moment at which evictions are allowed. That is midnight, or the start of an allowed
    /// window, or the end of a forbidden one.
    fn opens_after(&self, now: Timestamp) -> Option<Timestamp> {
        let starts = self.allow.iter().map(|window| window.from);
        let ends = self.forbid.iter().map(|window| window.until % MINUTES_OF_A_DAY);
        let minutes: BTreeSet<u16> = starts.chain(ends).chain([0]).collect();
        let today = now.to_zoned(self.zone.clone()).date();
        let days = today.series(1.day()).take(DAYS_TO_LOOK_AT);
        let moments = days.flat_map(|day| minutes.iter().map(move |minute| (day, *minute)));
        let moments = moments.filter_map(|(day, minute)| {
            let (hour, minute) = (i8::try_from(minute / 60).ok()?, i8::try_from(minute % 60).ok()?);
            let at = day.at(hour, minute, 0, 0).to_zoned(self.zone.clone()).ok()?;
            Some(at.timestamp())
        });
        moments.into_iter().find(|at| *at > now && self.is_open(*at))
    }

    /// Returns true if evictions are allowed at this time.
    pub(crate) fn is_open(&self, at: Timestamp) -> bool {
        let at = at.to_zoned(self.zone.clone());
        let covered = |windows: &[EvictionWindow]| windows.iter().any(|window| window.covers(&at));
        (self.allow.is_empty() || covered(&self.allow)) && !covered(&self.forbid)
    }

    /// Whether no moment of a week is allowed.
    fn never_opens(&self) -> bool {
        let start = Timestamp::UNIX_EPOCH;
        !self.is_open(start) && self.opens_after(start).is_none()
    }
}

impl EvictionWindow {
    /// Its length in minutes.
    const fn minutes(&self) -> u16 {
        let over_midnight = if self.from < self.until { 0 } else { MINUTES_OF_A_DAY };
        self.until + over_midnight - self.from
    }

    fn covers(&self, at: &Zoned) -> bool {
        let today = usize::try_from(at.weekday().to_monday_zero_offset()).unwrap_or_default();
        let yesterday = (today + 6) % 7;
        let minute = u16::try_from(i32::from(at.hour()) * 60 + i32::from(at.minute()));
        let minute = minute.unwrap_or_default();
        if self.from < self.until {
            return self.days[today] && (self.from..self.until).contains(&minute);
        }
        (self.days[today] && minute >= self.from) || (self.days[yesterday] && minute < self.until)
    }

    /// Reads `Mon-Fri 22:00-06:00`. Without days it is every day, and without times the whole day.
    fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (days, times) = match words[..] {
            [days, times] => (Some(days), Some(times)),
            [times] if times.contains(':') => (None, Some(times)),
            [days] => (Some(days), None),
            _ => return None,
        };
        let days = days.map_or(Some([true; 7]), parse_days)?;
        let (from, until) = times.map_or(Some((0, MINUTES_OF_A_DAY)), parse_times)?;
        Some(EvictionWindow { days, from, until })
    }
}

fn parse_days(text: &str) -> Option<[bool; 7]> {
    let mut days = [false; 7];
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (position_of(first)?, position_of(last)?);
        // Fri-Mon goes over the end of the week.
        let length = (last + 7 - first) % 7;
        for day in first..=first + length {
            days[day % 7] = true;
        }
    }
    Some(days)
}

fn position_of(day: &str) -> Option<usize> {
    DAYS.iter().position(|name| name.eq_ignore_ascii_case(day))
}

fn parse_times(text: &str) -> Option<(u16, u16)> {
    let (from, until) = text.split_once('-')?;
    let (from, until) = (parse_time(from)?, parse_time(until)?);
    (from < MINUTES_OF_A_DAY && from != until).then_some((from, until))
}

fn parse_time(text: &str) -> Option<u16> {
    let (hours, minutes) = text.split_once(':')?;
    for part in [hours, minutes] {
        if part.len() != 2 || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
    }
    let (hours, minutes): (u16, u16) = (hours.parse().ok()?, minutes.parse().ok()?);
    let time = hours * 60 + minutes;
    (minutes < 60 && time <= MINUTES_OF_A_DAY).then_some(time)
}

impl fmt::Display for EvictionWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chosen = DAYS.iter().zip(self.days).filter(|(_, is_chosen)| *is_chosen);
        let names: Vec<&str> = chosen.map(|(name, _)| *name).collect();
        let time = |minutes: u16| format!("{:02}:{:02}", minutes / 60, minutes % 60);
        write!(f, "{} {}-{}", names.join(","), time(self.from), time(self.until))
    }
}

/// Declares `windows`.
pub(super) fn windows() -> Section<Windows> {
    Section::new(Windows { zone: TimeZone::UTC, allow: Vec::new(), forbid: Vec::new() })
        .field("timeZone", time_zone(), |w| &mut w.zone)
        .help("Time zone of the windows, by its IANA name, such as `Europe/Berlin`.")
        .field("allow", window_list(), |w| &mut w.allow)
        .help(
            "Evictions are allowed only in these windows, such as `[Mon-Fri 22:00-06:00, Sat, Sun]`. A window that ends before its start ends on the next day. Without days it is every day, and without times the whole day. An empty list allows every time.",
        )
        .field("forbid", window_list(), |w| &mut w.forbid)
        .help("Evictions are forbidden in these windows, even if `allow` has them.")
}

fn time_zone() -> Kind<TimeZone> {
    let schema = json!({"type": "string", "minLength": 1});
    Kind::new("time zone", schema, read_zone, |zone: &TimeZone| {
        Some(Item::text(zone.iana_name().unwrap_or("UTC")))
    })
}

fn read_zone(spot: Spot<'_, '_>) -> Option<TimeZone> {
    let expected = "the IANA name of a time zone that this machine knows, such as Europe/Berlin";
    spot.scalar(expected, |node| {
        let name = scalar::text(node)?;
        TimeZone::get(name).map_err(|_| Code::OutOfRange)
    })
}

fn window_list() -> Kind<Vec<EvictionWindow>> {
    let schema = json!({"type": "array", "items": {"type": "string", "minLength": 1}});
    let kind = Kind::new(
        "list of windows",
        schema,
        |spot| spot.list("windows", read_window),
        |windows: &Vec<EvictionWindow>| {
            let texts = windows.iter().map(ToString::to_string);
            (!windows.is_empty()).then(|| Item::texts(texts))
        },
    );
    kind.shown_empty_as("[]")
}

fn read_window(spot: Spot<'_, '_>) -> Option<EvictionWindow> {
    spot.scalar(EXPECTED, |node| EvictionWindow::parse(scalar::text(node)?).ok_or(Code::OutOfRange))
}

/// Refuses windows that allow no eviction at all, since `dryRun` says that more clearly. Warns of
/// windows that may pass between two cycles.
pub(super) fn check(f: &mut Fields<'_, '_>, policy: &Policy) {
    if policy.windows.never_opens() {
        let sentence = "the windows allow no eviction at any time; use dryRun: true for that";
        f.complain(Code::Conflict, "windows", sentence);
    }
    let longest = policy.windows.allow.iter().map(EvictionWindow::minutes).max();
    let minutes = longest.map(|minutes| SignedDuration::from_mins(minutes.into()));
    if minutes.is_some_and(|minutes| minutes < policy.interval) {
        let place = f.place_below("windows", "allow");
        let sentence = "each window is shorter than interval, so it may pass without a cycle";
        f.warn_at(Code::Ignored, &place, sentence);
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::native::tests::parse;

    /// How long evictions are forbidden at this time, as text; `open` if they are allowed.
    fn closed(windows: &str, at: &str) -> String {
        let policy = parse(&format!("windows: {windows}")).unwrap();
        let wait = policy.windows.closed_for(at.parse().unwrap());
        wait.map_or("open".to_owned(), |wait| format!("{wait:#}"))
    }

    #[test]
    fn evictions_are_allowed_only_within_a_window() {
        let nights = "{allow: ['Mon-Fri 22:00-06:00', 'Sat,Sun']}";
        // 21 November 2026 is a Saturday.
        for (at, expected) in [
            ("2026-11-20T21:59:30Z", "30s"),
            ("2026-11-20T22:00:00Z", "open"),
            ("2026-11-21T05:59:59Z", "open"),
            ("2026-11-21T12:00:00Z", "open"),
            ("2026-11-22T23:59:59Z", "open"),
            // The window of Sunday ends at midnight, and that of Monday begins in the evening.
            ("2026-11-23T00:00:00Z", "22h"),
            ("2026-11-24T03:00:00Z", "open"),
            ("2026-11-24T06:00:00Z", "16h"),
        ] {
            assert_eq!(closed(nights, at), expected, "{at}");
        }
        assert_eq!(closed("{}", "2026-11-23T00:00:00Z"), "open");
    }

    #[test]
    fn a_forbidden_window_wins() {
        let windows = "{allow: [Mon-Sun], forbid: ['08:00-18:00', 'Fri-Mon 20:00-21:00']}";
        assert_eq!(closed(windows, "2026-11-24T17:00:00Z"), "1h");
        assert_eq!(closed(windows, "2026-11-24T20:30:00Z"), "open");
        assert_eq!(closed(windows, "2026-11-21T20:30:00Z"), "30m");
    }

    #[test]
    fn times_are_those_of_the_zone_also_when_the_clock_changes() {
        let berlin = "{timeZone: Europe/Berlin, allow: ['02:00-03:00']}";
        assert_eq!(closed(berlin, "2026-11-21T01:30:00Z"), "open");
        assert_eq!(closed(berlin, "2026-06-21T01:30:00Z"), "22h 30m");
        // In the night of 29 March 2026 this hour does not exist.
        assert_eq!(closed(berlin, "2026-03-29T00:30:00Z"), "23h 30m");
    }

    #[test]
    fn mistakes_are_reported_with_what_is_expected() {
        for (windows, part) in [
            ("{timeZone: Mars/Olympus}", "IANA name"),
            ("{allow: [someday]}", "Mon-Fri 22:00-06:00"),
            ("{allow: ['Mon 25:00-26:00']}", "Mon-Fri 22:00-06:00"),
            ("{allow: ['Mon 9-17']}", "Mon-Fri 22:00-06:00"),
            ("{forbid: ['07:00-07:00']}", "Mon-Fri 22:00-06:00"),
            ("{allow: [Mon], forbid: [Mon-Wed]}", "allow no eviction"),
        ] {
            let error = parse(&format!("windows: {windows}")).unwrap_err();
            assert!(error.contains(part), "{windows}: {error}");
        }
    }
}
