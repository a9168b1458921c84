//! Why a pod was not asked for.

use crate::decide::strategy::{Level, StrategyRun};
use crate::model::plan::{Class, NotSelected};
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::{HighNodeUtilization, Rule};

use super::{Running, requests_some};

impl Running {
    /// By what descheduler asks, in its order: the node, the pool, and what is left of the room.
    pub(in crate::decide::strategy) fn not_selected(
        &self,
        turn: &StrategyRun<'_, '_>,
        rule: &Rule,
        pod: PodId,
    ) -> NotSelected {
        let it = turn.before.world.snapshot.pod(pod);
        let Some(node) = it.node else {
            return NotSelected::Nowhere;
        };
        if it.finished() {
            return NotSelected::Finished;
        }
        if let Some((_, idle)) = self.idle.iter().find(|(nodes, _)| nodes.contains(&node))
            && !self.classes.get(&node).is_some_and(is_left_alone)
        {
            return NotSelected::Idle(idle.clone());
        }
        match self.classes.get(&node) {
            Some(Class::Hot { .. } | Class::Underused) => {}
            Some(class) => return NotSelected::Node(class.clone()),
            None => return NotSelected::Node(Class::NotSelected),
        }
        let only = HighNodeUtilization::of(rule).filter(|rule| rule.only_thresholding_resources);
        if only.is_some_and(|rule| !requests_some(it, &rule.thresholds)) {
            return NotSelected::RequestsNothing;
        }
        if turn.is_late(pod) {
            return turn.late(pod);
        }
        if self.relieved.contains(&node) {
            let going = turn
                .after
                .world
                .snapshot
                .node(node)
                .pods
                .iter()
                .filter(|p| turn.after.moves(**p))
                .count();
            return NotSelected::Enough { going, waiting: 0 };
        }
        NotSelected::RoomUsedUp
    }

    /// How a node stood against the thresholds.
    pub(in crate::decide::strategy) fn levels(&self, node: NodeId) -> Vec<Level> {
        self.levels.get(&node).cloned().unwrap_or_default()
    }
}

/// Whether the node would be passed over whatever its pool does.
fn is_left_alone(class: &Class) -> bool {
    !matches!(class, Class::Hot { .. } | Class::Underused)
}
