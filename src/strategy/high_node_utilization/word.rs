//! Why a pod was not asked for.

use crate::gate;
use crate::plan::{Class, Unasked};
use crate::policy::HighNodeUtilization;
use crate::snapshot::PodId;
use crate::strategy::Turn;

use super::{Marks, Running, class, goes_with_its_node, wanted};

impl Running {
    /// By what the strategy asks, in its order: its node, the nodes together, the pod, and who else is on the node.
    pub(in crate::strategy) fn unasked(&self, turn: &Turn<'_, '_>, rule: &HighNodeUtilization, pod: PodId) -> Unasked {
        let draft = turn.before;
        let it = draft.world.snapshot.pod(pod);
        let Some(node) = it.node else { return Unasked::Nowhere };
        let class = class(draft, &Marks::new(draft, turn.position, rule), node);
        if class != Class::Underused {
            return Unasked::Node(class);
        }
        if let Some(idle) = &self.idle {
            return Unasked::Idle(idle.clone());
        }
        if goes_with_its_node(it) {
            return Unasked::GoesWithNode;
        }
        if !wanted(draft, pod, rule) {
            return Unasked::RequestsNothing;
        }
        if self.filled.contains(&node) {
            return Unasked::Filled;
        }
        match gate::evictable(pod, turn.position, draft) {
            Err(why) if !why.is_for_now() => Unasked::MayNotGo(Box::new(why)),
            Ok(()) | Err(_) => turn.late(pod),
        }
    }
}
