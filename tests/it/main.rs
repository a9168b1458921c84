//! Tests that need only cargo: small clusters as text, plans as text, and recorded cases.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking, helpers included"
)]

mod support;

mod rightsizing;
mod rightsizing_effect;
mod balance;
mod cooldown;
mod dashboards;
mod deploy;
mod deschedule;
mod explain;
mod fuzz;
mod gates;
mod high_node_utilization;
mod ledger;
mod low_node_utilization;
mod monitoring;
mod otlp;
mod metrics;
mod parity;
mod past;
mod pictures;
mod placements;
mod properties;
mod reasons;
mod relief;
mod scheduler_config;
mod simulate;
mod smoothing;
mod status;
mod steering;
