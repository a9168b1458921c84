//! What there is to be scraped: each metric with its type, its meaning, and what bounds each of its labels.
//!
//! What is registered, and `docs/metrics.md`, are made from this list.

use crate::model::plan::{Outcome, SteerOutcome};

/// The prefix of our own names.
pub const PREFIX: &str = "evenkeel";
/// The prefix of the names that descheduler has.
pub const DESCHEDULER_PREFIX: &str = "descheduler";

/// One metric.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// What the name begins with.
    pub prefix: &'static str,
    /// The name, without the prefix, and for counters without `_total`.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// What it says; a sentence without its full stop.
    pub help: &'static str,
    /// The labels, in order.
    pub labels: &'static [Label],
}

/// A label by its name, and the set that its values are from.
#[derive(Clone, Copy, Debug)]
pub struct Label(pub &'static str, pub Values);

/// A set of values of a label; each is bounded, by the program or by the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Values {
    /// These.
    These(&'static [&'static str]),
    /// What another page lists.
    Listed(&'static str),
    /// Names that the operator or the cluster gives, and how many they may be.
    Named(&'static str),
}

/// The type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only grows.
    Counter,
    /// A figure as it is now.
    Gauge,
    /// How often something was how large.
    Histogram,
}

impl About {
    /// The name that is scraped, or the family of a histogram.
    pub fn full_name(&self) -> String {
        let end = if self.kind == Kind::Counter {
            "_total"
        } else {
            ""
        };
        format!("{}_{}{end}", self.prefix, self.name)
    }

    /// The values of a label, where these are words of our own.
    pub(super) fn words(&self, label: &str) -> &'static [&'static str] {
        let values = self
            .labels
            .iter()
            .find(|Label(name, _)| *name == label)
            .map(|Label(_, values)| *values);
        if let Some(Values::These(words)) = values {
            words
        } else {
            &[]
        }
    }
}

