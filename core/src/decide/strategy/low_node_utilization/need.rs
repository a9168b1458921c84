//! The need of a node: its excess, and the fewest pods that must leave to remove it.

use crate::decide::draft::Draft;
use crate::decide::gate;
use crate::decide::targets::ResourceExcess;
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
        let excess = self.excess(draft, node)?;
        self.hot_node(draft, node, excess).judge(draft, pod)
    }

    /// The resources in which a node exceeds its targets, the worst first. Pods that only have to
    /// wait count as gone.
    ///
    /// The result is never empty: otherwise it says why no pod of the node is selected.
    pub(super) fn excess(
        &self,
        draft: &Draft<'_>,
        node: NodeId,
    ) -> Result<Vec<ResourceExcess>, NotSelected> {
        let class = self.classes.get(&node).unwrap_or(&Class::NotSelected);
        let (Class::Hot { .. }, Some(pool)) = (class, self.pool(node)) else {
            return Err(NotSelected::Node(class.clone()));
        };
        if let Some(idle) = &pool.idle {
            return Err(NotSelected::Idle(idle.clone()));
        }
        let waiting = self.waiting(draft, node);
        let excess = pool.in_force.excess(draft, node, &waiting);
        if excess.is_empty() {
            let (going, waiting) = (draft.going(node).count(), waiting.len());
            return Err(NotSelected::Enough { going, waiting });
        }
        Ok(excess)
    }

    /// Any node of the pools with its excess in a draft, whether or not it was hot when the cycle
    /// began; `None` if it is below its targets. Pods that were asked for count as movable, because
    /// later they may land better.
    pub(super) fn need_of(&self, draft: &Draft<'_>, node: NodeId) -> Option<HotNode> {
        let pool = self.pool(node)?;
        let excess = pool
            .in_force
            .excess(draft, node, &self.waiting(draft, node));
        if excess.is_empty() {
            return None;
        }
        let movable = self.evictable(draft, staying(draft, node));
        Some(HotNode::new(draft, self.rule.basis, node, excess, &movable))
    }

    /// A node with its excess, and whether its remaining pods can remove that excess.
    pub(super) fn hot_node(
        &self,
        draft: &Draft<'_>,
        node: NodeId,
        excess: Vec<ResourceExcess>,
    ) -> HotNode {
        let movable = self.evictable(draft, self.remaining(draft, node));
        HotNode::new(draft, self.rule.basis, node, excess, &movable)
    }

    /// The pods that may be evicted, wherever they would land.
    pub(super) fn evictable(
        &self,
        draft: &Draft<'_>,
        pods: impl Iterator<Item = PodId>,
    ) -> Vec<PodId> {
        pods.filter(|p| gate::is_evictable(*p, self.position, draft))
            .collect()
    }

    /// The pods of a node that are still to be judged.
    pub(super) fn remaining(&self, draft: &Draft<'_>, node: NodeId) -> impl Iterator<Item = PodId> {
        staying(draft, node).filter(|p| !self.asked.contains(p))
    }

    /// The pods of a node that only have to wait for the next cycle.
    fn waiting(&self, draft: &Draft<'_>, node: NodeId) -> Vec<PodId> {
        let asked = draft.pods_on(node).filter(|p| self.asked.contains(p));
        let waits = |pod: &PodId| {
            let refusal = draft.refusal(self.position, *pod);
            refusal.is_some_and(|why| leaves_soon(draft, why))
        };
        asked.filter(waits).collect()
    }
}

/// The pods of a node that stay there so far.
pub(super) fn staying(draft: &Draft<'_>, node: NodeId) -> impl Iterator<Item = PodId> {
    let snapshot = draft.world.snapshot;
    let pods = snapshot.node(node).pods.iter().copied();
    pods.filter(move |p| snapshot.pod(*p).stays() && !draft.moves(*p))
}

/// Whether a refused pod may move in the next cycle, so that no worse pod should move instead
/// of it now.
pub(super) fn leaves_soon(draft: &Draft<'_>, why: &Refusal) -> bool {
    match why.wait() {
        // Every pod waits for the window, so none may move instead of it.
        Some(_) if matches!(why, Refusal::Temporary(Temporary::OutsideWindow(_))) => true,
        Some(wait) => wait <= draft.world.policy.interval,
        None => why.is_temporary(),
    }
}
