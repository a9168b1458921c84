//! The relief of a hot node by one pod that leaves it.

use std::cmp::Reverse;

use crate::decide::draft::Draft;
use crate::decide::strategy::importance::Importance;
use crate::decide::targets::ResourceExcess;
use crate::model::snapshot::{NodeId, PodId};
use crate::values::{Amount, Ratio, ResourceId};

/// The room below the target that a move should leave, as a share of the node. kube-scheduler soon
/// sends other pods to a node that has lost requests, and without room they would make it hot
/// again. With none, 5 and 10 %, a day of 300 machines of the contest needs 704, 589 and 535
/// evictions.
const MARGIN: Ratio = Ratio::TENTH;

/// The relief of a hot node by one pod that leaves it. All shares are of the node, summed over the
/// resources above their targets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PodRelief {
    excess: Ratio,
    /// The usage of the pod.
    pub(super) usage: Ratio,
    /// The cpu and memory requests of the pod.
    requests: Ratio,
    /// In how many resources the node needs one eviction less without this pod: as few as if its
    /// heaviest pod had left.
    pub(super) saves: u32,
    /// Whether the usage of the pod is unknown.
    pub(super) unknown: bool,
}

impl PodRelief {
    /// The relief by a pod; `None` if it relieves nothing.
    pub(super) fn of(
        draft: &Draft<'_>,
        pod: PodId,
        node: NodeId,
        excess: &[ResourceExcess],
    ) -> Option<Self> {
        let mut relief = PodRelief { requests: requests(draft, node, pod), ..PodRelief::default() };
        for one in excess {
            let share = |amount| draft.share(node, one.above.resource, amount).unwrap_or_default();
            if let Some(weight) = one.weight(draft, pod) {
                relief.excess = relief.excess.plus(share(one.amount));
                relief.usage = relief.usage.plus(share(weight));
                relief.saves += u32::from(one.is_saved_by(weight));
            } else {
                relief.unknown = true;
            }
        }
        (relief.unknown || relief.usage > Ratio::ZERO).then_some(relief)
    }

    /// Returns true if the plan should say why the pod stays, although it may not be evicted at
    /// all.
    pub(super) fn is_worth_a_note(&self) -> bool {
        self.unknown || self.usage.get() >= self.excess.get() * Ratio::QUARTER.get()
    }

    /// Returns the order in which the pods of one node are asked for, the smallest first. Shares
    /// are in hundredths, so that less important pods go if they are about equally good.
    ///
    /// A pod that saves evictions comes first, then the less important one, the one that takes more
    /// along until the node has room below its targets, the one with fewer requests, because a node
    /// that loses requests attracts the next pods, and the lighter one. Pods of unknown usage come
    /// last, so that the plan can say why they stay.
    ///
    /// For example, a node is 6 points above its target and has equally important pods of 3, 8 and
    /// 20 points. One eviction is needed. The pods of 8 and 20 save it, and the latter leaves more
    /// room: of its usage, 6 + 10 points count.
    pub(super) fn order(&self, importance: Importance) -> impl Ord + use<> {
        let hundredths = |share: Ratio| Amount::from_f64(share.get() * 100.0);
        let useful = self.usage.at_most(self.excess.plus(MARGIN));
        (
            self.unknown,
            Reverse(self.saves),
            importance.rank(),
            Reverse(hundredths(useful)),
            hundredths(self.requests),
            hundredths(self.usage),
            importance,
        )
    }
}

/// Returns the cpu and memory requests of a pod, each as a share of a node, added up.
pub(super) fn requests(draft: &Draft<'_>, node: NodeId, pod: PodId) -> Ratio {
    let requests = &draft.world.snapshot.pod(pod).requests;
    let share = |r| draft.share(node, r, requests[r]).unwrap_or_default();
    share(ResourceId::CPU).plus(share(ResourceId::MEMORY))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(usage: f64, requests: f64, saves: u32) -> PodRelief {
        PodRelief {
            excess: Ratio::percent(5.0).unwrap(),
            usage: Ratio::new(usage).unwrap(),
            requests: Ratio::new(requests).unwrap(),
            saves,
            unknown: false,
        }
    }

    /// The names in the order in which the pods are asked for.
    fn order(mut pods: Vec<(&str, PodRelief)>) -> Vec<&str> {
        pods.sort_by_key(|(_, relief)| relief.order(Importance::ORDINARY));
        pods.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn a_pod_that_saves_an_eviction_goes_before_a_heavier_one_that_saves_none() {
        let pods = vec![("heavy", pod(0.3, 0.1, 0)), ("saves", pod(0.1, 0.1, 1))];
        assert_eq!(order(pods), ["saves", "heavy"]);
    }

    #[test]
    fn the_lightest_pod_that_leaves_room_goes_first() {
        // The excess and the room below the target are 15 % of the node.
        let pods = vec![
            ("scarce", pod(0.08, 0.1, 1)),
            ("large", pod(0.4, 0.1, 1)),
            ("fits", pod(0.2, 0.1, 1)),
        ];
        assert_eq!(order(pods), ["fits", "large", "scarce"]);
    }

    #[test]
    fn of_pods_that_leave_room_the_one_with_the_fewest_requests_goes_first() {
        let pods = vec![("wide", pod(0.2, 0.3, 1)), ("narrow", pod(0.4, 0.1, 1))];
        assert_eq!(order(pods), ["narrow", "wide"]);
    }
}
