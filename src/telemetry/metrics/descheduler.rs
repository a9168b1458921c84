//! Metrics under descheduler's names, so that dashboards and alerts for descheduler continue to
//! work.
//!
//! Covers only what evenkeel measures as well. Names that descheduler deprecated in 0.34 and still
//! serves are not exposed.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use jiff::SignedDuration;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::catalogue::{DESCHEDULER_PREFIX, descheduler_names};
use super::registration::{Labelled, Registrar};
use crate::cluster::lock;
use crate::model::plan::{Move, Outcome};

#[derive(Clone, Debug)]
pub(super) struct DeschedulerMetrics {
    pub(super) registry: Arc<Registry>,
    evicted: Family<EvictedLabels, Counter>,
    /// The labels of all series of `evicted`.
    series: Arc<Mutex<BTreeSet<EvictedLabels>>>,
    cycle: Histogram,
    strategies: Labelled<Histogram>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
struct EvictedLabels {
    result: &'static str,
    strategy: &'static str,
    profile: String,
    namespace: String,
    node: String,
}

impl DeschedulerMetrics {
    pub(super) fn new() -> Self {
        let mut r = Registrar::new(DESCHEDULER_PREFIX);
        let build: Labelled<Gauge> = r.labelled(&descheduler_names::BUILD_INFO);
        // Descheduler sets its gauge to 0 as well.
        let version = concat!("evenkeel ", env!("CARGO_PKG_VERSION"));
        build.of([version]).set(0);
        let evicted = r.plain(&descheduler_names::EVICTED);
        let cycle = r.add(&descheduler_names::LOOP, durations());
        let strategies = r.labelled_by(&descheduler_names::STRATEGY_DURATION, durations);
        DeschedulerMetrics {
            registry: Arc::new(r.registry),
            evicted,
            series: Arc::default(),
            cycle,
            strategies,
        }
    }

    /// Counts a request. Evictions that were not tried are left out, because descheduler counts
    /// requests.
    pub(super) fn outcome(&self, planned: &Move, outcome: &Outcome) {
        let result = match outcome {
            Outcome::Evicted => "success",
            Outcome::Deferred(_)
            | Outcome::OverBudget(_)
            | Outcome::Refused(_)
            | Outcome::Forbidden(_)
            | Outcome::Unauthorized(_)
            | Outcome::Throttled(..)
            | Outcome::Gone
            | Outcome::Changed
            | Outcome::Failed(_)
            | Outcome::Unanswered(_) => "error",
            // descheduler counts requests, and none was sent.
            Outcome::Untried(_) => return,
        };
        let labels = EvictedLabels {
            result,
            strategy: planned.strategy,
            profile: planned.profile.clone(),
            namespace: planned.namespace.clone(),
            node: planned.node.clone(),
        };
        self.evicted.get_or_create(&labels).inc();
        let mut series = lock(&self.series);
        series.insert(labels);
    }

    /// Removes the series of nodes that no longer exist. Autoscalers create nodes with new names
    /// for months.
    pub(super) fn retain_nodes(&self, exists: impl Fn(&str) -> bool) {
        let mut series = lock(&self.series);
        series.retain(|labels| {
            let keep = exists(&labels.node);
            if !keep {
                self.evicted.remove(labels);
            }
            keep
        });
    }

    pub(super) fn cycle(&self, took: SignedDuration) {
        self.cycle.observe(took.as_secs_f64());
    }

    pub(super) fn strategy(&self, strategy: &'static str, profile: &str, took: SignedDuration) {
        let series = self.strategies.of([strategy, profile]);
        series.observe(took.as_secs_f64());
    }
}

/// Descheduler's buckets.
fn durations() -> Histogram {
    Histogram::new([
        0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::evict::tests::planned;

    #[test]
    fn series_of_nodes_that_are_gone_are_removed() {
        let metrics = DeschedulerMetrics::new();
        for i in 0..1000 {
            let node = format!("node-{i}");
            metrics.outcome(&Move { node, ..planned() }, &Outcome::Evicted);
            metrics.retain_nodes(|name| name == format!("node-{i}"));
        }
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &metrics.registry).unwrap();
        assert_eq!(text.matches("node=\"").count(), 1, "{text}");
    }
}
