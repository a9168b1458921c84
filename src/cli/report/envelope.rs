//! Many nodes in one picture over time: the fullest, the emptiest and how the others lie between.

use jiff::SignedDuration;

use crate::render::scale::{count, number, path};
use crate::render::words::escaped;
use crate::simulate::trace::NodeTrace;
use crate::values::Ratio;

use super::frame::{inner, picture};
use super::lines::Chart;
use super::marks::marks;
use super::series::{quantile, value_at};

/// Moments at which the nodes are sorted.
const MOMENTS: usize = 240;

/// The quantiles at one moment, from the emptiest to the fullest.
type Column = (SignedDuration, [Ratio; 5]);

impl Chart<'_> {
    /// The picture of many nodes.
    pub(super) fn envelope(&self) -> String {
        let columns = self.columns();
        let height = self.down.height;
        let mut parts = vec![
            self.down.band(self.band),
            self.down.axis(),
            self.across.axis(height),
            self.down.edges(self.band),
        ];
        let areas = self.area(&columns, (0, 4), "outer") + &self.area(&columns, (1, 3), "inner");
        parts.push(inner(height, "spread", &areas));
        let fullest = self.curve(&columns, 4);
        if let Some(band) = self.band {
            let halo = format!("<path class=\"line\" d=\"{fullest}\"/>");
            parts.push(inner(self.down.place(band.high.get()), "halo", &halo));
        }
        let curve = |class: &str, d: &str| format!("<path class=\"line {class}\" d=\"{d}\"/>");
        let curves = curve("median", &self.curve(&columns, 2)) + &curve("fullest", &fullest);
        parts.push(inner(height, "lines", &curves));
        parts.push(self.down.edge_names(self.band, false));
        parts.push(self.across.events(self.trace, height));
        if self.marked {
            parts.push(self.envelope_marks());
        }
        parts.push(self.legend(&columns));
        picture(
            height,
            &format!("{} of all nodes over time, by quantiles", self.resource),
            &parts,
        )
    }

    fn columns(&self) -> Vec<Column> {
        let all: Vec<_> = self
            .trace
            .nodes
            .iter()
            .map(|n| self.weighed.of(n, self.resource))
            .collect();
        let length = all.iter().map(|s| s.len()).max().unwrap_or_default();
        let every = length.div_ceil(MOMENTS).max(1);
        let column = |i: usize| {
            let mut values: Vec<Ratio> = all
                .iter()
                .filter_map(|s| s.get(i).copied().flatten())
                .collect();
            values.sort_by(|a, b| a.order(*b));
            let at = SignedDuration::from_secs_f64(self.trace.step.as_secs_f64() * count(i));
            (!values.is_empty())
                .then(|| (at, [0, 1, 5, 9, 10].map(|tenths| quantile(&values, tenths))))
        };
        (0..length).step_by(every).filter_map(column).collect()
    }

    fn point(&self, column: &Column, which: usize) -> (f64, f64) {
        (
            self.across.place(column.0),
            self.down.place(column.1[which].get()),
        )
    }

    fn curve(&self, columns: &[Column], which: usize) -> String {
        path(columns.iter().map(|c| Some(self.point(c, which))))
    }

    fn area(&self, columns: &[Column], (low, high): (usize, usize), class: &str) -> String {
        let there = columns.iter().map(|c| Some(self.point(c, high)));
        let back = columns.iter().rev().map(|c| Some(self.point(c, low)));
        format!(
            "<path class=\"{class}\" d=\"{}Z\"/>",
            path(there.chain(back))
        )
    }

    fn envelope_marks(&self) -> String {
        let by_name: std::collections::BTreeMap<&str, &NodeTrace> = self
            .trace
            .nodes
            .iter()
            .map(|n| (n.name.as_str(), n))
            .collect();
        let radius = if self.trace.evictions.len() > 60 {
            2.2
        } else {
            3.2
        };
        marks(self.trace, self.across, radius, |eviction| {
            let series = self
                .weighed
                .of(by_name.get(eviction.from.as_str())?, self.resource);
            Some(
                self.down
                    .place(value_at(self.trace, series, eviction.at)?.get()),
            )
        })
    }

    /// The names of the curves at their ends.
    fn legend(&self, columns: &[Column]) -> String {
        let Some(end) = columns.last() else {
            return String::new();
        };
        let name = |(which, text): (usize, &str)| {
            let y = number(self.point(end, which).1 + 4.0);
            format!(
                "<text class=\"note\" x=\"100%\" dx=\"8\" y=\"{y}\">{}</text>",
                escaped(text)
            )
        };
        let apart = self.point(end, 0).1 - self.point(end, 4).1 > 42.0;
        let names: &[(usize, &str)] = if apart {
            &[(4, "fullest node"), (2, "median"), (0, "emptiest")]
        } else {
            &[(2, "all nodes")]
        };
        names.iter().copied().map(name).collect()
    }
}
