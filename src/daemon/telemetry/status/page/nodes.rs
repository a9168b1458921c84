//! Nodes as bars against their band, the worst first.

use std::collections::BTreeSet;

use crate::policy::Basis;
use crate::render::Html;
use crate::render::scale::{Scale, number};
use crate::render::words::percent;
use crate::values::Ratio;

use super::super::facts::{Change, Load, Node, Round};
use super::{fold, left_out, thousands, weighed};

/// Bars that are shown at once; the others are folded.
const OPEN: usize = 25;

/// The newest reading is told where it differs by so much from the smoothed one.
const TELLING: f64 = 0.03;

/// What the bars of one page have in common.
struct Bars<'r> {
    resources: Vec<&'r str>,
    basis: Basis,
    /// Whether nodes are of several pools.
    pools: bool,
    /// The share at the end of a bar.
    top: f64,
}

/// The section.
pub(super) fn section(round: &Round, html: &mut Html) {
    html.tag("<section aria-labelledby=\"h-nodes\"><h2 id=\"h-nodes\">Nodes</h2>");
    classes(round, html);
    balance(round, html);
    let bars = Bars::of(round);
    let (thick, thin) = weighed(round.basis);
    html.tag("<p class=\"hint\">Thick bar: ")
        .tag(thick)
        .tag(", which is what is weighed. Thin bar: ")
        .tag(thin);
    html.tag(
        ". Both as shares of what the node has. Up to the dashed line a node has room for more, beyond the solid ",
    );
    html.tag("line pods should leave. As of the last plan.</p>");
    let (open, folded) = round
        .nodes
        .items
        .split_at(round.nodes.items.len().min(OPEN));
    html.add(&bars.table(open));
    if !folded.is_empty() {
        let mut summary = Html::default();
        summary.text(thousands(folded.len())).tag(" more nodes");
        html.add(&fold("nodes", "rest", &summary, &bars.table(folded)));
    }
    left_out(
        round.nodes.more,
        "nodes, none of them worse than those above; /metrics has them all",
        html,
    );
    html.tag("</section>\n");
}

/// How many nodes there are of each class.
fn classes(round: &Round, html: &mut Html) {
    html.tag("<ul class=\"tally\">");
    html.tag("<li><b>")
        .text(thousands(round.nodes.total()))
        .tag("</b> nodes</li>");
    for of in &round.classes {
        html.tag("<li><b>")
            .text(thousands(of.nodes))
            .tag("</b> <span class=\"tag ")
            .tag(look(of.class))
            .tag("\">");
        html.text(of.class).tag("</span></li>");
    }
    html.tag("</ul>");
}

fn balance(round: &Round, html: &mut Html) {
    if round.balance.is_empty() {
        return;
    }
    html.tag("<p class=\"facts\">Standard deviation over the nodes, less is more even: ");
    for (i, (resource, Change { before, after })) in round.balance.iter().enumerate() {
        html.tag(if i == 0 { "" } else { " · " })
            .text(resource)
            .tag(" <b>")
            .text(before)
            .tag("</b>");
        if let Some(after) = after.filter(|_| round.moves.total() > 0) {
            html.tag(" → ").text(after);
        }
    }
    if round.moves.total() > 0 {
        html.tag(", when all has landed as foreseen");
    }
    html.tag("</p>");
}

impl<'r> Bars<'r> {
    fn of(round: &'r Round) -> Self {
        let loads = || round.nodes.items.iter().flat_map(|n| &n.loads);
        let named: BTreeSet<&str> = loads().map(|(resource, _)| resource.as_str()).collect();
        let basic = ["cpu", "memory"].into_iter().filter(|r| named.contains(r));
        let others = named
            .iter()
            .copied()
            .filter(|r| !["cpu", "memory"].contains(r));
        let shares = loads()
            .flat_map(|(_, l)| [l.actual, l.requests, l.high])
            .flatten();
        let top = shares.map(Ratio::get).fold(1.0, f64::max);
        let pools: BTreeSet<&str> = round
            .nodes
            .items
            .iter()
            .filter_map(|n| n.pool.as_deref())
            .collect();
        Bars {
            pools: pools.len() > 1,
            resources: basic.chain(others).collect(),
            basis: round.basis,
            top,
        }
    }

    fn table(&self, nodes: &[Node]) -> Html {
        let mut html = Html::default();
        if nodes.is_empty() {
            html.tag("<p>There is no node.</p>");
            return html;
        }
        // Roles are said aloud, for on a narrow screen the rows are laid out as a grid.
        html.tag(
            "<table class=\"nodes\" role=\"table\"><thead role=\"rowgroup\"><tr role=\"row\">",
        );
        html.tag("<th scope=\"col\" role=\"columnheader\">node</th><th scope=\"col\" role=\"columnheader\">class</th>");
        for resource in &self.resources {
            html.tag("<th scope=\"col\" role=\"columnheader\">")
                .text(resource)
                .tag("</th>");
        }
        html.tag("</tr></thead><tbody role=\"rowgroup\">");
        for node in nodes {
            self.row(node, &mut html);
        }
        html.tag("</tbody></table>");
        html
    }

