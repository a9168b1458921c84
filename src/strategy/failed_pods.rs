//! RemoveFailedPods: clears pods away that have failed for good.

use jiff::Timestamp;

use crate::draft::{Candidate, Draft};
use crate::plan::{Finding, Reason};
use crate::policy::FailedPods;
use crate::snapshot::Pod;
use crate::snapshot::facts::{Phase, Role};

use super::listing::{Queue, containers, pods};

/// The strategy at work.
#[derive(Debug)]
pub struct Running(Queue);

impl Running {
    pub(super) fn start(draft: &mut Draft<'_>, position: usize, rule: &FailedPods) -> Self {
        let (snapshot, now) = (draft.world.snapshot, draft.world.now);
        let asked = pods(draft, &rule.scope)
            .into_iter()
            .filter_map(|(_, id)| Some((id, Reason::Found(rule.findings(snapshot.pod(id), now)?), None)));
        Running(Queue::new(position, asked))
    }

    pub(super) fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        self.0.next(draft)
    }
}

impl FailedPods {
    /// What is found for each thing that the policy asks for; `None` where one of them does not hold.
    fn findings(&self, pod: &Pod, now: Timestamp) -> Option<Vec<Finding>> {
        let excluded = pod.owners.iter().any(|o| self.exclude_owner_kinds.contains(&o.kind));
        if pod.phase != Phase::Failed || excluded || now.duration_since(pod.created) < self.min_age {
            return None;
        }
        let roles: &[Role] = if self.including_init_containers { &[Role::Init] } else { &[] };
        let mut found = vec![Finding::Failed];
        if !self.reasons.is_empty() {
            let of_containers =
                containers(pod, roles).flat_map(|c| c.waiting.iter().chain(c.ended.as_ref().map(|(reason, _)| reason)));
            let mut reasons = pod.reason.iter().chain(of_containers);
            found.push(Finding::State(reasons.find(|r| self.reasons.contains(r))?.clone()));
        }
        if !self.exit_codes.is_empty() {
            let mut codes = containers(pod, roles).filter_map(|c| c.ended.as_ref()).map(|(_, code)| *code);
            found.push(Finding::ExitCode(codes.find(|code| self.exit_codes.contains(code))?));
        }
        Some(found)
    }
}
