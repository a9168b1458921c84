//! RemoveFailedPods: evicts pods in phase Failed, so that their controllers replace them.
//!
//! The conditions are those of descheduler's `RemoveFailedPods`: minimum age, reasons, exit codes,
//! owner kinds.

use jiff::Timestamp;

use crate::decide::draft::Draft;
use crate::model::plan::{Finding, NotSelected, Reason};
use crate::model::snapshot::facts::PodPhase;
use crate::model::snapshot::{NodeId, Pod, PodId};
use crate::policy::{FailedPods, Scope};

use super::listing::{containers, listed_code};
use super::per_pod::{JudgePod, Selected};

impl JudgePod for FailedPods {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn judge(&self, draft: &Draft<'_>, _node: NodeId, pod: PodId) -> Result<Selected, NotSelected> {
        let facts = draft.world.snapshot.pod(pod);
        let findings = self.findings(facts, draft.world.now)?;
        Ok(Selected::anywhere(Reason::Found(findings)))
    }
}

impl FailedPods {
    /// One finding for each condition of the policy, or the first condition that does not hold.
    fn findings(&self, pod: &Pod, now: Timestamp) -> Result<Vec<Finding>, NotSelected> {
        if pod.phase != PodPhase::Failed {
            return Err(NotSelected::NotFailed);
        }
        let excluded = &self.exclude_owner_kinds;
        if pod.owners.iter().any(|o| excluded.contains(&o.kind)) {
            return Err(NotSelected::OwnerKind);
        }
        let (age, least) = (pod.age(now), self.min_age);
        if least.is_positive() && age.is_none_or(|age| age < least) {
            return Err(NotSelected::NotOld { age, least });
        }
        let mut findings = vec![Finding::Failed];
        if !self.reasons.is_empty() {
            let state = self.listed_reason(pod).ok_or(NotSelected::OtherState)?;
            findings.push(Finding::State(state.clone()));
        }
        if !self.exit_codes.is_empty() {
            let code = listed_code(pod, self.including_init_containers, &self.exit_codes);
            let code = code.ok_or(NotSelected::OtherExitCode)?;
            findings.push(Finding::ExitCode(code));
        }
        Ok(findings)
    }

    /// The first reason of the pod or of its containers that the policy lists.
    fn listed_reason<'p>(&self, pod: &'p Pod) -> Option<&'p String> {
        let of_containers = containers(pod, self.including_init_containers, false).flat_map(|c| {
            let ended = c.ended.as_ref().map(|(reason, _)| reason);
            c.waiting.iter().chain(ended)
        });
        let mut reasons = pod.reason.iter().chain(of_containers);
        reasons.find(|r| self.reasons.contains(r))
    }
}
