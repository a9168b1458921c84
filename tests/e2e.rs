//! The program against a real control plane: `cargo test --test e2e`. See `tests/testbed`.
#![expect(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "nothing here is used from outside, and a test fails by panicking"
)]

mod dice;
#[expect(dead_code, reason = "the other test target uses the rest")]
mod shared;

/// One file per question about the program.
mod e2e {
    mod admission;
    mod agree;
    mod approval;
    mod cadence;
    mod chart;
    mod circles;
    mod claims;
    mod crash;
    mod descheduler;
    mod doctor;
    mod doubt;
    mod explain;
    mod faults;
    mod forecast;
    mod guards;
    mod job;
    mod leader;
    mod metrics;
    mod otlp;
    mod outage;
    mod packing;
    mod pauses;
    mod panels;
    mod pools;
    mod probes;
    mod prometheus;
    mod ramp;
    mod record;
    mod reload;
    mod rejections;
    mod replacement;
    mod replay;
    mod rights;
    mod rules;
    mod schema;
    mod status;
    mod stop;
    mod steering;
    mod strategies;
    mod support;
}
