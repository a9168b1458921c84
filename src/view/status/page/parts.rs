//! Elements that several sections of the page share.

use indicatif::HumanCount;
use jiff::Timestamp;
use maud::{Markup, html};

use crate::values::text::age;

use super::super::StatusView;

/// A relative time, `12s ago`, with the exact time as its tooltip.
pub(super) fn ago(view: &StatusView<'_>, at: Timestamp) -> Markup {
    let since = view.since(at);
    html! {
        time datetime=(at) title=(at.strftime("%Y-%m-%d %H:%M:%S UTC")) {
            @if since.is_negative() { "in " (age(since.abs())) } @else { (age(since)) " ago" }
        }
    }
}

/// A folded part of a section. The script keeps it open by its id when it replaces the page.
pub(super) fn fold(kind: &str, name: &str, summary: &Markup, content: &Markup) -> Markup {
    html! {
        details id={ (kind) "-" (name) } {
            summary { (summary) }
            (content)
        }
    }
}

/// A table that scrolls sideways on a narrow screen. The script restores its position by its id.
pub(super) fn wide_table(id: &str, heads: &[&str], rows: &Markup) -> Markup {
    html! {
        div.wide tabindex="0" id=(id) {
            table.rows {
                thead { tr { @for head in heads { th scope="col" { (head) } } } }
                tbody { (rows) }
            }
        }
    }
}

/// The first `open` items as they are and the others folded, followed by the number of items left
/// out.
pub(super) fn folding<T>(
    items: &[T],
    open: usize,
    kind: &str,
    noun: &str,
    table: impl Fn(&[T], &str) -> Markup,
) -> Markup {
    let (open, folded) = items.split_at(items.len().min(open));
    html! {
        @if !open.is_empty() {
            (table(open, &format!("w-{kind}")))
        }
        @if !folded.is_empty() {
            @let summary = html! { (thousands(folded.len())) " " (noun) };
            (fold(kind, "rest", &summary, &table(folded, &format!("w-{kind}-rest"))))
        }
    }
}

/// The number of items that are not even folded.
pub(super) fn left_out(more: usize, noun: &str) -> Markup {
    html! {
        @if more > 0 {
            p.hint { "and " (thousands(more)) " more " (noun) }
        }
    }
}

/// Formats a number with separators: `12,345`.
pub(super) fn thousands(n: usize) -> String {
    HumanCount(u64::try_from(n).unwrap_or(u64::MAX)).to_string()
}
