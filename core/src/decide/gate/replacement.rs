//! Whether the pod gets a replacement, and whether that may start and finds what it needs.
//!
//! An eviction cannot be undone: where the replacement does not come, or waits for ever, the
//! workload has lost a replica. Each rule is one file, which names its source in Kubernetes. A pod
//! stays if a fact that a rule needs is unknown.

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::{Refusal, Replacement};

use super::checks;

mod claims;
mod completion;
mod controller;
mod job;
mod local_volumes;
mod namespace;
mod new_volumes;
mod ordered;
mod priority_class;
mod shared_volumes;
mod start;
mod template;
mod unknown;

pub(super) use unknown::kinds as unknown_kinds;

/// A rule of this gate.
#[derive(Clone, Copy, Debug)]
pub struct ReplacementRule {
    /// The stable name in JSON.
    pub name: &'static str,
    /// The question that it answers with yes if it admits a pod.
    pub question: &'static str,
    /// Whether the annotation `descheduler.alpha.kubernetes.io/evict` of a pod overrides it. Then
    /// the owner of the pod has said that the eviction may end its work.
    overridable: bool,
    /// Whether the answer depends on the moves of the draft.
    counts_moves: bool,
    /// Whether it is about the eviction as well: asked about finished pods and in the exact mode.
    of_eviction: bool,
    ask: fn(&Candidate, &Draft<'_>) -> Result<(), Replacement>,
}

/// All rules, in the order in which they decide.
pub const RULES: [ReplacementRule; 13] = [
    rule("controller", "a controller creates a replacement", controller::admit),
    rule("namespace", "its namespace is not being deleted", namespace::admit).of_eviction(),
    rule("completion", "its work does not end, or belongs to a Job", completion::admit)
        .overridable(),
    rule("job", "its Job survives the eviction", job::admit).overridable().counting_moves(),
    rule("order", "its StatefulSet can create a pod now", ordered::admit).counting_moves(),
    rule("start", "new pods of its controller start", start::admit),
    rule("priority-class", "the API server accepts its PriorityClass", priority_class::admit),
    rule("template", "its template stays, and the scheduler chooses its node", template::admit),
    rule("known", "everything that its place depends on is known", unknown::admit),
    rule("claims", "its claims and their volumes can be used", claims::admit),
    rule("new-volumes", "its new volumes are provisioned where it lands", new_volumes::admit)
        .overridable(),
    rule("local-volumes", "none of its volumes is storage of its node", local_volumes::admit)
        .overridable(),
    rule("shared-volumes", "no other pod holds or awaits its volumes", shared_volumes::admit),
];

const fn rule(
    name: &'static str,
    question: &'static str,
    ask: fn(&Candidate, &Draft<'_>) -> Result<(), Replacement>,
) -> ReplacementRule {
    ReplacementRule {
        name,
        question,
        overridable: false,
        counts_moves: false,
        of_eviction: false,
        ask,
    }
}

impl ReplacementRule {
    const fn overridable(self) -> Self {
        ReplacementRule { overridable: true, ..self }
    }

    const fn counting_moves(self) -> Self {
        ReplacementRule { counts_moves: true, ..self }
    }

    const fn of_eviction(self) -> Self {
        ReplacementRule { of_eviction: true, ..self }
    }

    /// Asks this rule only.
    pub fn ask(&self, candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
        (checks(draft).replacement)(self, candidate, draft)
    }

    /// Asks this rule in the native mode. A finished pod needs no replacement, only its eviction.
    pub(super) fn check(&self, candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
        let pod = draft.world.snapshot.pod(candidate.pod);
        let overridden = self.overridable && pod.annotations.asks_for_eviction();
        if pod.finished() && !self.of_eviction || overridden {
            return Ok(());
        }
        Ok((self.ask)(candidate, draft)?)
    }

    /// Asks this rule in the exact mode, which checks no replacement.
    pub(super) fn check_eviction(
        &self,
        candidate: &Candidate,
        draft: &Draft<'_>,
    ) -> Result<(), Refusal> {
        if self.of_eviction { self.check(candidate, draft) } else { Ok(()) }
    }
}

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    RULES.iter().try_for_each(|rule| rule.ask(candidate, draft))
}

/// Asks the rules whose answers moves may change, or the other ones.
pub(super) fn admit_part(
    candidate: &Candidate,
    draft: &Draft<'_>,
    counts_moves: bool,
) -> Result<(), Refusal> {
    let mut rules = RULES.iter().filter(|r| r.counts_moves == counts_moves);
    rules.try_for_each(|rule| rule.ask(candidate, draft))
}
