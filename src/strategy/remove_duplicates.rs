//! RemoveDuplicates.

use crate::draft::{Candidate, Draft};
use crate::policy::RemoveDuplicates;

/// The strategy at work.
#[derive(Debug)]
pub struct Running;

impl Running {
    pub(super) fn start(_draft: &mut Draft<'_>, _position: usize, _rule: &RemoveDuplicates) -> Self {
        Running
    }

    pub(super) fn next(&mut self, _draft: &Draft<'_>) -> Option<Candidate> {
        None
    }
}
