//! The effect that steering would have on a plan.

use std::fmt;

use crate::values::text::{agree, count};

/// The result of a trial decision with the steering taint on the hot nodes.
///
/// The trial ignores the limits per cycle, node, namespace, minute and workload, so its evictions
/// may take several cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SteeringTrial {
    /// Whether the policy asks for `taintHot`, so that only the taints are missing.
    pub asked: bool,
    /// Candidates of the plan that a gate refused.
    pub refused: usize,
    /// Candidates among them that stay because of where their replacements could land.
    pub refused_for_landing: usize,
    /// Hot nodes.
    pub hot: usize,
    /// Hot nodes that come to their targets without the taints, in as many cycles.
    pub relieved: usize,
    /// Hot nodes with a taint in the trial.
    pub tainted: usize,
    /// Evictions of the trial.
    pub moves: usize,
    /// Whether the trial ended because it had planned as many evictions as a trial may.
    pub more: bool,
    /// Hot nodes that the evictions of the trial bring to their targets.
    pub relieved_with_taints: usize,
}

impl fmt::Display for SteeringTrial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stay = agree(self.refused, "stays", "stay");
        let do_so = agree(self.refused_for_landing, "does", "do");
        write!(
            f,
            "{} of {} that {stay} {do_so} so because of where their replacements could land; ",
            self.refused_for_landing,
            count(self.refused, "pod"),
        )?;
        let (with, without) = if self.asked {
            ("once the taints of `steering` are set", "without them")
        } else {
            ("with `steering: {taintHot: true}`", "without it")
        };
        let first = if self.more { "the first " } else { "" };
        write!(
            f,
            "{with}, {first}{} would bring {} of {} to target; {without} {}",
            count(self.moves, "eviction"),
            self.relieved_with_taints,
            count(self.hot, "hot node"),
            self.relieved,
        )
    }
}

crate::object!(SteeringTrial, |trial| {
    "asked": trial.asked,
    "refused": trial.refused,
    "refused_for_landing": trial.refused_for_landing,
    "hot": trial.hot,
    "relieved": trial.relieved,
    "tainted": trial.tainted,
    "moves": trial.moves,
    "more": trial.more,
    "relieved_with_taints": trial.relieved_with_taints,
    "message": trial.to_string(),
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_names_the_setting_only_if_the_policy_lacks_it() {
        let trial = SteeringTrial {
            asked: false,
            refused: 20,
            refused_for_landing: 18,
            hot: 14,
            relieved: 3,
            tainted: 14,
            moves: 24,
            more: false,
            relieved_with_taints: 14,
        };
        assert_eq!(
            trial.to_string(),
            "18 of 20 pods that stay do so because of where their replacements could land; \
             with `steering: {taintHot: true}`, 24 evictions would bring 14 of 14 hot nodes to target; without it 3"
        );
        let asked = SteeringTrial { asked: true, more: true, ..trial };
        assert_eq!(
            asked.to_string(),
            "18 of 20 pods that stay do so because of where their replacements could land; \
             once the taints of `steering` are set, the first 24 evictions would bring 14 of 14 hot nodes to target; without them 3"
        );
    }
}
