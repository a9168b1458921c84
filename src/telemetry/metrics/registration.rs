//! Registers metrics by their entries in the catalogue.

use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Metric, Registry};

use super::catalogue::{MetricInfo, MetricLabel};

/// Gauge of a ratio or a time.
pub(super) type FloatGauge = Gauge<f64, AtomicU64>;
/// Names and values of the labels of a series.
type LabelPairs = Vec<(&'static str, String)>;

/// A metric with labels, which the catalogue names.
#[derive(Clone, Debug)]
pub(super) struct Labelled<M> {
    info: &'static MetricInfo,
    family: Family<LabelPairs, M>,
}

impl<M: Clone> Labelled<M> {
    /// The series with these values, in the order of the labels in the catalogue.
    pub(super) fn of<const N: usize>(&self, values: [&str; N]) -> M {
        debug_assert_eq!(self.info.labels.len(), N, "{}", self.info.name);
        let labels = self.info.labels.iter().map(|MetricLabel(label, _)| *label);
        let labels = labels.zip(values.map(str::to_owned)).collect();
        self.family.get_or_create_owned(&labels)
    }

    /// Creates a series for each fixed value of the only label.
    pub(super) fn create_all(&self) {
        for MetricLabel(label, _) in self.info.labels {
            for value in self.info.fixed_values(label) {
                self.of([value]);
            }
        }
    }

    /// Removes all series.
    pub(super) fn clear(&self) {
        self.family.clear();
    }
}

/// Registers metrics by their entries in the catalogue.
#[derive(Debug, Default)]
pub(super) struct Registrar {
    pub(super) registry: Registry,
    /// The entries of the metrics, in order.
    pub(super) entries: Vec<&'static MetricInfo>,
}

impl Registrar {
    pub(super) fn new(prefix: &str) -> Self {
        Registrar { registry: Registry::with_prefix(prefix), entries: Vec::new() }
    }

    /// Registers a new metric without labels.
    pub(super) fn plain<M: Metric + Default + Clone>(&mut self, info: &'static MetricInfo) -> M {
        self.add(info, M::default())
    }

    /// Registers a new metric with labels.
    pub(super) fn labelled<M: Default>(&mut self, info: &'static MetricInfo) -> Labelled<M>
    where
        Family<LabelPairs, M>: Metric,
    {
        self.labelled_by(info, M::default)
    }

    /// Registers a new metric with labels, whose series this function creates.
    pub(super) fn labelled_by<M>(
        &mut self,
        info: &'static MetricInfo,
        create: fn() -> M,
    ) -> Labelled<M>
    where
        Family<LabelPairs, M>: Metric,
    {
        let family = Family::new_with_constructor(create);
        Labelled { info, family: self.add(info, family) }
    }

    /// Registers an existing metric.
    pub(super) fn add<M: Metric + Clone>(&mut self, info: &'static MetricInfo, metric: M) -> M {
        self.registry.register(info.name, info.help, metric.clone());
        self.entries.push(info);
        metric
    }
}
