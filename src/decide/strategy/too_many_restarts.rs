//! RemovePodsHavingTooManyRestarts: a pod that keeps restarting may fare better on another node.

use std::cmp::Reverse;

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::{NotSelected, Reason};
use crate::model::snapshot::facts::Role;
use crate::model::snapshot::{Pod, PodId};
use crate::policy::TooManyRestarts;

use super::listing::{Queue, containers, looked_at, pods};
use super::run::StrategyRun;

/// The strategy at work.
#[derive(Debug)]
pub struct Running(Queue);

impl Running {
    pub(super) fn start(draft: &mut Draft<'_>, position: usize, rule: &TooManyRestarts) -> Self {
        let snapshot = draft.world.snapshot;
        let mut asked: Vec<_> = pods(draft, &rule.scope)
            .into_iter()
            .map(|(node, id)| (node, rule.restarts(snapshot.pod(id)), id))
            .filter(|(_, restarts, id)| rule.spares(*restarts, snapshot.pod(*id)).is_none())
            .collect();
        asked.sort_unstable_by_key(|(node, restarts, id)| (*node, Reverse(*restarts), *id));
        let limit = rule.threshold;
        let candidate = |(_, restarts, id)| (id, Reason::Restarts { restarts, limit }, None);
        Running(Queue::new(position, asked.into_iter().map(candidate)))
    }

    pub(super) fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        self.0.next(draft)
    }

    pub(super) fn not_selected(
        turn: &StrategyRun<'_, '_>,
        rule: &TooManyRestarts,
        pod: PodId,
    ) -> NotSelected {
        let it = turn.before.world.snapshot.pod(pod);
        let spared = || rule.spares(rule.restarts(it), it);
        looked_at(turn.before, &rule.scope, pod)
            .err()
            .or_else(spared)
            .unwrap_or_else(|| turn.late(pod))
    }
}

impl TooManyRestarts {
    fn roles(&self) -> &'static [Role] {
        if self.including_init_containers {
            &[Role::Init]
        } else {
            &[]
        }
    }

    /// Why a pod with so many restarts is put up with; `None` where it is not.
    fn spares(&self, restarts: u64, pod: &Pod) -> Option<NotSelected> {
        if restarts < u64::from(self.threshold) {
            return Some(NotSelected::FewRestarts {
                restarts,
                limit: self.threshold,
            });
        }
        (!self.in_state(pod)).then_some(NotSelected::OtherState)
    }

    fn restarts(&self, pod: &Pod) -> u64 {
        containers(pod, self.roles())
            .map(|c| u64::from(c.restarts))
            .sum()
    }

    fn in_state(&self, pod: &Pod) -> bool {
        let waits_in = containers(pod, self.roles()).filter_map(|c| c.waiting.as_deref());
        let mut states = waits_in.chain([pod.phase.name()]);
        self.states.is_empty() || states.any(|state| self.states.iter().any(|s| s == state))
    }
}
