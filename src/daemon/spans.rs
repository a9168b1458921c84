//! The spans of a trace: `cycle` with its phases and evictions, and `observe`. Names of fields are those of
//! OpenTelemetry's conventions where it has some, and ours begin with `evenkeel.`.
//!
//! Without a collector nobody listens, and making one costs next to nothing.

use tracing::field::Empty;
use tracing::{Span, info_span};

use crate::decide::engine::Engine;
use crate::model::plan::{Move, Outcome, Plan};

use super::poller::Look;

/// One round of deciding and acting.
pub(super) fn cycle(engine: &Engine, dry: bool) -> Span {
    info_span!(
        parent: None,
        "cycle",
        "evenkeel.strategies" = engine.policy().strategies.len(),
        "evenkeel.dry_run" = dry,
        "evenkeel.outcome" = Empty,
        "evenkeel.moves" = Empty,
        "evenkeel.evicted" = Empty,
        "evenkeel.kept" = Empty,
        "error.type" = Empty,
        "otel.status_description" = Empty,
    )
}

/// Looks at the cluster as it is, and at how earlier moves have gone.
pub(super) fn settle() -> Span {
    info_span!("settle")
}

/// Makes a plan.
pub(super) fn decide() -> Span {
    info_span!("decide")
}

/// Writes the ledger down.
pub(super) fn save() -> Span {
    info_span!(
        "save",
        "error.type" = Empty,
        "otel.status_description" = Empty
    )
}

/// Changes taints.
pub(super) fn steer(changes: usize) -> Span {
    info_span!("steer", "evenkeel.taints" = changes)
}

/// Carries moves out.
pub(super) fn act(moves: usize) -> Span {
    if moves == 0 {
        Span::none()
    } else {
        info_span!("act", "evenkeel.moves" = moves)
    }
}

/// One eviction; the status of the answer comes from whoever counts requests.
pub(super) fn evict(it: &Move) -> Span {
    info_span!(
        "evict",
        "k8s.namespace.name" = it.namespace,
        "k8s.pod.name" = it.pod,
        "k8s.pod.uid" = it.uid,
        "k8s.node.name" = it.node,
        "evenkeel.strategy" = it.strategy,
        "evenkeel.reason" = %it.reason,
        "evenkeel.outcome" = Empty,
        "http.response.status_code" = Empty,
        "error.type" = Empty,
        "otel.status_description" = Empty,
    )
}

/// One poll of usage.
pub(super) fn observe() -> Span {
    info_span!(
        parent: None,
        "observe",
        "evenkeel.source" = Empty,
        "evenkeel.nodes" = Empty,
        "evenkeel.pods" = Empty,
        "evenkeel.skipped" = Empty,
        "error.type" = Empty,
        "otel.status_description" = Empty,
    )
}

/// What came of a cycle, written on its span.
pub(super) fn cycled(outcome: &str, plan: &Plan, outcomes: &[Outcome]) {
    let evicted = outcomes.iter().filter(|o| **o == Outcome::Evicted).count();
    Span::current()
        .record("evenkeel.outcome", outcome)
        .record("evenkeel.moves", plan.moves.len())
        .record("evenkeel.evicted", evicted)
        .record("evenkeel.kept", plan.kept.len());
}

/// That a cycle came to nothing, and why.
pub(super) fn uncycled(outcome: &str, why: &str) {
    Span::current().record("evenkeel.outcome", outcome);
    failed(outcome, why);
}

/// What came of an eviction. That a pod is gone already is no failure.
pub(super) fn evicted(outcome: &Outcome) {
    Span::current().record("evenkeel.outcome", outcome.code());
    match outcome {
        Outcome::Refused(_) | Outcome::Failed(_) | Outcome::Unanswered(_) => {
            failed(outcome.code(), &outcome.to_string());
        }
        Outcome::Evicted | Outcome::Gone | Outcome::Changed | Outcome::Untried => {}
    }
}

/// What a poll has told.
pub(super) fn observed(source: Option<&str>, look: &Look) {
    let span = Span::current();
    if let Some(source) = source {
        span.record("evenkeel.source", source);
    }
    span.record("evenkeel.nodes", look.readings.nodes.len())
        .record("evenkeel.pods", look.readings.pods.len())
        .record("evenkeel.skipped", look.readings.skipped.len());
}

/// That what the span is about has failed.
pub(super) fn failed(kind: &str, why: &str) {
    // The description of a status makes it an error.
    Span::current()
        .record("error.type", kind)
        .record("otel.status_description", why);
}
