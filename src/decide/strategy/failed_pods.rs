//! RemoveFailedPods: clears pods away that have failed for good.

use jiff::Timestamp;

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::{Finding, NotSelected, Reason};
use crate::model::snapshot::facts::{Phase, Role};
use crate::model::snapshot::{Pod, PodId};
use crate::policy::FailedPods;

use super::listing::{Queue, containers, looked_at, pods};
use super::run::StrategyRun;

/// The strategy at work.
#[derive(Debug)]
pub struct Running(Queue);

impl Running {
    pub(super) fn start(draft: &mut Draft<'_>, position: usize, rule: &FailedPods) -> Self {
        let (snapshot, now) = (draft.world.snapshot, draft.world.now);
        let asked = pods(draft, &rule.scope).into_iter().filter_map(|(_, id)| {
            Some((
                id,
                Reason::Found(rule.findings(snapshot.pod(id), now).ok()?),
                None,
            ))
        });
        Running(Queue::new(position, asked))
    }

    pub(super) fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        self.0.next(draft)
    }

    pub(super) fn not_selected(
        turn: &StrategyRun<'_, '_>,
        rule: &FailedPods,
        pod: PodId,
    ) -> NotSelected {
        let world = turn.before.world;
        let found = looked_at(turn.before, &rule.scope, pod)
            .and_then(|_| rule.findings(world.snapshot.pod(pod), world.now));
        found.map_or_else(|why| why, |_| turn.late(pod))
    }
}

impl FailedPods {
    /// What is found for each thing that the policy asks for, or the first of them that does not hold.
    fn findings(&self, pod: &Pod, now: Timestamp) -> Result<Vec<Finding>, NotSelected> {
        if pod.phase != Phase::Failed {
            return Err(NotSelected::NotFailed);
        }
        if pod
            .owners
            .iter()
            .any(|o| self.exclude_owner_kinds.contains(&o.kind))
        {
            return Err(NotSelected::OwnerKind);
        }
        let age = now.duration_since(pod.created);
        if age < self.min_age {
            return Err(NotSelected::NotOld {
                age,
                least: self.min_age,
            });
        }
        let roles: &[Role] = if self.including_init_containers {
            &[Role::Init]
        } else {
            &[]
        };
        let mut found = vec![Finding::Failed];
        if !self.reasons.is_empty() {
            let of_containers = containers(pod, roles).flat_map(|c| {
                c.waiting
                    .iter()
                    .chain(c.ended.as_ref().map(|(reason, _)| reason))
            });
            let mut reasons = pod.reason.iter().chain(of_containers);
            let state = reasons
                .find(|r| self.reasons.contains(r))
                .ok_or(NotSelected::OtherState)?;
            found.push(Finding::State(state.clone()));
        }
        if !self.exit_codes.is_empty() {
            let mut codes = containers(pod, roles)
                .filter_map(|c| c.ended.as_ref())
                .map(|(_, code)| *code);
            let code = codes
                .find(|code| self.exit_codes.contains(code))
                .ok_or(NotSelected::OtherExitCode)?;
            found.push(Finding::ExitCode(code));
        }
        Ok(found)
    }
}
