//! What happened, in rows: evictions, why the rest stayed, and what happened by itself.

use std::cmp::Reverse;
use std::fmt::Write as _;

use crate::render::words::{counted, escaped, span};
use crate::simulate::trace::{Eviction, Trace};

use super::marks::{helped, landed_as_foreseen};

/// Longer tables are folded.
const MOST: usize = 50;

const HEADS: &str = "<colgroup><col class=\"c-time\"><col class=\"c-pod\"><col class=\"c-move\"><col class=\"c-foreseen\"><col class=\"c-helped\">\
    <col class=\"c-why\"></colgroup><thead><tr><th>time</th><th>pod</th><th>from → to</th><th>foreseen</th><th>helped</th><th>why</th></tr></thead>";

/// Every eviction, in order.
pub(super) fn evictions(trace: &Trace) -> String {
    if trace.evictions.is_empty() {
        return "<p class=\"hint\">No pod was evicted.</p>".to_owned();
    }
    let (shown, folded) = trace.evictions.split_at(trace.evictions.len().min(MOST));
    let mut out = rows(trace, shown);
    if !folded.is_empty() {
        let _ = write!(
            out,
            "<details><summary>{} more</summary>{}</details>",
            folded.len(),
            rows(trace, folded)
        );
    }
    out
}

fn rows(trace: &Trace, evictions: &[Eviction]) -> String {
    let body: String = evictions
        .iter()
        .map(|eviction| row(trace, eviction))
        .collect();
    format!(
        "<div class=\"wide\"><table class=\"evictions\">{HEADS}<tbody>{body}</tbody></table></div>"
    )
}

fn row(trace: &Trace, it: &Eviction) -> String {
    let to = it
        .to
        .as_deref()
        .map_or("<em>waits</em>".to_owned(), escaped);
    let foreseen = match it.foreseen.as_deref() {
        None => "<span class=\"soft\">–</span>".to_owned(),
        Some(_) if landed_as_foreseen(it) => "<span class=\"soft\">so it was</span>".to_owned(),
        Some(node) => escaped(node),
    };
    let class = match it.helped {
        Some(true) => "yes",
        Some(false) => "no",
        None => "unknown",
    };
    let workload = it.workload.as_deref().map_or(String::new(), |w| {
        format!("<br><span class=\"soft\">{}</span>", escaped(w))
    });
    format!(
        "<tr><td class=\"when\">{}</td><td>{}/{}{workload}</td><td>{} → {to}</td><td>{foreseen}</td><td><span class=\"{class}\">{}</span></td>\
         <td>{}<br><span class=\"soft\">{}</span></td></tr>",
        span(it.at.duration_since(trace.start)),
        escaped(&it.namespace),
        escaped(&it.pod),
        escaped(&it.from),
        helped(it),
        escaped(&it.reason),
        escaped(&it.strategy)
    )
}

/// Refusals by code, the most frequent first.
pub(super) fn refusals(trace: &Trace) -> String {
    if trace.refusals.is_empty() {
        return "<p class=\"hint\">No pod that would have helped was refused.</p>".to_owned();
    }
    let mut all: Vec<_> = trace.refusals.iter().collect();
    all.sort_by_key(|(code, refused)| (Reverse(refused.times), code.as_str()));
    let row = |(code, refused): (&String, &crate::simulate::trace::Refused)| {
        format!(
            "<tr><td class=\"figure\">{}</td><td><code>{}</code></td><td>{}</td></tr>",
            refused.times,
            escaped(code),
            escaped(&refused.last)
        )
    };
    let body: String = all.into_iter().map(row).collect();
    format!(
        "<div class=\"wide\"><table class=\"refusals\"><thead><tr><th class=\"figure\">times</th><th>code</th><th>the last one</th></tr></thead>\
         <tbody>{body}</tbody></table></div>"
    )
}

/// What happened by itself, numbered like the flags in the pictures.
pub(super) fn events(trace: &Trace) -> String {
    let item = |event: &crate::simulate::trace::Event| {
        format!(
            "<li><span class=\"when\">{}</span> {}</li>",
            span(event.at.duration_since(trace.start)),
            escaped(&event.what)
        )
    };
    let (shown, folded) = trace.events.split_at(trace.events.len().min(12));
    let list = |start: usize, part: &[crate::simulate::trace::Event]| {
        format!(
            "<ol class=\"events\" start=\"{start}\">{}</ol>",
            part.iter().map(item).collect::<String>()
        )
    };
    match (shown.is_empty(), folded.is_empty()) {
        (true, _) => String::new(),
        (false, true) => list(1, shown),
        (false, false) => format!(
            "{}<details><summary>{} more</summary>{}</details>",
            list(1, shown),
            counted(folded.len(), "event"),
            list(13, folded)
        ),
    }
}
