//! Metrics under descheduler's names, so that dashboards and alerts for descheduler continue to
//! work.
//!
//! Covers only what evenkeel measures as well. Names that descheduler 0.34 removed are not exposed.

use std::sync::Arc;

use jiff::SignedDuration;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::catalogue::{DESCHEDULER_PREFIX, descheduler_names};
use super::registration::{Durations, add, register};
use crate::model::plan::{Move, Outcome};

/// The metrics of descheduler.
#[derive(Clone, Debug)]
pub(super) struct DeschedulerMetrics {
    pub(super) registry: Arc<Registry>,
    evicted: Family<EvictedLabels, Counter>,
    cycle: Histogram,
    strategies: Durations<ProfileStrategyLabels>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EvictedLabels {
    result: &'static str,
    strategy: &'static str,
    profile: String,
    namespace: String,
    node: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ProfileStrategyLabels {
    strategy: &'static str,
    profile: String,
}

impl DeschedulerMetrics {
    pub(super) fn new() -> Self {
        let mut r = Registry::with_prefix(DESCHEDULER_PREFIX);
        let build: Family<Vec<(&str, &str)>, Gauge> =
            register(&mut r, &descheduler_names::BUILD_INFO);
        // Descheduler sets its gauge to 0 as well.
        let version = concat!("evenkeel ", env!("CARGO_PKG_VERSION"));
        build
            .get_or_create(&vec![("DeschedulerVersion", version)])
            .set(0);
        let evicted = register(&mut r, &descheduler_names::EVICTED);
        let cycle = add(&mut r, &descheduler_names::LOOP, durations());
        let strategies = add(
            &mut r,
            &descheduler_names::STRATEGY_DURATION,
            Family::new_with_constructor(durations as fn() -> _),
        );
        DeschedulerMetrics {
            registry: Arc::new(r),
            evicted,
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
            | Outcome::Refused(_)
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
    }

    pub(super) fn cycle(&self, took: SignedDuration) {
        self.cycle.observe(took.as_secs_f64());
    }

    pub(super) fn strategy(&self, strategy: &'static str, profile: &str, took: SignedDuration) {
        let labels = ProfileStrategyLabels {
            strategy,
            profile: profile.to_owned(),
        };
        self.strategies
            .get_or_create(&labels)
            .observe(took.as_secs_f64());
    }
}

/// Descheduler's buckets.
fn durations() -> Histogram {
    Histogram::new([
        0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0,
    ])
}
