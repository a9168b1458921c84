//! The start of the scheduler's next search, as far as placements show it.

use std::rc::Rc;

use crate::model::search_start::StartChances;
use crate::model::snapshot::{NodeId, Snapshot};
use crate::values::Ratio;

use super::Placement;

/// The probability of each node to be the first that the scheduler visits for the next pod, in the
/// order in which it visits nodes. The probabilities add up to one.
#[derive(Clone, Debug, PartialEq)]
pub struct Starts(Rc<[f64]>);

impl Starts {
    /// Creates probabilities from weights of any sum. Without weight, all nodes are equal.
    pub fn weighted(mut weights: Vec<f64>) -> Self {
        let sum: f64 = weights.iter().sum();
        if sum > 0.0 {
            for weight in &mut weights {
                *weight /= sum;
            }
        } else {
            let even = 1.0 / f64::from(u32::try_from(weights.len()).unwrap_or(u32::MAX).max(1));
            weights.fill(even);
        }
        Starts(weights.into())
    }

    /// Reads the knowledge about the nodes of a snapshot. A node that joined since starts no
    /// search.
    pub fn known(known: Option<&StartChances>, snapshot: &Snapshot, rotation: &[NodeId]) -> Self {
        let chance = |node: &NodeId| known?.chances.get(&snapshot.node(*node).name).copied();
        let chances = rotation.iter().map(chance);
        Starts::weighted(chances.map(|c| c.unwrap_or_default().get()).collect())
    }

    /// Returns the probabilities.
    pub fn chances(&self) -> &[f64] {
        &self.0
    }

    /// Returns the probabilities if, with this probability, nothing is known. With 1 % and four
    /// nodes, a certain start becomes one of 99.25 %, and each other node gets 0.25 %.
    #[must_use]
    pub fn unless(&self, lost: Ratio) -> Self {
        let lost = lost.at_most(Ratio::ONE).get();
        let even = lost / f64::from(u32::try_from(self.0.len()).unwrap_or(u32::MAX).max(1));
        Starts(self.0.iter().map(|c| c * (1.0 - lost) + even).collect())
    }
}

impl Placement<'_> {
    /// Returns where the scheduler may start its search for the next replacement. `None` if nothing
    /// is known.
    pub fn starts(&self) -> Option<&Starts> {
        let known = || {
            let (order, known) = self.search_start.likeliest()?;
            let rotation = self.index().rotation(order);
            Some(Starts::known(Some(known), self.snapshot, rotation))
        };
        self.starts.get_or_init(known).as_ref()
    }
}
