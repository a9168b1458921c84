//! The axes of a chart over time, its band, and flags for events.
//!
//! Horizontal positions are percentages of the width, so that a chart fills any width while its
//! texts keep their size; vertical positions are pixels. Lines need numbers for both: they are in
//! an inner picture that is 1,000 units wide and stretched to the width.

use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};

use crate::simulate::trace::{Event, Trace, TraceBand};
use crate::values::text::{age, count as counted};
use crate::view::scale::{count, number, position, time_ticks};
use crate::view::words::{percent, short};

/// The width of the inner picture, in its own units.
pub(super) const WIDTH: f64 = 1000.0;

/// Events closer than this share one flag, in units of the inner picture.
const FLAG_DISTANCE: f64 = 22.0;

/// The horizontal axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeAxis {
    /// The time that the whole width stands for; the same in all charts of a page.
    pub(super) length: SignedDuration,
    /// Whether there is room for texts at the flags.
    pub(super) roomy: bool,
}

impl TimeAxis {
    /// Returns the position of a moment in the inner picture.
    pub(super) fn x(self, since_start: SignedDuration) -> f64 {
        position(since_start.as_secs_f64(), (0.0, self.length.as_secs_f64()), (0.0, WIDTH))
    }

    /// Returns the position of a moment as a percentage of the width.
    pub(super) fn percent(self, since_start: SignedDuration) -> String {
        width_percent(self.x(since_start))
    }

    /// Ticks with their texts below the chart.
    pub(super) fn axis(self, height: f64) -> Markup {
        html! {
            @for (i, at) in time_ticks(self.length, 7).into_iter().enumerate() {
                @let x = self.percent(at);
                @let class = if i % 2 == 1 { "tick odd" } else { "tick" };
                line.grid x1=(x) x2=(x) y1="0" y2=(number(height)) {}
                text class=(class) x=(x) y=(number(height + 16.0)) text-anchor="middle" {
                    @if at.is_zero() { "0" } @else { (age(at)) }
                }
            }
        }
    }

    /// A vertical line with a numbered flag for each event.
    pub(super) fn events(self, trace: &Trace, height: f64) -> Markup {
        let flags = self.flags(trace);
        html! {
            @for (i, flag) in flags.iter().enumerate() {
                @let next = flags.get(i + 1).map_or(WIDTH, |next| next.x);
                (self.flag(flag, next, height))
            }
        }
    }

    fn flags<'t>(self, trace: &'t Trace) -> Vec<EventFlag<'t>> {
        let mut flags: Vec<EventFlag<'t>> = Vec::new();
        for (i, event) in trace.events.iter().enumerate() {
            let x = self.x(event.at.duration_since(trace.start));
            match flags.last_mut() {
                // Overlapping flags could not be read or pointed at.
                Some(last) if x - last.x < FLAG_DISTANCE => last.events.push(event),
                _ => flags.push(EventFlag {
                    first: i + 1,
                    x,
                    start: trace.start,
                    events: vec![event],
                }),
            }
        }
        flags
    }

    fn flag(self, flag: &EventFlag<'_>, next: f64, height: f64) -> Markup {
        let (x, text) = (width_percent(flag.x), flag.text());
        // A letter is about 6 pixels wide, and the chart of a single run about 900.
        let room = (next - flag.x) * 900.0 / WIDTH;
        let fits = self.roomy && room > 26.0 + 6.3 * count(text.chars().count());
        html! {
            g.event {
                title { (flag.tooltip()) }
                line x1=(x) x2=(x) y1="-5" y2=(number(height)) {}
                circle cx=(x) cy="-13" r="8.5" {}
                text x=(x) y="-9.5" text-anchor="middle" { (flag.first) }
            }
            @if fits { text.note.far x=(x) dx="13" y="-9" { (text) } }
        }
    }
}

/// Events that share a flag.
struct EventFlag<'t> {
    /// The number of the first event, counted from one.
    first: usize,
    x: f64,
    start: Timestamp,
    events: Vec<&'t Event>,
}

