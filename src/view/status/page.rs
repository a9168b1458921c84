//! The HTML page. It is complete without JavaScript; the script only replaces it with a newer one.

use std::sync::LazyLock;

use jiff::Timestamp;
use maud::{Markup, html};

use crate::policy::Basis;
use crate::values::text::{age, agree};
use crate::view::bar;
use crate::view::html::{HtmlPage, PALETTE, content_security_policy};

use super::facts::{ElectionRole, LastingFailure};
use super::{StatusView, by_cause};

mod guards;
mod history;
mod ledger;
mod nodes;
mod parts;
mod plan;
mod rightsizing;
mod sources;

/// The style sheet.
static STYLE: LazyLock<String> = LazyLock::new(|| [PALETTE, bar::STYLE, PAGE].concat());

const PAGE: &str = include_str!("page/style.css");

/// Fetches the page every five seconds while the tab is visible, and replaces the sections of the
/// old page with the new ones. Open folds stay open, scroll positions stay, and nothing is replaced
/// while text is selected.
const SCRIPT: &str = include_str!("page/script.js");

/// The Content-Security-Policy: our style, our script, requests to this server, and nothing else.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{}; connect-src 'self'; frame-ancestors 'none'",
        content_security_policy(&STYLE, SCRIPT)
    )
});

/// The value of the Content-Security-Policy header.
pub(crate) fn policy() -> &'static str {
    &POLICY
}

/// Returns the page.
pub(crate) fn html(view: &StatusView<'_>) -> String {
    HtmlPage {
        title: &view.state.to_string(),
        style: &STYLE,
        script: SCRIPT,
        head: html! {
            noscript { meta http-equiv="refresh" content="10"; }
        },
        body_class: None,
        body: html! {
            p #lost role="alert" hidden {}
            header { (header(view)) }
            main #main { (body(view)) }
            footer #foot { (footer(view)) }
        },
    }
    .render()
}

fn header(view: &StatusView<'_>) -> Markup {
    html! {
        p.brand #brand {
            b { "evenkeel" } " " (view.about.version)
            @for (word, meaning) in badges(view) {
                " " span.badge title=(meaning) { (word) }
            }
        }
        div role="status" {
            h1 #headline class={ "state " (view.state.code()) } { (view.state) }
        }
        p.facts #facts { (facts(view)) }
        @for (requests, group) in by_cause(view.failures, |f| &f.request, |f| (&f.why, &f.effect)) {
            (failures(&requests, &group))
        }
    }
}

/// The failures of one cause.
fn failures(requests: &str, group: &[&LastingFailure]) -> Markup {
    let longest = group.iter().map(|f| f.lasts).max().unwrap_or_default();
    html! {
        @if let Some(first) = group.first() {
            p.facts {
                b.bad {
                    (requests) " " (agree(group.len(), "has", "have"))
                    " failed for " (age(longest))
                }
                ": " (first.why) "; " (first.effect)
            }
        }
    }
}

/// Returns the badges beside the version, each with its meaning.
fn badges(view: &StatusView<'_>) -> Vec<(&'static str, &'static str)> {
    let about = view.about;
    [
        (*view.part == ElectionRole::Leading, "leader", "several instances run, and this one acts"),
        (
            matches!(view.part, ElectionRole::Standby(_)),
            "standby",
            "several instances run, and another one acts",
        ),
        (about.dry_run, "dry run", "decides, but evicts nothing and writes nothing"),
        (about.exact, "exact", "chooses pods as descheduler would"),
    ]
    .into_iter()
    .filter(|(shown, _, _)| *shown)
    .map(|(_, word, meaning)| (word, meaning))
    .collect()
}

fn facts(view: &StatusView<'_>) -> Markup {
    html! {
        @match view.plan {
            Some(plan) => { "Last plan " (parts::ago(view, plan.at)) }
            None => "No plan yet",
        }
        @if let Some(next) = view.next_cycle {
            @match next.duration_since(view.now) {
                wait if wait.is_positive() => { " · next in " (age(wait)) }
                _ => " · next now",
            }
        }
        @for source in view.sources {
            " · " (source.name)
            @match (source.newest_sample, &source.error) {
                (_, Some(_)) => { ": " b.bad { "cannot be read" } }
                (Some(newest), None) => { ": newest sample " (parts::ago(view, newest)) }
                (None, None) if source.read.is_some() => ": no samples of nodes",
                (None, None) => ": not read yet",
            }
        }
    }
}

fn body(view: &StatusView<'_>) -> Markup {
    html! {
        @if let Some(refused) = &view.about.policy_refused {
            div.notice role="alert" {
                p {
                    b.bad { "The policy file was refused" } " " (parts::ago(view, refused.at))
                    ". The policy of " (moment(view.about.policy_since)) " stays in force."
                }
                pre { (refused.error) }
            }
        }
        @if let Some(plan) = view.plan {
            (nodes::section(plan))
            (plan::section(view, plan))
            (guards::section(view, plan))
            (rightsizing::section(plan))
        } @else if matches!(view.part, ElectionRole::Standby(_)) {
            p { "The page of the leading instance shows the plan and the ledger." }
        } @else {
            p { "The first plan appears here as soon as it is made." }
        }
        @if let Some(ledger) = view.ledger {
            (ledger::section(view, ledger))
        }
        (history::section(view))
        (sources::section(view))
    }
}

fn footer(view: &StatusView<'_>) -> Markup {
    let about = view.about;
    html! {
        p { "Policy: " (about.policy) ", in force since " (moment(about.policy_since)) }
        p {
            "evenkeel " (about.version) ", instance " (about.instance)
            ", running for " (age(view.since(about.started)))
            " since " (moment(about.started)) ". "
            "The same data as JSON: " a href="status.json" { "/status.json" } ". "
            "As of " (moment(view.now)) span.live #live {} "."
        }
    }
}

fn moment(at: Timestamp) -> Markup {
    html! {
        time datetime=(at) { (at.strftime("%Y-%m-%d %H:%M:%S UTC")) }
    }
}

/// Returns what the thick bars show and what the thin bars show.
const fn bar_meanings(basis: Basis) -> (&'static str, &'static str) {
    match basis {
        Basis::Actual => ("actual usage", "requests of its pods"),
        Basis::Requests => ("requests of its pods", "actual usage"),
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    #[test]
    fn an_outage_of_many_requests_is_one_paragraph() {
        let failure = |(request, seconds): (&str, i64)| LastingFailure {
            request: request.to_owned(),
            lasts: SignedDuration::from_secs(seconds),
            why: "refused".to_owned(),
            effect: "no evictions".into(),
        };
        let all = [("watch of Node", 20), ("watch of Pod", 30), ("lease", 25)].map(failure);
        let groups = by_cause(&all, |f| &f.request, |f| (&f.why, &f.effect));
        assert_eq!(groups.len(), 1);
        assert_eq!(
            failures(&groups[0].0, &groups[0].1).into_string(),
            "<p class=\"facts\"><b class=\"bad\">watch of Node, watch of Pod and 1 more have failed \
             for 30s</b>: refused; no evictions</p>"
        );
    }
}
