//! The tests that need nothing but cargo: small clusters in text, plans in text.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking, helpers included"
)]

#[path = "../boards/kit.rs"]
mod boards;
mod kit;

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
mod past;
mod pictures;
mod properties;
mod reasons;
mod relief;
mod scheduler_config;
mod simulate;
mod smoothing;
mod status;
mod steering;
