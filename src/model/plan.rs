//! The result of a decision: moves, refusals and the balance before and after, as plain data.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde::{Serialize, Serializer};

use crate::model::ledger::Aim;
use crate::model::snapshot::facts::{Effect, Owner, OwnerKey, Skipped, Taint};
use crate::policy::Basis;
use crate::values::Ratio;

mod claim_flaw;
mod duration_text;
mod rightsizing;
mod finding;
mod kept;
mod outcome;
mod balance_report;
mod broken_preference;
mod budget_cause;
mod misfit;
mod no_gain;
mod other_system;
mod placement_cause;
mod refusal;
mod refusal_code;
mod refusal_text;
mod remedy;
mod replica_trial;
mod setbacks;
mod steering;
mod steering_trial;
mod unknown;
mod verdict;
mod pod_verdict;
mod pod_verdict_text;

pub use balance_report::{Balance, BalanceReport, NodePicture, PoolPicture, TargetBand};
pub use broken_preference::BrokenPreference;
pub use budget_cause::BudgetCause;
pub use claim_flaw::ClaimFlaw;
pub use duration_text::{short, whole};
pub use finding::Finding;
pub use kept::Kept;
pub use misfit::{Misfit, MisfitCounts};
pub use no_gain::NoGain;
pub use other_system::OtherSystem;
pub use outcome::{Outcome, Untried};
pub use placement_cause::PlacementCause;
pub use pod_verdict::{NotSelected, PodVerdict};
pub use refusal::{Reach, Refusal};
pub use refusal_text::horizon;
pub use replica_trial::ReplicaTrial;
pub use rightsizing::{Direction, Rightsizing, Suggestion};
pub use setbacks::Setbacks;
pub use steering::{STEERING_KEY, Steer, SteerAction, SteerOutcome, SteerReason, SteerValue};
pub use steering_trial::SteeringTrial;
pub use unknown::{UnknownKind, UnknownObjects};
pub use verdict::{Class, Halt, Idle, Note, Verdict};

/// A finished plan. The same world gives the same plan, byte for byte.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// The time of the decision.
    pub at: Timestamp,
    /// The reason why no pod was considered; usually `None`.
    pub halted: Option<Halt>,
    /// Changes of the soft taints that steer the scheduler. Taints are added before the evictions.
    pub steering: Vec<Steer>,
    /// The evictions, in order.
    pub moves: Vec<Move>,
    /// Pods that a strategy proposed to move and a gate refused.
    pub kept: Vec<Kept>,
    /// The verdict of each strategy on each node.
    pub nodes: Vec<Verdict>,
    /// The reasons of strategies that do nothing.
    pub notes: Vec<Note>,
    /// The balance of the cluster now.
    pub before: BalanceReport,
    /// The balance after every replacement has landed as forecast.
    pub after: BalanceReport,
    /// Workloads whose requests differ widely from their usage, the largest share of the cluster
    /// first.
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
}

impl Plan {
    /// Returns the number of nodes that are left alone because of missing or doubtful data, as the
    /// end of a sentence; empty if there are none.
    pub fn aside(&self) -> String {
        let alone: BTreeSet<&str> = self
            .nodes
            .iter()
            .filter(|v| {
                let unknown = matches!(v.class, Class::Unknown(_) | Class::NoAllocatable(_));
                unknown || matches!(v.class, Class::Doubtful(_))
            })
            .map(|v| v.node.as_str())
            .collect();
        match alone.len() {
            0 => String::new(),
            1 => "; 1 node is left alone".to_owned(),
            n => format!("; {n} nodes are left alone"),
        }
    }
}

impl Plan {
    /// Returns the number of candidates that stay because of where their replacements could land.
    pub fn kept_for_landing(&self) -> usize {
        let kept = self.kept.iter();
        kept.filter(|kept| kept.refusal.lies_in_the_landing())
            .count()
    }

