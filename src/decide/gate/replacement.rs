//! Whether the pod gets a replacement that may start and finds what it needs.
//!
//! An eviction cannot be undone: where the replacement does not come, or waits for ever, the
//! workload has lost a replica. Each rule is one file, which names its source in Kubernetes. A
//! fact that a rule needs and does not know keeps the pod where it is.

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::Refusal;

mod claims;
mod local_volumes;
mod new_volumes;
mod shared_volumes;
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
    ask: fn(&Candidate, &Draft<'_>) -> Result<(), Refusal>,
}

/// All rules, in the order in which they decide.
pub const RULES: [ReplacementRule; 5] = [
    ReplacementRule {
        name: "known",
        question: "everything that its place depends on is known",
        overridable: false,
        ask: unknown::admit,
    },
    ReplacementRule {
        name: "claims",
        question: "its claims and their volumes can be used",
        overridable: false,
        ask: claims::admit,
    },
    ReplacementRule {
        name: "new-volumes",
        question: "its new volumes are provisioned where it lands",
        overridable: true,
        ask: new_volumes::admit,
    },
    ReplacementRule {
        name: "local-volumes",
        question: "none of its volumes is a directory of its node",
        overridable: true,
        ask: local_volumes::admit,
    },
    ReplacementRule {
        name: "shared-volumes",
        question: "no other pod holds its volumes on its node",
        overridable: false,
        ask: shared_volumes::admit,
    },
];

impl ReplacementRule {
    /// Asks this rule only.
    ///
    /// A finished pod needs no replacement, and descheduler, which the exact mode follows, asks for
    /// none.
    pub fn ask(&self, candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
        let pod = draft.world.snapshot.pod(candidate.pod);
        let asked_for = pod
            .annotations
            .evict
            .as_deref()
            .is_some_and(|v| v != "false");
        if draft.world.policy.exact || pod.finished() || (self.overridable && asked_for) {
            return Ok(());
        }
        (self.ask)(candidate, draft)
    }
}

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    RULES.iter().try_for_each(|rule| rule.ask(candidate, draft))
}
