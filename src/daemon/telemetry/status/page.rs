//! The page: complete without JavaScript, which only puts a newer one in its place.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use ring::digest::{SHA256, digest};

use crate::policy::Basis;
use crate::render::Html;
use crate::render::words::span;

use super::{Look, Part};

mod rightsizing;
mod history;
mod ledger;
mod nodes;
mod plan;
mod style;

/// What a browser may do with the page: show it, and ask for it again.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = |text: &str| {
        format!(
            "'sha256-{}'",
            STANDARD.encode(digest(&SHA256, text.as_bytes()))
        )
    };
    format!(
        "default-src 'none'; style-src {}; script-src {}; connect-src 'self'; img-src data:; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
        hash(&style::STYLE),
        hash(style::SCRIPT)
    )
});

/// The Content-Security-Policy: our style and our script by their hashes, and nothing else.
pub(super) fn policy() -> &'static str {
    &POLICY
}

/// The page.
pub(super) fn html(look: &Look<'_>) -> String {
    let mut html = Html::default();
    html.tag("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">")
        .tag("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")
        .tag("<meta name=\"color-scheme\" content=\"light dark\"><link rel=\"icon\" href=\"data:,\">")
        .tag("<noscript><meta http-equiv=\"refresh\" content=\"10\"></noscript><title>")
        .text(&look.state)
        .tag(" · evenkeel</title><style>")
        .tag(&style::STYLE)
        .tag("</style></head>\n<body>\n<p id=\"lost\" role=\"alert\" hidden></p>\n<header>");
    head(look, &mut html);
    html.tag("</header>\n<main id=\"main\">\n");
    body(look, &mut html);
    html.tag("</main>\n<footer id=\"foot\">");
    foot(look, &mut html);
    html.tag("</footer>\n<script>")
        .tag(style::SCRIPT)
        .tag("</script></body></html>\n");
    html.finish()
}

fn head(look: &Look<'_>, html: &mut Html) {
    html.tag("<p class=\"brand\" id=\"brand\"><b>evenkeel</b> ")
        .text(look.about.version);
    for (shown, word, why) in [
        (
            *look.part == Part::Leading,
            "leader",
            "of several instances this one acts",
        ),
        (
            matches!(look.part, Part::Standby(_)),
            "standby",
            "of several instances another acts",
        ),
        (
            look.about.dry_run,
            "dry run",
            "it decides, but evicts nothing and writes nothing",
        ),
        (look.about.exact, "exact", "it chooses as descheduler would"),
    ] {
        if shown {
            html.tag(" <span class=\"badge\" title=\"")
                .text(why)
                .tag("\">")
                .text(word)
                .tag("</span>");
        }
    }
    html.tag("</p>\n<div role=\"status\"><h1 id=\"headline\" class=\"state ")
        .text(look.state.code())
        .tag("\">");
    html.text(&look.state)
        .tag("</h1></div>\n<p class=\"facts\" id=\"facts\">");
    match look.plan {
        Some(plan) => html.tag("Decided ").add(&ago(look, plan.at)),
        None => html.tag("Nothing decided yet"),
    };
    if let Some(next) = look.next_cycle {
        match next.duration_since(look.now) {
            wait if wait.is_positive() => html.tag(" · next in ").text(span(wait)),
            _ => html.tag(" · next now"),
        };
    }
    for source in look.sources {
        html.tag(" · ").text(source.name);
        match (source.newest_sample, &source.error) {
            (_, Some(_)) => html.tag(": <b class=\"bad\">cannot be read</b>"),
            (Some(newest), None) => html.tag(": newest sample ").add(&ago(look, newest)),
            (None, None) => html.tag(": not read yet"),
        };
    }
    html.tag("</p>");
}

fn body(look: &Look<'_>, html: &mut Html) {
    if let Some(round) = look.plan {
        nodes::section(round, html);
        plan::section(look, round, html);
        rightsizing::section(round, html);
    } else if matches!(look.part, Part::Standby(_)) {
        html.tag("<p>What is decided, and what is remembered, shows the page of the instance that leads.</p>");
    } else {
        html.tag("<p>The first plan is shown here as soon as it is made.</p>");
    }
    if let Some(ledger) = look.ledger {
        ledger::section(look, ledger, html);
    }
    history::section(look, html);
    sources(look, html);
}

fn sources(look: &Look<'_>, html: &mut Html) {
    html.tag("<section aria-labelledby=\"h-sources\"><h2 id=\"h-sources\">Sources of usage</h2>");
    if look.sources.is_empty() {
        html.tag("<p class=\"hint\">None has been read yet.</p></section>");
        return;
    }
    html.add(&plan::wide(
        "w-sources",
        &["source", "decides", "newest sample", "last read", "error"],
    ));
    for source in look.sources {
        html.tag("<tr><th scope=\"row\">")
            .text(source.name)
            .tag("</th><td>");
        html.tag(if source.in_use { "yes" } else { "no" })
            .tag("</td><td>");
        html.add(&maybe(look, source.newest_sample))
            .tag("</td><td>")
            .add(&maybe(look, source.read))
            .tag("</td><td>");
        match &source.error {
            Some(error) => html.tag("<span class=\"bad\">").text(error).tag("</span>"),
            None => html.tag("none"),
        };
        html.tag("</td></tr>");
    }
    html.tag("</tbody></table></div></section>\n");
}

fn foot(look: &Look<'_>, html: &mut Html) {
    let about = look.about;
    html.tag("<p>Policy: ")
        .text(&about.policy)
        .tag("</p><p>evenkeel ")
        .text(about.version)
        .tag(", instance ");
    html.text(&about.instance)
        .tag(", up for ")
        .text(span(look.since(about.started)))
        .tag(" since ");
    html.add(&moment(about.started))
        .tag(". The same as data: <a href=\"status.json\">/status.json</a>. ");
    html.tag("As of ")
        .add(&moment(look.now))
        .tag("<span class=\"live\" id=\"live\"></span>.</p>");
}

/// `12s ago`, with the moment itself for whoever points at it.
fn ago(look: &Look<'_>, at: Timestamp) -> Html {
    let mut html = Html::default();
    let since = look.since(at);
    html.tag("<time datetime=\"")
        .text(at)
        .tag("\" title=\"")
        .text(at.strftime("%Y-%m-%d %H:%M:%S UTC"))
        .tag("\">");
    if since.is_negative() {
        html.tag("in ").text(span(since.abs())).tag("</time>");
    } else {
        html.text(span(since)).tag(" ago</time>");
    }
    html
}

fn maybe(look: &Look<'_>, at: Option<Timestamp>) -> Html {
    at.map_or_else(never, |at| ago(look, at))
}

fn never() -> Html {
    let mut html = Html::default();
    html.tag("never");
    html
}

fn moment(at: Timestamp) -> Html {
    let mut html = Html::default();
    html.tag("<time datetime=\"")
        .text(at)
        .tag("\">")
        .text(at.strftime("%Y-%m-%d %H:%M:%S UTC"))
        .tag("</time>");
    html
}

/// A fold with this summary and content, that stays open when the page is renewed: by its id.
fn fold(kind: &'static str, id: &str, summary: &Html, content: &Html) -> Html {
    let mut html = Html::default();
    html.tag("<details id=\"")
        .tag(kind)
        .tag("-")
        .text(id)
        .tag("\"><summary>")
        .add(summary)
        .tag("</summary>");
    html.add(content).tag("</details>");
    html
}

/// What is not even folded.
fn left_out(more: usize, of: &'static str, html: &mut Html) {
    if more > 0 {
        html.tag("<p class=\"hint\">and ")
            .text(thousands(more))
            .tag(" more ")
            .tag(of)
            .tag("</p>");
    }
}

/// `12,345`.
fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// What the thick bars show, and what the thin ones.
const fn weighed(basis: Basis) -> (&'static str, &'static str) {
    match basis {
        Basis::Actual => ("what is really used", "what pods request"),
        Basis::Requests => ("what pods request", "what is really used"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_can_be_read() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(thousands),
            ["0", "999", "1,000", "1,234,567"]
        );
    }

    #[test]
    fn style_and_script_are_allowed_by_their_hashes_alone() {
        let policy = policy();
        assert_eq!(policy.matches("'sha256-").count(), 2);
        assert!(
            !policy.contains("unsafe") && !policy.contains('*'),
            "{policy}"
        );
    }
}
