//! The input of a decision, and the candidates and landings that a draft is made of.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::LazyLock;

use jiff::Timestamp;

use crate::model::approval::Approved;
use crate::model::guard::GuardStates;
use crate::model::ledger::Ledger;
use crate::model::plan::{NoGain, Reason};
use crate::model::search_start::SearchStart;
use crate::model::snapshot::{NodeId, PodId, Snapshot};
use crate::model::usage::Usage;
use crate::policy::{Basis, Policy};
use crate::values::{Ratio, ResourceId};

use super::Starts;

/// The time since when a node has been above a target, by strategy position and node name.
pub type HotSince = BTreeMap<(usize, String), Timestamp>;

/// The complete input of a decision.
#[derive(Clone, Copy, Debug)]
pub struct World<'w> {
    /// The policy.
    pub policy: &'w Policy,
    /// The nodes, pods and budgets of the cluster.
    pub snapshot: &'w Snapshot,
    /// The usage of nodes and pods.
    pub usage: &'w Usage,
    /// Past evictions.
    pub ledger: &'w Ledger,
    /// The guards of the policy with their states.
    pub guards: &'w GuardStates,
    /// The evictions that a person has approved, where the policy requires that.
    pub approved: &'w Approved,
    /// The time since when nodes have been hot.
    pub hot_since: &'w HotSince,
    /// Where kube-scheduler may start its next search.
    pub search_start: &'w SearchStart,
    /// The current time.
    pub now: Timestamp,
}

/// The memory of an engine that has seen nothing yet.
#[derive(Default)]
struct NoMemory {
    ledger: Ledger,
    guards: GuardStates,
    approved: Approved,
    hot_since: HotSince,
    search_start: SearchStart,
}

static NO_MEMORY: LazyLock<NoMemory> = LazyLock::new(NoMemory::default);

impl<'w> World<'w> {
    /// Creates a world without anything from earlier cycles.
    pub fn without_memory(
        policy: &'w Policy,
        snapshot: &'w Snapshot,
        usage: &'w Usage,
        now: Timestamp,
    ) -> Self {
        World {
            policy,
            snapshot,
            usage,
            ledger: &NO_MEMORY.ledger,
            guards: &NO_MEMORY.guards,
            approved: &NO_MEMORY.approved,
            hot_since: &NO_MEMORY.hot_since,
            search_start: &NO_MEMORY.search_start,
            now,
        }
    }
}

/// A pod that a strategy proposes to move.
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
}

impl Candidate {
    /// Creates a candidate that is not moved. It only asks the gates for their answer.
    pub const fn counted(pod: PodId, strategy: usize) -> Self {
        Candidate {
            pod,
            strategy,
            reason: Reason::Counted,
            destinations: None,
        }
    }
}

/// The nodes that may take a replacement, and how full it may make them.
#[derive(Clone, Debug)]
pub struct DestinationLimits {
    /// The nodes.
    pub nodes: Rc<[NodeId]>,
    /// The targets of each node, after the move.
    pub targets: Rc<[(ResourceId, Ratio)]>,
    /// Whether these targets apply to usage or requests.
    pub basis: Basis,
    /// Targets of each node by usage, where it is known.
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
        Prospect {
            landing: Landing::default(),
            success: Ratio::ONE,
        }
    }
}

/// The nodes where the forecast expects a replacement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Landing {
    /// The node that the draft adds the load to; `None` without a forecast.
    pub on: Option<NodeId>,
    /// Every node that may win, the most likely first.
    pub possible_nodes: Vec<NodeId>,
    /// Where the scheduler may start its next search; `None` if that is not known.
    pub starts: Option<Starts>,
}

impl Landing {
    /// Without a node to add the load to, takes the likeliest one other than the pod's own.
    #[must_use]
    pub fn on_another(self, home: Option<NodeId>) -> Self {
        let mut others = self.possible_nodes.iter().copied();
        let likeliest = others.find(|node| Some(*node) != home);
        Landing {
            on: self.on.or(likeliest),
            ..self
        }
    }
}
