//! The effect that a lower `evictable.minReplicas` would have on a plan.

use std::fmt;

use crate::values::text::{agree, count};

use super::TrialEffect;

/// The result of a trial decision with a lower `evictable.minReplicas`.
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
    /// The effect of the evictions of the trial.
    pub effect: TrialEffect,
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
        write!(f, "{number} of {pods} that {stay} on hot nodes {which}; ")?;
        let with = format!("with `evictable.minReplicas: {}`", self.min_replicas);
        self.effect.write(f, &with, "without it")
    }
}

crate::object!(ReplicaTrial, |trial| {
    "refused": trial.refused,
    "refused_for_replicas": trial.refused_for_replicas,
    "single": trial.single,
    "min_replicas": trial.min_replicas,
    "hot": trial.effect.hot,
    "relieved": trial.effect.relieved,
    "moves": trial.effect.moves,
    "more": trial.effect.more,
    "relieved_in_trial": trial.effect.relieved_in_trial,
    "message": trial.to_string(),
});
