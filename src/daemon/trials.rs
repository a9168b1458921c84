//! The schedule of steering trials: in every tenth cycle at most, because a trial costs as much as
//! a decision.

use tracing::info;

use crate::model::plan::SteeringTrial;

/// Cycles from one trial to the next.
const EVERY: u32 = 10;

/// The last trial of steering, and when the next is due.
#[derive(Clone, Debug, Default)]
pub struct SteeringTrials {
    /// Cycles until the next trial may run.
    wait: u32,
    last: Option<SteeringTrial>,
}

impl SteeringTrials {
    /// Returns the result for this cycle: a new trial if one is due, otherwise the last one.
    ///
    /// `wanted` is whether the plan keeps most candidates because of their landings. Logs each
    /// result that differs from the last one.
    pub(super) fn next(
        &mut self,
        wanted: bool,
        run: impl FnOnce() -> Option<SteeringTrial>,
    ) -> Option<SteeringTrial> {
        let due = self.wait == 0;
        self.wait = self.wait.saturating_sub(1);
        if !wanted {
            return None;
        }
        if due {
            self.wait = EVERY - 1;
            let trial = run();
            if let Some(trial) = trial
                .as_ref()
                .filter(|new| Some(*new) != self.last.as_ref())
            {
                info!("steering: {trial}");
            }
            self.last = trial;
        }
        self.last.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_runs_in_every_tenth_cycle_that_wants_one() {
        let trial = SteeringTrial {
            asked: false,
            refused: 2,
            refused_for_landing: 2,
            hot: 1,
            relieved: 0,
            tainted: 1,
            moves: 3,
            more: false,
            relieved_with_taints: 1,
        };
        let (mut trials, mut runs) = (SteeringTrials::default(), Vec::new());
        for cycle in 0..25 {
            // In cycles 3 to 6 the plan keeps no candidates because of their landings.
            let wanted = !(3..=6).contains(&cycle);
            let result = trials.next(wanted, || {
                runs.push(cycle);
                Some(trial.clone())
            });
            assert_eq!(result.is_some(), wanted, "cycle {cycle}");
        }
        assert_eq!(runs, [0, 10, 20]);
    }
}
