//! Pauses between requests, with jitter, so that watches do not ask at the same moment.

use std::time::Duration;

use backon::{BackoffBuilder, ConstantBuilder, ExponentialBuilder};

use super::StreamError;

/// The pause after the first failure, without jitter. It doubles with each further failure.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The longest pause, without jitter. Jitter adds up to as much again.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// The longest pause that the API server may ask for.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60);
impl StreamError {
    /// Returns true if the same request may succeed later without a change of rights or objects.
    pub(in crate::cluster) fn is_temporary(&self) -> bool {
        self.code.is_none_or(|code| code == 429 || code >= 500)
    }

    /// The pause after this error, the last of this many failures. It is never shorter than the API
    /// server asks for.
    pub(in crate::cluster) fn pause(&self, failures: u32) -> Duration {
        let asked = self.retry_after.unwrap_or_default();
        asked.min(LONGEST_RETRY_AFTER) + pause_after(failures)
    }
}

/// The pause after this many failures. Jitter keeps the watches from reconnecting at the same
/// moment.
fn pause_after(failures: u32) -> Duration {
    let mut pauses = ExponentialBuilder::new()
        .with_min_delay(FIRST_PAUSE)
        .with_max_delay(LONGEST_PAUSE)
        .without_max_times()
        .with_jitter()
        .build();
    // The pauses reach the longest one long before the sixteenth.
    let index = failures.saturating_sub(1).min(16);
    pauses.nth(index as usize).unwrap_or(LONGEST_PAUSE)
}

/// A random time from this one to twice this one.
pub(in crate::cluster) fn jittered(time: Duration) -> Duration {
    let mut times = ConstantBuilder::new().with_delay(time).with_jitter().build();
    times.next().unwrap_or(time)
}