impl Kind {
    /// The word in the text that is scraped.
    pub const fn label(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

const NODE: Label = Label("node", Values::Named("nodes of the cluster"));
const POOL: Label = Label(
    "pool",
    Values::Named("pools of the policy; `all` where no strategy balances"),
);
const RESOURCE: Label = Label(
    "resource",
    Values::Named("`cpu`, `memory` and what the policy has thresholds for"),
);
const BASIS: Label = Label("basis", Values::These(&["requests", "actual"]));
const STRATEGY: Label = Label("strategy", Values::Named("the ten strategies"));
const CLASS: Label = Label("class", Values::Listed("reasons.md#classes-of-nodes"));
const PROFILE: Label = Label("profile", Values::Named("profiles of the policy"));
const SOURCE: Label = Label("source", Values::These(&["metricsApi", "prometheus"]));
const MEASURED: Label = Label("resource", Values::These(&["cpu", "memory"]));
const ADVISED: &[Label] = &[
    Label("namespace", WORST),
    Label("kind", WORST),
    Label("workload", WORST),
    MEASURED,
    Label("unit", Values::These(&["core", "byte"])),
];
const WORST: Values = Values::Named("no more workloads than `rightsizing.top` in the policy");

const fn gauge(name: &'static str, help: &'static str, labels: &'static [Label]) -> About {
    About {
        prefix: PREFIX,
        name,
        kind: Kind::Gauge,
        help,
        labels,
    }
}

const fn counter(name: &'static str, help: &'static str, labels: &'static [Label]) -> About {
    About {
        prefix: PREFIX,
        name,
        kind: Kind::Counter,
        help,
        labels,
    }
}

const fn histogram(name: &'static str, help: &'static str, labels: &'static [Label]) -> About {
    About {
        prefix: PREFIX,
        name,
        kind: Kind::Histogram,
        help,
        labels,
    }
}

pub(super) const BUILD_INFO: About = gauge(
    "build_info",
    "The version that runs; always 1",
    &[Label("version", Values::Named("the one that runs"))],
);
pub(super) const LEADER: About = gauge(
    "leader",
    "1 where this instance decides, 0 where it stands by",
    &[],
);
pub(super) const NODE_RATIO: About = gauge(
    "node_ratio",
    "Load of a node as a share of its allocatable, by what the basis weighs; smoothing `none` is the newest reading, or what is requested",
    &[
        NODE,
        RESOURCE,
        BASIS,
        Label(
            "smoothing",
            Values::These(&["none", "mean", "max", "half_life", "percentile"]),
        ),
    ],
);
pub(super) const NODE_CLASS: About = gauge(
    "node_class",
    "1 for what a strategy takes a node for",
    &[NODE, STRATEGY, CLASS],
);
pub(super) const NODES: About = gauge(
    "nodes",
    "Nodes by what a strategy takes them for",
    &[STRATEGY, CLASS],
);
pub(super) const BAND: About = gauge(
    "band_ratio",
    "The marks in force in a pool; deviation thresholds are already laid around the mean",
    &[
        POOL,
        RESOURCE,
        BASIS,
        Label("bound", Values::These(&["low", "high"])),
    ],
);
pub(super) const DEVIATION: About = gauge(
    "imbalance_deviation_ratio",
    "Standard deviation of the ratios of a pool's nodes",
    &[POOL, RESOURCE, BASIS],
);
pub(super) const ABOVE_MEAN: About = gauge(
    "imbalance_above_mean_ratio",
    "The largest of the ratios of a pool's nodes less their mean",
    &[POOL, RESOURCE, BASIS],
);
pub(super) const MEAN: About = gauge(
    "imbalance_mean_ratio",
    "Mean of the ratios of a pool's nodes",
    &[POOL, RESOURCE, BASIS],
);
pub(super) const OUTSIDE_BAND: About = gauge(
    "imbalance_outside_band_nodes",
    "Nodes of a pool that are above a high mark, or at or below every low one",
    &[POOL, BASIS],
);
pub(super) const PLANNED: About = gauge("planned_moves", "Moves of the last plan", &[STRATEGY]);
pub(super) const KEPT: About = gauge(
    "kept_pods",
    "Pods that the last plan would have moved and had to leave, by why",
    &[
        STRATEGY,
        Label("code", Values::Listed("reasons.md#why-a-pod-stays")),
    ],
);
pub(super) const IDLE: About = gauge(
    "idle_strategies",
    "1 for why a strategy does nothing in a pool of nodes",
    &[
        STRATEGY,
        POOL,
        Label(
            "code",
            Values::Listed("reasons.md#why-a-strategy-does-nothing"),
        ),
    ],
);
pub(super) const HALTED: About = gauge(
    "halted",
    "1 while nothing at all is considered since the cluster itself is unwell",
    &[],
);
pub(super) const EVICTIONS: About = counter(
    "evictions",
    "Evictions that were tried, by what became of them",
    &[STRATEGY, Label("outcome", Values::These(&Outcome::CODES))],
);
pub(super) const SETTLED: About = counter(
    "settled_moves",
    "Evictions of which it is known whether they helped",
    &[Label(
        "ending",
        Values::These(&[
            "helped",
            "renewed",
            "same-node",
            "hot-node",
            "never-ready",
            "not-replaced",
        ]),
    )],
);
pub(super) const LANDINGS: About = counter(
    "landings",
    "Replacements by where they came to be: on a node that the forecast had named, elsewhere, or where nobody knows",
    &[Label(
        "forecast",
        Values::These(&["as_foreseen", "elsewhere", "unknown"]),
    )],
);
pub(super) const ENTRIES: About = gauge(
    "ledger_entries",
    "Evictions that are remembered: open until it is known how they went, resting while the replacement is left alone",
    &[Label(
        "state",
        Values::These(&["open", "resting", "settled"]),
    )],
);
pub(super) const RESTING: About = gauge(
    "ledger_resting_workloads",
    "Workloads that rest since their moves did not help",
    &[],
);
pub(super) const REPEAT_OFFENDERS: About = gauge(
    "ledger_repeat_offenders",
    "Workloads whose moves did not help twice in a row or more",
    &[],
);
pub(super) const STEERED: About = gauge(
    "steered_nodes",
    "Nodes by what the last plan says of their soft taint",
    &[
        Label(
            "action",
            Values::These(&["add", "keep", "remove", "withhold"]),
        ),
        Label(
            "code",
            Values::Listed("reasons.md#why-a-node-gets-or-loses-the-steering-taint"),
        ),
    ],
);
pub(super) const TAINTS: About = counter(
    "taint_changes",
    "Changes of taints that were tried, by what became of them",
    &[
        Label("action", Values::These(&["add", "remove"])),
        Label("outcome", Values::These(&SteerOutcome::CODES)),
    ],
);
pub(super) const CYCLES: About = counter(
    "cycles",
    "Cycles, by outcome",
    &[Label(
        "outcome",
        Values::These(&["acted", "idle", "halted", "dry-run", "waiting", "failed"]),
    )],
);
pub(super) const CYCLE: About = histogram("cycle_duration_seconds", "How long a cycle took", &[]);
pub(super) const PHASE: About = histogram(
    "phase_duration_seconds",
    "How long a part of the work took",
    &[Label(
        "phase",
        Values::These(&["observe", "settle", "decide", "save", "steer", "act"]),
    )],
);
pub(super) const SOURCE_READS: About = counter(
    "source_reads",
    "Reads of a usage source, those that failed included",
    &[SOURCE],
);
pub(super) const SOURCE_ERRORS: About = counter(
    "source_errors",
    "Reads of a usage source that failed, by why",
    &[
        SOURCE,
        Label("kind", Values::Named("a fixed word for each kind of error")),
    ],
);
pub(super) const SOURCE_SKIPPED: About = gauge(
    "source_skipped_samples",
    "Kinds of samples that could not be read last time",
    &[SOURCE],
);
pub(super) const SOURCE_READ: About = gauge(
    "source_read_timestamp_seconds",
    "When usage was last read",
    &[SOURCE],
);
pub(super) const SOURCE_SAMPLE: About = gauge(
    "source_sample_timestamp_seconds",
    "When the newest sample of a node was taken, by the source's clock",
    &[SOURCE],
);
pub(super) const SOURCE_IN_USE: About = gauge(
    "source_in_use",
    "1 for the source that decisions are made by",
    &[SOURCE],
);
pub(super) const API_REQUESTS: About = counter(
    "api_requests",
    "Requests to the API server, by how they were answered; `error` is no answer",
    &[
        Label(
            "verb",
            Values::These(&[
                "get", "list", "watch", "create", "update", "patch", "delete",
            ]),
        ),
        Label(
            "resource",
            Values::Named("the resources that are asked for, as in the role; `other` for the rest"),
        ),
        Label(
            "code",
            Values::These(&["1xx", "2xx", "3xx", "4xx", "5xx", "error"]),
        ),
    ],
);
pub(super) const SKIPPED: About = gauge(
    "skipped_objects",
    "Objects of the API that could not be read",
    &[],
);
pub(super) const ADVICE_WORKLOADS: About = gauge(
    "rightsizing_workloads",
    "Workloads whose requests are far from what their pods use, by which way they are wrong",
    &[
        MEASURED,
        Label("direction", Values::These(&["too_high", "too_low"])),
    ],
);
pub(super) const ADVICE_REQUEST: About = gauge(
    "rightsizing_request",
    "What a pod requests of the workloads that are wrong by the largest part of the cluster; 0 where it requests nothing",
    ADVISED,
);
pub(super) const ADVICE_SUGGESTED: About = gauge(
    "rightsizing_suggested_request",
    "What a pod of these workloads had better request",
    ADVISED,
);

pub(super) const DESCHEDULER_BUILD_INFO: About = About {
    prefix: DESCHEDULER_PREFIX,
    ..gauge(
        "build_info",
        "The version that runs; always 0, as descheduler's is",
        &[Label(
            "DeschedulerVersion",
            Values::Named("the one that runs"),
        )],
    )
};
pub(super) const DESCHEDULER_EVICTED: About = About {
    prefix: DESCHEDULER_PREFIX,
    ..counter(
        "pods_evicted",
        "Evictions that were tried, by whether they were accepted",
        &[
            Label("result", Values::These(&["success", "error"])),
            STRATEGY,
            PROFILE,
            Label("namespace", Values::Named("namespaces of the cluster")),
            NODE,
        ],
    )
};
pub(super) const DESCHEDULER_LOOP: About = About {
    prefix: DESCHEDULER_PREFIX,
    ..histogram("loop_duration_seconds", "How long a cycle took", &[])
};
pub(super) const DESCHEDULER_STRATEGY: About = About {
    prefix: DESCHEDULER_PREFIX,
    ..histogram(
        "strategy_duration_seconds",
        "How long a strategy took to decide; unlike descheduler's without its evictions, which are made together",
        &[STRATEGY, PROFILE],
    )
};

/// What is served by the names of descheduler, where that is asked for.
pub const DESCHEDULER: [&About; 4] = [
    &DESCHEDULER_BUILD_INFO,
    &DESCHEDULER_EVICTED,
    &DESCHEDULER_LOOP,
    &DESCHEDULER_STRATEGY,
];

/// Every metric of our own.
pub const ALL: [&About; 36] = [
    &BUILD_INFO,
    &LEADER,
    &NODE_RATIO,
    &NODE_CLASS,
    &NODES,
    &BAND,
    &MEAN,
    &DEVIATION,
    &ABOVE_MEAN,
    &OUTSIDE_BAND,
    &HALTED,
    &IDLE,
    &PLANNED,
    &KEPT,
    &EVICTIONS,
    &SETTLED,
    &LANDINGS,
    &ENTRIES,
    &RESTING,
    &REPEAT_OFFENDERS,
    &STEERED,
    &TAINTS,
    &CYCLES,
    &CYCLE,
    &PHASE,
    &SOURCE_READS,
    &SOURCE_ERRORS,
    &SOURCE_SKIPPED,
    &SOURCE_READ,
    &SOURCE_SAMPLE,
    &SOURCE_IN_USE,
    &API_REQUESTS,
    &SKIPPED,
    &ADVICE_WORKLOADS,
    &ADVICE_REQUEST,
    &ADVICE_SUGGESTED,
];
