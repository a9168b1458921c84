//! Durations as short text.

use jiff::SignedDuration;

/// Formats an age by its two largest units, for example `8d3h`.
pub fn whole(age: SignedDuration) -> String {
    let (seconds, hours) = (age.as_secs(), age.as_hours() % 24);
    let days = seconds / 86_400;
    match (days, hours) {
        (0, 0) => short(age),
        (0, _) => short(SignedDuration::from_mins(seconds / 60)),
        (_, 0) => format!("{days}d"),
        _ => format!("{days}d{hours}h"),
    }
}

/// Formats a duration in whole seconds, for example `1h30m` or `45s`.
pub fn short(duration: SignedDuration) -> String {
    let seconds = duration.as_secs().max(0);
    let [h, m, s] = [seconds / 3600, seconds / 60 % 60, seconds % 60];
    let parts = [(h, "h"), (m, "m"), (s, "s")];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, unit)| format!("{n}{unit}"))
        .collect();
    if parts.is_empty() {
        return "0s".to_owned();
    }
    parts.concat()
}
