//! Advice: workloads whose requests are far from what their pods use, and what they had better request.

use evenkeel::advice;
use evenkeel::engine::Engine;
use evenkeel::ledger::Ledger;
use evenkeel::plan::{Advice, Plan};
use evenkeel::units::{Amount, quantity};
use insta::assert_snapshot;
use jiff::SignedDuration;
use proptest::prelude::{ProptestConfig, prop_assert, proptest};

use crate::kit::{Cluster, EVEN, after, parse};

/// The advice as a person would note it down.
fn said(plan: &Plan) -> String {
    plan.advice.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn line(it: &Advice) -> String {
    let mut parts = vec![format!("{} {} of {} pods", it.workload, it.measured, it.pods)];
    for (resource, of) in &it.resources {
        let text = |amount| quantity::text(resource, amount);
        let request = of.request.map_or("none".to_owned(), text);
        let (code, suggested, typical) = (of.direction.code(), text(of.suggested), text(of.typical));
        parts.push(format!("{resource} {code} {request} → {suggested}, uses {typical}, wrong by {} ({})", text(of.total), of.wrong_by));
    }
    parts.join("; ")
}
