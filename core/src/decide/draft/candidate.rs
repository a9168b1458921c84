//! Candidates, and the forecasts of their moves.

use std::rc::Rc;

use crate::decide::placement::Landing;
use crate::decide::projection::World;
use crate::model::plan::{NoGain, Reason, SavedEvictions};
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::{Basis, Evictable};
use crate::values::{Ratio, ResourceId};

/// A pod that a strategy names to the gates.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The pod.
    pub pod: PodId,
    /// The position of the strategy in the policy.
    pub strategy: usize,
    /// The reason of the strategy.
    pub reason: Reason,
    /// Limits that the replacement's node must keep for the move to help; `None` if any node is
    /// fine.
    pub destinations: Option<DestinationLimits>,
    /// The evictions that its hot node needs less, if the strategy counts them.
    pub saves: Option<SavedEvictions>,
}

impl Candidate {
    /// Creates a candidate that may land on any node.
    pub const fn new(pod: PodId, strategy: usize, reason: Reason) -> Self {
        Candidate { pod, strategy, reason, destinations: None, saves: None }
    }

    /// Creates a candidate that is not moved. It only asks the gates for their answer.
    pub const fn counted(pod: PodId, strategy: usize) -> Self {
        Candidate::new(pod, strategy, Reason::Counted)
    }

    /// Sets the limits for the node of the replacement.
    #[must_use]
    pub fn within(self, destinations: impl Into<Option<DestinationLimits>>) -> Self {
        Candidate { destinations: destinations.into(), ..self }
    }

    /// Returns the rules of the candidate's profile about which pods may be evicted.
    pub fn rules<'w>(&self, world: World<'w>) -> &'w Evictable {
        &world.policy.profiles[world.strategy(self.strategy).profile].evictable
    }
}

/// The nodes that may take a replacement, and how full it may make them.
#[derive(Clone, Debug)]
pub struct DestinationLimits {
    /// The nodes, sorted: every forecast asks for many of them.
    pub nodes: Rc<[NodeId]>,
    /// The targets of each node, after the move.
    pub targets: Rc<[(ResourceId, Ratio)]>,
    /// Whether these targets apply to usage or requests.
    pub basis: Basis,
    /// Targets of each node of known usage.
    pub usage_targets: Rc<[(ResourceId, Ratio)]>,
    /// Why a move to any other node that the policy selects gains nothing.
    pub others: NoGain,
}

/// The forecast of a move that the landing gate admits.
#[derive(Clone, Debug, PartialEq)]
pub struct Prospect {
    /// Where the replacement is expected.
    pub landing: Landing,
    /// The probability that the move helps.
    pub success: Ratio,
}

impl Prospect {
    /// Creates the forecast of a move whose landing does not matter.
    pub fn certain() -> Self {
        Prospect { landing: Landing::default(), success: Ratio::ONE }
    }
}
