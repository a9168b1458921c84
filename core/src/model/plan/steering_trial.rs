//! The effect that steering would have on a plan.

use std::fmt;

use crate::values::text::{agree, count};

use super::TrialEffect;

/// The result of a trial decision with the steering taint on the hot nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SteeringTrial {
    /// Whether the policy asks for `taintHot`, so that only the taints are missing.
    pub asked: bool,
    /// Candidates of the plan that a gate refused.
    pub refused: usize,
    /// Candidates among them that stay because of where their replacements could land.
    pub refused_for_landing: usize,
    /// Hot nodes with a taint in the trial.
    pub tainted: usize,
    /// The effect of the evictions of the trial.
    pub effect: TrialEffect,
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
        self.effect.write(f, with, without)
    }
}

crate::object!(SteeringTrial, |trial| {
    "asked": trial.asked,
    "refused": trial.refused,
    "refused_for_landing": trial.refused_for_landing,
    "hot": trial.effect.hot,
    "relieved": trial.effect.relieved,
    "tainted": trial.tainted,
    "moves": trial.effect.moves,
    "more": trial.effect.more,
    "relieved_with_taints": trial.effect.relieved_in_trial,
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
            tainted: 14,
            effect: TrialEffect {
                hot: 14,
                relieved: 3,
                moves: 24,
                more: false,
                relieved_in_trial: 14,
            },
        };
        assert_eq!(
            trial.to_string(),
            "18 of 20 pods that stay do so because of where their replacements could land; \
             with `steering: {taintHot: true}`, 24 evictions would bring 14 of 14 hot nodes to target; without it 3"
        );
        let effect = TrialEffect { more: true, ..trial.effect };
        let asked = SteeringTrial { asked: true, effect, ..trial };
        assert_eq!(
            asked.to_string(),
            "18 of 20 pods that stay do so because of where their replacements could land; \
             once the taints of `steering` are set, the first 24 evictions would bring 14 of 14 hot nodes to target; without them 3"
        );
    }
}