    fn row(&self, node: &Node, html: &mut Html) {
        html.tag("<tr role=\"row\"><th scope=\"row\" role=\"rowheader\">")
            .text(&node.name);
        if let Some(pool) = node.pool.as_ref().filter(|_| self.pools) {
            html.tag("<small>pool ").text(pool).tag("</small>");
        }
        html.tag("</th>");
        html.tag("<td role=\"cell\" class=\"class\">");
        match node.class {
            Some(code) => html
                .tag("<span class=\"tag ")
                .tag(look(code))
                .tag("\">")
                .text(code)
                .tag("</span>"),
            None => html.tag("<span class=\"tag other\">not judged</span>"),
        };
        for verdict in &node.verdicts {
            html.tag("<small>");
            if node.verdicts.len() > 1 {
                html.text(verdict.strategy).tag(": ");
            }
            html.text(&verdict.class).tag("</small>");
        }
        html.tag("</td>");
        for resource in &self.resources {
            html.tag("<td role=\"cell\" class=\"load\">");
            match node.loads.get(*resource) {
                Some(load) => self.bar(resource, *load, html),
                None => {
                    html.tag("<small>nothing known</small>");
                }
            }
            html.tag("</td>");
        }
        html.tag("</tr>");
    }

    fn bar(&self, resource: &str, load: Load, html: &mut Html) {
        let (thick, thin) = match self.basis {
            Basis::Actual => (load.actual, load.requests),
            Basis::Requests => (load.requests, load.actual),
        };
        html.tag("<svg class=\"bar\" width=\"100%\" height=\"20\" aria-hidden=\"true\">");
        html.tag("<rect class=\"track\" y=\"2\" width=\"100%\" height=\"11\" rx=\"2\"/>");
        if let Some(ratio) = thick {
            html.tag("<rect class=\"fill ")
                .tag(place(ratio, load))
                .tag("\" y=\"2\" height=\"11\" rx=\"2\" width=\"");
            html.text(self.at(ratio)).tag("\"/>");
        }
        if let Some(ratio) = thin {
            html.tag("<rect class=\"thin\" y=\"15\" height=\"3\" rx=\"1\" width=\"")
                .text(self.at(ratio))
                .tag("\"/>");
        }
        for (mark, line) in [
            (load.low, "<line class=\"edge low\" x1=\""),
            (load.high, "<line class=\"edge high\" x1=\""),
        ] {
            if let Some(mark) = mark {
                let x = self.at(mark);
                html.tag(line)
                    .text(&x)
                    .tag("\" x2=\"")
                    .text(&x)
                    .tag("\" y1=\"0\" y2=\"15\"/>");
            }
        }
        html.tag("</svg><span class=\"figures\"><span class=\"narrow\">")
            .text(resource)
            .tag(" </span>");
        match load.actual {
            Some(actual) => html.tag("<b>").text(percent(actual.get())).tag("</b> used"),
            None => html.tag("<b>usage unknown</b>"),
        };
        if let Some(requests) = load.requests {
            html.tag(" · ")
                .text(percent(requests.get()))
                .tag(" requested");
        }
        if let (Some(latest), Some(actual)) = (load.latest, load.actual)
            && (latest.get() - actual.get()).abs() >= TELLING
        {
            html.tag(" · last measured ").text(percent(latest.get()));
        }
        if let (Some(low), Some(high)) = (load.low, load.high) {
            html.tag("<span class=\"sr\">, band from ")
                .text(low)
                .tag(" to ")
                .text(high)
                .tag("</span>");
        }
        html.tag("</span>");
    }

    fn at(&self, ratio: Ratio) -> String {
        format!(
            "{}%",
            number(Scale::new((0.0, self.top), (0.0, 100.0)).at(ratio.get()))
        )
    }
}

fn place(ratio: Ratio, load: Load) -> &'static str {
    match (load.low, load.high) {
        (_, Some(high)) if ratio > high => "hot",
        (Some(low), _) if ratio <= low => "idle",
        _ => "even",
    }
}

/// How a class looks.
pub(super) fn look(code: &str) -> &'static str {
    match code {
        "hot" => "hot",
        "warming" | "doubtful" | "unknown" | "not-ready" => "warn",
        "cold" | "cold-cordoned" | "underused" => "idle",
        _ => "other",
    }
}
