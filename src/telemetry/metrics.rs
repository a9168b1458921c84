//! The metrics: what a plan, its outcomes and the ledger come to, in figures. Nothing else writes to them.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use jiff::Timestamp;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::ledger::{Ending, Ledger, State};
use crate::plan::{Move, Outcome, Picture, Plan, Steer, SteerOutcome};
use crate::policy::Basis;
use crate::units::Ratio;

type Fraction = Gauge<f64, AtomicU64>;

/// Every metric; clones share them.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Arc<Registry>,
    leader: Gauge,
    node_ratio: Family<NodeLabels, Fraction>,
    nodes: Family<ClassLabels, Gauge>,
    deviation: Family<ResourceLabels, Fraction>,
    above_mean: Family<ResourceLabels, Fraction>,
    outside_band: Fraction,
    steered: Family<SteerLabels, Gauge>,
    taints: Family<TaintLabels, Counter>,
    planned: Family<StrategyLabels, Gauge>,
    kept: Family<RefusalLabels, Gauge>,
    evictions: Family<OutcomeLabels, Counter>,
    settled: Family<EndingLabels, Counter>,
    open: Gauge,
    resting: Gauge,
    skipped: Gauge,
    cycles: Family<CycleLabels, Counter>,
    cycle_seconds: Histogram,
    source_reads: Family<SourceLabels, Counter>,
    source_errors: Family<SourceErrorLabels, Counter>,
    source_skipped: Family<SourceLabels, Gauge>,
    source_read: Family<SourceLabels, Fraction>,
    source_sample: Family<SourceLabels, Fraction>,
    source_in_use: Family<SourceLabels, Gauge>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NodeLabels {
    node: String,
    resource: String,
    basis: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ClassLabels {
    strategy: &'static str,
    class: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResourceLabels {
    resource: String,
    basis: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StrategyLabels {
    strategy: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RefusalLabels {
    strategy: &'static str,
    code: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    strategy: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SteerLabels {
    action: &'static str,
    code: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TaintLabels {
    action: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EndingLabels {
    ending: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CycleLabels {
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SourceLabels {
    source: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SourceErrorLabels {
    source: &'static str,
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BuildLabels {
    version: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut r = Registry::with_prefix("evenkeel");
        let mut metrics = Metrics {
            leader: gauge(&mut r, "leader", "1 while this instance decides, 0 while it stands by"),
            node_ratio: family(
                &mut r,
                "node_ratio",
                "Load of a node as a share of allocatable, by what the basis weighs",
            ),
            nodes: family(&mut r, "nodes", "Nodes that a strategy takes for hot, cold and so on"),
            deviation: family(&mut r, "imbalance_deviation_ratio", "Standard deviation of the nodes' ratios"),
            above_mean: family(
                &mut r,
                "imbalance_above_mean_ratio",
                "The largest of the nodes' ratios less their mean",
            ),
            outside_band: gauge(&mut r, "nodes_outside_band_ratio", "Share of the weighed nodes that are hot or cold"),
            steered: family(&mut r, "steered_nodes", "Nodes by what the last plan says of their soft taint"),
            taints: family(&mut r, "taint_changes", "Changes of taints that were tried, by what became of them"),
            planned: family(&mut r, "planned_moves", "Moves of the last plan"),
            kept: family(&mut r, "kept_pods", "Pods that the last plan would have moved and had to leave, by why"),
            evictions: family(&mut r, "evictions", "Evictions that were tried, by what became of them"),
            settled: family(&mut r, "settled_moves", "Evictions of which it is known whether they helped"),
            open: gauge(&mut r, "ledger_open", "Evictions whose replacement has not yet been seen to be Ready"),
            resting: gauge(&mut r, "ledger_resting_workloads", "Workloads that rest since their moves did not help"),
            skipped: gauge(&mut r, "skipped_objects", "Objects of the API that could not be read"),
            cycles: family(&mut r, "cycles", "Cycles, by outcome"),
            cycle_seconds: Histogram::new([0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0]),
            source_reads: family(&mut r, "source_reads", "Reads of a usage source, those that failed included"),
            source_errors: family(&mut r, "source_errors", "Reads of a usage source that failed, by why"),
            source_skipped: family(&mut r, "source_skipped", "Kinds of samples that could not be read last time"),
            source_read: family(&mut r, "source_read_timestamp_seconds", "When usage was last read"),
            source_sample: family(
                &mut r,
                "source_sample_timestamp_seconds",
                "When the newest sample of a node was taken, by the source's clock",
            ),
            source_in_use: family(&mut r, "source_in_use", "1 for the source that decisions are made by"),
            registry: Arc::default(),
        };
        r.register("cycle_seconds", "How long a cycle took", metrics.cycle_seconds.clone());
        let build: Family<BuildLabels, Gauge> = family(&mut r, "build_info", "The version that runs");
        build.get_or_create(&BuildLabels { version: env!("CARGO_PKG_VERSION") }).set(1);
        metrics.registry = Arc::new(r);
        metrics
    }
}

fn family<L, M>(registry: &mut Registry, name: &str, help: &str) -> Family<L, M>
where
    L: Clone + std::hash::Hash + Eq + std::fmt::Debug + EncodeLabelSet + Send + Sync + 'static,
    M: Default
        + std::fmt::Debug
        + Clone
        + Send
        + Sync
        + 'static
        + prometheus_client::encoding::EncodeMetric
        + prometheus_client::metrics::TypedMetric,
{
    let family = Family::default();
    registry.register(name, help, family.clone());
    family
}

fn gauge<G>(registry: &mut Registry, name: &str, help: &str) -> G
where
    G: prometheus_client::registry::Metric + Default + Clone,
{
    let gauge = G::default();
    registry.register(name, help, gauge.clone());
    gauge
}

impl Metrics {
    /// The text that Prometheus scrapes.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = text::encode(&mut text, &self.registry);
        text
    }

    /// Takes in whether this instance decides.
    pub fn leader(&self, decides: bool) {
        self.leader.set(i64::from(decides));
    }

    /// Takes in the last plan. What it no longer speaks of is gone: a node that has left leaves no series behind.
    pub fn plan(&self, plan: &Plan) {
        self.nodes.clear();
        self.kept.clear();
        self.planned.clear();
        self.steered.clear();
        for verdict in &plan.nodes {
            let labels = ClassLabels { strategy: verdict.strategy, class: verdict.class.code() };
            self.nodes.get_or_create(&labels).inc();
        }
        for kept in &plan.kept {
            self.kept.get_or_create(&RefusalLabels { strategy: kept.strategy, code: kept.refusal.code() }).inc();
        }
        for it in &plan.moves {
            self.planned.get_or_create(&StrategyLabels { strategy: it.strategy }).inc();
        }
        for it in &plan.steering {
            self.steered.get_or_create(&SteerLabels { action: it.action.code(), code: it.why.code() }).inc();
        }
        self.skipped.set(i64::try_from(plan.skipped.len()).unwrap_or(i64::MAX));
        self.picture(&plan.before);
    }

    fn picture(&self, picture: &Picture) {
        self.node_ratio.clear();
        for node in &picture.nodes {
            for (basis, ratios) in [(Basis::Requests, &node.requests), (Basis::Actual, &node.actual)] {
                for (resource, ratio) in ratios.iter().filter_map(|(name, ratio)| Some((name, (*ratio)?))) {
                    let (node, resource) = (node.name.clone(), resource.clone());
                    self.node_ratio
                        .get_or_create(&NodeLabels { node, resource, basis: basis.label() })
                        .set(ratio.get());
                }
            }
        }
        self.deviation.clear();
        self.above_mean.clear();
        for (resource, balance) in &picture.balance {
            let labels = ResourceLabels { resource: resource.clone(), basis: picture.basis.label() };
            self.deviation.get_or_create(&labels).set(balance.deviation.get());
            self.above_mean.get_or_create(&labels).set(balance.above_mean.get());
        }
        let outside = picture.balance.values().find_map(|b| b.outside_band);
        self.outside_band.set(outside.map_or(f64::NAN, Ratio::get));
    }

    /// Takes in what became of a move.
    pub fn outcome(&self, it: &Move, outcome: &Outcome) {
        self.evictions.get_or_create(&OutcomeLabels { strategy: it.strategy, outcome: outcome.code() }).inc();
    }

    /// Takes in what became of a change of a taint.
    pub fn taint(&self, it: &Steer, outcome: &SteerOutcome) {
        self.taints.get_or_create(&TaintLabels { action: it.action.code(), outcome: outcome.code() }).inc();
    }

    /// Takes in how an eviction went.
    pub fn settled(&self, ending: Ending) {
        self.settled.get_or_create(&EndingLabels { ending: ending.code() }).inc();
    }

    /// Takes in the ledger.
    pub fn ledger(&self, ledger: &Ledger, now: Timestamp) {
        let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        self.open.set(count(ledger.entries().iter().filter(|e| !matches!(e.state, State::Settled(_))).count()));
        self.resting.set(count(ledger.resting(now)));
    }

    /// Takes in a cycle.
    pub fn cycle(&self, outcome: &'static str, seconds: f64) {
        self.cycles.get_or_create(&CycleLabels { outcome }).inc();
        self.cycle_seconds.observe(seconds);
    }

    /// Takes in that usage was read: when, how old the newest sample of a node is, and how much made no sense.
    pub fn source_read(&self, source: &'static str, at: Timestamp, newest: Option<Timestamp>, skipped: usize) {
        let labels = SourceLabels { source };
        self.source_reads.get_or_create(&labels).inc();
        self.source_read.get_or_create(&labels).set(at.as_duration().as_secs_f64());
        if let Some(newest) = newest {
            self.source_sample.get_or_create(&labels).set(newest.as_duration().as_secs_f64());
        }
        self.source_skipped.get_or_create(&labels).set(i64::try_from(skipped).unwrap_or(i64::MAX));
    }

    /// Takes in that usage could not be read, and the kind of the reason.
    pub fn source_failed(&self, source: &'static str, kind: &'static str) {
        self.source_reads.get_or_create(&SourceLabels { source }).inc();
        self.source_errors.get_or_create(&SourceErrorLabels { source, kind }).inc();
    }

    /// Takes in which source decisions are made by; `None` where all are stale.
    pub fn source_in_use(&self, used: Option<&'static str>, all: impl IntoIterator<Item = &'static str>) {
        for source in all {
            self.source_in_use.get_or_create(&SourceLabels { source }).set(i64::from(used == Some(source)));
        }
    }
}
