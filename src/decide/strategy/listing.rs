//! What the strategies have in common that judge pods one by one: which pods they look at, and how they ask for them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::decide::draft::{Candidate, DestinationLimits, Draft};
use crate::model::plan::{Class, NotSelected, Reach, Reason};
use crate::model::snapshot::facts::{Container, Role};
use crate::model::snapshot::{NodeId, Pod, PodId, WorkloadId};
use crate::policy::Scope;

/// The nodes that the policy selects and that are ready; cordoned ones are among them.
pub(super) fn nodes(draft: &Draft<'_>) -> Vec<NodeId> {
    let (snapshot, selector) = (
        draft.world.snapshot,
        draft.world.policy.node_selector.as_ref(),
    );
    let listed = |n: &NodeId| {
        let node = snapshot.node(*n);
        node.ready && selector.is_none_or(|s| s.matches(&node.labels))
    };
    snapshot.node_ids().filter(listed).collect()
}

/// The pods of the scope that are bound to such a node and are not on their way out, finished ones included; by node,
/// then the workloads in turn, so that a limit that cuts the list short does not fall on one of them alone. Who is to go
/// already need not be asked for again.
pub(super) fn pods(draft: &Draft<'_>, scope: &Scope) -> Vec<(NodeId, PodId)> {
    let snapshot = draft.world.snapshot;
    let listed: BTreeSet<NodeId> = nodes(draft).into_iter().collect();
    let mut pods: Vec<(NodeId, PodId)> = snapshot
        .pod_ids()
        .filter_map(|id| Some((snapshot.pod(id).node.filter(|n| listed.contains(n))?, id)))
        .filter(|(_, id)| !draft.moves(*id) && passed_over(snapshot.pod(*id), scope).is_none())
        .collect();
    pods.sort_unstable();
    let mut turns: BTreeMap<(NodeId, WorkloadId), usize> = BTreeMap::new();
    let mut turn = |node: NodeId, pod: PodId| {
        let next = snapshot
            .pod(pod)
            .workload
            .map(|workload| turns.entry((node, workload)).or_default());
        next.map_or(0, |next| std::mem::replace(next, *next + 1))
    };
    let mut in_turn: Vec<_> = pods
        .into_iter()
        .map(|(node, pod)| (node, turn(node, pod), pod))
        .collect();
    in_turn.sort_unstable();
    in_turn
        .into_iter()
        .map(|(node, _, pod)| (node, pod))
        .collect()
}

/// Why a pod is not looked at, whatever its node.
fn passed_over(pod: &Pod, scope: &Scope) -> Option<NotSelected> {
    if pod.terminating {
        Some(NotSelected::Terminating)
    } else {
        scope.leaves_out(pod)
    }
}

/// The node of a pod that is looked at, or why it is not.
pub(super) fn looked_at(
    draft: &Draft<'_>,
    scope: &Scope,
    pod: PodId,
) -> Result<NodeId, NotSelected> {
    let it = draft.world.snapshot.pod(pod);
    let node = it.node.ok_or(NotSelected::Nowhere)?;
    if !nodes(draft).contains(&node) {
        let ready = draft.world.snapshot.node(node).ready;
        return Err(NotSelected::Node(if ready {
            Class::NotSelected
        } else {
            Class::NotReady
        }));
    }
    passed_over(it, scope).map_or(Ok(node), Err)
}

impl Scope {
    /// Whether the strategy looks at this pod.
    pub fn admits(&self, pod: &Pod) -> bool {
        self.leaves_out(pod).is_none()
    }

    /// Why the strategy does not look at this pod; `None` where it does.
    pub fn leaves_out(&self, pod: &Pod) -> Option<NotSelected> {
        if !self.namespaces.admit(&pod.namespace) {
            return Some(NotSelected::Namespace);
        }
        self.pods
            .as_ref()
            .is_some_and(|s| !s.matches(&pod.labels))
            .then_some(NotSelected::Labels)
    }
}

/// The containers that do the pod's work, and those of the other sorts that the policy asks for.
pub(super) fn containers<'p>(
    pod: &'p Pod,
    with: &'p [Role],
) -> impl Iterator<Item = &'p Container> {
    pod.containers
        .iter()
        .filter(|c| c.role == Role::Main || with.contains(&c.role))
}

/// Who may go first: low priority before high, the weaker quality of service before the stronger, and who prefers to
/// stay last.
pub(super) fn least_important(pod: &Pod) -> impl Ord + use<> {
    (pod.priority, pod.qos, pod.annotations.prefer_no_eviction)
}

/// Candidates in the order in which they are asked for.
#[derive(Debug, Default)]
pub(super) struct Queue {
    position: usize,
    waiting: VecDeque<(PodId, Reason, Option<DestinationLimits>)>,
    closed: Closed,
}

impl Queue {
    pub(super) fn new(
        position: usize,
        asked: impl IntoIterator<Item = (PodId, Reason, Option<DestinationLimits>)>,
    ) -> Self {
        Queue {
            position,
            waiting: asked.into_iter().collect(),
            closed: Closed::default(),
        }
    }

    /// The next that may still go.
    pub(super) fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        loop {
            let (pod, reason, room) = self.waiting.pop_front()?;
            if self.closed.opens(draft, self.position, pod) {
                return Some(Candidate {
                    pod,
                    strategy: self.position,
                    reason,
                    room,
                });
            }
        }
    }
}

/// The nodes of which a gate has refused everything, such as by the limit of a node.
#[derive(Debug, Default)]
pub(super) struct Closed {
    nodes: BTreeSet<NodeId>,
    last: Option<PodId>,
}

impl Closed {
    /// Whether it is worth asking for this pod, after what the gates said to the one before.
    pub(super) fn opens(&mut self, draft: &Draft<'_>, position: usize, pod: PodId) -> bool {
        let home = |pod: PodId| draft.world.snapshot.pod(pod).node;
        if let Some(last) = self.last.take()
            && draft
                .refusal(position, last)
                .is_some_and(|why| why.reach() == Reach::Node)
        {
            self.nodes.extend(home(last));
        }
        let open = home(pod).is_none_or(|node| !self.nodes.contains(&node));
        self.last = open.then_some(pod);
        open
    }
}
