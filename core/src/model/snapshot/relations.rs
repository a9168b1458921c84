//! Changes of objects that pods are joined with. A snapshot can keep the relations of a pod as long
//! as nothing of this kind has changed.

use std::collections::VecDeque;

use super::facts::OwnerKey;

/// The number of changes of owners that are kept.
const KEPT: usize = 4096;

/// Counts changes. Copies of objects continue the count, so a version belongs to one line of
/// copies.
#[derive(Clone, Debug, Default)]
pub(super) struct RelationChanges {
    latest: u64,
    /// The last change that may concern every pod: of the set of nodes, or of the selector of a
    /// budget.
    of_all: u64,
    /// The latest changes of owners, each with a workload whose pods may belong to another one now.
    owners: VecDeque<(u64, OwnerKey)>,
}

impl RelationChanges {
    /// Returns the number of changes so far, which a snapshot contains.
    pub(super) const fn version(&self) -> u64 {
        self.latest
    }

    /// Notes a change that may concern every pod.
    pub(super) fn note(&mut self) {
        self.latest += 1;
        self.of_all = self.latest;
    }

    /// Notes that pods of this workload may belong to another one now.
    pub(super) fn note_workload(&mut self, workload: OwnerKey) {
        self.latest += 1;
        self.owners.push_back((self.latest, workload));
        if self.owners.len() > KEPT
            && let Some((version, _)) = self.owners.pop_front()
        {
            self.of_all = self.of_all.max(version);
        }
    }

    /// Returns the workloads whose pods may belong to others since a version; `None` if any
    /// relation may have changed.
    pub(super) fn since(&self, version: u64) -> Option<impl Iterator<Item = &OwnerKey>> {
        let new = self.owners.iter().filter(move |(at, _)| *at > version);
        (self.of_all <= version).then(|| new.map(|(_, workload)| workload))
    }
}
