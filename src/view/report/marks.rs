//! One mark for each eviction, at its time and on its node.

use maud::{Markup, html};

use crate::simulate::trace::{Eviction, Trace};
use crate::values::text::age;
use crate::view::figures::destination;
use crate::view::scale::number;

use super::axes::TimeAxis;

/// Draws a mark for each eviction whose height is known: a filled circle if it helped, a cross if
/// it did not, a ring if that is not known.
pub(super) fn marks(
    trace: &Trace,
    time: TimeAxis,
    radius: f64,
    height: impl Fn(&Eviction) -> Option<f64>,
) -> Markup {
    let radius = number(radius);
    html! {
        @for eviction in &trace.evictions {
            @if let Some(y) = height(eviction) {
                @let x = time.percent(eviction.at.duration_since(trace.start));
                (mark(eviction.helped, &x, &number(y), &radius, &tooltip(trace, eviction)))
            }
        }
    }
}

fn mark(helped: Option<bool>, x: &str, y: &str, radius: &str, tooltip: &str) -> Markup {
    let class = match helped {
        Some(true) => "mark yes",
        Some(false) => "mark no",
        None => "mark",
    };
    html! {
        @if helped == Some(false) {
            svg class=(class) x=(x) y=(y) {
                @if !tooltip.is_empty() { title { (tooltip) } }
                circle r=(radius) {}
                path d=(format!("M-{radius} -{radius}L{radius} {radius}M-{radius} \
                    {radius}L{radius} -{radius}")) {}
            }
        } @else {
            circle class=(class) cx=(x) cy=(y) r=(radius) {
                @if !tooltip.is_empty() { title { (tooltip) } }
            }
        }
    }
}

/// Explains the marks.
pub(super) fn legend() -> Markup {
    html! {
        @for (helped, words) in [
            (Some(true), "eviction that helped"),
            (Some(false), "did not help"),
            (None, "not known yet"),
        ] {
            span.key {
                svg width="12" height="12" { (mark(helped, "6", "6", "4.5", "")) }
                (words)
            }
        }
    }
}

/// Returns whether an eviction helped, in words.
pub(super) const fn helped(eviction: &Eviction) -> &'static str {
    match eviction.helped {
        Some(true) => "helped",
        Some(false) => "did not help",
        None => "unknown",
    }
}

/// Whether the replacement landed on one of the nodes that the scheduler forecast named.
pub(super) fn landed_as_forecast(eviction: &Eviction) -> bool {
    eviction
        .to
        .as_ref()
        .is_some_and(|to| eviction.foreseen.as_ref() == Some(to) || eviction.may_land.contains(to))
}

fn tooltip(trace: &Trace, eviction: &Eviction) -> String {
    let Eviction { namespace, pod, from, reason, .. } = eviction;
    let at = age(eviction.at.duration_since(trace.start));
    let to = destination(eviction);
    let forecast = match eviction.foreseen.as_deref() {
        Some(_) if landed_as_forecast(eviction) => ", as forecast".to_owned(),
        Some(node) if eviction.to.is_some() => format!(", forecast was {node}"),
        Some(node) => format!(", forecast is {node}"),
        None => String::new(),
    };
    let outcome = match eviction.helped {
        Some(_) => helped(eviction),
        None => "not known whether it helped",
    };
    format!("{at}: {namespace}/{pod}\n{from} → {to}{forecast}\n{outcome}\n{reason}")
}
