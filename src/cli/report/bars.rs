//! Nodes before and after: a bar each, or their profile where they are many.

use std::fmt::Write as _;

use crate::render::scale::{Scale, count, number, share_ticks};
use crate::render::words::{counted, escaped, node_labels, percent};
use crate::simulate::trace::{Band, NodeTrace, Trace};
use crate::values::Ratio;

use super::frame::{Down, inner, picture};
use super::series::{Place, Weighed, first, last};

/// More bars than this are a wall.
const MOST: usize = 40;

/// What is drawn.
pub(super) struct Bars<'t> {
    pub(super) trace: &'t Trace,
    pub(super) resource: &'t str,
    pub(super) weighed: Weighed,
    pub(super) band: Option<Band>,
    /// Where the axis ends, as a share.
    pub(super) top: f64,
    /// The rows, from the top.
    pub(super) rows: &'t [&'t str],
}

impl Bars<'_> {
    /// The picture.
    pub(super) fn draw(&self) -> String {
        if self.rows.len() > MOST {
            self.profiles()
        } else {
            self.table()
        }
    }

    fn table(&self) -> String {
        let labels = node_labels(self.rows, 24);
        let mut out = format!(
            "<table class=\"bars\"><thead><tr><th>node</th><th>{}</th>",
            self.axis()
        );
        out.push_str("<th class=\"figure\">start → end</th><th class=\"figure\">pods</th></tr></thead><tbody>");
        for (name, label) in self.rows.iter().zip(labels) {
            let Some(node) = self.trace.nodes.iter().find(|n| n.name == *name) else {
                continue;
            };
            let series = self.weighed.of(node, self.resource);
            let (before, after) = (first(series), last(series));
            let _ = write!(
                out,
                "<tr><th title=\"{}\">{}</th><td>{}</td><td class=\"figure\">{}</td><td class=\"figure\">{}</td></tr>",
                escaped(name),
                escaped(&label),
                self.bar(before, after),
                figures(before, after),
                pods(node)
            );
        }
        out + "</tbody></table>"
    }

    fn axis(&self) -> String {
        let Some(band) = self.band else {
            return self.resource_name();
        };
        let edge = |ratio: Ratio, class: &str| {
            format!(
                "<text class=\"edge-name {class}\" x=\"{}\" y=\"11\" text-anchor=\"middle\">{}</text>",
                self.at(ratio),
                percent(ratio.get())
            )
        };
        format!(
            "<svg class=\"bar\" width=\"100%\" height=\"14\">{}{}</svg>",
            edge(band.low, "idle"),
            edge(band.high, "hot")
        )
    }

    fn resource_name(&self) -> String {
        escaped(self.resource)
    }

    /// The bar at the end, over the outline of the bar at the start.
    fn bar(&self, before: Option<Ratio>, after: Option<Ratio>) -> String {
        let mut out = String::from(
            "<svg class=\"bar\" width=\"100%\" height=\"18\"><rect class=\"track\" y=\"3\" width=\"100%\" height=\"12\" rx=\"2\"/>",
        );
        if let Some(after) = after {
            let class = Place::of(after, self.band).class();
            let _ = write!(
                out,
                "<rect class=\"fill {class}\" y=\"3\" width=\"{}\" height=\"12\" rx=\"2\"/>",
                self.at(after)
            );
        }
        if let Some(before) = before {
            let class = Place::of(before, self.band).class();
            let x = self.at(before);
            let _ = write!(
                out,
                "<rect class=\"ghost {class}\" y=\"3\" width=\"{x}\" height=\"12\" rx=\"2\"/>"
            );
        }
        for (ratio, class) in self
            .band
            .iter()
            .flat_map(|b| [(b.low, "idle"), (b.high, "hot")])
        {
            let x = self.at(ratio);
            let _ = write!(
                out,
                "<line class=\"edge {class}\" x1=\"{x}\" x2=\"{x}\" y2=\"18\"/>"
            );
        }
        out + "</svg>"
    }

    fn at(&self, ratio: Ratio) -> String {
        format!(
            "{}%",
            number(Scale::new((0.0, self.top), (0.0, 100.0)).at(ratio.get()))
        )
    }

    /// All nodes from the fullest to the emptiest, at the start and at the end.
    fn profiles(&self) -> String {
        let at = |of: fn(&super::series::Series) -> Option<Ratio>| {
            let mut all: Vec<Ratio> = self
                .trace
                .nodes
                .iter()
                .filter_map(|n| of(self.weighed.of(n, self.resource)))
                .collect();
            all.sort_by(|a, b| b.order(*a));
            all
        };
        let profile = |when: &str, all: &[Ratio]| {
            format!("<div><h5>{when}</h5>{}</div>", self.profile(when, all))
        };
        format!(
            "<div class=\"two\">{}{}</div>",
            profile("at the start", &at(first)),
            profile("at the end", &at(last))
        )
    }

    fn profile(&self, when: &str, all: &[Ratio]) -> String {
        let down = Down {
            ticks: share_ticks(self.top),
            height: 120.0,
        };
        let mut strokes = [String::new(), String::new(), String::new()];
        let width = super::frame::WIDE / count(all.len().max(1));
        for (i, ratio) in all.iter().enumerate() {
            let (x, y) = (width * count(i), down.place(ratio.get()));
            let which = match Place::of(*ratio, self.band) {
                Place::Idle => 0,
                Place::Even => 1,
                Place::Hot => 2,
            };
            let _ = write!(
                strokes[which],
                "M{x:.2} 120V{}h{:.2}V120Z",
                number(y),
                width * 0.86
            );
        }
        let [idle, even, hot] = strokes;
        let bars = format!(
            "<path class=\"fill idle\" d=\"{idle}\"/><path class=\"fill even\" d=\"{even}\"/><path class=\"fill hot\" d=\"{hot}\"/>"
        );
        let hot_now = all
            .iter()
            .filter(|r| Place::of(**r, self.band) == Place::Hot)
            .count();
        let told = format!(
            "<text class=\"note\" x=\"100%\" y=\"138\" text-anchor=\"end\">{}, {hot_now} hot</text>",
            counted(all.len(), "node")
        );
        let parts = [
            down.band(self.band),
            down.axis(),
            inner(120.0, "profile", &bars),
            down.edges(self.band),
            down.edge_names(self.band, true),
            told,
        ];
        picture(
            120.0,
            &format!("{} of all nodes {when}, sorted", self.resource),
            &parts,
        )
    }
}

fn figures(before: Option<Ratio>, after: Option<Ratio>) -> String {
    let text =
        |ratio: Option<Ratio>, none: &str| ratio.map_or(none.to_owned(), |r| percent(r.get()));
    format!("{} → {}", text(before, "?"), text(after, "gone"))
}

fn pods(node: &NodeTrace) -> String {
    match (node.pods.first(), node.pods.last()) {
        (Some(before), Some(after)) if before == after => before.to_string(),
        (Some(before), Some(after)) => format!("{before} → {after}"),
        _ => String::new(),
    }
}
