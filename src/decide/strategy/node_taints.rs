//! RemovePodsViolatingNodeTaints: from nodes with taints that a pod does not tolerate.
//!
//! NoExecute is not its business: Kubernetes itself throws such pods out.

use crate::decide::draft::{Candidate, Draft};
use crate::decide::scheduler;
use crate::model::plan::{NotSelected, Reason, STEERING_KEY};
use crate::model::snapshot::facts::{Effect, Taint};
use crate::model::snapshot::{Node, Pod, PodId};
use crate::policy::{Names, NodeTaints};

use super::listing::{Queue, looked_at, pods};
use super::run::StrategyRun;

/// The strategy at work.
#[derive(Debug)]
pub struct Running(Queue);

impl Running {
    pub(super) fn start(draft: &mut Draft<'_>, position: usize, rule: &NodeTaints) -> Self {
        let snapshot = draft.world.snapshot;
        let asked = pods(draft, &rule.scope)
            .into_iter()
            .filter_map(|(node, id)| {
                let taint = rule.violated(snapshot.pod(id), snapshot.node(node)).ok()?;
                Some((id, Reason::Taint(taint.clone()), None))
            });
        Running(Queue::new(position, asked))
    }

    pub(super) fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        self.0.next(draft)
    }

    pub(super) fn not_selected(
        turn: &StrategyRun<'_, '_>,
        rule: &NodeTaints,
        pod: PodId,
    ) -> NotSelected {
        let snapshot = turn.before.world.snapshot;
        let violated = looked_at(turn.before, &rule.scope, pod)
            .and_then(|node| rule.violated(snapshot.pod(pod), snapshot.node(node)));
        violated.map_or_else(|why| why, |_| turn.late(pod))
    }
}

impl NodeTaints {
    /// The first taint of the node that counts and that the pod does not tolerate, or why there is none.
    fn violated<'n>(&self, pod: &Pod, node: &'n Node) -> Result<&'n Taint, NotSelected> {
        if pod.finished() {
            return Err(NotSelected::Finished);
        }
        let mut counted = node.taints.iter().filter(|t| self.counts(t)).peekable();
        counted.peek().ok_or(NotSelected::NoTaint)?;
        counted
            .find(|t| !scheduler::tolerates(pod, t))
            .ok_or(NotSelected::Tolerated)
    }

    /// Whether the policy asks to look at this taint.
    fn counts(&self, taint: &Taint) -> bool {
        let effect = match taint.effect {
            Effect::NoSchedule => true,
            Effect::PreferNoSchedule => self.include_prefer_no_schedule,
            Effect::NoExecute => false,
        };
        // Our own keeps nobody from staying where he is.
        let foreign = taint.key != STEERING_KEY;
        let pair = format!("{}={}", taint.key, taint.value);
        let is = |name: &String| *name == taint.key || (!taint.value.is_empty() && *name == pair);
        let named = match &self.taints {
            Names::Except(names) => !names.iter().any(is),
            Names::Only(names) => names.iter().any(is),
        };
        effect && foreign && named
    }
}
