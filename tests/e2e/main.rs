//! The program against a real control plane: `cargo test --test e2e`. Needs go, kubectl and openssl; see `tests/testbed`.
#![expect(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "nothing here is used from outside, and a test says what is wrong by failing"
)]

#[path = "../it/support/monitoring.rs"]
mod boards;
mod kit;
mod placements;

// The slowest first, for so they start.
mod agree;
mod forecast;
mod circles;
mod steering;
mod packing;
mod strategies;
mod crash;
mod disruption;
mod rightsizing;
mod doubt;
mod explain;
mod job;
mod leader;
mod otlp;
mod metrics;
mod outage;
mod panels;
mod plan;
mod probes;
mod prometheus;
mod rights;
mod rules;
mod seeds;
mod status;
