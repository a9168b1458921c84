//! Groups of pods that share their spec and their labels in memory, as the pods of one controller
//! usually do.
//!
//! Requests, workload and budgets are equal for the whole group. They are computed once per group,
//! because a large cluster has twenty times as many pods as groups.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::facts::{OwnerKey, PodFacts};
use super::objects::{Name, Objects};
use super::{BudgetId, Snapshot, WorkloadId, requests_of};
use crate::values::{Amount, PerResource};

/// The groups, and the group of each pod in the order of the pods.
pub(super) struct PodGroups<'o> {
    /// One pod of each group.
    pub(super) examples: Vec<&'o PodFacts>,
    pub(super) of_pods: Vec<usize>,
}

/// The values that all pods of a group have in a snapshot.
pub(super) struct GroupRow {
    pub(super) workload: Option<WorkloadId>,
    pub(super) requests: PerResource<Amount>,
    pub(super) budgets: Vec<BudgetId>,
}

impl<'o> PodGroups<'o> {
    pub(super) fn of(pods: &'o BTreeMap<Name, Arc<PodFacts>>) -> Self {
        let mut groups = PodGroups {
            examples: Vec::new(),
            of_pods: Vec::with_capacity(pods.len()),
        };
        let mut known: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for pod in pods.values() {
            let key = (pod.spec.address(), pod.labels.address());
            let next = groups.examples.len();
            let found = *known.entry(key).or_insert(next);
            let found = match groups.examples.get(found) {
                // Equal owners of two namespaces are two workloads.
                Some(example) if example.namespace == pod.namespace => found,
                Some(_) | None => next,
            };
            if found == next {
                groups.examples.push(pod);
            }
            groups.of_pods.push(found);
        }
        groups
    }

    /// Returns the names of all requested resources, most of them several times.
    pub(super) fn requested(&self) -> impl Iterator<Item = &'o str> {
        let requests = self.examples.iter().flat_map(|pod| &pod.requests);
        requests.map(|(name, _)| name.as_str())
    }
}

impl Snapshot {
    /// Adds the workloads of these groups, and returns the row of each group. The nodes, budgets and
    /// resources must be there.
    pub(super) fn join_groups(
        &mut self,
        objects: &Objects,
        groups: &PodGroups<'_>,
    ) -> Vec<GroupRow> {
        let keys: Vec<Option<OwnerKey>> = groups
            .examples
            .iter()
            .map(|pod| objects.top_controller(pod))
            .collect();
        // The map sorts and removes duplicates before positions are assigned.
        let mut workloads: BTreeMap<&OwnerKey, WorkloadId> =
            keys.iter().flatten().map(|k| (k, WorkloadId(0))).collect();
        for (position, (key, id)) in workloads.iter_mut().enumerate() {
            *id = WorkloadId(position);
            self.workloads.push(super::Workload {
                key: (*key).clone(),
                pods: Vec::new(),
            });
        }
        let row = |(pod, key): (&&PodFacts, &Option<OwnerKey>)| GroupRow {
            workload: key.as_ref().and_then(|key| workloads.get(key).copied()),
            requests: requests_of(pod, &self.resources),
            budgets: self.budgets_of(pod),
        };
        groups.examples.iter().zip(&keys).map(row).collect()
    }
}
