//! The usage sources.

use jiff::Timestamp;
use maud::{Markup, html};

use super::super::StatusView;
use super::parts::{ago, wide_table};

const HEADS: [&str; 5] = ["source", "in use", "newest sample", "last read", "error"];

pub(super) fn section(view: &StatusView<'_>) -> Markup {
    html! {
        section aria-labelledby="h-sources" {
            h2 #h-sources { "Usage sources" }
            @if view.sources.is_empty() {
                p.hint { "No source has been read yet." }
            } @else {
                (wide_table("w-sources", &HEADS, &rows(view)))
            }
        }
    }
}

fn rows(view: &StatusView<'_>) -> Markup {
    html! {
        @for source in view.sources {
            tr {
                th scope="row" { (source.name) }
                td { @if source.in_use { "yes" } @else { "no" } }
                td { (ago_or_never(view, source.newest_sample)) }
                td { (ago_or_never(view, source.read)) }
                td {
                    @match &source.error {
                        Some(error) => span.bad { (error) },
                        None => "none",
                    }
                }
            }
        }
    }
}

fn ago_or_never(view: &StatusView<'_>, at: Option<Timestamp>) -> Markup {
    at.map_or_else(|| html! { "never" }, |at| ago(view, at))
}
