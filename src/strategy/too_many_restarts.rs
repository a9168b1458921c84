//! RemovePodsHavingTooManyRestarts: a pod that keeps restarting may fare better on another node.

use std::cmp::Reverse;

use crate::draft::{Candidate, Draft};
use crate::plan::Reason;
use crate::policy::TooManyRestarts;
use crate::snapshot::Pod;
use crate::snapshot::facts::Role;

use super::listing::{Queue, containers, pods};

/// The strategy at work.
#[derive(Debug)]
pub struct Running(Queue);

impl Running {
    pub(super) fn start(draft: &mut Draft<'_>, position: usize, rule: &TooManyRestarts) -> Self {
        let snapshot = draft.world.snapshot;
        let mut asked: Vec<_> = pods(draft, &rule.scope)
            .into_iter()
            .map(|(node, id)| (node, rule.restarts(snapshot.pod(id)), id))
            .filter(|(_, restarts, id)| *restarts >= u64::from(rule.threshold) && rule.in_state(snapshot.pod(*id)))
            .collect();
        asked.sort_unstable_by_key(|(node, restarts, id)| (*node, Reverse(*restarts), *id));
        let limit = rule.threshold;
        let candidate = |(_, restarts, id)| (id, Reason::Restarts { restarts, limit }, None);
        Running(Queue::new(position, asked.into_iter().map(candidate)))
    }

    pub(super) fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        self.0.next(draft)
    }
}

impl TooManyRestarts {
    fn roles(&self) -> &'static [Role] {
        if self.including_init_containers { &[Role::Init] } else { &[] }
    }

    fn restarts(&self, pod: &Pod) -> u64 {
        containers(pod, self.roles()).map(|c| u64::from(c.restarts)).sum()
    }

    fn in_state(&self, pod: &Pod) -> bool {
        let waits_in = containers(pod, self.roles()).filter_map(|c| c.waiting.as_deref());
        let mut states = waits_in.chain([pod.phase.name()]);
        self.states.is_empty() || states.any(|state| self.states.iter().any(|s| s == state))
    }
}
