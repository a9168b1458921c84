//! RemovePodsHavingTooManyRestarts: evicts pods that keep restarting, because another node may suit
//! them better.
//!
//! Restarts are summed over the containers of a pod, as in descheduler. On each node, the pods with
//! the most restarts go first.

use std::cmp::Reverse;

use crate::decide::draft::Draft;
use crate::model::plan::{NotSelected, Reason};
use crate::model::snapshot::facts::Container;
use crate::model::snapshot::{NodeId, Pod, PodId};
use crate::policy::{Scope, TooManyRestarts};

use super::listing::containers;
use super::per_pod::{JudgePod, Selected};

impl JudgePod for TooManyRestarts {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn judge(&self, draft: &Draft<'_>, _node: NodeId, pod: PodId) -> Result<Selected, NotSelected> {
        let facts = draft.world.snapshot.pod(pod);
        let (restarts, limit) = (self.restarts(facts), self.threshold);
        if restarts < u64::from(limit) {
            return Err(NotSelected::FewRestarts { restarts, limit });
        }
        if !self.in_state(facts) {
            return Err(NotSelected::OtherState);
        }
        Ok(Selected::anywhere(Reason::Restarts { restarts, limit }))
    }

    fn sort(&self, draft: &Draft<'_>, selected: &mut Vec<(PodId, Selected)>) {
        selected.sort_by_cached_key(|(id, _)| {
            let pod = draft.world.snapshot.pod(*id);
            (pod.node, Reverse(self.restarts(pod)))
        });
    }
}

impl TooManyRestarts {
    fn containers<'p>(&self, pod: &'p Pod) -> impl Iterator<Item = &'p Container> {
        containers(pod, self.including_init_containers, false)
    }

    fn restarts(&self, pod: &Pod) -> u64 {
        let counts = self.containers(pod).map(|c| u64::from(c.restarts));
        counts.sum()
    }

    /// Whether the pod, or a container, is in a state that the policy lists. An empty list admits
    /// every state.
    fn in_state(&self, pod: &Pod) -> bool {
        let waiting = self.containers(pod).filter_map(|c| c.waiting.as_deref());
        let mut states = waiting.chain([pod.phase.name()]);
        self.states.is_empty() || states.any(|state| self.states.iter().any(|s| s == state))
    }
}
