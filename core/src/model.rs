//! The input of a decision (cluster, usage, ledger) and its result (the plan): plain data without
//! I/O.

pub mod api;
pub mod snapshot;
pub mod usage;
pub mod search_start;
pub mod record;
pub mod ledger;
pub mod relief;
pub mod approval;
pub mod guard;
pub mod plan;
