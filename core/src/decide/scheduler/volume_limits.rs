//! NodeVolumeLimits: the CSI drivers must be able to attach the pod's volumes to the node.
//!
//! A volume that several pods use on a node counts once. So does a volume that is still attached,
//! although its pod has gone: detaching takes time, and may fail. If the pod wants just this
//! volume, the scheduler counts it twice. A driver without a limit in the CSINode of a node can
//! attach any number of volumes.

use crate::model::snapshot::{AttachedVolume, NodeId};
use crate::policy::FilterPlugin;

use super::nominated::NominatedPods;
use super::question::Question;

/// The volumes of the pod, and those of the same drivers that other pods use.
pub(super) struct AttachedVolumes<'w> {
    wanted: Vec<AttachedVolume<'w>>,
    /// Sorted, each once.
    in_use: Vec<(NodeId, AttachedVolume<'w>)>,
}

impl<'w> AttachedVolumes<'w> {
    pub(super) fn new(question: &Question<'_, 'w>, nominated: &NominatedPods) -> Self {
        let snapshot = question.snapshot;
        let runs = question.runs(FilterPlugin::NodeVolumeLimits);
        let mut wanted = snapshot.attached_volumes(question.pod);
        wanted.retain(|v| runs && snapshot.limits_driver(v.driver));
        wanted.sort_unstable();
        wanted.dedup();
        if wanted.is_empty() {
            let in_use = Vec::new();
            return AttachedVolumes { wanted, in_use };
        }
        let same_driver =
            |volume: &AttachedVolume<'_>| wanted.iter().any(|w| w.driver == volume.driver);
        let placed = question
            .index()
            .attached_volumes()
            .iter()
            .filter_map(|(pod, volume)| Some((question.place(*pod)?, *volume)));
        let reserved = nominated.all().iter().flat_map(|(node, pod)| {
            let volumes = snapshot.attached_volumes(snapshot.pod(*pod));
            volumes.into_iter().map(|volume| (*node, volume))
        });
        let mut in_use: Vec<_> =
            placed.chain(reserved).filter(|(_, volume)| same_driver(volume)).collect();
        in_use.sort_unstable();
        in_use.dedup();
        AttachedVolumes { wanted, in_use }
    }

    /// Returns the first driver that cannot attach all volumes of the pod to a node.
    pub(super) fn exceeded(&self, question: &Question<'_, '_>, node: NodeId) -> Option<&'w str> {
        if self.wanted.is_empty() {
            return None;
        }
        let here = on(&self.in_use, node);
        let left = on(question.index().left_attached(), node);
        let left = left.iter().filter(|volume| !here.contains(volume));
        let here_or_left = || here.iter().chain(left.clone());
        let there = question.node(node);
        let exceeds = |driver: &&str| {
            let of_driver = |v: &AttachedVolume<'_>| v.driver == *driver;
            let attached = here_or_left().filter(|(_, v)| of_driver(v)).count();
            let wanted = self.wanted.iter().filter(|v| of_driver(v));
            let new = wanted.filter(|v| !here.iter().any(|(_, h)| h == *v)).count();
            let limit = there.attach_limit(driver).map(|limit| limit as usize);
            new > 0 && limit.is_some_and(|limit| attached + new > limit)
        };
        self.wanted.iter().map(|v| v.driver).find(exceeds)
    }
}

/// Returns the volumes on a node. The list is sorted.
fn on<'a, 'w>(
    all: &'a [(NodeId, AttachedVolume<'w>)],
    node: NodeId,
) -> &'a [(NodeId, AttachedVolume<'w>)] {
    let from = &all[all.partition_point(|(n, _)| *n < node)..];
    &from[..from.partition_point(|(n, _)| *n == node)]
}
