//! The input of a forecast: a pod to place, and whether the pod that it replaces still runs.

use crate::decide::placement::index::{Index, TermKind};
use crate::decide::placement::{Placement, Starts};
use crate::model::snapshot::facts::{NonZeroRequests, Owner};
use crate::model::snapshot::{Node, NodeId, Pod, PodId, Snapshot};
use crate::policy::{DEFAULT_SCHEDULER, FilterPlugin, SchedulerProfile, ScorePlugin};
use crate::values::{Amount, ResourceId};

/// A pod to place, and the cluster as the scheduler sees it then.
#[derive(Clone, Copy)]
pub(super) struct Question<'q, 'w> {
    pub(super) placement: &'q Placement<'w>,
    pub(super) snapshot: &'w Snapshot,
    pub(super) id: PodId,
    pub(super) pod: &'w Pod,
    pub(super) profile: &'w SchedulerProfile,
    /// The node of the replaced pod, also after it has gone.
    home: Option<NodeId>,
    /// Whether the replaced pod still runs.
    lingers: bool,
    /// Pods that are taken as removed, sorted. They are on one node.
    removed: &'q [PodId],
}

/// Returns true if the replacement is created only after its pod has ended. A StatefulSet does so,
/// because both pods have the same name, and a Job with `podReplacementPolicy: Failed`, which a
/// `podFailurePolicy` implies.
pub fn in_turn(snapshot: &Snapshot, pod: &Pod) -> bool {
    let job = |owner: &Owner| snapshot.controller_facts(&pod.namespace, owner)?.job.as_deref();
    pod.controller().is_some_and(|owner| match owner.kind.as_str() {
        "StatefulSet" => true,
        "Job" => job(owner).is_some_and(|job| job.counts_late),
        _ => false,
    })
}

/// Returns true if the profile belongs to the pod's scheduler and the scores of all its plugins are
/// known.
pub(super) fn ours(pod: &Pod, profile: &SchedulerProfile) -> bool {
    pod.scheduler.as_deref().unwrap_or(DEFAULT_SCHEDULER) == profile.name && !profile.unknown_scores
}

impl<'q, 'w> Question<'q, 'w> {
    /// The cluster while the replaced pod still terminates, like all pods that are moved before it.
    pub(super) fn during(placement: &'q Placement<'w>, id: PodId) -> Self {
        Question { lingers: true, ..Question::after(placement, id) }
    }

    /// The cluster after the replaced pod has gone. Pods that are moved before it and have a longer
    /// grace period may still terminate. Also used for a pending pod.
    pub(super) fn after(placement: &'q Placement<'w>, id: PodId) -> Self {
        let pod = placement.snapshot.pod(id);
        let profile = placement.policy.scheduler_of(pod.scheduler.as_deref());
        Question {
            placement,
            snapshot: placement.snapshot,
            id,
            pod,
            profile,
            home: placement.place(id),
            lingers: false,
            removed: &[],
        }
    }

