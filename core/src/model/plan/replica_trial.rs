//! The effect that a lower `evictable.minReplicas` would have on a plan.

use std::fmt;

use crate::values::text::{agree, count};

/// The result of a trial decision with a lower `evictable.minReplicas`.
///
/// The trial ignores the limits per cycle, node, namespace, minute and workload, so its evictions
/// may take several cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaTrial {
    /// Candidates on nodes that stay hot, and that a gate refused.
    pub refused: usize,
    /// Candidates among them whose workloads have too few replicas.
    pub refused_for_replicas: usize,
    /// Whether each of these is the only replica of its workload.
    pub single: bool,
    /// The value of `evictable.minReplicas` in the trial.
    pub min_replicas: u32,
    /// Hot nodes.
    pub hot: usize,
    /// Hot nodes that come to their targets without it, in as many cycles.
    pub relieved: usize,
    /// Evictions of the trial from hot nodes.
    pub moves: usize,
    /// Whether the trial ended because it had planned as many evictions as a trial may.
    pub more: bool,
    /// Hot nodes that the evictions of the trial bring to their targets.
    pub relieved_in_trial: usize,
}

impl fmt::Display for ReplicaTrial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.refused_for_replicas;
        let pods = count(self.refused, "pod");
        let stay = agree(self.refused, "stays", "stay");
        let are = agree(number, "is", "are");
        let which = if self.single {
            let replicas = agree(number, "a single replica", "single replicas");
            format!("{are} {replicas}")
        } else {
            format!("{} to workloads with too few replicas", agree(number, "belongs", "belong"))
        };
        let first = if self.more { "the first " } else { "" };
        write!(
            f,
            "{number} of {pods} that {stay} on hot nodes {which}; with `evictable.minReplicas: {}`, {first}{} would bring {} of {} to target; without it {}",
            self.min_replicas,
            count(self.moves, "eviction"),
            self.relieved_in_trial,
            count(self.hot, "hot node"),
            self.relieved,
        )
    }
}

crate::object!(ReplicaTrial, |trial| {
    "refused": trial.refused,
    "refused_for_replicas": trial.refused_for_replicas,
    "single": trial.single,
    "min_replicas": trial.min_replicas,
    "hot": trial.hot,
    "relieved": trial.relieved,
    "moves": trial.moves,
    "more": trial.more,
    "relieved_in_trial": trial.relieved_in_trial,
    "message": trial.to_string(),
});
