//! Durations as short text.

use jiff::SignedDuration;

use crate::values::text::duration;

/// Formats an age by its two largest units, for example `8d3h`.
pub(super) fn whole(age: SignedDuration) -> String {
    let (seconds, hours) = (age.as_secs(), age.as_hours() % 24);
    let days = seconds / 86_400;
    match (days, hours) {
        (0, 0) => duration(age),
        (0, _) => duration(SignedDuration::from_mins(seconds / 60)),
        (_, 0) => format!("{days}d"),
        _ => format!("{days}d{hours}h"),
    }
}
