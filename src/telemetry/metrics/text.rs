//! The exposed text, in the text format of Prometheus, which every scraper reads:
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>.
//!
//! The library writes only OpenMetrics. There the family of a counter has no `_total`, but its
//! samples have. promtool and curl would read those samples as untyped.

use std::fmt::Write as _;

/// Content type of the Prometheus text format.
pub const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Converts OpenMetrics to the classic format: counter families get `_total`. Series of counters
/// and gauges are sorted for readers.
pub(super) fn classic(open: &str) -> String {
    let mut out = String::with_capacity(open.len());
    let mut family = FamilyText::default();
    for line in open.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            family.write_to(&mut out);
            family = FamilyText { help, ..FamilyText::default() };
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            family.kind = kind;
        } else if !line.starts_with('#') {
            family.samples.push(line);
        }
    }
    family.write_to(&mut out);
    out
}

/// Lines of one family: help and type without their keywords, and samples.
#[derive(Default)]
struct FamilyText<'t> {
    help: &'t str,
    kind: &'t str,
    samples: Vec<&'t str>,
}

impl FamilyText<'_> {
    fn write_to(&mut self, out: &mut String) {
        let Some((name, kind)) = self
            .kind
            .split_once(' ')
            // A family without samples would be help text for nothing.
            .filter(|_| !self.samples.is_empty())
        else {
            return;
        };
        let help = self.help.strip_prefix(name).unwrap_or_default();
        let end = if kind == "counter" { "_total" } else { "" };
        // Buckets of a histogram must keep their order.
        if kind != "histogram" {
            self.samples.sort_unstable();
        }
        // Writing to a string cannot fail.
        let _ = writeln!(out, "# HELP {name}{end}{help}\n# TYPE {name}{end} {kind}");
        for sample in &self.samples {
            let _ = writeln!(out, "{sample}");
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use prometheus_client::encoding::{EncodeLabelSet, text};
    use prometheus_client::metrics::counter::Counter;
    use prometheus_client::metrics::family::Family as Labelled;
    use prometheus_client::metrics::gauge::Gauge;
    use prometheus_client::metrics::histogram::Histogram;
    use prometheus_client::registry::Registry;

    use super::*;

    #[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
    struct NameLabels {
        name: String,
    }

    #[test]
    fn counter_families_get_their_suffix_and_labels_stay_escaped() {
        let mut registry = Registry::with_prefix("p");
        let things: Labelled<NameLabels, Counter> = Labelled::default();
        for name in ["b", "a\"quote\\ and\nline", "# TYPE p_things counter"] {
            things.get_or_create(&NameLabels { name: name.to_owned() }).inc();
        }
        registry.register("things", "Things", things);
        let none: Labelled<NameLabels, Counter> = Labelled::default();
        registry.register("none", "Never seen", none);
        let level: Gauge = Gauge::default();
        level.set(3);
        registry.register("level", "How high", level);
        let took = Histogram::new([0.5, 10.0]);
        took.observe(1.0);
        registry.register("took_seconds", "How long", took);
        let mut open = String::new();
        text::encode(&mut open, &registry).unwrap();
        assert_snapshot!(classic(&open), @r##"
        # HELP p_things_total Things.
        # TYPE p_things_total counter
        p_things_total{name="# TYPE p_things counter"} 1
        p_things_total{name="a\"quote\\ and\nline"} 1
        p_things_total{name="b"} 1
        # HELP p_level How high.
        # TYPE p_level gauge
        p_level 3
        # HELP p_took_seconds How long.
        # TYPE p_took_seconds histogram
        p_took_seconds_sum 1.0
        p_took_seconds_count 1
        p_took_seconds_bucket{le="0.5"} 0
        p_took_seconds_bucket{le="10.0"} 1
        p_took_seconds_bucket{le="+Inf"} 1
        "##);
    }
}
