//! The effect of a trial decision beside that of the policy as it is.

use std::fmt;

use crate::values::text::count;

/// The effect of a trial decision.
///
/// It ignores the limits per cycle, node, namespace, minute and workload, so its evictions may take
/// several cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrialEffect {
    /// Hot nodes.
    pub hot: usize,
    /// Hot nodes that come to their targets without the change, in as many cycles.
    pub relieved: usize,
    /// Hot nodes that the evictions of the trial bring to their targets.
    pub relieved_in_trial: usize,
    /// Evictions of the trial from hot nodes.
    pub moves: usize,
    /// Whether the trial ended because it had planned as many evictions as a trial may.
    pub more: bool,
}

impl TrialEffect {
    pub(super) fn write(
        &self,
        f: &mut fmt::Formatter<'_>,
        with: &str,
        without: &str,
    ) -> fmt::Result {
        let first = if self.more { "the first " } else { "" };
        write!(
            f,
            "{with}, {first}{} would bring {} of {} to target; {without} {}",
            count(self.moves, "eviction"),
            self.relieved_in_trial,
            count(self.hot, "hot node"),
            self.relieved,
        )
    }
}
