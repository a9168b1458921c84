//! Checks a planned move again just before it is made, because a plan takes a while to execute.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::decide::draft::{Candidate, Draft};
use crate::decide::gate;
use crate::decide::placement::Landing;
use crate::decide::projection::World;
use crate::model::plan::{Move, Refusal, Untried};
use crate::model::snapshot::{Pod, Snapshot};
use crate::model::usage::Usage;

use super::Engine;

/// The cluster while a plan is carried out.
#[derive(Debug)]
pub struct CurrentCluster {
    snapshot: Snapshot,
    /// The reasons of the gates against moves of the plan, by the uid of the pod.
    refused: BTreeMap<String, Refusal>,
}

impl Engine {
    /// Asks the gates about replacements and replicas again, by a newer snapshot than that of the
    /// plan: a sibling may not be Ready any more, or a controller may be gone.
    ///
    /// All moves of the plan are asked about together, because that costs as much as one. Earlier
    /// ones count as made.
    pub fn gates_again(
        &self,
        moves: &[Move],
        snapshot: Snapshot,
        now: Timestamp,
    ) -> CurrentCluster {
        let mut refused = BTreeMap::new();
        // These gates read no usage.
        let usage = Usage::default();
        let world = World::without_memory(&self.policy, &snapshot, &usage, now);
        let mut draft = Draft::new(world);
        for planned in moves {
            let Some(candidate) = self.candidate(planned, &snapshot) else {
                continue;
            };
            match gate::admit_again(&candidate, &draft) {
                Ok(()) => draft.accept(candidate, Landing::default()),
                Err(why) => drop(refused.insert(planned.uid.clone(), why)),
            }
        }
        drop(draft);
        CurrentCluster { snapshot, refused }
    }

    /// The candidate of a move; `None` if the pod is gone.
    fn candidate(&self, planned: &Move, snapshot: &Snapshot) -> Option<Candidate> {
        let pod = snapshot.find_pod(&planned.namespace, &planned.pod)?;
        let is_strategy = |name: &str, profile: usize| {
            name == planned.strategy && self.policy.profiles[profile].name == planned.profile
        };
        let mut strategies = self.policy.strategies.iter();
        let strategy = strategies.position(|s| is_strategy(s.rule.name(), s.profile))?;
        (snapshot.pod(pod).uid == planned.uid).then(|| Candidate::counted(pod, strategy))
    }

    /// Returns the reason why a move must not be made now; `None` if it may be.
    ///
    /// `decided` is the snapshot of the plan and `current` a newer one. The cluster must be
    /// healthy, a window must be open, no guard may stop the move, the pod and every node where its
    /// replacement may land must be as they were, and its replacement and its workload must still
    /// admit the move.
    pub fn recheck(
        &self,
        planned: &Move,
        decided: &Snapshot,
        current: &CurrentCluster,
        now: Timestamp,
    ) -> Option<Untried> {
        let CurrentCluster { snapshot: current, refused } = current;
        if let Some(halt) = self.halt(current, now) {
            return Some(Untried::Unsafe(halt.to_string()));
        }
        if self.policy.windows.closed_for(now).is_some() {
            return Some(Untried::OutsideWindow);
        }
        if !is_same_pod(planned, decided, current) {
            return Some(Untried::PodChanged);
        }
        if let Some(stop) = self.guards.stop_of(|| planned.ledger_key(), now) {
            return Some(Untried::Guarded(Box::new(stop)));
        }
        let changed =
            planned.possible_nodes.iter().find(|node| !is_same_destination(node, decided, current));
        if let Some(node) = changed {
            return Some(Untried::DestinationChanged(node.clone()));
        }
        let why = refused.get(&planned.uid)?;
        Some(Untried::Refused(why.to_string()))
    }
}

fn is_same_pod(planned: &Move, decided: &Snapshot, current: &Snapshot) -> bool {
    let id = |snapshot: &Snapshot| snapshot.find_pod(&planned.namespace, &planned.pod);
    let (Some(before), Some(after)) = (id(decided), id(current)) else {
        return false;
    };
    if !are_same_claims(current.pod(after), decided, current) {
        return false;
    }
    let (before, after) = (decided.pod(before).facts(), current.pod(after).facts());
    // An object without an event since the decision still shares its facts.
    after.uid == planned.uid && (Arc::ptr_eq(before, after) || before == after)
}

/// Whether the claims of the pod and their volumes are as they were.
fn are_same_claims(pod: &Pod, decided: &Snapshot, current: &Snapshot) -> bool {
    pod.volumes.claims.iter().all(|name| {
        let (before, after) = (decided.claim(pod, name), current.claim(pod, name));
        let volume = |snapshot: &'_ Snapshot| {
            let name = after?.volume.as_ref()?;
            snapshot.volumes.get(name).cloned()
        };
        before == after && volume(decided) == volume(current)
    })
}

/// Whether a node still takes the same pods. Its images may differ: each replacement that lands
/// there adds some.
fn is_same_destination(name: &str, decided: &Snapshot, current: &Snapshot) -> bool {
    let (Some(before), Some(after)) = (decided.find_node(name), current.find_node(name)) else {
        return false;
    };
    let (before, after) = (decided.node(before), current.node(after));
    after.ready == before.ready
        && after.closures == before.closures
        && after.taints == before.taints
        && after.csi_drivers == before.csi_drivers
        && after.labels == before.labels
        && after.unreadable.is_some() == before.unreadable.is_some()
        && (**after).allocatable == (**before).allocatable
}
