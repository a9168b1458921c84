//! PodLifeTime: evicts pods that are too old or stuck in a state, the oldest first, on all nodes
//! together.
//!
//! The conditions are those of descheduler's `PodLifeTime`. Each condition that the policy sets
//! must hold.

use jiff::{SignedDuration, Timestamp};

use crate::decide::draft::Draft;
use crate::model::plan::{Finding, NotSelected, Reason};
use crate::model::snapshot::facts::Condition;
use crate::model::snapshot::{NodeId, Pod, PodId};
use crate::policy::{ConditionTest, Names, PodLifeTime, Scope};

use super::listing::{containers, listed_code};
use super::per_pod::{JudgePod, Selected};

impl JudgePod for PodLifeTime {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn judge(&self, draft: &Draft<'_>, _node: NodeId, pod: PodId) -> Result<Selected, NotSelected> {
        let facts = draft.world.snapshot.pod(pod);
        let findings = self.findings(facts, draft.world.now)?;
        Ok(Selected::anywhere(Reason::Found(findings)))
    }

    fn sort(&self, draft: &Draft<'_>, selected: &mut Vec<(PodId, Selected)>) {
        selected.sort_by_key(|(pod, _)| (draft.world.snapshot.pod(*pod).created, *pod));
    }
}

impl PodLifeTime {
    /// One finding for each condition of the policy, or the first condition that does not hold.
    fn findings(&self, pod: &Pod, now: Timestamp) -> Result<Vec<Finding>, NotSelected> {
        let mut findings = Vec::new();
        if let Some(most) = self.max_age {
            findings.push(too_old(pod, now, most)?);
        }
        if !self.states.is_empty() {
            findings.push(self.state(pod).ok_or(NotSelected::OtherState)?);
        }
        if !self.conditions.is_empty() {
            let condition = self.condition(pod, now);
            findings.push(condition.ok_or(NotSelected::OtherCondition)?);
        }
        if !self.exit_codes.is_empty() {
            let code = listed_code(pod, self.including_init_containers, &self.exit_codes);
            findings.push(Finding::ExitCode(code.ok_or(NotSelected::OtherExitCode)?));
        }
        findings.extend(self.owner(pod)?);
        Ok(findings)
    }

    /// The state of the pod, or of a container, that the policy lists.
    fn state(&self, pod: &Pod) -> Option<Finding> {
        let (init, ephemeral) =
            (self.including_init_containers, self.including_ephemeral_containers);
        let of_containers = containers(pod, init, ephemeral).flat_map(|c| {
            let ended = c.ended.as_ref().map(|(reason, _)| reason);
            c.waiting.iter().chain(ended).map(String::as_str)
        });
        let of_pod = [pod.phase.name()].into_iter().chain(pod.reason.as_deref());
        let mut states = of_pod.chain(of_containers);
        let listed = states.find(|state| self.states.iter().any(|s| s == state))?;
        Some(Finding::State(listed.to_owned()))
    }

    /// The condition of the pod that the policy lists.
    fn condition(&self, pod: &Pod, now: Timestamp) -> Option<Finding> {
        let listed = |c: &&Condition| self.conditions.iter().any(|test| test.holds(c, now));
        let condition = pod.conditions.iter().find(listed)?;
        Some(Finding::Condition {
            kind: condition.state.kind.clone(),
            status: condition.state.status.clone(),
            reason: condition.state.reason.clone(),
        })
    }

    /// The owner whose kind the policy asks for; `None` if the policy asks for no kind.
    fn owner(&self, pod: &Pod) -> Result<Option<Finding>, NotSelected> {
        let (Names::Only(kinds) | Names::Except(kinds)) = &self.owner_kinds;
        let listed = pod.owners.iter().find(|o| kinds.contains(&o.kind));
        match (&self.owner_kinds, listed) {
            (Names::Only(_), Some(owner)) => Ok(Some(Finding::Owner(owner.kind.clone()))),
            (Names::Only(_), None) | (Names::Except(_), Some(_)) => Err(NotSelected::OwnerKind),
            (Names::Except(_), None) => Ok(None),
        }
    }
}

/// Compares whole seconds, as descheduler does.
fn too_old(pod: &Pod, now: Timestamp, most: SignedDuration) -> Result<Finding, NotSelected> {
    let age = pod.age(now);
    match age.filter(|age| age.as_secs() > most.as_secs()) {
        Some(age) => Ok(Finding::Age { age, most }),
        None => Err(NotSelected::NotOld { age, least: most }),
    }
}

impl ConditionTest {
    fn holds(&self, condition: &Condition, now: Timestamp) -> bool {
        equals(self.kind.as_ref(), &condition.state.kind)
            && equals(self.status.as_ref(), &condition.state.status)
            && equals(self.reason.as_ref(), &condition.state.reason)
            && self.for_at_least.is_none_or(|least| lasts(condition, least, now))
    }
}

/// Whether a value is the wanted one; no wanted value means any.
fn equals(wanted: Option<&String>, value: &String) -> bool {
    wanted.is_none_or(|w| w == value)
}

/// Whether a condition has held this long. Without a transition time its duration is unknown, so it
/// has not.
fn lasts(condition: &Condition, least: SignedDuration, now: Timestamp) -> bool {
    let since = condition.since;
    since.is_some_and(|since| now.duration_since(since) >= least)
}
