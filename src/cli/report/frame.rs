//! What every picture over time has: axes, the band, and marks for what happened by itself.
//!
//! NodeAddresses across are shares of the width, so that a picture fills whatever width there is while its texts keep their size;
//! node_addresses down are pixels. Only lines need numbers for both: they stand in an inner picture that is 1,000 wide and stretched.

use jiff::{SignedDuration, Timestamp};

use crate::render::scale::{Scale, count, number, time_ticks};
use crate::render::words::{counted, escaped, percent, short, span};
use crate::simulate::trace::{Band, Event, Trace};

/// How wide the inner picture is, in its own units.
pub(super) const WIDE: f64 = 1000.0;

/// Times across.
#[derive(Clone, Copy, Debug)]
pub(super) struct Across {
    /// What the whole width stands for; the same in all pictures of a page.
    pub(super) length: SignedDuration,
    /// Whether there is room for words at the marks.
    pub(super) roomy: bool,
}

impl Across {
    /// The place of a moment in the inner picture.
    pub(super) fn place(self, since_start: SignedDuration) -> f64 {
        Scale::new((0.0, self.length.as_secs_f64()), (0.0, WIDE)).at(since_start.as_secs_f64())
    }

    /// The place of a moment as a share of the width.
    pub(super) fn share(self, since_start: SignedDuration) -> String {
        format!("{}%", hundredths(self.place(since_start) / WIDE))
    }

    /// Ticks and their texts below a picture.
    pub(super) fn axis(self, height: f64) -> String {
        let tick = |(i, at): (usize, SignedDuration)| {
            let (x, bottom) = (self.share(at), number(height));
            let text = if at.is_zero() {
                "0".to_owned()
            } else {
                span(at)
            };
            format!(
                "<line class=\"grid\" x1=\"{x}\" x2=\"{x}\" y1=\"0\" y2=\"{bottom}\"/>\
                 <text class=\"tick{}\" x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{text}</text>",
                if i % 2 == 1 { " odd" } else { "" },
                number(height + 16.0)
            )
        };
        time_ticks(self.length, 7)
            .into_iter()
            .enumerate()
            .map(tick)
            .collect()
    }

    /// A vertical mark with a flag for each event; those that are too near each other share a flag.
    pub(super) fn events(self, trace: &Trace, height: f64) -> String {
        let groups = self.grouped(trace);
        let mut out = String::new();
        for (i, group) in groups.iter().enumerate() {
            let next = groups.get(i + 1).map_or(WIDE, |g| g.place);
            out.push_str(&self.flag(group, next, height));
        }
        out
    }

    fn grouped<'t>(self, trace: &'t Trace) -> Vec<Flag<'t>> {
        let mut flags: Vec<Flag<'t>> = Vec::new();
        for (i, event) in trace.events.iter().enumerate() {
            let place = self.place(event.at.duration_since(trace.start));
            match flags.last_mut() {
                Some(last) if place - last.place < 22.0 => last.events.push(event),
                _ => flags.push(Flag {
                    first: i + 1,
                    place,
                    start: trace.start,
                    events: vec![event],
                }),
            }
        }
        flags
    }

    fn flag(self, flag: &Flag<'_>, next: f64, height: f64) -> String {
        let (x, bottom) = (
            format!("{}%", hundredths(flag.place / WIDE)),
            number(height),
        );
        let words = flag.words();
        // A letter is about six pixels wide, and a roomy picture about nine hundred.
        let fits = self.roomy
            && Scale::new((0.0, WIDE), (0.0, 900.0)).at(next - flag.place)
                > 26.0 + 6.3 * letters(&words);
        let text = if fits {
            format!(
                "<text class=\"note far\" x=\"{x}\" dx=\"13\" y=\"-9\">{}</text>",
                escaped(&words)
            )
        } else {
            String::new()
        };
        format!(
            "<g class=\"event\"><title>{}</title><line x1=\"{x}\" x2=\"{x}\" y1=\"-5\" y2=\"{bottom}\"/>\
             <circle cx=\"{x}\" cy=\"-13\" r=\"8.5\"/><text x=\"{x}\" y=\"-9.5\" text-anchor=\"middle\">{}</text></g>{text}",
            escaped(&flag.told()),
            flag.first
        )
    }
}

