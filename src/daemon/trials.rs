//! The schedule of trials and recommendations: in every tenth cycle at most, because a list of
//! recommended requests costs about as much as a decision, and a trial as much as up to eight.

use std::fmt::Display;

use tracing::info;

use crate::model::plan::{ReplicaTrial, Rightsizing, SteeringTrial};

/// Cycles from one trial to the next.
const EVERY: u32 = 10;

/// The trials of a plan.
#[derive(Clone, Debug, Default)]
pub struct Trials {
    pub(super) steering: TrialSchedule<SteeringTrial>,
    /// Trials of a lower `evictable.minReplicas`.
    pub(super) replicas: TrialSchedule<ReplicaTrial>,
    /// Recommended requests.
    pub(super) rightsizing: TrialSchedule<Vec<Rightsizing>>,
}

/// The last trial of one kind, and when the next is due.
#[derive(Clone, Debug)]
pub(super) struct TrialSchedule<T> {
    /// Cycles until the next trial may run.
    wait: u32,
    last: Option<T>,
}

impl<T> Default for TrialSchedule<T> {
    fn default() -> Self {
        TrialSchedule { wait: 0, last: None }
    }
}

impl<T: Clone> TrialSchedule<T> {
    /// Returns the result for this cycle: a new one if one is due, otherwise the last one.
    ///
    /// `wanted` is whether the plan has a reason for it.
    pub(super) fn next(&mut self, wanted: bool, run: impl FnOnce() -> Option<T>) -> Option<T> {
        let due = self.wait == 0;
        self.wait = self.wait.saturating_sub(1);
        if !wanted {
            return None;
        }
        if due {
            self.wait = EVERY - 1;
            self.last = run();
        }
        self.last.clone()
    }
}

impl<T: Clone + PartialEq + Display> TrialSchedule<T> {
    /// Like [`TrialSchedule::next`]. Logs each result that differs from the last one.
    pub(super) fn next_trial(
        &mut self,
        wanted: bool,
        run: impl FnOnce() -> Option<T>,
    ) -> Option<T> {
        let last = self.last.clone();
        let trial = self.next(wanted, run);
        if let Some(trial) = trial.as_ref().filter(|new| Some(*new) != last.as_ref()) {
            info!("trial: {trial}");
        }
        trial
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_runs_in_every_tenth_cycle_that_wants_one() {
        let (mut trials, mut runs) = (TrialSchedule::default(), Vec::new());
        for cycle in 0..25 {
            // In cycles 3 to 6 the plan keeps no candidates because of their landings.
            let wanted = !(3..=6).contains(&cycle);
            let result = trials.next(wanted, || {
                runs.push(cycle);
                Some("a trial")
            });
            assert_eq!(result.is_some(), wanted, "cycle {cycle}");
        }
        assert_eq!(runs, [0, 10, 20]);
    }
}
