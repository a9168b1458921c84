//! Durations as short text.

use jiff::SignedDuration;

/// Formats an age by its two largest units, for example `8d3h`.
pub fn whole(age: SignedDuration) -> String {
    let seconds = age.as_secs();
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
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
    let parts = [
        (seconds / 3600, "h"),
        (seconds / 60 % 60, "m"),
        (seconds % 60, "s"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, unit)| format!("{n}{unit}"))
        .collect();
    if parts.is_empty() {
        "0s".to_owned()
    } else {
        parts.concat()
    }
}
