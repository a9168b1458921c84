//! The cluster at one instant: the snapshot joined with the usage that is known of it.

use std::cell::OnceCell;

use jiff::Timestamp;

use crate::model::snapshot::{NodeId, Snapshot};
use crate::model::usage::Usage;

/// The cluster at one instant, joined once and used by every step of a cycle.
#[derive(Debug)]
pub struct Observed<'s> {
    /// The objects of the cluster.
    pub snapshot: &'s Snapshot,
    /// The usage of its nodes and pods.
    pub usage: Usage,
    /// The time.
    pub now: Timestamp,
    /// Nodes above a target, by the position of the strategy. Not every step asks for them.
    pub(super) hot: OnceCell<Vec<(usize, NodeId)>>,
}

impl<'s> Observed<'s> {
    pub(super) const fn new(snapshot: &'s Snapshot, usage: Usage, now: Timestamp) -> Self {
        Observed { snapshot, usage, now, hot: OnceCell::new() }
    }
}
