//! The world that decisions are made in, and the plan that they result in: plain data without I/O.

pub mod snapshot;
pub mod usage;
pub mod ledger;
pub mod plan;
