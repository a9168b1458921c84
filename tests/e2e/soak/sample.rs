//! One measurement of the running program.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::e2e::support::{ControlPlane, Launch, Process, evictions, ledger};

/// The figures of the program at one time.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    /// The time since the first cycle.
    pub(super) after: Duration,
    pub(super) cycles: usize,
    pub(super) evictions: usize,
    pub(super) memory_kibibytes: u64,
    pub(super) descriptors: usize,
    pub(super) threads: u64,
    /// Lines of `/metrics` that are not comments.
    pub(super) series: usize,
    pub(super) ledger_entries: usize,
    pub(super) ledger_bytes: usize,
    /// The page at `/`, which lists nodes, moves and the ledger.
    pub(super) page_bytes: usize,
    pub(super) pods: usize,
    pub(super) nodes: usize,
}

impl Sample {
    pub(super) async fn take(
        control_plane: &ControlPlane,
        launch: &Launch,
        process: &Process,
        after: Duration,
    ) -> Self {
        let entries = ledger::entries(control_plane).await;
        let metrics = process.metrics().await;
        let value = |name: &str| value(&metrics, name);
        Sample {
            after,
            cycles: value("evenkeel_cycle_duration_seconds_count"),
            evictions: evictions(control_plane).len(),
            memory_kibibytes: process.status("VmRSS"),
            descriptors: process.descriptors(),
            threads: process.status("Threads"),
            series: metrics.lines().filter(|l| !l.starts_with('#')).count(),
            ledger_entries: entries.len(),
            ledger_bytes: Value::from(entries).to_string().len(),
            page_bytes: launch.page("/").await.len(),
            pods: control_plane.list("/api/v1/pods").await.len(),
            nodes: control_plane.list("/api/v1/nodes").await.len(),
        }
    }
}

/// The value of a metric without labels.
fn value(metrics: &str, name: &str) -> usize {
    let line = metrics.lines().find_map(|l| l.strip_prefix(name));
    let line = line.unwrap_or_else(|| panic!("no {name} in\n{metrics}"));
    line.trim().parse().unwrap()
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} s: cycle {}, {} evictions, {} pods, {} nodes, {} KiB, {} descriptors, \
             {} threads, {} series, ledger of {} entries",
            self.after.as_secs(),
            self.cycles,
            self.evictions,
            self.pods,
            self.nodes,
            self.memory_kibibytes,
            self.descriptors,
            self.threads,
            self.series,
            self.ledger_entries
        )
    }
}
