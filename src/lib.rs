//! evenkeel: a rebalancer for Kubernetes.
//!
//! evenkeel reads what nodes and pods really use and evicts the few pods whose move makes the cluster better. Deciding
//! is a pure function whose result is a [`model::plan::Plan`], which can be printed, tested, compared or executed:
//!
//! ```text
//!          ┌────────────────── Engine (pure) ──────────────────┐
//! readings │ observe ─▶ History ─▶ Usage ─┐                     │
//! objects ─┼──────────▶ Snapshot ─────────┼─▶ Draft ⇄ strategy  │
//! policy   │                              │     ⇅ gate          ├─▶ Plan ─▶ act ─▶ outcomes ─┐
//!          │ Ledger ──────────────────────┘                     │    └▶ command line, events │
//!          │   ▲──────────────── settle ◀───────────────────────┼────────────────────────────┘
//!          └────────────────────────────────────────────────────┘
//! ```
//!
//! The modules are listed in dependency order: a module uses only modules above it, and `tests/architecture.rs`
//! checks that. Everything above `cluster` is the core: it has no client, file, environment, clock or randomness, and
//! takes the time as an argument.

// ── core ───────────────────────────────────────────────────────────────────────────────────────
/// Amounts, ratios, quantities and selectors: the values that Kubernetes objects are written in.
pub mod values;
/// The policy: its fields and defaults, the file formats it is read from, the format it is written in.
pub mod policy;
/// Snapshot, usage, ledger and plan: the data that decisions are made from, and their result.
pub mod model;
/// Strategies propose moves, gates admit or refuse them, the scheduler forecasts where they land.
pub mod decide;
/// A cluster in memory, driven by the same engine and scheduler.
pub mod simulate;
/// HTML, tables and bars that several outputs share.
pub mod render;
// ── edges ──────────────────────────────────────────────────────────────────────────────────────
/// The API server and the usage sources: watches, evictions, the Lease, the stored ledger.
pub mod cluster;
/// The loop that observes, decides and acts, and its telemetry.
pub mod daemon;
/// The commands.
pub mod cli;
