//! Metrics under descheduler's names.

use super::{
    DESCHEDULER_PREFIX, LabelValues, MetricInfo, MetricLabel, NODE, STRATEGY, counter, gauge,
    histogram,
};

const PROFILE: MetricLabel = MetricLabel("profile", LabelValues::Names("profiles of the policy"));

pub(in super::super) const BUILD_INFO: MetricInfo = MetricInfo {
    prefix: DESCHEDULER_PREFIX,
    ..gauge(
        "build_info",
        "Version of the running program; always 0, like descheduler's",
        &[MetricLabel("DeschedulerVersion", LabelValues::Names("the running version"))],
    )
};
pub(in super::super) const EVICTED: MetricInfo = MetricInfo {
    prefix: DESCHEDULER_PREFIX,
    ..counter(
        "pods_evicted",
        "Evictions that were requested, by result",
        &[
            MetricLabel("result", LabelValues::Fixed(&["success", "error"])),
            STRATEGY,
            PROFILE,
            MetricLabel("namespace", LabelValues::Names("namespaces of the cluster")),
            NODE,
        ],
    )
};
pub(in super::super) const LOOP: MetricInfo = MetricInfo {
    prefix: DESCHEDULER_PREFIX,
    ..histogram("loop_duration_seconds", "Duration of a cycle", &[])
};
pub(in super::super) const STRATEGY_DURATION: MetricInfo = MetricInfo {
    prefix: DESCHEDULER_PREFIX,
    ..histogram(
        "strategy_duration_seconds",
        "Duration of a strategy's decision; unlike descheduler's it excludes evictions, which are \
            made together",
        &[STRATEGY, PROFILE],
    )
};
