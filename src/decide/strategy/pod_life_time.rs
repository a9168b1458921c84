//! PodLifeTime: ends pods that are old, or in a state that they do not leave; the oldest first, whatever their node.

use jiff::Timestamp;

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::{Finding, NotSelected, Reason};
use crate::model::snapshot::facts::{Condition, Role};
use crate::model::snapshot::{Pod, PodId};
use crate::policy::{ConditionTest, Names, PodLifeTime};

use super::listing::{Queue, containers, looked_at, pods};
use super::run::StrategyRun;

/// The strategy at work.
#[derive(Debug)]
pub struct Running(Queue);

impl Running {
    pub(super) fn start(draft: &mut Draft<'_>, position: usize, rule: &PodLifeTime) -> Self {
        let (snapshot, now) = (draft.world.snapshot, draft.world.now);
        let mut asked: Vec<_> = pods(draft, &rule.scope)
            .into_iter()
            .filter_map(|(_, id)| {
                Some((
                    id,
                    Reason::Found(rule.findings(snapshot.pod(id), now).ok()?),
                    None,
                ))
            })
            .collect();
        asked.sort_by_key(|(id, ..)| (snapshot.pod(*id).created, *id));
        Running(Queue::new(position, asked))
    }

    pub(super) fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        self.0.next(draft)
    }

    pub(super) fn not_selected(
        turn: &StrategyRun<'_, '_>,
        rule: &PodLifeTime,
        pod: PodId,
    ) -> NotSelected {
        let world = turn.before.world;
        let found = looked_at(turn.before, &rule.scope, pod)
            .and_then(|_| rule.findings(world.snapshot.pod(pod), world.now));
        found.map_or_else(|why| why, |_| turn.late(pod))
    }
}

impl PodLifeTime {
    /// What is found for each thing that the policy asks for, or the first of them that does not hold.
    fn findings(&self, pod: &Pod, now: Timestamp) -> Result<Vec<Finding>, NotSelected> {
        let mut found = Vec::new();
        if let Some(most) = self.max_age {
            let age = now.duration_since(pod.created);
            // In whole seconds, as descheduler counts.
            if age.as_secs() <= most.as_secs() {
                return Err(NotSelected::NotOld { age, least: most });
            }
            found.push(Finding::Age { age, most });
        }
        if !self.states.is_empty() {
            found.push(self.state(pod).ok_or(NotSelected::OtherState)?);
        }
        if !self.conditions.is_empty() {
            found.push(
                self.condition(pod, now)
                    .ok_or(NotSelected::OtherCondition)?,
            );
        }
        if !self.exit_codes.is_empty() {
            found.push(self.exit_code(pod).ok_or(NotSelected::OtherExitCode)?);
        }
        match &self.owner_kinds {
            Names::Only(kinds) => {
                let owner = pod
                    .owners
                    .iter()
                    .find(|o| kinds.contains(&o.kind))
                    .ok_or(NotSelected::OwnerKind)?;
                found.push(Finding::Owner(owner.kind.clone()));
            }
            Names::Except(kinds) if pod.owners.iter().any(|o| kinds.contains(&o.kind)) => {
                return Err(NotSelected::OwnerKind);
            }
            Names::Except(_) => {}
        }
        Ok(found)
    }

    fn state(&self, pod: &Pod) -> Option<Finding> {
        let roles: &[Role] = match (
            self.including_init_containers,
            self.including_ephemeral_containers,
        ) {
            (true, true) => &[Role::Init, Role::Ephemeral],
            (true, false) => &[Role::Init],
            (false, true) => &[Role::Ephemeral],
            (false, false) => &[],
        };
        let of_containers = containers(pod, roles).flat_map(|c| {
            c.waiting
                .iter()
                .chain(c.ended.as_ref().map(|(reason, _)| reason))
                .map(String::as_str)
        });
        let mut states = [pod.phase.name()]
            .into_iter()
            .chain(pod.reason.as_deref())
            .chain(of_containers);
        let listed = states.find(|state| self.states.iter().any(|s| s == state))?;
        Some(Finding::State(listed.to_owned()))
    }

    fn condition(&self, pod: &Pod, now: Timestamp) -> Option<Finding> {
        let held = pod
            .conditions
            .iter()
            .find(|c| self.conditions.iter().any(|test| test.holds(c, now)))?;
        Some(Finding::Condition {
            kind: held.kind.clone(),
            status: held.status.clone(),
            reason: held.reason.clone(),
        })
    }

    fn exit_code(&self, pod: &Pod) -> Option<Finding> {
        let roles: &[Role] = if self.including_init_containers {
            &[Role::Init]
        } else {
            &[]
        };
        let codes = containers(pod, roles)
            .filter_map(|c| c.ended.as_ref())
            .map(|(_, code)| *code);
        codes
            .into_iter()
            .find(|code| self.exit_codes.contains(code))
            .map(Finding::ExitCode)
    }
}

impl ConditionTest {
    fn holds(&self, condition: &Condition, now: Timestamp) -> bool {
        let is =
            |wanted: &Option<String>, found: &String| wanted.as_ref().is_none_or(|w| w == found);
        // A condition that does not say since when is not known to have lasted.
        let lasted = |least| {
            condition
                .since
                .is_some_and(|since| now.duration_since(since) >= least)
        };
        is(&self.kind, &condition.kind)
            && is(&self.status, &condition.status)
            && is(&self.reason, &condition.reason)
            && self.for_at_least.is_none_or(lasted)
    }
}
