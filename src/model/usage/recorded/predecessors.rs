//! Finds the pods that present pods replaced. Those no longer exist, so only their names tell the
//! workload.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::snapshot::{Pod, Snapshot, WorkloadId};

use super::PodHistory;

/// The length of the random part of a pod's name.
const SUFFIX: usize = 5;

/// The rows of pods that are gone, by workload.
pub(super) struct Predecessors<'t> {
    snapshot: &'t Snapshot,
    gone: BTreeMap<WorkloadId, Vec<&'t PodHistory>>,
}

impl<'t> Predecessors<'t> {
    /// Finds the workload of each pod that was measured and is gone. `ids` has the positions of the
    /// pods in `tracks`.
    pub(super) fn new(
        snapshot: &'t Snapshot,
        ids: &BTreeMap<(String, String), usize>,
        tracks: &'t [PodHistory],
    ) -> Self {
        let workloads = names_of_workloads(snapshot);
        let mut gone: BTreeMap<WorkloadId, Vec<&PodHistory>> = BTreeMap::new();
        for ((namespace, name), id) in ids {
            let stays = snapshot.pods.get(*id).is_some_and(Pod::stays);
            let candidates = workloads.get(namespace.as_str());
            let workload = candidates.and_then(|names| workload_of(names, name));
            if let (false, Some(workload)) = (stays, workload) {
                gone.entry(workload).or_default().push(&tracks[*id]);
            }
        }
        Predecessors { snapshot, gone }
    }

    /// Joins the row of a pod with that of the pod it replaced, and so on back to the start. Each
    /// pod that is gone is used once.
    pub(super) fn join(&mut self, pod: &Pod, own: &PodHistory) -> PodHistory {
        let mut joined = own.clone();
        let Some(workload) = pod.workload else {
            return joined;
        };
        // A pod of a DaemonSet belongs to one node.
        let kind = &self.snapshot.workload(workload).key.kind;
        let node = pod.facts().node.as_ref().filter(|_| kind == "DaemonSet");
        let gone = self.gone.entry(workload).or_default();
        loop {
            let first = joined.usage.first().unwrap_or(joined.usage.len());
            let Some(predecessor) = take_predecessor(gone, first, node) else {
                return joined;
            };
            joined.usage.fill_before(first, &predecessor.usage);
            joined.node = predecessor.node.clone().or(joined.node);
        }
    }
}

/// Removes and returns the pod that ended nearest to a step, and began before.
fn take_predecessor<'t>(
    gone: &mut Vec<&'t PodHistory>,
    step: usize,
    node: Option<&String>,
) -> Option<&'t PodHistory> {
    let fits = |history: &PodHistory| {
        let earlier = history.usage.first().is_some_and(|first| first < step);
        earlier && (node.is_none() || history.node.as_ref() == node)
    };
    let end = |history: &PodHistory| history.usage.last().map_or(0, |last| last + 1);
    let (nearest, _) = gone
        .iter()
        .enumerate()
        .filter(|(_, history)| fits(history))
        .min_by_key(|(_, history)| end(history).abs_diff(step))?;
    Some(gone.remove(nearest))
}

/// The workloads of each namespace by name.
type WorkloadNames<'s> = BTreeMap<&'s str, BTreeMap<&'s str, WorkloadId>>;

fn names_of_workloads(snapshot: &Snapshot) -> WorkloadNames<'_> {
    let mut names = WorkloadNames::new();
    let used: BTreeSet<WorkloadId> = snapshot
        .pods
        .iter()
        .filter_map(|pod| pod.workload)
        .collect();
    for id in used {
        let key = &snapshot.workload(id).key;
        let namespace = names.entry(&key.namespace).or_default();
        namespace.insert(&key.name, id);
    }
    names
}

/// The workload that a pod's name tells: `web-5d8c7b9f64-x2x4z` or `agent-x2x4z`. Of several
/// workloads, the one with the longest name.
fn workload_of(names: &BTreeMap<&str, WorkloadId>, pod: &str) -> Option<WorkloadId> {
    let (owner, suffix) = pod.rsplit_once('-')?;
    let random = |text: &str| {
        text.bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    if suffix.len() != SUFFIX || !random(suffix) {
        return None;
    }
    let direct = names.get(owner);
    // Pods of a Deployment have the hash of their template before the suffix.
    let by_hash = || {
        let (workload, hash) = owner.rsplit_once('-')?;
        names.get(workload).filter(|_| random(hash))
    };
    direct.or_else(by_hash).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_pod_tells_its_workload() {
        let names = BTreeMap::from([
            ("web", WorkloadId(0)),
            ("web-cache", WorkloadId(1)),
            ("agent", WorkloadId(2)),
        ]);
        let found = |pod| workload_of(&names, pod).map(|id| id.0);
        assert_eq!(found("web-5d8c7b9f64-x2x4z"), Some(0));
        assert_eq!(found("web-cache-5d8c7b9f64-x2x4z"), Some(1));
        assert_eq!(
            found("web-cache-x2x4z"),
            Some(1),
            "not a template hash of web"
        );
        assert_eq!(found("agent-x2x4z"), Some(2));
        assert_eq!(found("agent-0"), None, "a StatefulSet keeps its names");
        assert_eq!(found("other-5d8c7b9f64-x2x4z"), None);
    }
}
