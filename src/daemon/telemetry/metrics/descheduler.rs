//! The names under which descheduler is scraped, so that its dashboards and alerts go on working.
//!
//! Only what is measured here too is told. The names that descheduler 0.34 gave up are not served.

use std::sync::Arc;

use jiff::SignedDuration;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::catalogue;
use super::families::{Durations, add, register};
use crate::model::plan::{Move, Outcome};

/// What descheduler would show.
#[derive(Clone, Debug)]
pub(super) struct Descheduler {
    pub(super) registry: Arc<Registry>,
    evicted: Family<EvictedLabels, Counter>,
    cycle: Histogram,
    strategies: Durations<StrategyLabels>,
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
struct StrategyLabels {
    strategy: &'static str,
    profile: String,
}

impl Descheduler {
    pub(super) fn new() -> Self {
        let mut r = Registry::with_prefix(catalogue::DESCHEDULER_PREFIX);
        let build: Family<Vec<(&str, &str)>, Gauge> =
            register(&mut r, &catalogue::DESCHEDULER_BUILD_INFO);
        // descheduler's own is 0 too.
        let version = concat!("evenkeel ", env!("CARGO_PKG_VERSION"));
        build
            .get_or_create(&vec![("DeschedulerVersion", version)])
            .set(0);
        let evicted = register(&mut r, &catalogue::DESCHEDULER_EVICTED);
        let cycle = add(&mut r, &catalogue::DESCHEDULER_LOOP, durations());
        let strategies = add(
            &mut r,
            &catalogue::DESCHEDULER_STRATEGY,
            Family::new_with_constructor(durations as fn() -> _),
        );
        Descheduler {
            registry: Arc::new(r),
            evicted,
            cycle,
            strategies,
        }
    }

    /// What was not tried is not told: descheduler counts calls.
    pub(super) fn outcome(&self, it: &Move, outcome: &Outcome) {
        let result = match outcome {
            Outcome::Evicted => "success",
            Outcome::Refused(_)
            | Outcome::Gone
            | Outcome::Changed
            | Outcome::Failed(_)
            | Outcome::Unanswered(_) => "error",
            Outcome::Untried => return,
        };
        let labels = EvictedLabels {
            result,
            strategy: it.strategy,
            profile: it.profile.clone(),
            namespace: it.namespace.clone(),
            node: it.node.clone(),
        };
        self.evicted.get_or_create(&labels).inc();
    }

    pub(super) fn cycle(&self, took: SignedDuration) {
        self.cycle.observe(took.as_secs_f64());
    }

    pub(super) fn strategy(&self, strategy: &'static str, profile: &str, took: SignedDuration) {
        let labels = StrategyLabels {
            strategy,
            profile: profile.to_owned(),
        };
        self.strategies
            .get_or_create(&labels)
            .observe(took.as_secs_f64());
    }
}

/// The bounds that descheduler has.
fn durations() -> Histogram {
    Histogram::new([
        0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0,
    ])
}
