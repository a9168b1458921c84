//! The samples of the window as they are, for those who want more than one figure of them.

use std::collections::VecDeque;

use crate::snapshot::Snapshot;
use crate::usage::Sample;

use super::History;

impl History {
    /// The samples of each pod of a snapshot, by its position, in the order of time; `None` where it has none.
    pub fn samples(&self, snapshot: &Snapshot) -> Vec<Option<&VecDeque<Sample>>> {
        self.series(snapshot).into_iter().map(|series| series.map(|s| &s.samples)).collect()
    }
}
