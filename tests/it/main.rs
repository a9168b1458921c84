//! The tests that need nothing but cargo: small clusters in text, plans in text.

mod kit;

mod balance;
mod cooldown;
mod dashboards;
mod deploy;
mod deschedule;
mod gates;
mod ledger;
mod low_node_utilization;
mod properties;
mod smoothing;
