//! The response of the API server to an eviction.

use jiff::SignedDuration;

use crate::model::plan::{Move, Outcome};
use crate::model::snapshot::facts::{BudgetFacts, PodPhase};
use crate::model::snapshot::objects::{Name, Object};

use super::cluster::SimulatedCluster;

/// Evicts a pod as the API server would, after checking its uid.
pub(super) fn request(
    cluster: &mut SimulatedCluster,
    planned: &Move,
    grace: Option<SignedDuration>,
) -> Outcome {
    let name = (planned.namespace.clone(), planned.pod.clone());
    match cluster.pods.get(&name) {
        None => Outcome::Gone,
        Some(life) if life.facts.uid != planned.uid => Outcome::Changed,
        Some(_) => evict(cluster, &name, grace),
    }
}

/// The checks are in the order of the API server's eviction subresource
/// (`pkg/registry/core/pod/storage/eviction.go`).
pub(super) fn evict(
    cluster: &mut SimulatedCluster,
    name: &Name,
    grace: Option<SignedDuration>,
) -> Outcome {
    let migrates = migrates(cluster, name);
    let Some(life) = cluster.pods.get(name) else {
        return Outcome::Gone;
    };
    // The API server deletes these pods without asking a budget: they serve nothing.
    let free =
        life.facts.terminating || life.facts.finished() || life.facts.phase == PodPhase::Pending;
    let (ready, budgets) = (life.facts.ready, life.budgets.clone());
    if !free && !migrates {
        match budgets[..] {
            [] => {}
            [one] => {
                if let Err(why) = spend(cluster, one, ready) {
                    return Outcome::OverBudget(why);
                }
            }
            [_, _, ..] => {
                return Outcome::Failed(
                    "more than one PodDisruptionBudget covers the pod".to_owned(),
                );
            }
        }
    }
    cluster.remove(name, grace);
    Outcome::Evicted
}

/// Whether a pod is a virtual machine that migrates. Its second pod is the replacement.
fn migrates(cluster: &mut SimulatedCluster, name: &Name) -> bool {
    let life = cluster.pods.get(name);
    if !life.is_some_and(|life| life.facts.annotations.request_evict_only) {
        return false;
    }
    let snapshot = cluster.snapshot();
    let pod = snapshot.find_pod(&name.0, &name.1);
    pod.is_some_and(|pod| snapshot.migrates(snapshot.pod(pod)))
}

fn spend(cluster: &mut SimulatedCluster, budget: usize, ready: bool) -> Result<(), String> {
    let facts: &mut BudgetFacts = &mut cluster.budgets[budget];
    let kept = facts.desired > 0 && facts.healthy >= facts.desired;
    if !ready && (facts.always_unhealthy || kept) {
        return Ok(());
    }
    if facts.allowed == 0 {
        return Err(format!(
            "the budget {} allows no disruption: {} healthy, {} desired",
            facts.name, facts.healthy, facts.desired
        ));
    }
    facts.allowed -= 1;
    let facts = facts.clone();
    cluster.apply(Object::Budget(facts));
    Ok(())
}
