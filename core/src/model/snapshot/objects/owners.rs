//! Owners between pods and their workloads.

use std::sync::Arc;

use crate::model::snapshot::facts::{Owner, OwnerFacts, OwnerKey, PodFacts};
use crate::values::selector::Labels;

use super::{Name, ObjectKind, Objects};

impl Objects {
    /// Returns the facts of a controller; `None` if it is not known.
    pub fn owner(&self, namespace: &str, owner: &Owner) -> Option<&OwnerFacts> {
        self.owners.get(&owner.key(namespace))
    }

    /// Stores a controller. The workloads of its pods depend only on its own controllers.
    pub(super) fn apply_owner(&mut self, key: OwnerKey, owner: OwnerFacts) {
        let old = self.owners.get(&key);
        if old == Some(&owner) {
            return;
        }
        if old.is_none_or(|old| old.above != owner.above) {
            self.note_owner(&key);
        }
        Arc::make_mut(&mut self.owners).insert(key, owner);
    }

    /// Notes the workloads whose pods may belong to another one when an owner changes. All pods
    /// below the owner have the same top before.
    pub(super) fn note_owner(&mut self, owner: &OwnerKey) {
        let top = self.top_above(owner.clone());
        let names = top.name.match_indices('-');
        let deployments = names.map(|(end, _)| OwnerKey {
            kind: "Deployment".to_owned(),
            name: top.name[..end].to_owned(),
            ..top.clone()
        });
        // The Deployment of an unknown ReplicaSet is derived from its name.
        for workload in deployments.filter(|_| top.kind == "ReplicaSet") {
            self.relations.note_workload(workload);
        }
        self.relations.note_workload(top);
    }

    /// Follows owners from a pod to its top-level controller.
    pub(in crate::model::snapshot) fn top_controller(&self, pod: &PodFacts) -> Option<OwnerKey> {
        let mut owners = pod.owners.iter();
        let controller = owners.find(|owner| owner.controller).or(pod.owners.first())?;
        let top = self.top_above(controller.key(&pod.namespace));
        if self.owners.contains_key(&top) {
            return Some(top);
        }
        Some(deployment_by_name(&top, &pod.labels).unwrap_or(top))
    }

    /// Follows owners upwards, to the first that is unknown or has none.
    fn top_above(&self, owner: OwnerKey) -> OwnerKey {
        let mut top = owner;
        // Two steps lead from a pod to a Deployment or CronJob. The bound stops at a cycle of
        // owners.
        for _ in 0..4 {
            match self.owners.get(&top).and_then(|facts| facts.above.as_ref()) {
                Some(above) => top = above.key(&top.namespace),
                None => break,
            }
        }
        top
    }
}

pub(super) fn owner_key(kind: ObjectKind, name: Name) -> OwnerKey {
    let (namespace, name) = name;
    OwnerKey { namespace, kind: kind.name().to_owned(), name }
}

/// Derives the Deployment of a ReplicaSet that is unknown, because files often contain pods without
/// their ReplicaSets. A Deployment names its ReplicaSets after itself plus the hash that their pods
/// have as a label.
fn deployment_by_name(owner: &OwnerKey, labels: &Labels) -> Option<OwnerKey> {
    let hash = labels.get("pod-template-hash").filter(|_| owner.kind == "ReplicaSet")?;
    let name = owner.name.strip_suffix(hash.as_str())?.strip_suffix('-')?;
    Some(OwnerKey {
        namespace: owner.namespace.clone(),
        kind: "Deployment".to_owned(),
        name: name.to_owned(),
    })
}
