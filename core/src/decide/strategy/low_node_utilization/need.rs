//! The need of a node: its excess, and the fewest pods that must leave to remove it.

use crate::decide::draft::Draft;
use crate::decide::gate;
use crate::model::plan::{Class, NotSelected, Refusal, Temporary};
use crate::model::snapshot::{NodeId, PodId};

use super::LowNodeUtilizationRun;
use super::hot_node::HotNode;
use super::relief::PodRelief;

impl LowNodeUtilizationRun<'_> {
    /// Decides about a pod: its relief, or why it is not selected.
    pub(super) fn judge(&self, draft: &Draft<'_>, pod: PodId) -> Result<PodRelief, NotSelected> {
        let facts = draft.world.snapshot.pod(pod);
        let node = facts.node.ok_or(NotSelected::Nowhere)?;
        NotSelected::unless_gone(facts)?;
        self.hot_node(draft, node)?.judge(draft, pod)
    }

    /// A hot node with the need of its remaining pods, or why no pod of the node is selected.
    pub(super) fn hot_node(&self, draft: &Draft<'_>, node: NodeId) -> Result<HotNode, NotSelected> {
        let class = self.classes.get(&node).unwrap_or(&Class::NotSelected);
        let pool = self.pool(node).filter(|_| class.is_hot());
        let pool = pool.ok_or_else(|| NotSelected::Node(class.clone()))?;
        if let Some(idle) = &pool.idle {
            return Err(NotSelected::Idle(idle.clone()));
        }
        let hot = self.above_targets(draft, node, self.remaining(draft, node));
        hot.ok_or_else(|| NotSelected::Enough {
            going: draft.going(node).count(),
            waiting: self.waiting(draft, node).len(),
        })
    }

    /// Any node of the pools with its need in a draft, whether or not it was hot when the cycle
    /// began; `None` if it is below its targets. Pods that were asked for count as movable, because
    /// later they may land better.
    pub(super) fn need_of(&self, draft: &Draft<'_>, node: NodeId) -> Option<HotNode> {
        self.above_targets(draft, node, staying(draft, node))
    }

    /// A node with its excess and those of these pods that may be evicted, wherever they would
    /// land; `None` if it is below its targets. Pods that only have to wait count as gone.
    fn above_targets(
        &self,
        draft: &Draft<'_>,
        node: NodeId,
        pods: impl Iterator<Item = PodId>,
    ) -> Option<HotNode> {
        let in_force = &self.pool(node)?.in_force;
        let excess = in_force.excess(draft, node, &self.waiting(draft, node));
        let movable = pods.filter(|pod| gate::is_evictable(*pod, self.position, draft));
        (!excess.is_empty()).then(|| HotNode::new(draft, node, excess, movable.collect()))
    }

    /// The pods of a node that are still to be judged.
    pub(super) fn remaining(&self, draft: &Draft<'_>, node: NodeId) -> impl Iterator<Item = PodId> {
        staying(draft, node).filter(|pod| self.remains(draft, *pod))
    }

    /// Whether a pod is still to be judged.
    pub(super) fn remains(&self, draft: &Draft<'_>, pod: PodId) -> bool {
        !self.is_answered(draft, pod) && !self.search.given_up.contains(&pod)
    }

    /// Whether the gates have answered about a pod in this cycle. The draft of a later cycle knows
    /// only the pods that move.
    pub(super) fn is_answered(&self, draft: &Draft<'_>, pod: PodId) -> bool {
        draft.moves(pod) || draft.refusal(self.position, pod).is_some()
    }

    /// The pods of a node that only have to wait for the next cycle.
    fn waiting(&self, draft: &Draft<'_>, node: NodeId) -> Vec<PodId> {
        let refusal = |pod: &PodId| draft.refusal(self.position, *pod);
        let waits = |pod: &PodId| refusal(pod).is_some_and(|why| leaves_soon(draft, why));
        draft.pods_on(node).filter(waits).collect()
    }
}

/// The pods of a node that stay there so far.
pub(super) fn staying(draft: &Draft<'_>, node: NodeId) -> impl Iterator<Item = PodId> {
    let snapshot = draft.world.snapshot;
    let pods = snapshot.node(node).pods.iter().copied();
    pods.filter(move |pod| snapshot.pod(*pod).stays() && !draft.moves(*pod))
}

/// Whether a refused pod may move in the next cycle, so that no worse pod should move instead
/// of it now.
pub(super) fn leaves_soon(draft: &Draft<'_>, why: &Refusal) -> bool {
    match why.wait() {
        // Every pod waits for the window, so none may move instead of it.
        Some(_) if matches!(why, Refusal::Temporary(Temporary::OutsideWindow(_))) => true,
        Some(wait) => wait <= draft.world.policy.interval,
        // The other pod of an ordered StatefulSet may not be Ready by then.
        None => why.is_temporary() && !matches!(why, Refusal::Replacement(_)),
    }
}
