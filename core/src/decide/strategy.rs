//! Strategies: each selects the pods that it would move, one candidate at a time.

use std::fmt::Debug;

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::{NotSelected, Refusal};
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::{Basis, Names, Rule};
use crate::values::{Ratio, ResourceId};

use high_node_utilization::HighNodeUtilizationRun;
use inter_pod_anti_affinity::InterPodAntiAffinityRun;
use low_node_utilization::LowNodeUtilizationRun;
use node_affinity::NodeAffinityRule;
use node_taints::NodeTaintsRule;
use per_pod::PerPodRun;
use remove_duplicates::{NATIVE, RemoveDuplicatesRun};
use topology_spread::TopologySpreadRun;

mod exact;
mod failed_pods;
pub mod high_node_utilization;
mod importance;
mod inter_pod_anti_affinity;
mod listing;
pub mod low_node_utilization;
mod node_affinity;
mod node_taints;
mod node_turns;
mod per_pod;
mod pod_life_time;
mod preferred_anti_affinity;
mod remove_duplicates;
mod too_many_restarts;
mod topology_spread;
mod run;

pub use run::{FinishedRun, StrategyRun, run};

/// A strategy in one cycle.
///
/// Each strategy decides about a pod in one function, usually called `judge`. Both the candidates
/// and the explanations follow from it, so that they cannot contradict each other.
pub trait SelectPods: Debug {
    /// The next pod that the strategy would move; `None` if there is no more. Each pod comes at
    /// most once.
    fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate>;

    /// The most candidates that may still come.
    fn most_candidates(&self, draft: &Draft<'_>) -> usize {
        draft.world.snapshot.pods.len()
    }

    /// The work so far of a strategy that limits its forecasts itself, in forecasts times nodes.
    fn work(&self) -> Option<usize> {
        None
    }

    /// Takes the answer of the gates about the last candidate: the refusal of its pod, or `None` if
    /// the draft has accepted it.
    fn answered(&mut self, _draft: &Draft<'_>, _pod: PodId, _refusal: Option<&Refusal>) {}

    /// The pods that a forecast of the strategy itself refused and that did not become candidates.
    /// Call it when `next` returns `None`.
    fn refused(&mut self, _draft: &Draft<'_>) -> Vec<(Candidate, Refusal)> {
        Vec::new()
    }

    /// The number of pods that a strategy that limits its forecasts itself did not reach. Call it
    /// when the run has ended.
    fn not_reached(&self, _draft: &Draft<'_>) -> usize {
        0
    }

    /// Why a pod did not become a candidate. Call it when the run has ended.
    fn not_selected(&self, run: &StrategyRun<'_, '_>, pod: PodId) -> NotSelected;

    /// The pod as a candidate, with the destinations that the strategy would allow.
    fn candidate(&self, run: &StrategyRun<'_, '_>, pod: PodId) -> Candidate {
        Candidate::counted(pod, run.position)
    }

    /// A node's ratios beside the strategy's thresholds; empty if the strategy does not weigh the
    /// node.
    fn levels(&self, _run: &StrategyRun<'_, '_>, _node: NodeId) -> Vec<ResourceLevel> {
        Vec::new()
    }
}

/// A node's ratio in one resource beside a strategy's thresholds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResourceLevel {
    /// The resource.
    pub resource: ResourceId,
    /// Whether usage or requests are weighed.
    pub basis: Basis,
    /// The node's ratio; `None` if it is unknown.
    pub ratio: Option<Ratio>,
    /// The threshold: a node at or below all of these is cold, or underused.
    pub threshold: Option<Ratio>,
    /// The target: a node above one of these is hot.
    pub target: Option<Ratio>,
}

/// Starts the strategy at a position of the policy, and records in the draft how it classifies the
/// nodes.
fn start<'w>(draft: &mut Draft<'w>, position: usize) -> Box<dyn SelectPods + 'w> {
    if draft.world.policy.exact
        && let Some(run) = exact::start(draft, position)
    {
        return run;
    }
    match &draft.world.strategy(position).rule {
        Rule::LowNodeUtilization(rule) => {
            Box::new(LowNodeUtilizationRun::start(draft, position, rule))
        }
        Rule::HighNodeUtilization(rule) => {
            Box::new(HighNodeUtilizationRun::start(draft, position, rule))
        }
        Rule::RemoveDuplicates(rule) => {
            Box::new(RemoveDuplicatesRun::start(draft, position, rule, &NATIVE))
        }
        Rule::RemovePodsViolatingTopologySpreadConstraint(rule) => {
            Box::new(TopologySpreadRun::start(draft, position, rule))
        }
        Rule::RemovePodsViolatingInterPodAntiAffinity(rule) => {
            Box::new(InterPodAntiAffinityRun::start(draft, position, rule, false))
        }
        Rule::RemovePodsViolatingNodeAffinity(rule) => {
            let rule = NodeAffinityRule::new(draft, rule);
            Box::new(PerPodRun::start(draft, position, rule))
        }
        Rule::RemovePodsViolatingNodeTaints(rule) => {
            let rule = NodeTaintsRule::new(draft, rule);
            Box::new(PerPodRun::start(draft, position, rule))
        }
        Rule::RemovePodsHavingTooManyRestarts(rule) => {
            Box::new(PerPodRun::start(draft, position, rule.clone()))
        }
        Rule::PodLifeTime(rule) => Box::new(PerPodRun::start(draft, position, rule.clone())),
        Rule::RemoveFailedPods(rule) => Box::new(PerPodRun::start(draft, position, rule.clone())),
    }
}

impl Rule {
    /// The namespaces whose pods the strategy may evict; `None` if its scope already limits them.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "every other strategy looks only at pods in its scope"
    )]
    pub const fn evictable_namespaces(&self) -> Option<&Names> {
        match self {
            Rule::LowNodeUtilization(rule) => Some(&rule.evictable_namespaces),
            Rule::HighNodeUtilization(rule) => Some(&rule.evictable_namespaces),
            _ => None,
        }
    }

    /// The strategy's own limit of evictions per node and cycle.
    pub const fn per_node(&self) -> Option<u32> {
        if let Rule::LowNodeUtilization(rule) = self { rule.per_node } else { None }
    }
}
