//! RemovePodsViolatingNodeTaints: evicts pods from nodes with a taint that they do not tolerate.
//!
//! Only the effects `NoSchedule` and, on request, `PreferNoSchedule` count, as in descheduler.
//! Kubernetes itself evicts pods because of `NoExecute`.

use crate::decide::draft::Draft;
use crate::decide::scheduler;
use crate::model::plan::{NotSelected, Reason, STEERING_KEY};
use crate::model::snapshot::facts::{Effect, Taint};
use crate::model::snapshot::{Node, NodeId, Pod, PodId};
use crate::policy::{Names, NodeTaints, Scope};

use super::per_pod::{JudgePod, Selected};

impl JudgePod for NodeTaints {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn judge(&self, draft: &Draft<'_>, node: NodeId, pod: PodId) -> Result<Selected, NotSelected> {
        let snapshot = draft.world.snapshot;
        let taint = self.violated(snapshot.pod(pod), snapshot.node(node))?;
        Ok(Selected::anywhere(Reason::Taint(taint.clone())))
    }
}

impl NodeTaints {
    /// The first taint of the node that counts and that the pod does not tolerate.
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

    /// Whether the strategy acts on a taint.
    fn counts(&self, taint: &Taint) -> bool {
        let effect = match taint.effect {
            Effect::NoSchedule => true,
            Effect::PreferNoSchedule => self.include_prefer_no_schedule,
            Effect::NoExecute => false,
        };
        // Ignore our own steering taint: it only discourages new pods.
        effect && taint.key != STEERING_KEY && self.names(taint)
    }

    /// Whether the policy names a taint, by its key or as `key=value`.
    fn names(&self, taint: &Taint) -> bool {
        let pair = format!("{}={}", taint.key, taint.value);
        let is = |name: &String| *name == taint.key || (!taint.value.is_empty() && *name == pair);
        match &self.taints {
            Names::Except(names) => !names.iter().any(is),
            Names::Only(names) => names.iter().any(is),
        }
    }
}
