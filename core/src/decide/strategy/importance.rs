//! The order in which pods are evicted when a strategy may choose among several.

use std::cmp::Reverse;

use jiff::Timestamp;

use crate::model::snapshot::Pod;
use crate::model::snapshot::facts::Qos;

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
    (importance(pod), Reverse(pod.created), pod.annotations.deletion_cost)
}

/// The importance of a pod among those that relieve a hot node about equally well. The least
/// important pod, which is evicted first, is the smallest value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Importance {
    priority: Option<i32>,
    qos: Qos,
    prefers_to_stay: bool,
    deletion_cost: i32,
    /// The newest pod goes first, because it has done the least work.
    newest_first: Reverse<Timestamp>,
}

impl Importance {
    /// The importance of a pod about which users said nothing.
    #[cfg(test)]
    pub(super) const ORDINARY: Self = Importance {
        priority: None,
        qos: Qos::Burstable,
        prefers_to_stay: false,
        deletion_cost: 0,
        newest_first: Reverse(Timestamp::UNIX_EPOCH),
    };

    pub(super) fn of(pod: &Pod) -> Self {
        Importance {
            priority: pod.priority,
            qos: pod.qos,
            prefers_to_stay: pod.annotations.prefer_no_eviction,
            deletion_cost: pod.annotations.deletion_cost,
            newest_first: Reverse(pod.created),
        }
    }

    /// Returns the importance that users gave the pod, without its age.
    pub(super) fn rank(&self) -> impl Ord + use<> {
        let Importance { priority, qos, prefers_to_stay, deletion_cost, .. } = *self;
        (priority, qos, prefers_to_stay, deletion_cost)
    }
}
