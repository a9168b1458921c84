//! Alignment of readings with a snapshot: which sample belongs to which pod.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::model::snapshot::{Pod, Snapshot};
use crate::model::usage::{Readings, Sample, SampleFlaw, Unmeasured};

/// Namespace and name.
pub(super) type PodName = (String, String);

/// Returns the name of a pod.
pub(super) fn name_of(pod: &Pod) -> PodName {
    (pod.namespace.clone(), pod.name.clone())
}

/// Compares a namespace and name with those of a pod. Usually they are equal, which is checked
/// first.
pub(super) fn order(namespace: &str, name: &str, pod: &Pod) -> Ordering {
    if name == pod.name && namespace == pod.namespace {
        return Ordering::Equal;
    }
    namespace.cmp(pod.namespace.as_str()).then_with(|| name.cmp(pod.name.as_str()))
}

/// The samples of the pods of a snapshot, by position.
pub(super) struct PodReadings {
    /// The usable sample of each pod.
    pub(super) samples: Vec<Option<Sample>>,
    /// The time from which samples belong to the pod.
    pub(super) since: Vec<Timestamp>,
    /// Why a pod has a sample that is not usable.
    pub(super) flaws: BTreeMap<usize, Unmeasured>,
}

impl PodReadings {
    /// Finds the sample of each pod. `check` returns why a sample cannot be used.
    pub(super) fn new(
        snapshot: &Snapshot,
        readings: &Readings,
        check: impl Fn(&Pod, &Sample) -> Result<(), Unmeasured>,
    ) -> Self {
        let (own, since) = own_samples(snapshot, readings);
        let mut flaws = BTreeMap::new();
        let mut samples = Vec::with_capacity(own.len());
        for (position, (pod, found)) in snapshot.pods.iter().zip(own).enumerate() {
            let checked = found.and_then(|found| {
                let usable = found.map(|sample| check(pod, &sample).map(|()| sample));
                usable.transpose()
            });
            samples.push(checked.unwrap_or_else(|flaw| {
                flaws.insert(position, flaw);
                None
            }));
        }
        PodReadings { samples, since, flaws }
    }
}

/// Returns, by node, the pods that the source reports on a node where the snapshot does not have
/// them (any more). A pod that was elsewhere at the time of the sample is not meant.
pub(super) fn departed_pods<'r>(
    snapshot: &Snapshot,
    readings: &'r Readings,
    since: &[Timestamp],
) -> BTreeMap<&'r str, Vec<(&'r PodName, Sample)>> {
    let mut by_node: BTreeMap<&str, Vec<(&PodName, Sample)>> = BTreeMap::new();
    // Both lists are sorted by namespace and name, so one pass over each is enough.
    let mut here = snapshot.pods.iter().zip(since).peekable();
    for (pod, node) in &readings.placed {
        let (namespace, name) = pod;
        while here.next_if(|(known, _)| order(namespace, name, known).is_gt()).is_some() {}
        let Some(sample) = readings.pods.get(pod) else {
            continue;
        };
        let present = here.peek().is_some_and(|(known, since)| {
            order(namespace, name, known).is_eq() && **since <= sample.at
        });
        if !present {
            by_node.entry(node).or_default().push((pod, *sample));
        }
    }
    by_node
}

/// Returns the time from which samples belong to the pod. The start can be earlier than the
/// creation, because a mirror pod can be recreated in the API while it keeps running.
pub(super) fn since(pod: &Pod) -> Timestamp {
    pod.started.map_or(pod.created, |started| started.min(pod.created))
}

/// A sample, none, or why there is none.
type OwnSample = Result<Option<Sample>, Unmeasured>;

/// Returns the sample of each pod of a snapshot, and the time from which samples belong to it. A
/// sample from before that belongs to another pod of the same name and is ignored.
fn own_samples(snapshot: &Snapshot, readings: &Readings) -> (Vec<OwnSample>, Vec<Timestamp>) {
    let mut remaining = readings.pods.iter().peekable();
    let next = |pod: &Pod| {
        let mut own = None;
        while let Some((name, sample)) = remaining.peek() {
            let order = order(&name.0, &name.1, pod);
            if order.is_gt() {
                break;
            }
            own = order.is_eq().then_some((*name, **sample));
            remaining.next();
            if order.is_eq() {
                break;
            }
        }
        let since = since(pod);
        let found = match own {
            Some((name, newest)) => on_own_node(snapshot, readings, pod, since, name, newest),
            None => unreadable(readings, pod),
        };
        (found, since)
    };
    snapshot.pods.iter().map(next).unzip()
}

/// Returns the sample of a pod that was taken on its own node. `newest` is the newest one, wherever
/// it was taken.
fn on_own_node(
    snapshot: &Snapshot,
    readings: &Readings,
    pod: &Pod,
    since: Timestamp,
    name: &PodName,
    newest: Sample,
) -> OwnSample {
    let own = pod.node.map(|node| snapshot.node(node).name.as_str());
    let is_own = |node: &str| own.is_none_or(|own| own == node);
    let Some(elsewhere) = readings.placed.get(name).filter(|node| !is_own(node)) else {
        return Ok(Some(newest).filter(|sample| sample.at >= since));
    };
    let others = readings.elsewhere.get(name).into_iter().flatten();
    let mut own = others.filter(|(node, sample)| is_own(node) && sample.at >= since);
    match own.next() {
        Some((_, sample)) => Ok(Some(*sample)),
        None if newest.at >= since => {
            let flaw = SampleFlaw::OtherNode(elsewhere.as_str().into());
            Err(Unmeasured::Flawed(flaw))
        }
        None => Ok(None),
    }
}

/// Returns why the source has no sample of a pod.
fn unreadable(readings: &Readings, pod: &Pod) -> OwnSample {
    if readings.unreadable_pods.is_empty() {
        return Ok(None);
    }
    match readings.unreadable_pods.get(&name_of(pod)) {
        Some(why) => Err(Unmeasured::Flawed(SampleFlaw::Unreadable(Arc::clone(why)))),
        None => Ok(None),
    }
}
