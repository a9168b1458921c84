//! Metrics of the last plan: nodes, pools, moves, rejections, steering and right-sizing.

use super::{LabelValues, MetricInfo, MetricLabel, NODE, STRATEGY, gauge};

const POOL: MetricLabel =
    MetricLabel("pool", LabelValues::Names("pools of the policy; `all` if no strategy balances"));
const RESOURCE: MetricLabel = MetricLabel(
    "resource",
    LabelValues::Names("`cpu`, `memory` and the resources with thresholds in the policy"),
);
const BASIS: MetricLabel = MetricLabel("basis", LabelValues::Fixed(&["requests", "actual"]));
const CLASS: MetricLabel = MetricLabel("class", LabelValues::Codes("reasons.md#classes-of-nodes"));
const CPU_OR_MEMORY: MetricLabel = MetricLabel("resource", LabelValues::Fixed(&["cpu", "memory"]));
const TOP: LabelValues = LabelValues::Names("at most `rightsizing.top` workloads of the policy");
const WORKLOAD: &[MetricLabel] = &[
    MetricLabel("namespace", TOP),
    MetricLabel("kind", TOP),
    MetricLabel("workload", TOP),
    CPU_OR_MEMORY,
    MetricLabel("unit", LabelValues::Fixed(&["core", "byte"])),
];

pub(in super::super) const NODE_RATIO: MetricInfo = gauge(
    "node_ratio",
    "Load of a node as a share of its allocatable; smoothing `none` is the newest reading, or the \
        sum of requests",
    &[
        NODE,
        RESOURCE,
        BASIS,
        MetricLabel(
            "smoothing",
            LabelValues::Fixed(&["none", "trend", "mean", "max", "half_life", "percentile"]),
        ),
    ],
);
pub(in super::super) const NODE_CLASS: MetricInfo =
    gauge("node_class", "1 for the class that a strategy gives a node", &[NODE, STRATEGY, CLASS]);
pub(in super::super) const NODES: MetricInfo =
    gauge("nodes", "Nodes by the class that a strategy gives them", &[STRATEGY, CLASS]);
pub(in super::super) const BAND: MetricInfo = gauge(
    "band_ratio",
    "Thresholds in force in a pool; deviation thresholds are already relative to the mean",
    &[POOL, RESOURCE, BASIS, MetricLabel("bound", LabelValues::Fixed(&["low", "high"]))],
);
pub(in super::super) const MEAN: MetricInfo =
    gauge("imbalance_mean_ratio", "Mean of the ratios of a pool's nodes", &[POOL, RESOURCE, BASIS]);
pub(in super::super) const DEVIATION: MetricInfo = gauge(
    "imbalance_deviation_ratio",
    "Standard deviation of the ratios of a pool's nodes",
    &[POOL, RESOURCE, BASIS],
);
pub(in super::super) const ABOVE_MEAN: MetricInfo = gauge(
    "imbalance_above_mean_ratio",
    "Highest ratio of a pool's nodes, minus their mean",
    &[POOL, RESOURCE, BASIS],
);
pub(in super::super) const OUTSIDE_BAND: MetricInfo = gauge(
    "imbalance_outside_band_nodes",
    "Nodes of a pool that are above a target, or at or below every threshold",
    &[POOL, BASIS],
);
pub(in super::super) const HALTED: MetricInfo = gauge(
    "halted",
    "1 while no move is considered because the cluster itself is unhealthy, or because a person or a \
     guard has stopped all evictions",
    &[],
);
pub(in super::super) const IDLE: MetricInfo = gauge(
    "idle_strategies",
    "1 for the reason why a strategy does nothing in a pool of nodes",
    &[
        STRATEGY,
        POOL,
        MetricLabel("code", LabelValues::Codes("reasons.md#why-a-strategy-does-nothing")),
    ],
);
pub(in super::super) const PLANNED: MetricInfo =
    gauge("planned_moves", "Moves of the last plan", &[STRATEGY]);
pub(in super::super) const PROPOSED: MetricInfo = gauge(
    "proposed_moves",
    "Evictions that wait for the approval of a person; 0 if the policy requires none",
    &[],
);
pub(in super::super) const KEPT: MetricInfo = gauge(
    "kept_pods",
    "Pods that the last plan wanted to move and could not, by the reason",
    &[STRATEGY, MetricLabel("code", LabelValues::Codes("reasons.md#why-a-pod-stays"))],
);
pub(in super::super) const STEERED: MetricInfo = gauge(
    "steered_nodes",
    "Nodes by the decision of the last plan about their soft taint",
    &[
        MetricLabel("action", LabelValues::Fixed(&["add", "keep", "remove", "withhold"])),
        MetricLabel(
            "code",
            LabelValues::Codes("reasons.md#why-a-node-gets-or-loses-the-steering-taint"),
        ),
    ],
);
pub(in super::super) const SKIPPED: MetricInfo =
    gauge("skipped_objects", "API objects that could not be parsed", &[]);
pub(in super::super) const RIGHTSIZING_WORKLOADS: MetricInfo = gauge(
    "rightsizing_workloads",
    "Workloads whose requests are far from the usage of their pods, by direction",
    &[CPU_OR_MEMORY, MetricLabel("direction", LabelValues::Fixed(&["too_high", "too_low"]))],
);
pub(in super::super) const RIGHTSIZING_REQUEST: MetricInfo = gauge(
    "rightsizing_request",
    "Request of one pod of the workloads that are wrong by the largest share of the cluster; 0 for \
        none",
    WORKLOAD,
);
pub(in super::super) const RIGHTSIZING_SUGGESTED: MetricInfo = gauge(
    "rightsizing_suggested_request",
    "Recommended request of one pod of these workloads",
    WORKLOAD,
);
