//! The catalogue of metrics: the type, help text and labels of each.
//!
//! The registry and `docs/metrics.md` are built from it.

pub(super) mod descheduler_names;
pub(super) mod plan;
pub(super) mod process;

/// Prefix of our metric names.
pub const PREFIX: &str = "evenkeel";
/// Prefix of descheduler's metric names.
pub const DESCHEDULER_PREFIX: &str = "descheduler";

/// Description of one metric.
#[derive(Clone, Copy, Debug)]
pub struct MetricInfo {
    /// First part of the name.
    pub prefix: &'static str,
    /// Name without the prefix, and for counters without `_total`.
    pub name: &'static str,
    /// Type of the metric.
    pub kind: MetricKind,
    /// Help text without its full stop.
    pub help: &'static str,
    /// Labels, in the order of the samples.
    pub labels: &'static [MetricLabel],
}

/// Name of a label, and the set of its values.
#[derive(Clone, Copy, Debug)]
pub struct MetricLabel(pub &'static str, pub LabelValues);

/// Values of a label. Each set is bounded, by the program or by the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LabelValues {
    /// Exactly these words.
    Fixed(&'static [&'static str]),
    /// The codes that another page lists.
    Codes(&'static str),
    /// Names from the policy or the cluster; the text says what bounds them.
    Names(&'static str),
}

evenkeel_core::names! {
    /// Type of a metric.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum MetricKind {
        /// Only increases.
        Counter = "counter",
        /// Current value.
        Gauge = "gauge",
        /// Distribution of values.
        Histogram = "histogram",
    }
    /// Returns the type as it is exposed.
    pub fn label;
}

impl MetricInfo {
    /// Returns the name that Prometheus sees; for a histogram without the suffix of its series.
    pub fn full_name(&self) -> String {
        let suffix = if self.kind == MetricKind::Counter { "_total" } else { "" };
        format!("{}_{}{suffix}", self.prefix, self.name)
    }

    /// Returns the fixed values of a label; none if the values are names or codes.
    pub(super) fn fixed_values(&self, label: &str) -> &'static [&'static str] {
        let label = self.labels.iter().find(|MetricLabel(name, _)| *name == label);
        match label {
            Some(MetricLabel(_, LabelValues::Fixed(words))) => words,
            Some(_) | None => &[],
        }
    }
}

const NODE: MetricLabel = MetricLabel("node", LabelValues::Names("nodes of the cluster"));
const STRATEGY: MetricLabel = MetricLabel("strategy", LabelValues::Names("the ten strategies"));

const fn gauge(
    name: &'static str,
    help: &'static str,
    labels: &'static [MetricLabel],
) -> MetricInfo {
    MetricInfo { prefix: PREFIX, name, kind: MetricKind::Gauge, help, labels }
}

const fn counter(
    name: &'static str,
    help: &'static str,
    labels: &'static [MetricLabel],
) -> MetricInfo {
    MetricInfo { prefix: PREFIX, name, kind: MetricKind::Counter, help, labels }
}

const fn histogram(
    name: &'static str,
    help: &'static str,
    labels: &'static [MetricLabel],
) -> MetricInfo {
    MetricInfo { prefix: PREFIX, name, kind: MetricKind::Histogram, help, labels }
}

/// Metrics under descheduler's names, exposed on request.
pub const DESCHEDULER: [&MetricInfo; 4] = [
    &descheduler_names::BUILD_INFO,
    &descheduler_names::EVICTED,
    &descheduler_names::LOOP,
    &descheduler_names::STRATEGY_DURATION,
];
