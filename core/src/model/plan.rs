//! The result of a decision: moves, refusals and the balance before and after, as plain data.

use std::collections::BTreeSet;
use std::fmt;

use jiff::Timestamp;
use serde::Serialize;

use crate::model::approval::{Proposal, ProposedMove, Unmade};
use crate::model::guard::GuardStop;
use crate::model::ledger::{Aim, ReliefLimit};
use crate::model::record::NodeRelief;
use crate::model::snapshot::facts::{Owner, OwnerKey, Skipped};
use crate::model::snapshot::pause::Pause;
use crate::policy::Basis;
use crate::values::Ratio;
use crate::values::text::{are, count};

mod rightsizing;
mod outcome;
mod balance_report;
mod misfit;
mod reason;
mod refusal;
mod remedy;
mod replica_trial;
mod setbacks;
mod steering;
mod steering_trial;
mod trial_effect;
mod unknown;
mod verdict;
mod pod_verdict;
mod pod_verdict_text;
mod worth;

pub use balance_report::{Balance, BalanceReport, NodePicture, PoolPicture, TargetBand};
pub use misfit::{KubeletRefusal, Misfit, MisfitCounts, Removal};
pub use outcome::{Outcome, Untried};
pub use pod_verdict::{NotSelected, PodVerdict};
pub use reason::{Expected, Finding, Reason};
pub use refusal::{
    BadLanding, BrokenPreference, BudgetCause, ClaimFlaw, Disruption, JobFailureCause, NoGain,
    NoReplacementCause, OrderCause, PlacementCause, Protected, Reach, Refusal, Replacement,
    StartFlaw, Stop, Temporary, horizon, limit_name,
};
pub use replica_trial::ReplicaTrial;
pub use rightsizing::{Direction, Rightsizing, Suggestion};
pub use setbacks::Setbacks;
pub use steering::{STEERING_KEY, Steer, SteerAction, SteerOutcome, SteerReason, SteerValue};
pub use steering_trial::SteeringTrial;
pub use trial_effect::TrialEffect;
pub use unknown::{UnknownKind, UnknownObjects};
pub use verdict::{Class, Halt, Idle, NodesInUse, Note, Verdict};
pub use worth::{FallingNeed, MoveWorth, SavedEvictions, expected_effect};

/// A finished plan. The same world gives the same plan, byte for byte.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// The time of the decision.
    pub at: Timestamp,
    /// The reason why no pod was considered; usually `None`.
    pub halted: Option<Halt>,
    /// The namespaces whose evictions people have stopped.
    pub paused: Vec<PausedNamespace>,
    /// The evictions that guards of the policy stop.
    pub guards: Vec<GuardStop>,
    /// Changes of the soft taints that steer the scheduler. Taints are added before the evictions.
    pub steering: Vec<Steer>,
    /// The evictions, in order.
    pub moves: Vec<Move>,
    /// More evictions, which wait for the approval of a person; empty unless they were asked for.
    pub proposed: Vec<Move>,
    /// Approved evictions that the plan does not make.
    pub unmade: Vec<Unmade>,
    /// Pods that a strategy proposed to move and a gate refused.
    pub kept: Vec<Kept>,
    /// The verdict of each strategy on each node.
    pub nodes: Vec<Verdict>,
    /// The reasons of strategies that do nothing.
    pub notes: Vec<Note>,
    /// The nodes in use, and how many of them would do; `None` if no node is emptied.
    pub nodes_in_use: Option<NodesInUse>,
    /// The balance of the cluster now.
    pub before: BalanceReport,
    /// The balance after every replacement has landed as forecast.
    pub after: BalanceReport,
    /// Workloads whose requests differ widely from their usage, the largest share of the cluster
    /// first; empty unless they were asked for.
    pub rightsizing: Vec<Rightsizing>,
    /// The effect that steering would have; `None` unless steering is off or not in force, and a
    /// trial decision shows that it would relieve more nodes.
    pub steering_trial: Option<SteeringTrial>,
    /// The effect of a lower `evictable.minReplicas`; `None` unless too few replicas are the main
    /// reason why nodes stay hot, and a trial decision shows that it would relieve more nodes.
    pub replica_trial: Option<ReplicaTrial>,
    /// Objects that could not be read.
    pub skipped: Vec<Skipped>,
    /// Objects that are not known, and the number of pods that this concerns.
    pub unknown: Vec<UnknownKind>,
    /// Nodes whose usage counts by its trend and has none yet; `None` if there are none.
    pub no_trend: Option<NoTrend>,
}

