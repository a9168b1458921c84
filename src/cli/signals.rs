//! Signals that end the program.

use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

/// Time after which the program ends although something hangs. The daemon normally needs less, and
/// Kubernetes waits for 30 s.
const LONGEST_STOP: Duration = Duration::from_secs(24);

/// Stops on Ctrl-C and SIGTERM. The daemon still finishes the request in flight and records its
/// result.
pub(super) fn stop_on_signals(stop: &CancellationToken) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let stop = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        info!("stopping on a signal");
        stop.cancel();
        // A thread of its own, because every thread of the runtime may be busy.
        std::thread::spawn(|| {
            std::thread::sleep(LONGEST_STOP);
            error!(
                "cannot stop in time, ending now; the ledger has every eviction that was requested"
            );
            std::process::exit(1);
        });
    });
    Ok(())
}