/// Events that share a mark.
struct Flag<'t> {
    first: usize,
    place: f64,
    start: Timestamp,
    events: Vec<&'t Event>,
}

impl Flag<'_> {
    fn words(&self) -> String {
        match self.events.as_slice() {
            [only] => short(&only.what, 40),
            several => counted(several.len(), "event"),
        }
    }

    fn told(&self) -> String {
        let told = |event: &&Event| {
            format!(
                "{}: {}",
                span(event.at.duration_since(self.start)),
                event.what
            )
        };
        self.events.iter().map(told).collect::<Vec<_>>().join("\n")
    }
}

/// Shares down, with the band behind.
#[derive(Clone, Debug)]
pub(super) struct Down {
    pub(super) ticks: Vec<f64>,
    pub(super) height: f64,
}

impl Down {
    /// The place of a share.
    pub(super) fn place(&self, share: f64) -> f64 {
        Scale::new(
            (0.0, self.ticks.last().copied().unwrap_or(1.0)),
            (self.height, 0.0),
        )
        .at(share)
    }

    /// Ticks and their texts at the left.
    pub(super) fn axis(&self) -> String {
        let tick = |share: &f64| {
            let y = number(self.place(*share));
            let text = percent(*share);
            format!(
                "<line class=\"grid\" x2=\"100%\" y1=\"{y}\" y2=\"{y}\"/>\
                 <text class=\"tick\" x=\"-8\" y=\"{y}\" dy=\"4\" text-anchor=\"end\">{text}</text>"
            )
        };
        self.ticks.iter().map(tick).collect()
    }

    /// The band, shaded, and what lies above it in the colour of what is hot.
    pub(super) fn band(&self, band: Option<Band>) -> String {
        let Some(band) = band else {
            return String::new();
        };
        let (high, low) = (self.place(band.high.get()), self.place(band.low.get()));
        format!(
            "<rect class=\"zone-hot\" width=\"100%\" height=\"{}\"/><rect class=\"zone\" y=\"{}\" width=\"100%\" height=\"{}\"/>",
            number(high),
            number(high),
            number(low - high)
        )
    }

    /// The edges of the band, below the lines.
    pub(super) fn edges(&self, band: Option<Band>) -> String {
        let edge = |(share, class): (f64, &str)| {
            let y = number(self.place(share));
            format!("<line class=\"edge {class}\" x2=\"100%\" y1=\"{y}\" y2=\"{y}\"/>")
        };
        band.into_iter()
            .flat_map(|b| [(b.high.get(), "hot"), (b.low.get(), "idle")])
            .map(edge)
            .collect()
    }

    /// The names of the edges, above the lines: at their beginning, or at their end.
    pub(super) fn edge_names(&self, band: Option<Band>, at_end: bool) -> String {
        let Some(band) = band else {
            return String::new();
        };
        let place = if at_end {
            "x=\"100%\" dx=\"-6\" text-anchor=\"end\""
        } else {
            "x=\"6\""
        };
        let name = |share: f64, class: &str, words: &str, dy: i32| {
            let (y, text) = (number(self.place(share)), percent(share));
            format!(
                "<text class=\"edge-name {class}\" {place} y=\"{y}\" dy=\"{dy}\">{words} {text}</text>"
            )
        };
        name(band.high.get(), "hot", "hot above", -5)
            + &name(band.low.get(), "idle", "idle up to", 14)
    }
}

/// The outer picture. What it holds is drawn in the order given.
pub(super) fn picture(height: f64, label: &str, parts: &[String]) -> String {
    format!(
        "<div class=\"plot\"><svg class=\"chart\" width=\"100%\" height=\"{}\" role=\"img\" aria-label=\"{}\">{}</svg></div>",
        number(height),
        escaped(label),
        parts.concat()
    )
}

/// The inner picture, for lines; what is below `height` is cut off.
pub(super) fn inner(height: f64, class: &str, lines: &str) -> String {
    let height = number(height);
    format!(
        "<svg class=\"{class}\" width=\"100%\" height=\"{height}\" viewBox=\"0 0 1000 {height}\" \
         preserveAspectRatio=\"none\">{lines}</svg>"
    )
}

/// A share as percent to two decimals, without a sign.
fn hundredths(share: f64) -> String {
    format!("{}", (share * 10_000.0).round() / 100.0)
}

fn letters(text: &str) -> f64 {
    count(text.chars().count())
}
