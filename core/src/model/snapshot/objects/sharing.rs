//! Facts that pods of one controller, pods with the same conditions, or nodes with the same images
//! keep only once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::snapshot::facts::{
    ConditionState, Container, Image, NodeFacts, OwnerKey, PodFacts, PodSizes, PodSpecFacts,
    Volumes,
};
use crate::values::selector::Labels;

/// Different values of one controller that are kept for sharing. A rollout or a restart of some
/// pods leads to a few.
const MOST_VARIANTS: usize = 4;
/// The fewest changes after which unused values are dropped.
const FEWEST_CHANGES: usize = 1000;

/// The values that are shared. A copy starts empty, because most copies are only read.
#[derive(Debug, Default)]
pub(super) struct Sharing {
    owners: BTreeMap<OwnerKey, OwnerParts>,
    images: BTreeSet<Arc<Image>>,
    conditions: BTreeSet<Arc<ConditionState>>,
    /// Changes since unused values were dropped.
    changes: usize,
}

/// The values of the pods of one controller.
#[derive(Debug, Default)]
struct OwnerParts {
    specs: Variants<PodSpecFacts>,
    labels: Variants<Labels>,
    volumes: Variants<Volumes>,
    containers: Variants<Vec<Container>>,
    sizes: Variants<PodSizes>,
}

#[derive(Debug)]
struct Variants<T>(Vec<Arc<T>>);

impl Clone for Sharing {
    fn clone(&self) -> Self {
        Sharing::default()
    }
}

impl<T> Default for Variants<T> {
    fn default() -> Self {
        Variants(Vec::new())
    }
}

impl<T: PartialEq> Variants<T> {
    fn unify(&mut self, value: &mut Arc<T>) {
        if let Some(known) = self.0.iter().find(|known| *known == value) {
            *value = Arc::clone(known);
            return;
        }
        // The oldest leaves, because a rollout makes new pods like the newest.
        if self.0.len() == MOST_VARIANTS {
            self.0.remove(0);
        }
        self.0.push(value.clone());
    }

    fn prune(&mut self) {
        self.0.retain(|value| Arc::strong_count(value) > 1);
    }
}

/// Shares a value with an equal one of a set, or adds it.
fn unify<T: Ord>(known: &mut BTreeSet<Arc<T>>, value: &mut Arc<T>) {
    match known.get(value) {
        Some(same) => *value = same.clone(),
        None => drop(known.insert(value.clone())),
    }
}

impl Sharing {
    /// Shares parts of a pod with earlier pods of its controller, and its conditions with all pods.
    pub(super) fn pod(&mut self, pod: &mut PodFacts) {
        for condition in &mut pod.conditions {
            unify(&mut self.conditions, &mut condition.state);
        }
        let Some(owner) = pod.owners.first() else {
            return;
        };
        let parts = self.owners.entry(owner.key(&pod.namespace)).or_default();
        parts.specs.unify(&mut pod.spec);
        parts.labels.unify(&mut pod.labels);
        parts.volumes.unify(&mut pod.volumes);
        parts.containers.unify(&mut pod.containers);
        parts.sizes.unify(&mut pod.sizes);
    }

    /// Shares the images of a node with other nodes.
    pub(super) fn node(&mut self, node: &mut NodeFacts) {
        for image in &mut node.images {
            unify(&mut self.images, image);
        }
    }

    /// Drops values that nothing uses any more, from time to time. `kept` is the number of objects.
    pub(super) fn changed(&mut self, kept: usize) {
        self.changes += 1;
        if self.changes <= kept.max(FEWEST_CHANGES) {
            return;
        }
        self.changes = 0;
        self.images.retain(|image| Arc::strong_count(image) > 1);
        self.conditions.retain(|state| Arc::strong_count(state) > 1);
        self.owners.retain(|_, parts| {
            parts.specs.prune();
            parts.labels.prune();
            parts.volumes.prune();
            parts.containers.prune();
            parts.sizes.prune();
            !parts.specs.0.is_empty()
        });
    }

    /// Returns the number of controllers whose values are kept.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.owners.len()
    }
}
