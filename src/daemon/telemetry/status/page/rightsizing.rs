//! Requests that are far from use, for what the scheduler does not see it cannot even out.

use jiff::SignedDuration;

use crate::model::plan::{Rightsizing, Suggestion};
use crate::render::Html;
use crate::render::words::span;
use crate::values::quantity;

use super::super::facts::Round;
use super::left_out;
use super::plan::wide;

/// The section; nothing where there is no rightsizing.
pub(super) fn section(round: &Round, html: &mut Html) {
    let Some(longest) = round.rightsizing.items.iter().map(|a| a.span).max() else {
        return;
    };
    html.tag("<section aria-labelledby=\"h-rightsizing\"><h2 id=\"h-rightsizing\">Requests far from use</h2><p class=\"hint\">");
    html.tag(
        "Of a pod, its containers together: what it requests → what would fit. Measured over ",
    );
    html.text(span(longest))
        .tag(if longest < SignedDuration::from_hours(24) {
            ", which may hold no peak: watch for a day before you lower one.</p>"
        } else {
            ".</p>"
        });
    html.add(&wide(
        "w-rightsizing",
        &["workload", "pods measured", "cpu", "memory", "wrong by"],
    ));
    for it in &round.rightsizing.items {
        row(it, html);
    }
    html.tag("</tbody></table></div>");
    left_out(round.rightsizing.more, "workloads", html);
    html.tag("</section>\n");
}

fn row(it: &Rightsizing, html: &mut Html) {
    html.tag("<tr><th scope=\"row\">")
        .text(&it.workload)
        .tag("</th><td>")
        .text(it.measured)
        .tag(" of ")
        .text(it.pods);
    for resource in ["cpu", "memory"] {
        html.tag("</td><td>");
        match it.resources.get(resource) {
            Some(suggestion) => change(suggestion, html),
            None => {
                html.tag("<span class=\"soft\">fits</span>");
            }
        }
    }
    html.tag("</td><td>").text(it.wrong_by());
    if let Some(worst) = it
        .resources
        .values()
        .max_by(|a, b| a.wrong_by.order(b.wrong_by))
    {
        html.tag(" of all ").text(worst.resource);
    }
    html.tag("</td></tr>");
}

fn change(it: &Suggestion, html: &mut Html) {
    match it.request {
        Some(request) => html.text(quantity::text(it.resource, request)),
        None => html.tag("none"),
    };
    html.tag(" → <b>")
        .text(quantity::text(it.resource, it.suggested))
        .tag("</b>");
    if it.limit == Some(it.suggested) {
        html.tag(", its limit");
    }
}
