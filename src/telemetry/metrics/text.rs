//! The exposed text in the two formats that scrapers accept.
//!
//! The library writes only OpenMetrics. There the family of a counter has no `_total`, but its
//! samples have. Clients that do not accept OpenMetrics, such as promtool and curl, would read
//! those samples as untyped. They get the classic format:
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>.

use std::fmt::Write as _;

/// Exposition format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpositionFormat {
    /// Prometheus text format 0.0.4.
    Classic,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl ExpositionFormat {
    /// Returns the format that an `Accept` header prefers. The default is the classic format.
    pub fn accepted(accept: &str) -> Self {
        let preference = |media: &str| {
            accept.split(',').filter_map(|range| quality(range, media)).fold(0.0, f32::max)
        };
        let open = preference("application/openmetrics-text");
        // OpenMetrics wins a tie, because Prometheus lists both with the same quality.
        if open > 0.0 && open >= preference("text/plain") {
            ExpositionFormat::OpenMetrics
        } else {
            ExpositionFormat::Classic
        }
    }

    /// Returns the content type.
    pub const fn content_type(self) -> &'static str {
        match self {
            ExpositionFormat::Classic => "text/plain; version=0.0.4; charset=utf-8",
            ExpositionFormat::OpenMetrics => {
                "application/openmetrics-text; version=1.0.0; charset=utf-8"
            }
        }
    }
}

/// Returns the quality value of a media range for this media type; `None` if the range names
/// another type.
fn quality(range: &str, media: &str) -> Option<f32> {
    let mut parts = range.split(';').map(str::trim);
    if !parts.next()?.eq_ignore_ascii_case(media) {
        return None;
    }
    Some(parts.find_map(|p| p.strip_prefix("q=")?.parse().ok()).unwrap_or(1.0))
}

/// Converts OpenMetrics to the classic format: counter families get `_total`, and the end marker
/// goes. Series of counters and gauges are sorted for readers.
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

    #[test]
    fn open_metrics_is_used_only_if_it_is_accepted() {
        for (accept, format) in [
            ("", ExpositionFormat::Classic),
            ("*/*", ExpositionFormat::Classic),
            ("text/html,application/xhtml+xml,*/*;q=0.8", ExpositionFormat::Classic),
            (
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;\
                    version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                ExpositionFormat::OpenMetrics,
            ),
            (
                "application/openmetrics-text; version=1.0.0; q=0.2, \
                    text/plain;version=0.0.4;q=0.3",
                ExpositionFormat::Classic,
            ),
            ("application/openmetrics-text;q=0", ExpositionFormat::Classic),
            ("Application/OpenMetrics-Text", ExpositionFormat::OpenMetrics),
            ("application/openmetrics-text;q=nonsense", ExpositionFormat::OpenMetrics),
        ] {
            assert_eq!(ExpositionFormat::accepted(accept), format, "{accept}");
        }
    }
}
