//! evenkeel: a rebalancer for Kubernetes.
//!
//! evenkeel reads the actual usage of nodes and pods and evicts the few pods whose move makes the
//! cluster better. Deciding is a pure function whose result is a [`model::plan::Plan`], which can
//! be printed, tested, compared or executed:
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
//! # Example
//!
//! Read a policy and a cluster, decide, and print the plan:
//!
//! ```
//! use evenkeel::decide::engine::Engine;
//! use evenkeel::model::ledger::Ledger;
//! use evenkeel::model::snapshot::objects::Objects;
//! use evenkeel::model::snapshot::{Snapshot, import};
//! use evenkeel::model::usage::Readings;
//! use evenkeel::policy::Policy;
//! use serde_json::json;
//!
//! let policy = Policy::parse(
//!     "policy.yaml",
//!     "apiVersion: evenkeel/v1alpha1
//! kind: Policy
//! evictable: {minReplicas: 1}
//! limits: {perWorkload: none}
//! strategies: [{removeDuplicates: {}}]
//! ",
//! )
//! .expect("a valid policy");
//!
//! let mut objects = Objects::default();
//! let node = |name: &str| {
//!     json!({
//!         "apiVersion": "v1", "kind": "Node",
//!         "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
//!         "status": {
//!             "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
//!             "conditions": [{"type": "Ready", "status": "True"}],
//!         },
//!     })
//! };
//! let pod = |name: &str| {
//!     let owner = json!({
//!         "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1",
//!         "controller": true,
//!     });
//!     json!({
//!         "apiVersion": "v1", "kind": "Pod",
//!         "metadata": {
//!             "name": name, "namespace": "default", "labels": {"app": "web"},
//!             "ownerReferences": [owner],
//!         },
//!         "spec": {"nodeName": "n1", "containers": [{"name": "web", "image": "web:1"}]},
//!         "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
//!     })
//! };
//! let namespace =
//!     json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}});
//! let replica_set = json!({
//!     "apiVersion": "apps/v1", "kind": "ReplicaSet",
//!     "metadata": {"name": "web", "namespace": "default", "uid": "1"}, "spec": {"replicas": 2},
//! });
//! let pods = [pod("web-1"), pod("web-2")];
//! for object in [node("n1"), node("n2"), namespace, replica_set].iter().chain(&pods) {
//!     let facts = import::object(object).expect("a readable object");
//!     facts.into_iter().for_each(|facts| objects.apply(facts));
//! }
//!
//! let now = "2026-11-21T12:00:00Z".parse().expect("a timestamp");
//! let snapshot = Snapshot::join(&objects, policy.resources());
//! let mut engine = Engine::new(policy, Ledger::default());
//! engine.observe_steady(&snapshot, &Readings::default(), now);
//! let plan = engine.decide(&snapshot, now);
//! for m in &plan.moves {
//!     println!("{}/{} moves from {}: {}", m.namespace, m.pod, m.node, m.reason);
//! }
//! assert_eq!(plan.moves.len(), 1);
//! assert_eq!(plan.moves[0].to.as_deref(), Some("n2"));
//! ```
//!
//! # Modules
//!
//! The modules are listed in dependency order: a module uses only modules above it, and
//! `tests/architecture.rs` checks that. Everything above `cluster` has no client, file,
//! environment, clock or randomness, and takes the time as an argument.

// ── core ───────────────────────────────────────────────────────────────────────────────────────
// A crate of its own, so that the compiler keeps it apart; `core/src/lib.rs` says what each has.
pub use evenkeel_core::{decide, model, policy, schema, simulate, values};

// ── screens and files ──────────────────────────────────────────────────────────────────────────
// Files of a cluster: read, stripped and scrambled.
pub mod files;
// Pages, charts and tables, for the browser and the terminal.
pub mod view;
// ── edges ──────────────────────────────────────────────────────────────────────────────────────
// The API server and the usage sources: watches, evictions, the Lease, the stored ledger.
pub mod cluster;
// Metrics, traces, probes and the server of the status page.
pub mod telemetry;
// The loop that observes, decides and acts.
pub mod daemon;
// The commands.
pub mod cli;
