//! The last plan: what goes and why, what stays and why.

use crate::render::Html;
use crate::render::words::counted;

use super::super::Look;
use super::super::facts::{Group, Listed, Move, Round};
use super::{ago, fold, left_out, thousands};

const OPEN: usize = 30;

/// The section.
pub(super) fn section(look: &Look<'_>, round: &Round, html: &mut Html) {
    html.tag("<section aria-labelledby=\"h-plan\"><h2 id=\"h-plan\">Last plan</h2><p class=\"facts\">Decided ");
    html.add(&ago(look, round.at))
        .tag(", took ")
        .text(round.took_ms)
        .tag(" ms");
    if round.moves.total() > 0 {
        html.tag(": ").text(counted(round.moves.total(), "move"));
        if round.dry_run {
            html.tag(", none of them made, for this is a dry run");
        } else {
            html.tag(", ").text(thousands(round.evicted)).tag(" made");
        }
    }
    html.tag(".</p>");
    if let Some(halted) = &round.halted {
        html.tag("<p class=\"notice\"><b>Halted:</b> ")
            .text(halted)
            .tag("</p>");
    }
    moves(&round.moves, html);
    notes(round, html);
    html.tag("</section>\n");
    if !round.kept.is_empty() {
        kept(round, html);
    }
    if round.steering.total() > 0 {
        steering(round, html);
    }
}

fn moves(moves: &Listed<Move>, html: &mut Html) {
    if moves.items.is_empty() {
        html.tag("<p>No pod is to be moved.</p>");
        return;
    }
    let (open, folded) = moves.items.split_at(moves.items.len().min(OPEN));
    html.add(&moves_table(open, "w-moves"));
    if !folded.is_empty() {
        let mut summary = Html::default();
        summary.text(folded.len()).tag(" more moves");
        html.add(&fold(
            "moves",
            "rest",
            &summary,
            &moves_table(folded, "w-moves-rest"),
        ));
    }
    left_out(moves.more, "moves", html);
}

fn moves_table(moves: &[Move], id: &'static str) -> Html {
    let mut html = wide(
        id,
        &["pod", "from → may land on", "why", "what became of it"],
    );
    for it in moves {
        html.tag("<tr><th scope=\"row\">")
            .text(&it.namespace)
            .tag("/")
            .text(&it.pod);
        if let Some(workload) = &it.workload {
            html.tag("<small>").text(workload).tag("</small>");
        }
        html.tag("</th><td>").text(&it.node).tag(" → ");
        match it.may_land.items.as_slice() {
            [] => html.tag("<span class=\"soft\">not asked</span>"),
            node_addresses => html.text(node_addresses.join(", ")),
        };
        if it.may_land.more > 0 {
            html.tag(" <span class=\"soft\">and ")
                .text(thousands(it.may_land.more))
                .tag(" more</span>");
        }
        html.tag("</td><td>")
            .text(&it.reason)
            .tag("<small>")
            .text(it.strategy)
            .tag("</small></td><td>");
        match (&it.outcome, &it.message) {
            (Some("evicted"), _) => html.tag("<span class=\"done\">evicted</span>"),
            (Some(_), Some(message)) => html
                .tag("<span class=\"bad\">")
                .text(message)
                .tag("</span>"),
            _ => html.tag("<span class=\"soft\">dry run</span>"),
        };
        html.tag("</td></tr>");
    }
    html.tag("</tbody></table></div>");
    html
}

fn notes(round: &Round, html: &mut Html) {
    if !round.notes.is_empty() {
        html.tag("<ul class=\"notes\">");
        for note in &round.notes {
            html.tag("<li>")
                .text(note.strategy)
                .tag(", pool ")
                .text(&note.pool)
                .tag(": ")
                .text(&note.why)
                .tag("</li>");
        }
        html.tag("</ul>");
    }
    if round.skipped.total() > 0 {
        let (mut summary, mut list) = (Html::default(), Html::default());
        summary
            .text(counted(round.skipped.total(), "object"))
            .tag(" could not be read");
        list.tag("<ul>");
        for skipped in &round.skipped.items {
            list.tag("<li>").text(skipped).tag("</li>");
        }
        list.tag("</ul>");
        left_out(round.skipped.more, "objects", &mut list);
        html.add(&fold("plan", "skipped", &summary, &list));
    }
}

fn kept(round: &Round, html: &mut Html) {
    html.tag("<section aria-labelledby=\"h-kept\"><h2 id=\"h-kept\">Why pods stay</h2>");
    html.tag(
        "<p class=\"hint\">Pods whose move would have helped, by the reason that keeps them.</p>",
    );
    for group in &round.kept {
        let mut summary = Html::default();
        summary
            .tag("<b>")
            .text(thousands(group.pods.total()))
            .tag("</b> <code>")
            .text(group.code)
            .tag("</code> ");
        summary.text(&group.message);
        html.add(&fold("kept", group.code, &summary, &kept_table(group)));
    }
    html.tag("</section>\n");
}

fn kept_table(group: &Group) -> Html {
    let mut html = wide(group.code, &["pod", "node", "why"]);
    for it in &group.pods.items {
        html.tag("<tr><th scope=\"row\">")
            .text(&it.namespace)
            .tag("/")
            .text(&it.pod)
            .tag("</th><td>")
            .text(&it.node);
        html.tag("</td><td>")
            .text(&it.refusal)
            .tag("<small>")
            .text(it.strategy)
            .tag("</small></td></tr>");
    }
    html.tag("</tbody></table></div>");
    left_out(group.pods.more, "pods", &mut html);
    html
}

fn steering(round: &Round, html: &mut Html) {
    html.tag("<section aria-labelledby=\"h-steering\"><h2 id=\"h-steering\">Steering</h2>");
    html.tag("<p class=\"hint\">Soft taints that make nodes the scheduler's last choice.</p>");
    html.add(&wide("w-steering", &["node", "taint", "why"]));
    for it in &round.steering.items {
        html.tag("<tr><th scope=\"row\">")
            .text(&it.node)
            .tag("</th><td>")
            .text(it.action.code());
        if let Some(value) = it.action.value() {
            html.tag(" <code>").text(value.text()).tag("</code>");
        }
        html.tag("</td><td>").text(&it.why).tag("</td></tr>");
    }
    html.tag("</tbody></table></div>");
    left_out(round.steering.more, "nodes", html);
    html.tag("</section>\n");
}

/// The beginning of a table that scrolls by itself where it is too wide.
pub(super) fn wide(id: &str, heads: &[&'static str]) -> Html {
    let mut html = Html::default();
    html.tag("<div class=\"wide\" tabindex=\"0\" id=\"")
        .text(id)
        .tag("\"><table class=\"rows\"><thead><tr>");
    for head in heads {
        html.tag("<th scope=\"col\">").tag(head).tag("</th>");
    }
    html.tag("</tr></thead><tbody>");
    html
}