    /// The same cluster without these pods, which are sorted and on one node.
    pub(super) fn without<'r>(&self, removed: &'r [PodId]) -> Question<'r, 'w>
    where
        'q: 'r,
    {
        Question { removed, ..*self }
    }

    /// Returns where the scheduler may start its search for this pod. `None` if that is not known.
    pub(super) fn starts(&self) -> Option<Starts> {
        // Its search comes after those of all later moves.
        if self.home.is_some() && in_turn(self.snapshot, self.pod) {
            return None;
        }
        let starts = self.placement.starts()?;
        Some(starts.unless(self.placement.search_start.disturbed()))
    }

    pub(super) fn index(&self) -> &'q Index<'w> {
        self.placement.index()
    }

    pub(super) fn node(&self, node: NodeId) -> &'w Node {
        self.snapshot.node(node)
    }

    pub(super) fn runs(&self, filter: FilterPlugin) -> bool {
        !self.profile.filters_off.contains(&filter)
    }

    pub(super) fn weight(&self, plugin: ScorePlugin) -> i64 {
        self.profile.weights[plugin]
    }

    /// Returns the node of a pod for host ports, volumes and affinity. Includes the replaced pod.
    pub(super) fn place(&self, other: PodId) -> Option<NodeId> {
        if (other == self.id && !self.lingers) || self.is_removed(other) {
            None
        } else {
            self.placement.place(other)
        }
    }

    /// Returns the nodes where a pod counts for host ports and affinity. A pod that was moved
    /// before still counts where it was while it terminates.
    pub(super) fn places(&self, other: PodId) -> impl Iterator<Item = NodeId> {
        let leaves = other != self.id && self.placement.moves(other) && self.terminates(other);
        let left = self.snapshot.pod(other).node;
        self.place(other).into_iter().chain(left.filter(|_| leaves))
    }

    /// Returns the node of a pod for topology spread, which ignores terminating pods.
    pub(super) fn lasting_place(&self, other: PodId) -> Option<NodeId> {
        let ends = other == self.id || self.snapshot.pod(other).terminating;
        if ends || self.is_removed(other) { None } else { self.placement.place(other) }
    }

    /// Returns the node of a virtual machine that an eviction migrates. The machine runs there
    /// until it has moved, and its second pod avoids the first.
    pub(super) fn migrates_from(&self) -> Option<NodeId> {
        self.home.filter(|_| self.snapshot.migrates(self.pod))
    }

    /// Returns true for the pod's own node if the scheduler of the pod is not known. It may choose
    /// the node again regardless of its taints: that of AWS Fargate gives each pod a node with a
    /// taint that the pod does not tolerate.
    pub(super) fn may_return(&self, node: NodeId) -> bool {
        let policy = self.placement.policy;
        self.home == Some(node) && !policy.knows_scheduler(self.pod.scheduler.as_deref())
    }

    /// Returns the node that is nominated for the pod itself.
    pub(super) fn nomination(&self) -> Option<NodeId> {
        self.snapshot.nomination(self.id)
    }

    /// Returns the requests of one resource of all pods of a node.
    pub(super) fn reserved(&self, node: NodeId, resource: ResourceId) -> Amount {
        let all = self.placement.reserved(node)[resource];
        if self.is_as_placed(node) {
            return all;
        }
        let all = all.minus(self.released(node, resource));
        let held = self.lingering(node).map(|pod| pod.requests[resource]);
        let all = all.plus(held.sum());
        if self.left(node) { all.minus(self.pod.requests[resource]) } else { all }
    }

    /// Returns the cpu and memory requests of a node's pods as the scheduler counts them for
    /// scores.
    pub(super) fn non_zero_requests(&self, node: NodeId) -> (Amount, Amount) {
        let all = self.placement.non_zero_requests(node);
        if self.is_as_placed(node) {
            return (all.cpu, all.memory);
        }
        let held = || self.lingering(node).map(|pod| pod.non_zero_requests);
        let own =
            if self.left(node) { self.pod.non_zero_requests } else { NonZeroRequests::default() };
        (
            all.cpu.plus(held().map(|p| p.cpu).sum()).minus(own.cpu),
            all.memory.plus(held().map(|p| p.memory).sum()).minus(own.memory),
        )
    }

    /// Whether the pods of a node are those of the placement, as on most.
    fn is_as_placed(&self, node: NodeId) -> bool {
        self.removed.is_empty() && !self.left(node) && self.placement.lingering(node).is_empty()
    }

    /// Whether the pods of a node count as they are in the snapshot.
    pub(super) fn is_as_recorded(&self, node: NodeId) -> bool {
        self.removed.is_empty() && !self.left(node) && self.placement.is_unchanged(node)
    }

    /// The pods that were moved before and still terminate on a node.
    fn lingering(&self, node: NodeId) -> impl Iterator<Item = &'w Pod> + use<'q, 'w> {
        let question = *self;
        let moved = self.placement.lingering(node).iter();
        let moved = moved.filter(move |pod| question.terminates(**pod));
        moved.map(move |pod| question.snapshot.pod(*pod))
    }

    /// Whether a pod that was moved before still terminates: while this pod does so too, and longer
    /// if it may take longer to end.
    fn terminates(&self, moved: PodId) -> bool {
        self.lingers || self.placement.outlasts(moved, self.id)
    }

    /// Returns the nodes that pods leave, sorted: the replaced pod and those that moved before. On
    /// the other nodes it makes no difference for this pod whether they still terminate. `None` if
    /// it may, because the pod has volumes, or affinity that reaches beyond a node.
    pub(super) fn leaving(&self) -> Option<Vec<NodeId>> {
        let volumes = &self.pod.volumes;
        let has_volumes = !volumes.claims.is_empty() || !volumes.ephemeral.is_empty();
        let matching = self.index().terms_matching(self.id);
        let mut terms = self.index().terms_of(self.id).iter().chain(&*matching);
        if has_volumes || terms.any(|term| self.reaches_beyond_a_node(*term)) {
            return None;
        }
        let mut nodes: Vec<NodeId> = self.placement.left().chain(self.home).collect();
        nodes.sort_unstable();
        nodes.dedup();
        Some(nodes)
    }

    /// Whether a pod of this affinity term may matter on other nodes than its own. The score of a
    /// preference depends on all nodes.
    fn reaches_beyond_a_node(&self, term: usize) -> bool {
        let term = self.index().term(term);
        let topology = || self.index().topology(&term.term.topology_key);
        term.kind != TermKind::RequiredAntiAffinity || !topology().is_of_single_nodes()
    }

    fn is_removed(&self, other: PodId) -> bool {
        self.removed.binary_search(&other).is_ok()
    }

    fn released(&self, node: NodeId, resource: ResourceId) -> Amount {
        let here = |p: &&PodId| self.placement.place(**p) == Some(node);
        let pods = self.removed.iter().filter(here);
        pods.map(|p| self.snapshot.pod(*p).requests[resource]).sum()
    }

    fn left(&self, node: NodeId) -> bool {
        !self.lingers && self.home == Some(node)
    }
}
