//! A trial decision with a lower `evictable.minReplicas`, which shows what single replicas cost.
//!
//! Workloads with too few replicas stay. If most candidates on hot nodes belong to such workloads,
//! the trial decides once more, with the number of replicas that they have as the minimum.

use crate::decide::projection::World;
use crate::model::ledger::Ledger;
use crate::model::plan::{Plan, ReplicaTrial};
use crate::policy::Policy;

use super::trial::without_limits;
use super::{Engine, Observed};

impl Engine {
    /// Finds out the effect of a lower `evictable.minReplicas` on a plan that leaves nodes
    /// hot mainly because of workloads with too few replicas. Returns `None` for any other plan,
    /// and if no further node would be relieved.
    ///
    /// It costs as much as some decisions, and changes nothing.
    pub fn replica_trial(
        &self,
        observed: &Observed<'_>,
        ledger: &Ledger,
        plan: &Plan,
    ) -> Option<ReplicaTrial> {
        let asked = self.policy.suggests_replicas() && plan.keeps_most_for_replicas();
        if plan.halted.is_some() || !asked {
            return None;
        }
        let kept = plan.kept_on_hot_nodes();
        let few = kept.iter().filter_map(|k| k.refusal.too_few_replicas());
        let replicas: Vec<u32> = few.collect();
        let min_replicas = replicas.iter().copied().min()?;
        let policy = trial_policy(&self.policy, min_replicas);
        let trial = World { policy: &policy, ledger, ..self.world(observed) };
        Some(ReplicaTrial {
            refused: kept.len(),
            refused_for_replicas: replicas.len(),
            single: replicas.iter().all(|have| *have == 1),
            min_replicas,
            effect: self.effect(observed, plan, trial)?,
        })
    }
}

/// The policy with this minimum, and with no limits except one for the cost of the trial.
fn trial_policy(policy: &Policy, min_replicas: u32) -> Policy {
    let mut policy = without_limits(policy);
    for profile in &mut policy.profiles {
        let least = &mut profile.evictable.min_replicas;
        *least = min_replicas.min(*least);
    }
    policy
}
