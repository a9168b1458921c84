//! Which pods a step of the simulation has to look at. Most steps change few of many pods.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::snapshot::facts::PodPhase;
use crate::model::snapshot::objects::Name;
use crate::simulate::scenario::WorkloadKind;

use super::{Life, SimulatedCluster, Work};

/// The pods of each workload, those without a node, and the workloads whose pods have changed.
#[derive(Default)]
pub(in crate::simulate) struct PodLists {
    by_work: BTreeMap<usize, BTreeSet<Name>>,
    waiting: BTreeSet<Name>,
    changed: BTreeSet<usize>,
}

impl PodLists {
    /// Notes a pod that came or has changed.
    pub(in crate::simulate) fn note(&mut self, name: &Name, life: &Life) {
        if let Some(work) = life.work {
            self.changed.insert(work);
            let own = self.by_work.entry(work).or_default();
            if !own.contains(name) {
                own.insert(name.clone());
            }
        }
        if life.waits() {
            self.waiting.insert(name.clone());
        } else {
            self.waiting.remove(name);
        }
    }

    /// Notes that a pod is gone.
    pub(in crate::simulate) fn forget(&mut self, name: &Name, life: &Life) {
        if let Some(work) = life.work {
            self.changed.insert(work);
            if let Some(own) = self.by_work.get_mut(&work) {
                own.remove(name);
            }
        }
        self.waiting.remove(name);
    }

    /// Notes that a workload came.
    pub(in crate::simulate) fn note_work(&mut self, work: usize) {
        self.changed.insert(work);
    }

    /// Returns the pods of a workload.
    pub(in crate::simulate) fn of(&self, work: usize) -> Vec<Name> {
        let own = self.by_work.get(&work).into_iter().flatten();
        own.cloned().collect()
    }

    /// Returns the pods that wait for a node.
    pub(in crate::simulate) fn waiting(&self) -> impl Iterator<Item = &Name> {
        self.waiting.iter()
    }

    /// Returns the workloads whose pods came, left or changed since the last call.
    pub(in crate::simulate) fn take_changed(&mut self) -> BTreeSet<usize> {
        std::mem::take(&mut self.changed)
    }
}

impl SimulatedCluster {
    /// Adds a workload and returns its position.
    pub(in crate::simulate) fn add_work(&mut self, work: Work) -> usize {
        self.works.push(work);
        self.lists.note_work(self.works.len() - 1);
        self.works.len() - 1
    }
}

impl Work {
    /// Counts a pod that has completed. A Job creates none in its place.
    pub(in crate::simulate) const fn complete_one(&mut self) {
        if matches!(self.kind, WorkloadKind::Job) {
            self.replicas = self.replicas.saturating_sub(1);
        }
    }
}

impl Life {
    /// Returns true if the scheduler has to find a node for the pod.
    pub(in crate::simulate) fn waits(&self) -> bool {
        let pending = self.facts.phase == PodPhase::Pending;
        pending && self.facts.node.is_none() && self.facts.stays()
    }
}
