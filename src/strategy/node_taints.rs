//! RemovePodsViolatingNodeTaints: from nodes with taints that a pod does not tolerate.
//!
//! NoExecute is not its business: Kubernetes itself throws such pods out.

use crate::draft::{Candidate, Draft};
use crate::plan::{Reason, STEERING_KEY};
use crate::policy::{Names, NodeTaints};
use crate::scheduler;
use crate::snapshot::facts::{Effect, Taint};

use super::listing::{Queue, pods};

/// The strategy at work.
#[derive(Debug)]
pub struct Running(Queue);

impl Running {
    pub(super) fn start(draft: &mut Draft<'_>, position: usize, rule: &NodeTaints) -> Self {
        let snapshot = draft.world.snapshot;
        let living = pods(draft, &rule.scope).into_iter().filter(|(_, id)| !snapshot.pod(*id).finished());
        let asked = living.filter_map(|(node, id)| {
            let mut counted = snapshot.node(node).taints.iter().filter(|t| rule.counts(t));
            let taint = counted.find(|t| !scheduler::tolerates(snapshot.pod(id), t))?;
            Some((id, Reason::Taint(taint.clone()), None))
        });
        Running(Queue::new(position, asked))
    }

    pub(super) fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        self.0.next(draft)
    }
}

impl NodeTaints {
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
