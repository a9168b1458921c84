//! The text that is scraped, in the two forms that scrapers ask for.
//!
//! The library writes OpenMetrics, in which a counter's family is called without the `_total` that its samples have. Whoever
//! does not ask for that form (promtool, people with curl) takes such samples for metrics of unknown type, so that they get
//! the older form: <https://prometheus.io/docs/instrumenting/exposition_formats/>.

use std::fmt::Write as _;

/// A form of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Prometheus text format 0.0.4.
    Classic,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl Form {
    /// The form that an `Accept` header prefers; the older one where it says nothing about either.
    pub fn accepted(accept: &str) -> Self {
        let quality = |media: &str| {
            accept
                .split(',')
                .filter_map(|range| quality(range, media))
                .fold(0.0, f32::max)
        };
        let open = quality("application/openmetrics-text");
        if open > 0.0 && open >= quality("text/plain") {
            Form::OpenMetrics
        } else {
            Form::Classic
        }
    }

    /// The content type.
    pub const fn content_type(self) -> &'static str {
        match self {
            Form::Classic => "text/plain; version=0.0.4; charset=utf-8",
            Form::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// How much a range of an `Accept` header wants this media type; `None` where it is about another.
fn quality(range: &str, media: &str) -> Option<f32> {
    let mut parts = range.split(';').map(str::trim);
    if !parts.next()?.eq_ignore_ascii_case(media) {
        return None;
    }
    Some(
        parts
            .find_map(|p| p.strip_prefix("q=")?.parse().ok())
            .unwrap_or(1.0),
    )
}

/// OpenMetrics in the older form: counters are called as their samples are, and nothing marks the end. The series of a
/// counter or gauge stand in order, for people.
pub(super) fn classic(open: &str) -> String {
    let mut out = String::with_capacity(open.len());
    let mut family = Family::default();
    for line in open.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            family.write_to(&mut out);
            family = Family {
                help,
                ..Family::default()
            };
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            family.kind = kind;
        } else if !line.starts_with('#') {
            family.samples.push(line);
        }
    }
    family.write_to(&mut out);
    out
}

/// A metric as it is read: name and text, name and type, and its samples.
#[derive(Default)]
struct Family<'t> {
    help: &'t str,
    kind: &'t str,
    samples: Vec<&'t str>,
}

impl Family<'_> {
    fn write_to(&mut self, out: &mut String) {
        let Some((name, kind)) = self
            .kind
            .split_once(' ')
            .filter(|_| !self.samples.is_empty())
        else {
            return;
        };
        let help = self.help.strip_prefix(name).unwrap_or_default();
        let end = if kind == "counter" { "_total" } else { "" };
        // The buckets of a histogram have an order of their own.
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
    struct Named {
        name: String,
    }

    #[test]
    fn counters_are_called_as_their_samples_are_and_labels_stay_escaped() {
        let mut registry = Registry::with_prefix("p");
        let things: Labelled<Named, Counter> = Labelled::default();
        for name in ["b", "a\"quote\\ and\nline", "# TYPE p_things counter"] {
            things
                .get_or_create(&Named {
                    name: name.to_owned(),
                })
                .inc();
        }
        registry.register("things", "Things", things);
        let none: Labelled<Named, Counter> = Labelled::default();
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
    fn prometheus_gets_open_metrics_and_whoever_does_not_ask_for_it_the_older_form() {
        for (accept, form) in [
            ("", Form::Classic),
            ("*/*", Form::Classic),
            ("text/html,application/xhtml+xml,*/*;q=0.8", Form::Classic),
            (
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                Form::OpenMetrics,
            ),
            (
                "application/openmetrics-text; version=1.0.0; q=0.2, text/plain;version=0.0.4;q=0.3",
                Form::Classic,
            ),
            ("application/openmetrics-text;q=0", Form::Classic),
            ("Application/OpenMetrics-Text", Form::OpenMetrics),
            ("application/openmetrics-text;q=nonsense", Form::OpenMetrics),
        ] {
            assert_eq!(Form::accepted(accept), form, "{accept}");
        }
    }
}