/// A pod that a strategy proposed to move, and the refusal that keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// The namespace of the pod.
    pub namespace: String,
    /// The name of the pod.
    pub pod: String,
    /// The node of the pod.
    pub node: String,
    /// The strategy that proposed the move.
    pub strategy: &'static str,
    /// The refusal of the gate.
    pub refusal: Refusal,
}

crate::object!(Kept, |kept| {
    "namespace": kept.namespace,
    "pod": kept.pod,
    "node": kept.node,
    "strategy": kept.strategy,
    "code": kept.refusal.code(),
    "message": kept.refusal.to_string(),
});

/// A namespace whose evictions a person has stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PausedNamespace {
    /// Its name.
    pub namespace: String,
    /// The person, the times and the reason.
    pub pause: Pause,
}

impl fmt::Display for PausedNamespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "namespace {} is {}", self.namespace, self.pause)
    }
}

/// Nodes without a trend, for example after a single reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct NoTrend {
    /// Nodes with pods and usage but no trend.
    pub nodes: usize,
    /// Nodes with pods and usage.
    pub of: usize,
}

impl fmt::Display for NoTrend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (nodes, of) = (self.nodes, count(self.of, "node"));
        write!(f, "no trend yet on {nodes} of {of} with pods: the newest usage decides there")
    }
}

impl Plan {
    /// Returns the number of nodes that are left alone because of their state or of missing or
    /// doubtful data, as the end of a sentence; empty if there are none.
    pub fn aside(&self) -> String {
        let alone: BTreeSet<&str> = self
            .nodes
            .iter()
            .filter(|v| v.class.is_left_alone())
            .map(|v| v.node.as_str())
            .collect();
        match alone.len() {
            0 => String::new(),
            n => format!("; {} {} left alone", count(n, "node"), are(n)),
        }
    }
}

impl Plan {
    /// Returns the numbers of pods and nodes that this cycle did not reach, as the end of a
    /// sentence; empty if there are none, or others move.
    pub fn not_reached(&self) -> String {
        let left = |note: &Note| {
            let Idle::SearchUnfinished { left, of, .. } = note.why else {
                return None;
            };
            Some(format!("; {left} more {of} were not reached in this cycle"))
        };
        self.notes.iter().filter_map(left).collect()
    }

    /// Returns the number of candidates that stay because of where their replacements could land.
    pub fn kept_for_landing(&self) -> usize {
        let kept = self.kept.iter();
        kept.filter(|kept| kept.refusal.lies_in_the_landing()).count()
    }

    /// Returns true if most candidates that stay do so because of where their replacements could
    /// land.
    pub fn keeps_most_for_landing(&self) -> bool {
        self.kept_for_landing() * 2 > self.kept.len()
    }

    /// Returns the pods that stay on nodes that were hot and stay above a target.
    pub fn kept_on_hot_nodes(&self) -> Vec<&Kept> {
        let mut hot: BTreeSet<&str> =
            self.nodes.iter().filter(|v| v.class.is_hot()).map(|v| v.node.as_str()).collect();
        for node in self.after.nodes.iter().filter(|node| node.is_at_target()) {
            hot.remove(node.name.as_str());
        }
        let kept = self.kept.iter();
        kept.filter(|kept| hot.contains(kept.node.as_str())).collect()
    }

    /// Returns true if most candidates on nodes that stay hot have too few replicas.
    pub fn keeps_most_for_replicas(&self) -> bool {
        let kept = self.kept_on_hot_nodes();
        let few = kept.iter().filter_map(|k| k.refusal.too_few_replicas());
        few.count() * 2 > kept.len()
    }
}

