//! A line for each node, where they are few enough to be told apart.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::render::scale::{count, number, path};
use crate::render::words::{escaped, node_labels, percent};
use crate::simulate::trace::{Band, NodeTrace, Trace};
use crate::values::Ratio;

use super::frame::{Across, Down, inner, picture};
use super::marks::marks;
use super::series::{Place, Weighed, first, last, peak, thinned, value_at};

/// More lines than this are a tangle.
pub(super) const MOST: usize = 15;
/// More points than this are finer than a screen.
const POINTS: usize = 400;
/// Names need so many pixels each.
const NAME: f64 = 14.0;

/// What is drawn.
pub(super) struct Chart<'t> {
    pub(super) trace: &'t Trace,
    pub(super) resource: &'t str,
    pub(super) weighed: Weighed,
    pub(super) across: Across,
    pub(super) down: Down,
    /// The band; `None` for what the policy does not weigh.
    pub(super) band: Option<Band>,
    /// Whether evictions are marked.
    pub(super) marked: bool,
    /// The colour of each node.
    pub(super) colours: &'t Colours<'t>,
}

/// A class for each node, the same in all pictures of a resource.
pub(super) type Colours<'t> = BTreeMap<&'t str, String>;

/// Those that were hot in any run take the warm colours, the others the cool ones, the fullest first.
pub(super) fn colours<'t>(traces: &[&'t Trace], weighed: Weighed, resource: &str) -> Colours<'t> {
    let mut known: BTreeMap<&str, (Ratio, bool)> = BTreeMap::new();
    for trace in traces {
        let band = trace.bands.get(resource).copied();
        for node in &trace.nodes {
            let top = peak(weighed.of(node, resource)).unwrap_or_default();
            let (most, hot) = known.entry(&node.name).or_default();
            *hot |= Place::of(top, band) == Place::Hot;
            *most = if top > *most { top } else { *most };
        }
    }
    let mut nodes: Vec<_> = known.into_iter().collect();
    nodes.sort_by(|a, b| b.1.0.order(a.1.0).then(a.0.cmp(b.0)));
    let (mut warm, mut cool) = (0, 0);
    let class = |(name, (_, hot)): (&'t str, (Ratio, bool))| {
        (
            name,
            if hot {
                numbered("warm", &mut warm, 4)
            } else {
                numbered("cool", &mut cool, 6)
            },
        )
    };
    nodes.into_iter().map(class).collect()
}

/// A node's line.
struct Line<'t> {
    node: &'t NodeTrace,
    class: &'t str,
    path: String,
    hot: bool,
}

