//! Deciding which pods to evict: a pure function from the world to a
//! [`Plan`](crate::model::plan::Plan).
//!
//! The modules are listed in dependency order: a module uses only modules above it.
//!
//! ```text
//! decide(world) =
//!   draft = the world without any decision
//!   for each strategy of the policy, in order:
//!     while the strategy names a candidate, given the draft:
//!       a gate refuses it  → the draft records the refusal
//!       all gates admit it → the draft records the move and projects the usage of both nodes
//!   return the finished plan
//! ```

pub mod placement;
pub mod scheduler;
pub mod projection;
pub mod targets;
pub mod draft;
pub mod gate;
pub mod strategy;
pub mod steering;
pub mod rightsizing;
pub mod explain;
pub mod doctor;
pub mod engine;
