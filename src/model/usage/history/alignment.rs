//! Alignment of readings with a snapshot: which sample belongs to which pod.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::model::snapshot::{Pod, Snapshot};
use crate::model::usage::{Readings, Sample};

/// Namespace and name.
pub(super) type PodName = (String, String);

/// Compares a namespace and name with those of a pod. Usually they are equal, which is checked
/// first.
pub(super) fn order((namespace, name): (&str, &str), pod: &Pod) -> Ordering {
    if name == pod.name && namespace == pod.namespace {
        return Ordering::Equal;
    }
    namespace
        .cmp(pod.namespace.as_str())
        .then_with(|| name.cmp(pod.name.as_str()))
}

/// Returns, by node, the pods that the source reports on a node where the snapshot does not have
/// them (any more).
pub(super) fn departed_pods<'r>(
    snapshot: &Snapshot,
    readings: &'r Readings,
    samples: &[Option<Sample>],
) -> BTreeMap<&'r str, Vec<(&'r PodName, Sample)>> {
    let mut by_node: BTreeMap<&str, Vec<(&PodName, Sample)>> = BTreeMap::new();
    // Both lists are sorted by namespace and name, so one pass over each is enough.
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
        if !known && let Some(sample) = readings.pods.get(pod) {
            by_node.entry(node).or_default().push((pod, *sample));
        }
    }
    by_node
}

/// Returns the time from which samples belong to the pod. The start can be earlier than the
/// creation, because a mirror pod can be recreated in the API while it keeps running.
fn since(pod: &Pod) -> Timestamp {
    pod.started
        .map_or(pod.created, |started| started.min(pod.created))
}

/// Returns the sample of each pod of a snapshot, and the time from which samples belong to it. A
/// sample from before that belongs to another pod of the same name and is ignored.
pub(super) fn samples(
    snapshot: &Snapshot,
    readings: &Readings,
) -> (Vec<Option<Sample>>, Vec<Timestamp>) {
    let mut remaining = readings
        .pods
        .iter()
        .map(|((namespace, name), s)| ((namespace.as_str(), name.as_str()), s))
        .peekable();
    let next = |pod: &Pod| {
        let mut own = None;
        while let Some((name, sample)) = remaining.peek() {
            let order = order(*name, pod);
            if order.is_gt() {
                break;
            }
            own = order.is_eq().then_some(**sample);
            remaining.next();
            if order.is_eq() {
                break;
            }
        }
        let since = since(pod);
        (own.filter(|sample| sample.at >= since), since)
    };
    snapshot.pods.iter().map(next).unzip()
}
