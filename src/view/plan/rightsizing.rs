//! Workloads whose requests are far from their usage, with recommended requests.

use std::fmt;

use jiff::SignedDuration;

use crate::model::plan::{Rightsizing, Suggestion};
use crate::values::quantity;
use crate::values::text::age;
use crate::view::screen::shown;
use crate::view::table::Table;

use super::PlanText;

const HEADS: [&str; 5] = ["", "pods", "cpu", "memory", "wrong by"];

impl PlanText<'_> {
    pub(super) fn rightsizing(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(longest) = self.plan.rightsizing.iter().map(|workload| workload.span).max() else {
            return Ok(());
        };
        let rules = self.policy.rightsizing;
        let percentile = (rules.percentile.get() * 10_000.0).round() / 100.0;
        let note = format!(
            "pod totals: current → recommended, p{percentile} of cpu and maximum of memory, plus \
                {}",
            rules.headroom
        );
        self.screen.title(f, "Requests far from use", &note)?;
        let most = usize::try_from(rules.top).unwrap_or(usize::MAX);
        let (most, left_out) = shown(self.all, self.plan.rightsizing.len(), most);
        let rows = self.plan.rightsizing[..most].iter().map(workload_row);
        let head = HEADS.map(str::to_owned).to_vec();
        self.screen.table(f, &Table::new(std::iter::once(head).chain(rows)))?;
        self.screen.left_out(f, left_out, "")?;
        self.screen.hint(f, &confidence(longest))
    }
}

/// How far to trust the recommendations: a short window may miss the daily peak.
fn confidence(span: SignedDuration) -> String {
    let recommendation = "watch for a day before lowering a request";
    if span.is_zero() {
        format!("from one reading, which shows no peak: {recommendation}")
    } else if span < SignedDuration::from_hours(24) {
        format!("from {}, which may miss a peak: {recommendation}", age(span))
    } else {
        format!("from {}", age(span))
    }
}

fn workload_row(workload: &Rightsizing) -> Vec<String> {
    let pods = if workload.measured == workload.pods {
        workload.pods.to_string()
    } else {
        format!("{} of {}", workload.measured, workload.pods)
    };
    let worst = workload.resources.values().max_by(|a, b| a.wrong_by.order(b.wrong_by));
    let wrong_by = worst.map_or(String::new(), |suggestion| {
        format!("{} of all {}", suggestion.wrong_by, suggestion.resource)
    });
    let [cpu, memory] = ["cpu", "memory"].map(|resource| {
        let suggestion = workload.resources.get(resource);
        suggestion.map_or("fits".to_owned(), change)
    });
    vec![workload.workload.to_string(), pods, cpu, memory, wrong_by]
}

/// `100m → 200m (limit)`.
fn change(suggestion: &Suggestion) -> String {
    let request = match suggestion.request {
        Some(request) => quantity::text(suggestion.resource, request),
        None => "none".to_owned(),
    };
    let suggested = quantity::text(suggestion.resource, suggestion.suggested);
    let capped = suggestion.limit == Some(suggestion.suggested);
    format!("{request} → {suggested}{}", if capped { " (limit)" } else { "" })
}
