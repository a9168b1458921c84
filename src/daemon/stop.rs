//! The end of the program: every request in flight gets a few more seconds, and the sum is bounded.
//!
//! Kubernetes kills a pod 30 s after it asks it to stop. Until then the outcomes must be in the
//! ledger, the steering taints removed, and then the Lease released.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// Time that one request may still take once the program stops. At the end there are at most
/// four in a row: an eviction, the ledger twice and the Lease.
pub(super) const GRACE: Duration = Duration::from_secs(4);
/// Time to remove the steering taints once the program stops.
const LONGEST_RELEASE: Duration = Duration::from_secs(6);
/// Time to remove them while it runs, from thousands of nodes.
const LONGEST_RELEASE_AT_RELOAD: Duration = Duration::from_secs(300);
/// Time to write the last lines of the record, before the Lease is released.
pub(super) const LAST_LINES: Duration = Duration::from_secs(2);
/// Time to write the lines of a single run, which ends without being stopped.
pub(super) const LINES_OF_A_RUN: Duration = Duration::from_secs(30);
/// Time to write the last events.
pub(super) const LAST_EVENTS: Duration = Duration::from_secs(2);

/// Waits until no steering taint is removed any more.
pub(super) async fn end_of_release(stop: &CancellationToken) {
    let stopped = stop.run_until_cancelled(tokio::time::sleep(LONGEST_RELEASE_AT_RELOAD)).await;
    if stopped.is_none() {
        tokio::time::sleep(LONGEST_RELEASE).await;
    }
}

/// Waits for a request. Once the program stops, it waits for at most [`GRACE`] more and then
/// returns `None`.
pub(super) async fn finish<T>(
    stop: &CancellationToken,
    request: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        done = request => Some(done),
        () = async {
            stop.cancelled().await;
            tokio::time::sleep(GRACE).await;
        } => None,
    }
}