impl EventFlag<'_> {
    fn text(&self) -> String {
        match self.events.as_slice() {
            [only] => short(&only.what, 40),
            several => counted(several.len(), "event"),
        }
    }

    fn tooltip(&self) -> String {
        let lines: Vec<String> = self
            .events
            .iter()
            .map(|event| {
                let at = age(event.at.duration_since(self.start));
                format!("{at}: {}", event.what)
            })
            .collect();
        lines.join("\n")
    }
}

/// The vertical axis, with the band behind the lines.
#[derive(Clone, Debug)]
pub(super) struct ShareAxis {
    pub(super) ticks: Vec<f64>,
    pub(super) height: f64,
}

impl ShareAxis {
    /// Returns the position of a share.
    pub(super) fn y(&self, share: f64) -> f64 {
        let top = self.ticks.last().copied().unwrap_or(1.0);
        position(share, (0.0, top), (self.height, 0.0))
    }

    /// Ticks with their texts on the left.
    pub(super) fn axis(&self) -> Markup {
        html! {
            @for share in &self.ticks {
                @let y = number(self.y(*share));
                line.grid x2="100%" y1=(y) y2=(y) {}
                text.tick x="-8" y=(y) dy="4" text-anchor="end" { (percent(*share)) }
            }
        }
    }

    /// The band as a shaded area, and the area above it in the colour of hot nodes.
    pub(super) fn band(&self, band: Option<TraceBand>) -> Markup {
        html! {
            @if let Some(band) = band {
                @let (high, low) = (self.y(band.target.get()), self.y(band.threshold.get()));
                rect.zone-hot width="100%" height=(number(high)) {}
                rect.zone y=(number(high)) width="100%" height=(number(low - high)) {}
            }
        }
    }

    /// The edges of the band, to be drawn below the lines.
    pub(super) fn edges(&self, band: Option<TraceBand>) -> Markup {
        html! {
            @if let Some(band) = band {
                @for (ratio, class) in [(band.target, "edge hot"), (band.threshold, "edge idle")] {
                    @let y = number(self.y(ratio.get()));
                    line class=(class) x2="100%" y1=(y) y2=(y) {}
                }
            }
        }
    }

    /// The names of the edges, to be drawn above the lines: on the left, or on the right if
    /// `at_end`.
    pub(super) fn edge_names(&self, band: Option<TraceBand>, at_end: bool) -> Markup {
        let (x, dx, anchor) = if at_end { ("100%", "-6", "end") } else { ("6", "0", "start") };
        html! {
            @if let Some(band) = band {
                @for (ratio, class, words, dy) in [
                    (band.target, "edge-name hot", "hot above", "-5"),
                    (band.threshold, "edge-name idle", "cold up to", "14"),
                ] {
                    @let y = number(self.y(ratio.get()));
                    text class=(class) x=(x) dx=(dx) text-anchor=(anchor) y=(y) dy=(dy) {
                        (words) " " (percent(ratio.get()))
                    }
                }
            }
        }
    }
}

/// The chart around its content.
pub(super) fn chart(height: f64, label: &str, content: &Markup) -> Markup {
    html! {
        div.plot {
            svg.chart width="100%" height=(number(height)) role="img" aria-label=(label) {
                (content)
            }
        }
    }
}

/// The inner picture, for lines. Everything below `height` is cut off.
pub(super) fn inner(height: f64, class: &str, lines: &Markup) -> Markup {
    let height = number(height);
    html! {
        svg class=(class) width="100%" height=(height)
            viewBox={ "0 0 1000 " (height) } preserveAspectRatio="none" {
            (lines)
        }
    }
}

/// Converts a position in the inner picture to a percentage of the width, with two decimals.
fn width_percent(x: f64) -> String {
    format!("{}%", (x / WIDTH * 10_000.0).round() / 100.0)
}
