//! The strategies: each names one candidate at a time, given the draft, until it has no more to ask.

use crate::decide::draft::{Candidate, Draft};
use crate::policy::{Names, Rule};

mod exact_marks;
mod exact_spread;
pub mod exact_utilization;
pub mod failed_pods;
pub mod high_node_utilization;
pub mod inter_pod_anti_affinity;
mod listing;
pub mod low_node_utilization;
pub mod node_affinity;
pub mod node_taints;
pub mod pod_life_time;
pub mod remove_duplicates;
pub mod too_many_restarts;
pub mod topology_spread;
mod run;

pub use run::{Level, StrategyRun, run};

/// A strategy at work.
#[derive(Debug)]
pub enum Running {
    /// LowNodeUtilization or HighNodeUtilization as descheduler would choose.
    Exact(exact_utilization::Running),
    /// LowNodeUtilization.
    LowNodeUtilization(low_node_utilization::Running),
    /// HighNodeUtilization.
    HighNodeUtilization(high_node_utilization::Running),
    /// RemoveDuplicates.
    RemoveDuplicates(remove_duplicates::Running),
    /// RemovePodsViolatingTopologySpreadConstraint.
    RemovePodsViolatingTopologySpreadConstraint(topology_spread::Running),
    /// RemovePodsViolatingInterPodAntiAffinity.
    RemovePodsViolatingInterPodAntiAffinity(inter_pod_anti_affinity::Running),
    /// RemovePodsViolatingNodeAffinity.
    RemovePodsViolatingNodeAffinity(node_affinity::Running),
    /// RemovePodsViolatingNodeTaints.
    RemovePodsViolatingNodeTaints(node_taints::Running),
    /// RemovePodsHavingTooManyRestarts.
    RemovePodsHavingTooManyRestarts(too_many_restarts::Running),
    /// PodLifeTime.
    PodLifeTime(pod_life_time::Running),
    /// RemoveFailedPods.
    RemoveFailedPods(failed_pods::Running),
}

impl Running {
    /// Looks at the nodes, and writes down in the draft what it makes of each.
    pub fn start(draft: &mut Draft<'_>, position: usize) -> Self {
        let exact = draft.world.policy.exact;
        match &draft.strategy(position).rule {
            Rule::LowNodeUtilization(rule) if exact => {
                Running::Exact(exact_utilization::Running::low(draft, position, rule))
            }
            Rule::HighNodeUtilization(rule) if exact => {
                Running::Exact(exact_utilization::Running::high(draft, position, rule))
            }
            Rule::LowNodeUtilization(rule) => Running::LowNodeUtilization(
                low_node_utilization::Running::start(draft, position, rule),
            ),
            Rule::HighNodeUtilization(rule) => Running::HighNodeUtilization(
                high_node_utilization::Running::start(draft, position, rule),
            ),
            Rule::RemoveDuplicates(rule) => {
                Running::RemoveDuplicates(remove_duplicates::Running::start(draft, position, rule))
            }
            Rule::RemovePodsViolatingTopologySpreadConstraint(rule) => {
                Running::RemovePodsViolatingTopologySpreadConstraint(
                    topology_spread::Running::start(draft, position, rule),
                )
            }
            Rule::RemovePodsViolatingInterPodAntiAffinity(rule) => {
                Running::RemovePodsViolatingInterPodAntiAffinity(
                    inter_pod_anti_affinity::Running::start(draft, position, rule),
                )
            }
            Rule::RemovePodsViolatingNodeAffinity(rule) => {
                Running::RemovePodsViolatingNodeAffinity(node_affinity::Running::start(
                    draft, position, rule,
                ))
            }
            Rule::RemovePodsViolatingNodeTaints(rule) => Running::RemovePodsViolatingNodeTaints(
                node_taints::Running::start(draft, position, rule),
            ),
            Rule::RemovePodsHavingTooManyRestarts(rule) => {
                Running::RemovePodsHavingTooManyRestarts(too_many_restarts::Running::start(
                    draft, position, rule,
                ))
            }
            Rule::PodLifeTime(rule) => {
                Running::PodLifeTime(pod_life_time::Running::start(draft, position, rule))
            }
            Rule::RemoveFailedPods(rule) => {
                Running::RemoveFailedPods(failed_pods::Running::start(draft, position, rule))
            }
        }
    }

    /// The next pod that it would move; `None` when it is done. Each pod is asked for once.
    pub fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        match self {
            Running::Exact(running) => running.next(draft),
            Running::LowNodeUtilization(running) => running.next(draft),
            Running::HighNodeUtilization(running) => running.next(draft),
            Running::RemoveDuplicates(running) => running.next(draft),
            Running::RemovePodsViolatingTopologySpreadConstraint(running) => running.next(draft),
            Running::RemovePodsViolatingInterPodAntiAffinity(running) => running.next(draft),
            Running::RemovePodsViolatingNodeAffinity(running) => running.next(draft),
            Running::RemovePodsViolatingNodeTaints(running) => running.next(draft),
            Running::RemovePodsHavingTooManyRestarts(running) => running.next(draft),
            Running::PodLifeTime(running) => running.next(draft),
            Running::RemoveFailedPods(running) => running.next(draft),
        }
    }
}

impl Rule {
    /// The namespaces whose pods the strategy may move.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the others look only at pods of their scope in the first place"
    )]
    pub const fn evictable_namespaces(&self) -> Option<&Names> {
        match self {
            Rule::LowNodeUtilization(rule) => Some(&rule.evictable_namespaces),
            Rule::HighNodeUtilization(rule) => Some(&rule.evictable_namespaces),
            _ => None,
        }
    }

    /// The strategy's own limit of evictions from one node in one cycle.
    pub const fn per_node(&self) -> Option<u32> {
        if let Rule::LowNodeUtilization(rule) = self {
            rule.per_node
        } else {
            None
        }
    }
}
