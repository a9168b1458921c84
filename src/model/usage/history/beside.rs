//! Readings laid beside a snapshot: whose sample is whose.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::model::snapshot::{Pod, Snapshot};
use crate::model::usage::{Readings, Sample};

use super::PodName;

/// How a namespace and name stand to those of a pod. Mostly they are the same, so that is asked first.
pub(super) fn order((namespace, name): (&str, &str), pod: &Pod) -> Ordering {
    if name == pod.name && namespace == pod.namespace {
        return Ordering::Equal;
    }
    namespace
        .cmp(pod.namespace.as_str())
        .then_with(|| name.cmp(pod.name.as_str()))
}

/// The pods that the source places on a node and the snapshot does not, or not any more, by node.
pub(super) fn strangers<'r>(
    snapshot: &Snapshot,
    readings: &'r Readings,
    samples: &[Option<Sample>],
) -> BTreeMap<&'r str, Vec<(&'r PodName, Sample)>> {
    let mut by_node: BTreeMap<&str, Vec<(&PodName, Sample)>> = BTreeMap::new();
    let mut here = snapshot.pods.iter().zip(samples).peekable();
    for (pod, node) in &readings.placed {
        let name = (pod.0.as_str(), pod.1.as_str());
        while here
            .next_if(|(known, _)| order(name, known).is_gt())
            .is_some()
        {}
        let on_it = |known: &Pod| known.node.is_some_and(|n| snapshot.node(n).name == *node);
        let known = here
            .peek()
            .is_some_and(|(known, s)| order(name, known).is_eq() && s.is_some() && on_it(known));
        if let Some(sample) = readings.pods.get(pod).filter(|_| !known) {
            by_node.entry(node).or_default().push((pod, *sample));
        }
    }
    by_node
}

/// Since when its samples are its own. A pod can be made anew in the API while it goes on running, as mirror pods are.
pub(super) fn since(pod: &Pod) -> Timestamp {
    pod.started
        .map_or(pod.created, |started| started.min(pod.created))
}

/// The sample of each pod of a snapshot, unless it was taken before the pod was made and so is of a namesake.
pub(super) fn samples(snapshot: &Snapshot, readings: &Readings) -> Vec<Option<Sample>> {
    let mut told = readings
        .pods
        .iter()
        .map(|((namespace, name), s)| ((namespace.as_str(), name.as_str()), s))
        .peekable();
    let next = |pod: &Pod| {
        let mut own = None;
        while let Some((name, sample)) = told.next_if(|(name, _)| order(*name, pod).is_le()) {
            if order(name, pod).is_eq() {
                own = Some(*sample);
                break;
            }
        }
        let sample = own?;
        (sample.at >= since(pod)).then_some(sample)
    };
    snapshot.pods.iter().map(next).collect()
}
