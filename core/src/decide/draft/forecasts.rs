//! Forecasts that the draft remembers, because a forecast costs far more than anything else in a
//! decision.

use crate::model::plan::{Reason, Refusal};
use crate::model::snapshot::PodId;
use crate::values::Ratio;

use super::{Candidate, Draft, Prospect};

/// A forecast, and the number of accepted moves that it knew of.
pub(super) type RememberedForecast = (usize, Result<Prospect, Refusal>);

impl Draft<'_> {
    /// Returns the work of the forecast for a candidate, in nodes.
    pub fn forecast_work(&self) -> usize {
        let forecasts = 1 + usize::from(self.without_undecided.is_some());
        forecasts * self.world.snapshot.nodes.len()
    }

    /// Returns the forecast for a candidate. It is made again only after the draft has accepted
    /// another move.
    pub fn remembered(
        &self,
        candidate: &Candidate,
        forecast: impl FnOnce() -> Result<Prospect, Refusal>,
    ) -> Result<Prospect, Refusal> {
        // Only these candidates are asked about more than once, always for the same reason.
        if !matches!(candidate.reason, Reason::HotNode { .. }) {
            return forecast();
        }
        let (key, moves) = ((candidate.strategy, candidate.pod), self.accepted.len());
        let known = self.remembered.borrow().get(&key).cloned();
        match known {
            Some((at, answer)) if at == moves => answer,
            _ => {
                let answer = forecast();
                let entry = (moves, answer.clone());
                self.remembered.borrow_mut().insert(key, entry);
                answer
            }
        }
    }

    /// Returns the refusal of a candidate by a forecast that is remembered, of this or an earlier
    /// state of the draft.
    pub fn remembered_refusal(&self, strategy: usize, pod: PodId) -> Option<Refusal> {
        let remembered = self.remembered.borrow();
        remembered.get(&(strategy, pod))?.1.as_ref().err().cloned()
    }

    /// Returns the probability that moving a candidate helps, if a forecast is remembered.
    pub fn success_of(&self, strategy: usize, pod: PodId) -> Option<Ratio> {
        let remembered = self.remembered.borrow();
        let prospect = remembered.get(&(strategy, pod))?.1.as_ref().ok()?;
        Some(prospect.success)
    }
}
