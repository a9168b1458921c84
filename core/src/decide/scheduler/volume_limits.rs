//! NodeVolumeLimits: the CSI drivers must be able to attach the pod's volumes to the node.
//!
//! A volume that several pods use on a node counts once. So does a volume that is still attached,
//! although its pod has gone: detaching takes time, and may fail. If the pod wants just this
//! volume, the scheduler counts it twice. A driver without a limit in the CSINode of a node can
//! attach any number of volumes.

use std::borrow::Cow;

use crate::model::snapshot::{AttachedVolume, NodeId};
use crate::policy::FilterPlugin;

use super::nominated::NominatedPods;
use super::question::Question;

/// The volumes of the pod whose drivers have limits.
pub(super) struct WantedVolumes<'w>(Vec<AttachedVolume<'w>>);

impl<'w> WantedVolumes<'w> {
    pub(super) fn new(question: &Question<'_, 'w>) -> Self {
        let snapshot = question.snapshot;
        let runs = question.runs(FilterPlugin::NodeVolumeLimits);
        let mut wanted = snapshot.attached_volumes(question.pod);
        wanted.retain(|v| runs && snapshot.limits_driver(v.driver));
        wanted.sort_unstable();
        wanted.dedup();
        WantedVolumes(wanted)
    }

    /// Returns the first driver that cannot attach all volumes of the pod to a node.
    pub(super) fn exceeded(
        &self,
        question: &Question<'_, 'w>,
        nominated: &NominatedPods,
        node: NodeId,
    ) -> Option<&'w str> {
        let there = question.node(node);
        let limit = |driver: &str| there.attach_limit(driver).map(|limit| limit as usize);
        if self.0.iter().all(|volume| limit(volume.driver).is_none()) {
            return None;
        }
        let here = if question.is_as_recorded(node) && nominated.on(node).next().is_none() {
            Cow::Borrowed(question.index().attached_on(node))
        } else {
            Cow::Owned(in_use(question, nominated, node))
        };
        let left = on(question.index().left_attached(), node).iter().map(|(_, volume)| volume);
        let left = left.filter(|volume| here.binary_search(volume).is_err());
        let exceeds = |driver: &&str| {
            let of_driver = |v: &&AttachedVolume<'_>| v.driver == *driver;
            let attached = here.iter().chain(left.clone()).filter(of_driver).count();
            let wanted = self.0.iter().filter(of_driver);
            let new = wanted.filter(|v| here.binary_search(v).is_err()).count();
            new > 0 && limit(driver).is_some_and(|limit| attached + new > limit)
        };
        self.0.iter().map(|v| v.driver).find(exceeds)
    }
}

/// Returns the volumes that pods use on a node or have reserved there, sorted, each once.
fn in_use<'w>(
    question: &Question<'_, 'w>,
    nominated: &NominatedPods,
    node: NodeId,
) -> Vec<AttachedVolume<'w>> {
    let pods = question.node(node).pods.iter().copied();
    let placed = pods
        .chain(question.placement.arrivals(node))
        .filter(|pod| question.place(*pod) == Some(node))
        .flat_map(|pod| question.index().attached_volumes(pod))
        .map(|(_, volume)| *volume);
    let reserved = nominated.on(node).flat_map(|pod| {
        let pod = question.snapshot.pod(pod);
        question.snapshot.attached_volumes(pod)
    });
    let mut volumes: Vec<AttachedVolume<'w>> = placed.chain(reserved).collect();
    volumes.sort_unstable();
    volumes.dedup();
    volumes
}

/// Returns the volumes on a node. The list is sorted.
fn on<'a, 'w>(
    all: &'a [(NodeId, AttachedVolume<'w>)],
    node: NodeId,
) -> &'a [(NodeId, AttachedVolume<'w>)] {
    let from = &all[all.partition_point(|(n, _)| *n < node)..];
    &from[..from.partition_point(|(n, _)| *n == node)]
}
