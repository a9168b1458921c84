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
    ask: fn(&Candidate, &Draft<'_>) -> Result<(), Replacement>,
}

/// All rules, in the order in which they decide.
pub const RULES: [ReplacementRule; 12] = [
    ReplacementRule {
        name: "controller",
        question: "a controller creates a replacement",
        overridable: false,
        counts_moves: false,
        ask: controller::admit,
    },
    ReplacementRule {
        name: "namespace",
        question: "the API server accepts new pods in its namespace",
        overridable: false,
        counts_moves: false,
        ask: namespace::admit,
    },
    ReplacementRule {
        name: "completion",
        question: "its work does not end, or belongs to a Job",
        overridable: true,
        counts_moves: false,
        ask: completion::admit,
    },
    ReplacementRule {
        name: "job",
        question: "its Job survives the eviction",
        overridable: true,
        counts_moves: true,
        ask: job::admit,
    },
    ReplacementRule {
        name: "order",
        question: "its StatefulSet can create a pod now",
        overridable: false,
        counts_moves: true,
        ask: ordered::admit,
    },
    ReplacementRule {
        name: "priority-class",
        question: "the API server accepts its PriorityClass",
        overridable: false,
        counts_moves: false,
        ask: priority_class::admit,
    },
    ReplacementRule {
        name: "template",
        question: "the scheduler chooses its node",
        overridable: false,
        counts_moves: false,
        ask: template::admit,
    },
    ReplacementRule {
        name: "known",
        question: "everything that its place depends on is known",
        overridable: false,
        counts_moves: false,
        ask: unknown::admit,
    },
    ReplacementRule {
        name: "claims",
        question: "its claims and their volumes can be used",
        overridable: false,
        counts_moves: false,
        ask: claims::admit,
    },
    ReplacementRule {
        name: "new-volumes",
        question: "its new volumes are provisioned where it lands",
        overridable: true,
        counts_moves: false,
        ask: new_volumes::admit,
    },
    ReplacementRule {
        name: "local-volumes",
        question: "none of its volumes is a directory of its node",
        overridable: true,
        counts_moves: false,
        ask: local_volumes::admit,
    },
    ReplacementRule {
        name: "shared-volumes",
        question: "no other pod holds or awaits its volumes",
        overridable: false,
        counts_moves: false,
        ask: shared_volumes::admit,
    },
];

impl ReplacementRule {
    /// Asks this rule only.
    pub fn ask(&self, candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
        (checks(draft).replacement)(self, candidate, draft)
    }

    /// Asks this rule in the native mode. A finished pod needs no replacement.
    pub(super) fn check(&self, candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
        let pod = draft.world.snapshot.pod(candidate.pod);
        let overridden = self.overridable && pod.annotations.asks_for_eviction();
        if pod.finished() || overridden {
            return Ok(());
        }
        Ok((self.ask)(candidate, draft)?)
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
