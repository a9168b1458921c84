//! The ledger: what was evicted lately and how it went, and who rests.

use crate::render::Html;
use crate::render::words::{counted, span};

use super::super::Look;
use super::super::facts::{Eviction, Listed, Remembered, Resting};
use super::plan::wide;
use super::{ago, fold, left_out};

const OPEN: usize = 12;

/// The section.
pub(super) fn section(look: &Look<'_>, ledger: &Remembered, html: &mut Html) {
    html.tag("<section aria-labelledby=\"h-ledger\"><h2 id=\"h-ledger\">Ledger</h2>");
    if ledger.entries.items.is_empty() && ledger.resting.items.is_empty() {
        html.tag("<p>No eviction is remembered, and no workload rests.</p></section>\n");
        return;
    }
    html.tag("<p class=\"facts\">")
        .text(counted(ledger.entries.total(), "eviction"))
        .tag(" remembered, ");
    html.text(counted(ledger.open, "replacement"))
        .tag(" awaited, ");
    html.text(counted(ledger.resting.total(), "workload"))
        .tag(" at rest after moves that did not help.</p>");
    let (open, folded) = ledger
        .entries
        .items
        .split_at(ledger.entries.items.len().min(OPEN));
    if !open.is_empty() {
        html.add(&table(look, open, "w-ledger"));
    }
    if !folded.is_empty() {
        let mut summary = Html::default();
        summary.text(folded.len()).tag(" older evictions");
        html.add(&fold(
            "ledger",
            "rest",
            &summary,
            &table(look, folded, "w-ledger-rest"),
        ));
    }
    left_out(ledger.entries.more, "evictions", html);
    resting(look, &ledger.resting, html);
    html.tag("</section>\n");
}

fn table(look: &Look<'_>, entries: &[Eviction], id: &'static str) -> Html {
    let mut html = wide(
        id,
        &["evicted", "pod", "from → to", "how it went", "rests for"],
    );
    for it in entries {
        html.tag("<tr><td class=\"when\">")
            .add(&ago(look, it.at))
            .tag("</td><th scope=\"row\">")
            .text(&it.pod);
        html.tag("<small>")
            .text(&it.workload)
            .tag("</small></th><td>")
            .text(&it.from)
            .tag(" → ");
        match &it.to {
            Some(to) => html.text(to),
            None => html.tag("<span class=\"soft\">not known</span>"),
        };
        html.tag("</td><td><span class=\"")
            .tag(mark(it.state))
            .tag("\">")
            .text(&it.message)
            .tag("</span></td><td>");
        match it.rests_until {
            Some(until) => html.text(span(until.duration_since(look.now))),
            None => html.tag("–"),
        };
        html.tag("</td></tr>");
    }
    html.tag("</tbody></table></div>");
    html
}

fn mark(state: &str) -> &'static str {
    match state {
        "helped" | "renewed" => "done",
        "same-node" | "hot-node" | "never-ready" => "bad",
        _ => "soft",
    }
}

fn resting(look: &Look<'_>, resting: &Listed<Resting>, html: &mut Html) {
    if resting.items.is_empty() {
        return;
    }
    html.tag("<h3>Workloads at rest</h3>").add(&wide(
        "w-resting",
        &["workload", "moves that did not help", "rests for"],
    ));
    for it in &resting.items {
        html.tag("<tr><th scope=\"row\">")
            .text(&it.workload)
            .tag("</th><td>")
            .text(it.useless)
            .tag("</td><td>");
        html.text(span(it.until.duration_since(look.now)))
            .tag("</td></tr>");
    }
    html.tag("</tbody></table></div>");
    left_out(resting.more, "workloads", html);
}
