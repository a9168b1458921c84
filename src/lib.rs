//! evenkeel: a rebalancer for Kubernetes.
//!
//! It knows what nodes and pods really use, and evicts the few pods whose move makes the cluster better. Deciding is a
//! pure function whose result is a [`plan::Plan`], which can be printed, tested, compared or carried out:
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
//! The modules stand in reading order. A module uses only modules above it, and `tests/architecture.rs` checks that.
//! Down to [`simulate`] there is no client, no file, no environment, no clock and no randomness: time is an argument.

// ── words ──────────────────────────────────────────────────────────────────────────────────────────────────────────
pub mod units;
pub mod selector;
pub mod markup;
// ── what we are told ───────────────────────────────────────────────────────────────────────────────────────────────
pub mod policy;
pub mod snapshot;
pub mod usage;
// ── what we remember ───────────────────────────────────────────────────────────────────────────────────────────────
pub mod ledger;
// ── what we decide ─────────────────────────────────────────────────────────────────────────────────────────────────
pub mod plan;
pub mod draft;
pub mod scheduler;
pub mod gate;
pub mod strategy;
pub mod steer;
pub mod advice;
pub mod explain;
pub mod engine;
pub mod simulate;
// ── what we touch ──────────────────────────────────────────────────────────────────────────────────────────────────
pub mod hearsay;
pub mod calls;
pub mod cluster;
pub mod source;
pub mod telemetry;
pub mod daemon;
// ── what people type ───────────────────────────────────────────────────────────────────────────────────────────────
pub mod cli;