/// One eviction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Move {
    /// The namespace of the pod.
    pub namespace: String,
    /// The name of the pod.
    pub pod: String,
    /// The uid of the pod, a precondition of the eviction.
    pub uid: String,
    /// The node of the pod.
    pub node: String,
    /// The node where the replacement is expected. If several may win, the one that it would fill
    /// most.
    pub to: Option<String>,
    /// Every node where the replacement may land, the most likely first, because the scheduler
    /// chooses randomly among ties. Empty without a forecast.
    #[serde(rename = "may_land")]
    pub possible_nodes: Vec<String>,
    /// The strategy that proposed the move.
    pub strategy: &'static str,
    /// The policy profile of the strategy.
    pub profile: String,
    /// The first owner of the pod, or the pod itself if it has none.
    pub owner: Owner,
    /// The top-level controller of the pod.
    pub workload: Option<OwnerKey>,
    /// The purpose of the eviction. With [`Aim::Clear`] the pod is removed and nothing lands.
    pub aim: Aim,
    /// The reason of the strategy.
    pub reason: Reason,
    /// The usage that leaves the node, as the record says it; `None` if it is unknown or not the
    /// purpose.
    #[serde(skip)]
    pub relief: Option<NodeRelief>,
    /// The evictions that its hot node needs less; `None` unless LowNodeUtilization moves the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saves: Option<SavedEvictions>,
    /// The worth of the move; `None` unless LowNodeUtilization moves the pod because of usage
    /// whose course is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worth: Option<MoveWorth>,
}

impl Move {
    /// Returns the reason, the evictions that the move saves, and its worth, in words.
    pub fn why(&self) -> String {
        format!("{}{}", self.reason, expected_effect(self.saves, self.worth))
    }

    /// Returns how full its node may be afterwards; `None` if the move is not to relieve it, or of
    /// requests, which do not come back.
    pub fn relief_of_node(&self) -> Option<ReliefLimit> {
        let Reason::HotNode { ratio, target, basis: Basis::Actual, .. } = self.reason else {
            return None;
        };
        let relief = self.relief.as_ref()?;
        let half_is_gone = ratio.get() - relief.share.get() / 2.0;
        let at_most = Ratio::new(half_is_gone).map_or(target, |half| half.at_least(target));
        Some(ReliefLimit::new(&relief.resource, at_most))
    }
}

impl From<&Move> for ProposedMove {
    fn from(one: &Move) -> Self {
        ProposedMove {
            namespace: one.namespace.clone(),
            pod: one.pod.clone(),
            uid: one.uid.clone(),
            node: one.node.clone(),
            possible_nodes: one.possible_nodes.clone(),
            strategy: one.strategy.to_owned(),
            why: one.why(),
        }
    }
}

impl Plan {
    /// Returns the evictions that wait for an approval, in order, as many as can be stored.
    pub fn proposal(&self) -> Proposal {
        let moves = self.proposed.iter().map(ProposedMove::from);
        Proposal::storable(self.at, moves.collect())
    }

    /// Returns true if nothing was decided about a proposed move, so that a later plan may make it.
    pub fn leaves_open(&self, one: &ProposedMove) -> bool {
        self.halted.is_some() || self.nodes.iter().any(|verdict| verdict.leaves_open(one))
    }

    /// Returns all evictions of the plan as a proposal: those that it makes, and those that wait
    /// for an approval.
    pub fn as_proposal(&self) -> Proposal {
        let moves = self.moves.iter().chain(&self.proposed);
        Proposal::new(self.at, moves.map(ProposedMove::from).collect())
    }
}

impl Basis {
    /// Returns the word in policies and plans.
    pub const fn label(self) -> &'static str {
        match self {
            Basis::Requests => "requests",
            Basis::Actual => "actual",
        }
    }

    /// Returns the word in sentences.
    pub const fn weighed(self) -> &'static str {
        match self {
            Basis::Requests => "requests",
            Basis::Actual => "usage",
        }
    }
}
