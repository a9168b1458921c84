//! Support code that both test targets use.

pub(crate) mod boards;
pub(crate) mod otlp_collector;
pub(crate) mod placements;
pub(crate) mod table;
