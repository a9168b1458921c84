//! For recorded placements and for live ones.

pub mod case;
pub mod judge;
