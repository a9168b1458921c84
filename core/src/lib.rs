//! The decisions of evenkeel, from a policy and the objects of a cluster to a plan.
//!
//! The crate has no client, file, environment, clock or randomness, and takes the time as an
//! argument. The crate `evenkeel` names its modules as its own, and documents the whole.
//!
//! The modules are listed in dependency order: a module uses only modules above it, and
//! `tests/architecture.rs` checks that.

// Amounts, ratios, quantities and selectors: the values that Kubernetes objects are written in.
pub mod values;
// Documents in YAML: fields that are declared once, read, written and documented.
pub mod schema;
// The policy: its fields and defaults, the file formats it is read from, the format it is written
// in.
pub mod policy;
// Snapshot, usage, ledger and plan: the data that decisions are made from, and their result.
pub mod model;
// Strategies name candidates, gates admit or refuse them, the scheduler forecasts where they land.
pub mod decide;
// A cluster in memory, driven by the same engine and scheduler.
pub mod simulate;
