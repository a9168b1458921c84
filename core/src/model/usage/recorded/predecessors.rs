//! Finds the pods that present pods replaced. Those no longer exist, so only their names tell the
//! workload.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;

use crate::model::snapshot::{Pod, Snapshot, WorkloadId};

use super::{HistoryRange, PodHistory};

/// The length of the random part of a pod's name.
const SUFFIX: usize = 5;

/// How long a pod may still be measured after the creation of its replacement: the default grace
/// period of 30 s, the window of a rate, and the time until a sample is stale.
const MOST_OVERLAP: SignedDuration = SignedDuration::from_mins(2);

/// The rows of all pods, and which row each one continues.
pub(super) struct Predecessors<'t> {
    tracks: &'t [PodHistory],
    of: Vec<Option<usize>>,
}

impl<'t> Predecessors<'t> {
    /// Finds the pod that each pod replaced. `ids` has the positions of the pods in `tracks`; those
    /// of the snapshot come first, in its order.
    pub(super) fn new(
        snapshot: &Snapshot,
        range: HistoryRange,
        ids: &BTreeMap<(String, String), usize>,
        tracks: &'t [PodHistory],
    ) -> Self {
        let workloads = names_of_workloads(snapshot);
        let mut groups: BTreeMap<_, Group> = BTreeMap::new();
        for ((namespace, name), &id) in ids {
            let present = snapshot.pods.get(id);
            let workload = match present {
                Some(pod) => pod.workload,
                None => {
                    workloads.get(namespace.as_str()).and_then(|names| workload_of(names, name))
                }
            };
            let Some(workload) = workload else { continue };
            // A pod of a DaemonSet belongs to one node.
            let of_node = snapshot.workload(workload).key.kind == "DaemonSet";
            let node = tracks[id].node.as_ref().filter(|_| of_node);
            let group = groups.entry((workload, node)).or_default();
            group.add_begin(id, present, &tracks[id], range);
            if !present.is_some_and(Pod::stays) {
                group.ends.insert((end(&tracks[id]), id));
            }
        }
        let mut of = vec![None; tracks.len()];
        let overlap = overlap(range.step);
        for mut group in groups.into_values() {
            let begins = group.created.iter().chain(&group.begins);
            for &(step, id) in begins {
                of[id] = take_nearest(&mut group.ends, tracks, step, overlap);
            }
        }
        Predecessors { tracks, of }
    }

    /// Returns the row of a pod joined with that of the pod it replaced, and so on back to the
    /// start.
    pub(super) fn joined(&self, id: usize) -> PodHistory {
        let mut joined = self.tracks[id].clone();
        let mut last = id;
        while let Some(predecessor) = self.of[last] {
            let track = &self.tracks[predecessor];
            joined.usage.fill_before(first(&joined), &track.usage);
            joined.node = track.node.clone().or(joined.node);
            last = predecessor;
        }
        joined
    }
}

/// The pods of a workload by time.
#[derive(Default)]
struct Group {
    /// The step in which each present pod was created. Pods from before the range are left out.
    created: BTreeSet<(usize, usize)>,
    /// The first measured step of each pod that is gone. Its creation is unknown and may have been
    /// earlier, so present pods choose first.
    begins: BTreeSet<(usize, usize)>,
    /// The step after the last measured one of each pod that is gone.
    ends: BTreeSet<(usize, usize)>,
}

impl Group {
    fn add_begin(
        &mut self,
        id: usize,
        present: Option<&Pod>,
        track: &PodHistory,
        range: HistoryRange,
    ) {
        match present {
            Some(pod) if pod.created < range.start => {}
            Some(pod) => {
                let step = range.position(pod.created);
                let first = first(track);
                self.created.insert((step.unwrap_or(first).min(first), id));
            }
            None => {
                self.begins.insert((first(track), id));
            }
        }
    }
}

fn first(track: &PodHistory) -> usize {
    track.usage.first().unwrap_or(track.usage.len())
}

fn end(track: &PodHistory) -> usize {
    track.usage.last().map_or(0, |last| last + 1)
}

/// The steps that a pod and its replacement may have in common.
fn overlap(step: SignedDuration) -> usize {
    let steps = MOST_OVERLAP.as_millis() / step.as_millis().max(1);
    usize::try_from(steps).unwrap_or(usize::MAX).saturating_add(1)
}

/// Removes and returns the pod that ended nearest to a step, and began before.
fn take_nearest(
    ends: &mut BTreeSet<(usize, usize)>,
    tracks: &[PodHistory],
    step: usize,
    overlap: usize,
) -> Option<usize> {
    let fits = |&&(_, id): &&(usize, usize)| first(&tracks[id]) < step;
    let next = (step + 1, 0);
    let latest = (step.saturating_add(overlap), usize::MAX);
    let before = ends.range(..next).rev().find(fits);
    let after = ends.range(next..=latest).find(fits);
    let nearest = before.into_iter().chain(after);
    let nearest = *nearest.min_by_key(|(end, _)| end.abs_diff(step))?;
    ends.remove(&nearest);
    Some(nearest.1)
}

/// The workloads of each namespace by name.
type WorkloadNames<'s> = BTreeMap<&'s str, BTreeMap<&'s str, WorkloadId>>;

fn names_of_workloads(snapshot: &Snapshot) -> WorkloadNames<'_> {
    let mut names = WorkloadNames::new();
    let used: BTreeSet<WorkloadId> = snapshot.pods.iter().filter_map(|pod| pod.workload).collect();
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
    if suffix.len() != SUFFIX || !is_random(suffix) {
        return None;
    }
    if let Some(workload) = names.get(owner) {
        return Some(*workload);
    }
    // Pods of a Deployment have the hash of their template before the suffix.
    let (workload, hash) = owner.rsplit_once('-')?;
    names.get(workload).filter(|_| is_random(hash)).copied()
}

/// Whether a part of a name may be generated.
fn is_random(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
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
        assert_eq!(found("web-cache-x2x4z"), Some(1), "not a template hash of web");
        assert_eq!(found("agent-x2x4z"), Some(2));
        assert_eq!(found("agent-0"), None, "a StatefulSet keeps its names");
        assert_eq!(found("other-5d8c7b9f64-x2x4z"), None);
    }
}