    /// Returns true if most candidates that stay do so because of where their replacements could
    /// land.
    pub fn keeps_most_for_landing(&self) -> bool {
        self.kept_for_landing() * 2 > self.kept.len()
    }

    /// Returns the rejected candidates on nodes that were hot and stay above a target.
    pub fn kept_on_hot_nodes(&self) -> Vec<&Kept> {
        let mut hot: BTreeSet<&str> = self
            .nodes
            .iter()
            .filter(|v| matches!(v.class, Class::Hot { .. }))
            .map(|v| v.node.as_str())
            .collect();
        for node in self.after.nodes.iter().filter(|node| node.is_at_target()) {
            hot.remove(node.name.as_str());
        }
        let kept = self.kept.iter();
        kept.filter(|kept| hot.contains(kept.node.as_str()))
            .collect()
    }

    /// Returns true if most candidates on nodes that stay hot have too few replicas.
    pub fn keeps_most_for_replicas(&self) -> bool {
        let kept = self.kept_on_hot_nodes();
        let few = kept
            .iter()
            .filter(|kept| matches!(kept.refusal, Refusal::TooFewReplicas { .. }));
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
    pub may_land: Vec<String>,
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
}

/// The present behind an expected ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// The ratio now.
    pub now: Ratio,
    /// The period after now for which the other ratio is expected.
    pub ahead: SignedDuration,
}

/// The reason for moving a pod. Serialises as its sentence.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Reason {
    /// The node of the pod is above its target.
    #[error(
        "node {} {resource} {ratio}{} is above its target of {target}",
        weighed(*.basis),
        foreseen(.expected.as_ref())
    )]
    HotNode {
        /// The resource that exceeds its target most.
        resource: String,
        /// The ratio of the node before this move.
        ratio: Ratio,
        /// The target.
        target: Ratio,
        /// Usage or requests.
        basis: Basis,
        /// The ratio now, if `ratio` is what is expected.
        expected: Option<Expected>,
    },
    /// The node of the pod is not hot, but without the pod it becomes attractive for a pod of a hot
    /// node.
    #[error("without it, kube-scheduler prefers its node for {pod} of {node}, which is hot")]
    Opening {
        /// The hot node.
        node: String,
        /// The pod of the hot node that can land well afterwards.
        pod: String,
    },
    /// The node of the pod is below every threshold and is emptied.
    #[error(
        "node {} {resource} {ratio} and every other resource are at or below their thresholds \
         ({threshold}), so the node is emptied",
        weighed(*.basis)
    )]
    UnderusedNode {
        /// The resource that is closest to its threshold.
        resource: String,
        /// The ratio of the node before any move.
        ratio: Ratio,
        /// The threshold.
        threshold: Ratio,
        /// Usage or requests.
        basis: Basis,
    },
    /// Too many identical pods of the same owner are on the node.
    #[error("{here} of {of} replicas are on this node, and its share is {share}")]
    Duplicate {
        /// Replicas on the node.
        here: usize,
        /// All replicas.
        of: usize,
        /// Replicas that the node may have.
        share: usize,
    },
    /// Too many pods of a topology spread constraint are in the domain of the pod.
    #[error("{key} {place} has {here} pods and {other} has {there}, and maxSkew is {max_skew}")]
    Skewed {
        /// The topology key.
        key: String,
        /// The topology domain of the pod.
        place: String,
        /// Pods in that domain.
        here: usize,
        /// Pods in the other domain.
        there: usize,
        /// The other domain.
        other: String,
        /// The allowed difference.
        max_skew: u32,
    },
    /// The pod is not moved. The candidate only asks the gates for their answer.
    #[error("only counted")]
    Counted,
    /// A pod in the same topology domain violates the required anti-affinity of the pod.
    #[error("its required anti-affinity forbids {pod} in the same {topology_key}")]
    Neighbour {
        /// The other pod, as `namespace/name`.
        pod: String,
        /// The topology key that the two pods share.
        topology_key: String,
    },
    /// Another node suits the preferred anti-affinity of the pod, or of others against it, better.
    #[error(
        "preferred anti-affinity counts {weight} against its node and only {best} against another"
    )]
    NearAvoided {
        /// The sum of the weights of violated terms on its node.
        weight: i64,
        /// The smallest sum on another node.
        best: i64,
    },
    /// The node does not match the node selector or required node affinity of the pod.
    #[error("its node affinity no longer matches its node")]
    WrongNode,
    /// The pod prefers other nodes.
    #[error("its preferred node affinity gives its node the weight {weight} and another {best}")]
    LessPreferred {
        /// The weight of its node.
        weight: i64,
        /// The highest weight of another node.
        best: i64,
    },
    /// The pod does not tolerate this taint of its node.
    #[error("does not tolerate the taint {0} of its node")]
    Taint(Taint),
    /// The pod keeps restarting.
    #[error("restarted {restarts} times, and the limit is {limit}")]
    Restarts {
        /// Restarts of its containers.
        restarts: u64,
        /// Restarts from which on the strategy selects a pod.
        limit: u32,
    },
    /// The pod has all these properties.
    #[error("{}", all_findings(.0))]
    Found(Vec<Finding>),
}

