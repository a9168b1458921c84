//! The cycles before: a picture of the imbalance, and what came of each.

use std::collections::BTreeSet;

use crate::render::Html;
use crate::render::scale::{Scale, number, path, share_ticks};
use crate::render::words::percent;

use super::super::Look;
use super::super::facts::Past;
use super::plan::wide;
use super::{ago, fold};

const OPEN: usize = 8;
/// How high the picture is, in pixels.
const HIGH: f64 = 110.0;
/// More lines than this are not told apart.
const LINES: [&str; 4] = ["line l0", "line l1", "line l2", "line l3"];

/// The section.
pub(super) fn section(look: &Look<'_>, html: &mut Html) {
    html.tag("<section aria-labelledby=\"h-history\"><h2 id=\"h-history\">Cycles</h2>");
    if look.history.is_empty() {
        html.tag("<p>None yet.</p></section>\n");
        return;
    }
    picture(look, html);
    let newest: Vec<&Past> = look.history.iter().rev().copied().collect();
    let (open, folded) = newest.split_at(newest.len().min(OPEN));
    html.add(&table(look, open, "w-cycles"));
    if !folded.is_empty() {
        let mut summary = Html::default();
        summary.text(folded.len()).tag(" earlier cycles");
        html.add(&fold(
            "cycles",
            "rest",
            &summary,
            &table(look, folded, "w-cycles-rest"),
        ));
    }
    html.tag("</section>\n");
}

/// The standard deviation over the last cycles, a line for each resource, and a mark where pods were evicted.
fn picture(look: &Look<'_>, html: &mut Html) {
    let names: BTreeSet<&str> = look
        .history
        .iter()
        .flat_map(|p| p.deviation.keys())
        .map(String::as_str)
        .collect();
    let (Some(first), Some(last)) = (look.history.first(), look.history.last()) else {
        return;
    };
    if names.is_empty() || look.history.len() < 2 {
        return;
    }
    let most = look
        .history
        .iter()
        .flat_map(|p| p.deviation.values())
        .map(|r| r.get())
        .fold(0.01, f64::max);
    let top = share_ticks(most).last().copied().unwrap_or(1.0);
    let down = |share: f64| Scale::new((0.0, top), (HIGH, 0.0)).at(share);
    let wide = last.at.duration_since(first.at).as_secs_f64();
    let along = |past: &Past| {
        Scale::new((0.0, wide), (0.0, 1000.0)).at(past.at.duration_since(first.at).as_secs_f64())
    };
    html.tag("<figure><figcaption>Standard deviation over the nodes");
    for (name, line) in names.iter().zip(LINES) {
        html.tag(" <span class=\"key\"><svg width=\"26\" height=\"8\" aria-hidden=\"true\"><path class=\"").tag(line);
        html.tag("\" d=\"M0 4H26\"/></svg>")
            .text(name)
            .tag("</span>");
    }
    html.tag(" <span class=\"key\"><svg width=\"10\" height=\"10\" aria-hidden=\"true\"><circle class=\"mark\" cx=\"5\" cy=\"5\" r=\"4\"/>");
    html.tag("</svg>pods evicted</span></figcaption><div class=\"plot\"><svg class=\"chart\" width=\"100%\" height=\"110\" role=\"img\" aria-label=\"");
    for name in names.iter().take(LINES.len()) {
        let told = |past: &Past| {
            past.deviation
                .get(*name)
                .map_or("unknown".to_owned(), ToString::to_string)
        };
        html.text(name)
            .tag(" from ")
            .text(told(first))
            .tag(" to ")
            .text(told(last))
            .tag(". ");
    }
    html.tag("\">");
    for share in [0.0, top / 2.0, top] {
        let y = number(down(share));
        html.tag("<line class=\"grid\" x2=\"100%\" y1=\"")
            .text(&y)
            .tag("\" y2=\"")
            .text(&y)
            .tag("\"/>");
        html.tag("<text x=\"-8\" dy=\"4\" text-anchor=\"end\" y=\"")
            .text(&y)
            .tag("\">")
            .text(percent(share))
            .tag("</text>");
    }
    html.tag(
        "<svg width=\"100%\" height=\"110\" viewBox=\"0 0 1000 110\" preserveAspectRatio=\"none\">",
    );
    for (name, line) in names.iter().zip(LINES) {
        let points = look
            .history
            .iter()
            .map(|past| Some((along(past), down(past.deviation.get(*name)?.get()))));
        html.tag("<path class=\"")
            .tag(line)
            .tag("\" d=\"")
            .text(path(points))
            .tag("\"/>");
    }
    html.tag("</svg>");
    for past in look.history.iter().filter(|p| p.evicted > 0) {
        html.tag("<circle class=\"mark\" r=\"4\" cy=\"110\" cx=\"")
            .text(number(along(past) / 10.0))
            .tag("%\"/>");
    }
    html.tag("<text y=\"130\">")
        .text(first.at.strftime("%H:%M:%S"))
        .tag("</text><text y=\"130\" x=\"100%\" text-anchor=\"end\">");
    html.text(last.at.strftime("%H:%M:%S UTC"))
        .tag("</text></svg></div></figure>");
}

fn table(look: &Look<'_>, cycles: &[&Past], id: &'static str) -> Html {
    let mut html = wide(
        id,
        &[
            "when",
            "outcome",
            "evicted",
            "hot nodes",
            "took",
            "what came of it",
        ],
    );
    for past in cycles {
        html.tag("<tr><th scope=\"row\" class=\"when\">")
            .add(&ago(look, past.at))
            .tag("</th><td><span class=\"");
        html.tag(if ["failed", "halted", "waiting"].contains(&past.outcome) {
            "bad"
        } else {
            "plain"
        })
        .tag("\">");
        html.text(past.outcome)
            .tag("</span></td><td>")
            .text(past.evicted);
        if past.planned != past.evicted {
            html.tag("&nbsp;of&nbsp;").text(past.planned);
        }
        html.tag("</td><td>")
            .text(past.hot)
            .tag("</td><td>")
            .text(past.took_ms)
            .tag("&nbsp;ms</td><td>");
        html.text(&past.message).tag("</td></tr>");
    }
    html.tag("</tbody></table></div>");
    html
}
