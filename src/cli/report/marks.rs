//! A mark for each eviction, at its time and on its node.

use crate::render::scale::number;
use crate::render::words::{escaped, span};
use crate::simulate::trace::{Eviction, Trace};

use super::frame::Across;

/// A mark for each eviction whose place down is known: filled where it helped, a cross where it did not, a ring where
/// that is not known.
pub(super) fn marks(
    trace: &Trace,
    across: Across,
    radius: f64,
    place: impl Fn(&Eviction) -> Option<f64>,
) -> String {
    let mark = |eviction: &Eviction| {
        let y = number(place(eviction)?);
        let x = across.share(eviction.at.duration_since(trace.start));
        let (title, r) = (escaped(&told(trace, eviction)), number(radius));
        Some(match eviction.helped {
            Some(false) => format!(
                "<svg class=\"mark no\" x=\"{x}\" y=\"{y}\"><title>{title}</title><circle r=\"{r}\"/>\
                 <path d=\"M-{r} -{r}L{r} {r}M-{r} {r}L{r} -{r}\"/></svg>"
            ),
            Some(true) => {
                format!(
                    "<circle class=\"mark yes\" cx=\"{x}\" cy=\"{y}\" r=\"{r}\"><title>{title}</title></circle>"
                )
            }
            None => format!(
                "<circle class=\"mark\" cx=\"{x}\" cy=\"{y}\" r=\"{r}\"><title>{title}</title></circle>"
            ),
        })
    };
    trace.evictions.iter().filter_map(mark).collect()
}

/// What the marks mean.
pub(super) fn legend() -> &'static str {
    "<span class=\"key\"><svg width=\"12\" height=\"12\"><circle class=\"mark yes\" cx=\"6\" cy=\"6\" r=\"4.5\"/></svg>an eviction that helped</span>\
     <span class=\"key\"><svg width=\"12\" height=\"12\"><svg class=\"mark no\" x=\"6\" y=\"6\"><circle r=\"4.5\"/><path d=\"M-4.5 -4.5L4.5 4.5M-4.5 4.5L4.5 -4.5\"/></svg></svg>did not help</span>\
     <span class=\"key\"><svg width=\"12\" height=\"12\"><circle class=\"mark\" cx=\"6\" cy=\"6\" r=\"4.5\"/></svg>not known yet</span>"
}

/// Whether an eviction helped, in a word.
pub(super) const fn helped(eviction: &Eviction) -> &'static str {
    match eviction.helped {
        Some(true) => "helped",
        Some(false) => "did not help",
        None => "unknown",
    }
}

/// Whether the replacement landed on a node that was foreseen, be it one of several.
pub(super) fn landed_as_foreseen(it: &Eviction) -> bool {
    it.to
        .as_ref()
        .is_some_and(|to| it.foreseen.as_ref() == Some(to) || it.may_land.contains(to))
}

fn told(trace: &Trace, it: &Eviction) -> String {
    let to = it.to.as_deref().unwrap_or("waits for a node");
    let foreseen = match it.foreseen.as_deref() {
        Some(_) if landed_as_foreseen(it) => ", as foreseen".to_owned(),
        Some(node) => format!(", {node} was foreseen"),
        None => String::new(),
    };
    let at = span(it.at.duration_since(trace.start));
    let outcome = if it.helped.is_some() {
        helped(it)
    } else {
        "whether it helped is not known"
    };
    format!(
        "{at}: {}/{}\n{} → {to}{foreseen}\n{outcome}\n{}",
        it.namespace, it.pod, it.from, it.reason
    )
}
