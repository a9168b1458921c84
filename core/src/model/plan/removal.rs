//! A taint that would remove a pod from a node.

use jiff::SignedDuration;

use crate::model::snapshot::facts::Taint;
use crate::values::text::duration;

/// A NoExecute taint that a pod tolerates for a limited time only.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its taint {taint} would remove it after {}", duration(*.after))]
pub struct Removal {
    /// The taint.
    pub taint: Taint,
    /// The time from the landing until the removal.
    pub after: SignedDuration,
}
