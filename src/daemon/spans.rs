//! Spans of traces: `cycle` with its phases and evictions, and `observe`. Field names follow
//! OpenTelemetry's semantic conventions. Fields that are not in them begin with `evenkeel.`.
//!
//! Spans are created with and without a collector. Without one they cost almost nothing.

use tracing::field::Empty;
use tracing::{Span, info_span};

use crate::decide::engine::Engine;
use crate::model::plan::{Move, Outcome, Plan};

use super::poller::Poll;

/// Span of one cycle.
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

/// Span of the snapshot and of the outcome of earlier moves.
pub(super) fn settle() -> Span {
    info_span!("settle")
}

/// Span of making the plan.
pub(super) fn decide() -> Span {
    info_span!("decide")
}

/// Span of saving the ledger.
pub(super) fn save() -> Span {
    info_span!("save", "error.type" = Empty, "otel.status_description" = Empty)
}

/// Span of taint changes.
pub(super) fn steer(changes: usize) -> Span {
    info_span!("steer", "evenkeel.taints" = changes)
}

/// Span of all evictions of a plan; none for a plan without moves.
pub(super) fn act(moves: usize) -> Span {
    if moves == 0 { Span::none() } else { info_span!("act", "evenkeel.moves" = moves) }
}

/// Span of one eviction. `request_metrics` records the HTTP status on it.
pub(super) fn evict(planned: &Move) -> Span {
    info_span!(
        "evict",
        "k8s.namespace.name" = planned.namespace,
        "k8s.pod.name" = planned.pod,
        "k8s.pod.uid" = planned.uid,
        "k8s.node.name" = planned.node,
        "evenkeel.strategy" = planned.strategy,
        "evenkeel.reason" = %planned.reason,
        "evenkeel.outcome" = Empty,
        "http.response.status_code" = Empty,
        "error.type" = Empty,
        "otel.status_description" = Empty,
    )
}

/// Span of one poll of usage.
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

/// Records the result of a cycle on its span.
pub(super) fn cycle_finished(outcome: &str, plan: &Plan, outcomes: &[Outcome]) {
    let evicted = outcomes.iter().filter(|o| **o == Outcome::Evicted).count();
    Span::current()
        .record("evenkeel.outcome", outcome)
        .record("evenkeel.moves", plan.moves.len())
        .record("evenkeel.evicted", evicted)
        .record("evenkeel.kept", plan.kept.len());
}

/// Records on a cycle's span that the cycle failed, and the reason.
pub(super) fn cycle_failed(outcome: &str, reason: &str) {
    Span::current().record("evenkeel.outcome", outcome);
    failed(outcome, reason);
}

/// Records the outcome of an eviction. A pod that is already gone is not an error.
pub(super) fn evicted(outcome: &Outcome) {
    Span::current().record("evenkeel.outcome", outcome.code());
    match outcome {
        Outcome::OverBudget(_)
        | Outcome::Refused(_)
        | Outcome::Forbidden(_)
        | Outcome::Unauthorized(_)
        | Outcome::Failed(_)
        | Outcome::Unanswered(_)
        | Outcome::Throttled(..) => failed(outcome.code(), &outcome.to_string()),
        Outcome::Evicted
        | Outcome::Deferred(_)
        | Outcome::Gone
        | Outcome::Changed
        | Outcome::Untried(_) => {}
    }
}

/// Records the result of a poll.
pub(super) fn observed(source: Option<&str>, poll: &Poll) {
    let span = Span::current();
    if let Some(source) = source {
        span.record("evenkeel.source", source);
    }
    span.record("evenkeel.nodes", poll.readings.nodes.len())
        .record("evenkeel.pods", poll.readings.pods.len())
        .record("evenkeel.skipped", poll.readings.skipped.count());
}

/// Records an error on the current span.
pub(super) fn failed(kind: &str, reason: &str) {
    // tracing-opentelemetry sets the status to error when it gets a description.
    Span::current().record("error.type", kind).record("otel.status_description", reason);
}
