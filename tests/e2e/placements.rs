//! Recorded placements, shared with the tests that replay them.

#[path = "../it/placements/case.rs"]
pub mod case;
#[path = "../it/placements/judge.rs"]
pub mod judge;
