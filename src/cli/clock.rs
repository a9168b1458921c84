//! The clock of the command line.

use jiff::Timestamp;

/// The present time.
#[expect(
    clippy::disallowed_methods,
    reason = "commands are the edge: everything below takes the time as an argument"
)]
pub(super) fn now() -> Timestamp {
    Timestamp::now()
}
