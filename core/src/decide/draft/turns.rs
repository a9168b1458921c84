//! The limit of the forecasts of one strategy in a cycle, and the candidates that get them.
//!
//! In a large cluster, a strategy may name more pods than a cycle can make forecasts for. Half of
//! the work goes to those that come first. These may stay for ever, so the other half goes to
//! candidates that change from cycle to cycle.

use std::cell::Cell;

/// The turns of the candidates of one strategy. The default has no limit.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// The work so far, in forecasts times nodes.
    work: Cell<usize>,
    /// The work for the candidates that come first; `None` without a limit.
    half: Option<usize>,
    /// The number of the cycle, which decides who has the second half.
    cycle: usize,
    /// The most candidates that may still come.
    left: usize,
    /// The candidates since the first half was used up, and of how many of them one has a turn.
    behind: Option<(usize, usize)>,
    is_over: bool,
}

impl Turns {
    /// Turns for at most so many candidates that share this work.
    pub(super) fn new(most_work: usize, candidates: usize, cycle: usize) -> Self {
        Turns { half: Some((most_work / 2).max(1)), left: candidates, cycle, ..Turns::default() }
    }

    /// Goes on to the next candidate, whose forecast costs this work.
    pub(super) fn begin(&mut self, forecast: usize) {
        let Some(half) = self.half.filter(|half| self.work.get() >= *half) else {
            self.left = self.left.saturating_sub(1);
            return;
        };
        let all = self.left.saturating_mul(forecast).div_ceil(half).max(1);
        let (number, of) = self.behind.unwrap_or((0, all));
        self.is_over = number % of != self.cycle % of;
        self.behind = Some((number + 1, of));
    }

    /// Counts work, in forecasts times nodes.
    pub(super) fn spend(&self, work: usize) {
        self.work.set(self.work.get() + work);
    }

    /// Returns the work so far.
    pub(super) fn work(&self) -> usize {
        self.work.get()
    }

    /// Returns true if the present candidate gets a forecast only in another cycle.
    pub(super) const fn is_over(&self) -> bool {
        self.is_over
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Turns;

    /// The candidates with a turn in a cycle with a work of 20, if each forecast costs 1.
    fn reached(candidates: usize, cycle: usize) -> Vec<usize> {
        let mut turns = Turns::new(20, candidates, cycle);
        let mut reached = Vec::new();
        for candidate in 0..candidates {
            turns.begin(1);
            if !turns.is_over() {
                turns.spend(1);
                reached.push(candidate);
            }
        }
        reached
    }

    #[test]
    fn all_candidates_have_a_turn_if_the_work_suffices() {
        assert_eq!(reached(20, 7), (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn candidates_whose_answer_needs_no_forecast_use_up_no_work() {
        let mut turns = Turns::new(20, 1000, 7);
        assert!((0..1000).all(|_| {
            turns.begin(1);
            !turns.is_over()
        }));
    }

    #[test]
    fn half_of_the_work_goes_to_the_first_ones_and_the_other_half_to_others_in_each_cycle() {
        let mut seen = BTreeSet::new();
        for cycle in 100..110 {
            let reached = reached(110, cycle);
            assert_eq!((&reached[..10], reached.len()), (&*(0..10).collect::<Vec<_>>(), 20));
            seen.extend(reached);
        }
        assert_eq!(seen.len(), 110);
    }
}
