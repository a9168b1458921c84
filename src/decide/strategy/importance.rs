//! The order in which pods are evicted when a strategy may choose among several.

use std::cmp::Reverse;

use crate::model::snapshot::Pod;

/// Sorts less important pods first: lower priority, weaker quality of service, no wish to stay.
///
/// Descheduler's documentation gives the same order of priority and quality of service.
pub(super) fn importance(pod: &Pod) -> impl Ord + use<> {
    (pod.priority, pod.qos, pod.annotations.prefer_no_eviction)
}

/// Sorts the pods to evict first to the front: by importance, then the newest, then the cheapest to
/// delete.
///
/// The cost is the annotation `controller.kubernetes.io/pod-deletion-cost`.
pub(super) fn eviction_order(pod: &Pod) -> impl Ord + use<> {
    (
        importance(pod),
        Reverse(pod.created),
        pod.annotations.deletion_cost,
    )
}
