//! The requests that are far from use, and what would be nearer.

use std::fmt;

use jiff::SignedDuration;

use crate::model::plan::{Rightsizing, Suggestion};
use crate::values::quantity;

use super::{Page, columns};

const HEADS: [&str; 5] = ["", "pods", "cpu", "memory", "wrong by"];

impl Page<'_> {
    pub(super) fn rightsizing(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(longest) = self.plan.rightsizing.iter().map(|a| a.span).max() else {
            return Ok(());
        };
        let rules = self.policy.rightsizing;
        let percentile = (rules.percentile.get() * 10_000.0).round() / 100.0;
        let better = format!(
            "p{percentile} of cpu, the most of memory, and {} on top",
            rules.headroom
        );
        self.title(
            f,
            "Requests far from use",
            &format!("of a pod, its containers together: now → {better}"),
        )?;
        let most = usize::try_from(rules.top).unwrap_or(usize::MAX);
        let (shown, left_out) = self.fit(self.plan.rightsizing.len(), most);
        let mut rows = vec![HEADS.map(str::to_owned).to_vec()];
        rows.extend(self.plan.rightsizing[..shown].iter().map(row));
        for line in columns(&rows) {
            writeln!(f, "{line}")?;
        }
        if left_out > 0 {
            self.more(f, &format!("{left_out} more"))?;
        }
        self.hint(f, &sureness(longest))
    }
}

/// How much to make of it.
fn sureness(span: SignedDuration) -> String {
    const DAY: SignedDuration = SignedDuration::from_hours(24);
    let whole = SignedDuration::from_secs(span.as_secs());
    match span {
        SignedDuration::ZERO => {
            "from one look, which knows no peak: watch for a day before you lower one".to_owned()
        }
        span if span < DAY => {
            format!("from {whole:#}, which may have no peak: watch for a day before you lower one")
        }
        _ => format!("from {whole:#}"),
    }
}

fn row(it: &Rightsizing) -> Vec<String> {
    let pods = if it.measured == it.pods {
        it.pods.to_string()
    } else {
        format!("{} of {}", it.measured, it.pods)
    };
    let cell = |resource| it.resources.get(resource).map_or("fits".to_owned(), change);
    let worst = it
        .resources
        .values()
        .max_by(|a, b| a.wrong_by.order(b.wrong_by));
    let wrong_by = worst.map_or(String::new(), |s| {
        format!("{} of all {}", s.wrong_by, s.resource)
    });
    vec![
        it.workload.to_string(),
        pods,
        cell("cpu"),
        cell("memory"),
        wrong_by,
    ]
}

fn change(it: &Suggestion) -> String {
    let text = |amount| quantity::text(it.resource, amount);
    let capped = if it.limit == Some(it.suggested) {
        ", its limit"
    } else {
        ""
    };
    format!(
        "{} → {}{capped}",
        it.request.map_or("none".to_owned(), text),
        text(it.suggested)
    )
}
