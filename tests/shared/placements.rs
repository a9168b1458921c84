//! Recorded placements of a real kube-scheduler, and how our forecast compares with them.

pub(crate) mod case;
pub(crate) mod judge;
