//! Why a pod was not asked for.

use crate::decide::draft::Candidate;
use crate::decide::gate;
use crate::decide::strategy::{Level, StrategyRun};
use crate::model::plan::{Class, NotSelected, Reason};
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::HighNodeUtilization;
use crate::values::{Ratio, ResourceId};

use super::{Marks, Running, class, classify, goes_with_its_node, wanted};

impl Running {
    /// By what the strategy asks, in its order: its node, the nodes together, the pod, and who else is on the node.
    pub(in crate::decide::strategy) fn not_selected(
        &self,
        turn: &StrategyRun<'_, '_>,
        rule: &HighNodeUtilization,
        pod: PodId,
    ) -> NotSelected {
        let draft = turn.before;
        let it = draft.world.snapshot.pod(pod);
        let Some(node) = it.node else {
            return NotSelected::Nowhere;
        };
        let class = class(draft, &Marks::new(draft, turn.position, rule), node);
        if class != Class::Underused {
            return NotSelected::Node(class);
        }
        if let Some(idle) = &self.idle {
            return NotSelected::Idle(idle.clone());
        }
        if goes_with_its_node(it) {
            return NotSelected::GoesWithNode;
        }
        if !wanted(draft, pod, rule) {
            return NotSelected::RequestsNothing;
        }
        if self.filled.contains(&node) {
            return NotSelected::Filled;
        }
        match gate::evictable(pod, turn.position, draft) {
            Err(why) if !why.is_temporary() => NotSelected::MayNotGo(Box::new(why)),
            Ok(()) | Err(_) => turn.late(pod),
        }
    }

    /// The pod as it would be asked for if its node were emptied.
    pub(in crate::decide::strategy) fn candidate(
        turn: &StrategyRun<'_, '_>,
        pod: PodId,
    ) -> Option<Candidate> {
        let draft = turn.before;
        let rule = HighNodeUtilization::of(&draft.strategy(turn.position).rule)?;
        let home = draft.world.snapshot.pod(pod).node?;
        let marks = Marks::new(draft, turn.position, rule);
        let goals = classify(&mut draft.trial(), &marks).goals(draft, home);
        Some(marks.candidate(pod, &Reason::Counted, &goals))
    }

    /// How a node stood against the thresholds.
    pub(in crate::decide::strategy) fn levels(
        turn: &StrategyRun<'_, '_>,
        node: NodeId,
    ) -> Vec<Level> {
        let draft = turn.before;
        let Some(rule) = HighNodeUtilization::of(&draft.strategy(turn.position).rule) else {
            return Vec::new();
        };
        let marks = Marks::new(draft, turn.position, rule);
        let level = |(resource, low): &(ResourceId, Ratio)| Level {
            resource: *resource,
            basis: marks.basis,
            ratio: draft.ratio(node, *resource, marks.basis),
            low: Some(*low),
            high: None,
        };
        marks.low.iter().map(level).collect()
    }
}
