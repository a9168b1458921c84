//! Comparisons between the durations of a section.

use jiff::SignedDuration;

use super::read::{Bound, Fields};

/// The shortest interval that makes sense.
pub(crate) const ONE_SECOND: SignedDuration = SignedDuration::from_secs(1);
pub(crate) const ONE_MINUTE: SignedDuration = SignedDuration::from_mins(1);

/// One side of a comparison: the duration of one field.
pub(crate) fn time(field: &str, value: SignedDuration) -> Bound<'_, SignedDuration> {
    named_time(field, field, value)
}

/// One side of a comparison that points at a field, and calls the duration something else.
pub(crate) fn named_time<'f>(
    field: &'f str,
    name: &'f str,
    value: SignedDuration,
) -> Bound<'f, SignedDuration> {
    let shown = format!("{value:#}");
    Bound { field, name, value, shown }
}

/// Refuses a field that is longer than another one.
pub(crate) fn ordered(
    f: &mut Fields<'_, '_>,
    low: &str,
    low_value: SignedDuration,
    high: &str,
    high_value: SignedDuration,
) {
    f.ordered(&time(low, low_value), &time(high, high_value));
}
