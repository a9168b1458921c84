//! Registers metrics by their entries in the catalogue.

use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};

use super::catalogue::MetricInfo;

/// Gauge of a ratio or a time.
pub(super) type FloatGauge = Gauge<f64, AtomicU64>;
/// Histograms of durations.
pub(super) type Durations<L> = Family<L, Histogram, fn() -> Histogram>;

/// Registers a new metric.
pub(super) fn register<M: Metric + Default + Clone>(
    registry: &mut Registry,
    info: &MetricInfo,
) -> M {
    add(registry, info, M::default())
}

/// Registers an existing metric.
pub(super) fn add<M: Metric + Clone>(registry: &mut Registry, info: &MetricInfo, metric: M) -> M {
    registry.register(info.name, info.help, metric.clone());
    metric
}
