//! The tests that need only cargo. `tests/e2e.rs` has those that need a control plane.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking, helpers included"
)]

mod architecture;
mod dice;
mod random_usage;
mod shared;

/// Small clusters in text, and the plans made for them.
mod it {
    mod approval;
    mod balance;
    mod book;
    mod cases;
    mod chart;
    mod cooldown;
    mod dashboards;
    mod deploy;
    mod deschedule;
    mod destinations;
    mod doctor;
    mod encodings;
    mod explain;
    mod fuzz;
    mod gates;
    mod guards;
    mod high_node_utilization;
    mod kubernetes_release;
    mod learning;
    mod ledger;
    mod low_node_utilization;
    mod moved_again;
    mod metrics;
    mod monitoring;
    mod openings;
    mod otlp;
    mod pace;
    mod packing;
    mod parity;
    mod past;
    mod pauses;
    mod pause_commands;
    mod pictures;
    mod placements;
    mod preferred_anti_affinity;
    mod properties;
    mod proxies;
    mod ramp;
    mod reasons;
    mod recorded_cluster;
    mod recorded_facts;
    mod recheck;
    mod recording;
    mod rejections;
    mod relieved;
    mod release;
    mod relief;
    mod replacement;
    mod replay;
    mod rightsizing;
    mod rightsizing_effect;
    mod scheduler_config;
    mod samples;
    mod search_start;
    mod search_work;
    mod simulate;
    mod small_cut;
    mod smoothing;
    mod status;
    mod steering;
    mod support;
    mod traces;
    mod trend;
    mod unknown_objects;
    mod words;
    mod worth;
}