impl Reason {
    /// Returns the purpose of an eviction for this reason. A finished pod has no replacement.
    pub const fn aim(&self, finished: bool) -> Aim {
        if finished {
            Aim::Clear
        } else if self.lies_in_the_pod() {
            Aim::Renew
        } else if matches!(self, Reason::Opening { .. }) {
            Aim::Open
        } else {
            Aim::Move
        }
    }

    /// Returns true if the pod itself is the problem, not its node. Its replacement may then land
    /// on any node.
    pub const fn lies_in_the_pod(&self) -> bool {
        matches!(self, Reason::Restarts { .. } | Reason::Found(_))
    }

    /// Returns true if the move mends a preference of the pod, which does not justify breaking
    /// another one.
    pub fn is_a_wish(&self) -> bool {
        match self {
            Reason::Taint(taint) => taint.effect == Effect::PreferNoSchedule,
            Reason::Duplicate { .. }
            | Reason::Skewed { .. }
            | Reason::LessPreferred { .. }
            | Reason::NearAvoided { .. } => true,
            Reason::HotNode { .. }
            | Reason::UnderusedNode { .. }
            | Reason::Opening { .. }
            | Reason::Counted
            | Reason::Neighbour { .. }
            | Reason::WrongNode
            | Reason::Restarts { .. }
            | Reason::Found(_) => false,
        }
    }

    /// Returns true if the move is only a preference, which does not justify landing on a node that
    /// is hot by usage.
    pub const fn is_a_preference(&self) -> bool {
        let balances = matches!(self, Reason::HotNode { .. } | Reason::UnderusedNode { .. });
        balances
            || matches!(
                self,
                Reason::Duplicate { .. }
                    | Reason::Skewed { .. }
                    | Reason::LessPreferred { .. }
                    | Reason::NearAvoided { .. }
            )
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
}

/// Returns the words after a node's ratio in a reason.
fn foreseen(expected: Option<&Expected>) -> String {
    expected.map_or(String::new(), |Expected { now, ahead }| {
        format!(", expected in the next {} (now {now}),", short(*ahead))
    })
}

/// Returns the word before a node's ratio in a reason.
const fn weighed(basis: Basis) -> &'static str {
    match basis {
        Basis::Requests => "requests:",
        Basis::Actual => "usage:",
    }
}

fn all_findings(findings: &[Finding]) -> String {
    let mut text = String::new();
    for (i, finding) in findings.iter().enumerate() {
        text.push_str(match i {
            0 => "",
            _ if i + 1 == findings.len() => " and ",
            _ => ", ",
        });
        text.push_str(&finding.to_string());
    }
    text
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