impl Chart<'_> {
    /// The picture.
    pub(super) fn draw(&self) -> String {
        let lines = self.lines();
        let height = self.down.height;
        let strokes = |class: &str, wanted: fn(&Line<'_>) -> bool| {
            let mut out = String::new();
            for line in lines.iter().filter(|l| wanted(l)) {
                let title = escaped(&self.told(line.node));
                let _ = write!(
                    out,
                    "<path class=\"{class} {}\" d=\"{}\"><title>{title}</title></path>",
                    line.class, line.path
                );
            }
            out
        };
        let mut parts = vec![
            self.down.band(self.band),
            self.down.axis(),
            self.across.axis(height),
        ];
        parts.push(self.down.edges(self.band));
        // Above the band the same lines have a halo: what is drawn there is cut off at its edge.
        if let Some(band) = self.band {
            parts.push(inner(
                self.down.place(band.high.get()),
                "halo",
                &strokes("line", |l| l.hot),
            ));
        }
        let style = if self.weighed == Weighed::Requested && self.band.is_none() {
            "lines faint"
        } else {
            "lines"
        };
        parts.push(inner(
            height,
            style,
            &(strokes("line", |l| !l.hot) + &strokes("line was-hot", |l| l.hot)),
        ));
        parts.push(self.down.edge_names(self.band, false));
        parts.push(self.across.events(self.trace, height));
        if self.marked {
            parts.push(self.marks());
        }
        parts.push(self.names(&lines));
        picture(height, &self.label(), &parts)
    }

    /// From the fullest on.
    fn lines<'s>(&'s self) -> Vec<Line<'s>> {
        let mut nodes: Vec<&NodeTrace> = self.trace.nodes.iter().collect();
        let top = |node: &NodeTrace| peak(self.weighed.of(node, self.resource)).unwrap_or_default();
        nodes.sort_by(|a, b| top(b).order(top(a)).then_with(|| a.name.cmp(&b.name)));
        let line = |node: &'s NodeTrace| {
            let class = self
                .colours
                .get(node.name.as_str())
                .map(String::as_str)
                .unwrap_or_default();
            Line {
                node,
                class,
                path: self.path(node),
                hot: Place::of(top(node), self.band) == Place::Hot,
            }
        };
        nodes.into_iter().map(line).collect()
    }

    fn path(&self, node: &NodeTrace) -> String {
        let step = self.trace.step;
        let point = |(i, ratio): (usize, Ratio)| {
            let at = jiff::SignedDuration::from_secs_f64(step.as_secs_f64() * count(i));
            (self.across.place(at), self.down.place(ratio.get()))
        };
        path(
            thinned(self.weighed.of(node, self.resource), POINTS)
                .into_iter()
                .map(|p| p.map(point)),
        )
    }

    fn marks(&self) -> String {
        marks(self.trace, self.across, 4.5, |eviction| {
            let node = self.trace.nodes.iter().find(|n| n.name == eviction.from)?;
            let ratio = value_at(
                self.trace,
                self.weighed.of(node, self.resource),
                eviction.at,
            )?;
            Some(self.down.place(ratio.get()))
        })
    }

    /// A name at the end of each line. They push each other apart, and a short line leads back.
    fn names(&self, lines: &[Line<'_>]) -> String {
        let names: Vec<&str> = lines.iter().map(|l| l.node.name.as_str()).collect();
        let texts = node_labels(&names, 15);
        let gone = |line: &Line<'_>| {
            if last(self.weighed.of(line.node, self.resource)).is_none() {
                " gone"
            } else {
                ""
            }
        };
        let ends = |line: &Line<'_>| {
            let series = self.weighed.of(line.node, self.resource);
            last(series).or_else(|| series.iter().rev().flatten().next().copied())
        };
        let mut ends: Vec<(usize, f64)> = lines
            .iter()
            .enumerate()
            .filter_map(|(i, l)| Some((i, self.down.place(ends(l)?.get()))))
            .collect();
        ends.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        let node_addresses = apart(
            &ends.iter().map(|(_, y)| *y).collect::<Vec<_>>(),
            NAME,
            self.down.height,
        );
        let mut out = String::new();
        for ((i, end), place) in ends.iter().zip(node_addresses) {
            let (end, place, text) = (number(*end), number(place), number(place + 4.0));
            let _ = write!(
                out,
                "<svg class=\"name {}\" x=\"100%\"><title>{}</title><path d=\"M3 {end}L13 {place}\"/><text x=\"17\" y=\"{text}\">{}{}</text></svg>",
                lines[*i].class,
                escaped(&self.told(lines[*i].node)),
                escaped(&texts[*i]),
                gone(&lines[*i])
            );
        }
        out
    }

    fn told(&self, node: &NodeTrace) -> String {
        told(node, self.weighed, self.resource)
    }

    fn label(&self) -> String {
        format!(
            "{} {} of each node over time, as a share of allocatable",
            self.resource,
            self.weighed.words()
        )
    }
}

/// A node in words.
pub(super) fn told(node: &NodeTrace, weighed: Weighed, resource: &str) -> String {
    let series = weighed.of(node, resource);
    let text = |ratio: Option<Ratio>| ratio.map_or("gone".to_owned(), |r| percent(r.get()));
    let (from, to, most) = (text(first(series)), text(last(series)), text(peak(series)));
    format!("{}: {resource} {from} → {to}, at most {most}", node.name)
}

/// The next class of a family; those that come round again are dashed.
fn numbered(family: &str, taken: &mut usize, of: usize) -> String {
    let (place, round) = (*taken % of, *taken / of);
    *taken += 1;
    if round == 0 {
        format!("{family}{place}")
    } else {
        format!("{family}{place} dash{}", round.min(2))
    }
}

/// Sorted node_addresses, pushed apart to at least `gap` and kept within `height` as far as they fit.
fn apart(wanted: &[f64], gap: f64, height: f64) -> Vec<f64> {
    let mut node_addresses = Vec::with_capacity(wanted.len());
    let mut least = f64::MIN;
    for place in wanted {
        let place = place.max(least);
        node_addresses.push(place);
        least = place + gap;
    }
    let mut most = height;
    for place in node_addresses.iter_mut().rev() {
        *place = place.min(most);
        most = *place - gap;
    }
    node_addresses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_pushed_apart_and_stay_inside() {
        assert_eq!(apart(&[10.0, 11.0, 90.0], 14.0, 100.0), [10.0, 24.0, 90.0]);
        assert_eq!(
            apart(&[95.0, 99.0, 100.0], 14.0, 100.0),
            [72.0, 86.0, 100.0]
        );
    }

    #[test]
    fn colours_come_round_with_another_dash() {
        let mut taken = 0;
        let classes: Vec<_> = (0..5).map(|_| numbered("cool", &mut taken, 2)).collect();
        assert_eq!(
            classes,
            [
                "cool0",
                "cool1",
                "cool0 dash1",
                "cool1 dash1",
                "cool0 dash2"
            ]
        );
    }
}
