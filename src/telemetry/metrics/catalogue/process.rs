//! Metrics of the process: cycles, evictions, the ledger, usage sources and API requests.

use crate::model::ledger::{Ending, Landed};
use crate::model::plan::{Outcome, SteerOutcome};
use crate::telemetry::metrics::{LineResult, Phase};

use super::{LabelValues, MetricInfo, MetricLabel, STRATEGY, counter, gauge, histogram};

const GUARD: MetricLabel = MetricLabel("guard", LabelValues::Names("guards of the policy"));
const SOURCE: MetricLabel =
    MetricLabel("source", LabelValues::Fixed(&["metricsApi", "prometheus"]));

pub(in super::super) const BUILD_INFO: MetricInfo = gauge(
    "build_info",
    "Version of the running program; always 1",
    &[MetricLabel("version", LabelValues::Names("the running version"))],
);
pub(in super::super) const LEADER: MetricInfo =
    gauge("leader", "1 if this instance decides, 0 if it is a standby", &[]);
pub(in super::super) const POLICY_RELOADS: MetricInfo = counter(
    "policy_reloads",
    "Changes of the policy file, by whether the policy took effect",
    &[MetricLabel("outcome", LabelValues::Fixed(&["applied", "refused"]))],
);
pub(in super::super) const POLICY_REFUSED: MetricInfo = gauge(
    "policy_refused",
    "1 while the policy file is invalid and the earlier policy stays in force",
    &[],
);
pub(in super::super) const POLICY_SINCE: MetricInfo =
    gauge("policy_in_force_timestamp_seconds", "Time at which the policy took effect", &[]);
pub(in super::super) const EVICTIONS: MetricInfo = counter(
    "evictions",
    "Evictions of plans, by outcome; all but `untried` were requested",
    &[STRATEGY, MetricLabel("outcome", LabelValues::Fixed(&Outcome::CODES))],
);
/// All but `landed`, which another ending follows.
const ENDINGS: &[&str] = Ending::CODES.split_at(1).1;
pub(in super::super) const SETTLED: MetricInfo = counter(
    "settled_moves",
    "Evictions whose effect is known, by how they ended",
    &[MetricLabel("ending", LabelValues::Fixed(ENDINGS))],
);
pub(in super::super) const LANDINGS: MetricInfo = counter(
    "landings",
    "Replacements by where they landed: on a node of the forecast, elsewhere, or unknown",
    &[MetricLabel("forecast", LabelValues::Fixed(&Landed::CODES))],
);
pub(in super::super) const RELIEF: MetricInfo = histogram(
    "relief_ratio",
    "Time above a target that the moves of a cycle have saved their nodes in the next hour, divided \
        by the time that was predicted; one value for each cycle, an hour later",
    &[],
);
pub(in super::super) const ENTRIES: MetricInfo = gauge(
    "ledger_entries",
    "Evictions in the ledger: open until their effect is known, resting while the replacement must \
        not be evicted",
    &[MetricLabel("state", LabelValues::Fixed(&["open", "resting", "settled"]))],
);
pub(in super::super) const RESTING: MetricInfo =
    gauge("ledger_resting_workloads", "Workloads that rest because their moves did not help", &[]);
pub(in super::super) const REPEAT_OFFENDERS: MetricInfo = gauge(
    "ledger_repeat_offenders",
    "Workloads whose moves did not help at least twice in a row",
    &[],
);
pub(in super::super) const REJECTED: MetricInfo = gauge(
    "ledger_rejected_pods",
    "Pods that rest because the API server rejected their evictions",
    &[],
);
pub(in super::super) const RECORD_LINES: MetricInfo = counter(
    "record_lines",
    "Lines of the record, by whether they are written, rejected by the sink, or dropped because the \
        ledger had no room for them while they waited for the sink",
    &[MetricLabel("result", LabelValues::Fixed(&LineResult::CODES))],
);
pub(in super::super) const TAINTS: MetricInfo = counter(
    "taint_changes",
    "Changes of taints that were requested, by outcome",
    &[
        MetricLabel("action", LabelValues::Fixed(&["add", "remove"])),
        MetricLabel("outcome", LabelValues::Fixed(&SteerOutcome::CODES)),
    ],
);
pub(in super::super) const CYCLES: MetricInfo = counter(
    "cycles",
    "Cycles, by outcome",
    &[MetricLabel(
        "outcome",
        LabelValues::Fixed(&["acted", "idle", "halted", "dry-run", "waiting", "failed"]),
    )],
);
pub(in super::super) const CYCLE: MetricInfo =
    histogram("cycle_duration_seconds", "Duration of a cycle", &[]);
pub(in super::super) const PHASE: MetricInfo = histogram(
    "phase_duration_seconds",
    "Duration of a phase of the loop",
    &[MetricLabel("phase", LabelValues::Fixed(&Phase::CODES))],
);
pub(in super::super) const EXPECTATION_ERROR: MetricInfo = gauge(
    "expectation_error_ratio",
    "Error of a forecast of the cpu of each pod in the last full hour, as a share of the cpu that \
        was used: what is usual at that hour, or unchanged from the hour before",
    &[MetricLabel("forecast", LabelValues::Fixed(&["usual", "unchanged"]))],
);
pub(in super::super) const SOURCE_READS: MetricInfo =
    counter("source_reads", "Reads of a usage source, including failed ones", &[SOURCE]);
pub(in super::super) const SOURCE_ERRORS: MetricInfo = counter(
    "source_errors",
    "Failed reads of a usage source, by kind of error",
    &[SOURCE, MetricLabel("kind", LabelValues::Names("a fixed word for each kind of error"))],
);
pub(in super::super) const SOURCE_SKIPPED: MetricInfo = gauge(
    "source_skipped_samples",
    "Samples that the last read could not use; of Prometheus, one for each query and cause",
    &[SOURCE],
);
pub(in super::super) const SOURCE_READ: MetricInfo =
    gauge("source_read_timestamp_seconds", "Time of the last successful read of usage", &[SOURCE]);
pub(in super::super) const SOURCE_SAMPLE: MetricInfo = gauge(
    "source_sample_timestamp_seconds",
    "Time of the newest sample of a node, by the source's clock",
    &[SOURCE],
);
pub(in super::super) const SOURCE_IN_USE: MetricInfo =
    gauge("source_in_use", "1 for the source that decisions are based on", &[SOURCE]);
pub(in super::super) const GUARD_VALUE: MetricInfo = gauge(
    "guard_value",
    "Highest value of the newest answer to a guard; absent without an answer or a series",
    &[GUARD],
);
pub(in super::super) const GUARD_STOPS: MetricInfo = gauge(
    "guard_stops",
    "Workloads and namespaces whose evictions a guard stops now; 1 for the cluster",
    &[GUARD],
);
pub(in super::super) const GUARD_MISSING: MetricInfo =
    gauge("guard_missing", "1 while a guard has no usable answer", &[GUARD]);
pub(in super::super) const API_REQUESTS: MetricInfo = counter(
    "api_requests",
    "Requests to the API server, by status of the response; `error` is a request without a \
        response",
    &[
        MetricLabel(
            "verb",
            LabelValues::Fixed(&["get", "list", "watch", "create", "update", "patch", "delete"]),
        ),
        MetricLabel(
            "resource",
            LabelValues::Names("the resources of the role; `other` for the rest"),
        ),
        MetricLabel("code", LabelValues::Fixed(&["1xx", "2xx", "3xx", "4xx", "5xx", "error"])),
    ],
);
const REQUEST: MetricLabel = MetricLabel(
    "request",
    LabelValues::Names("`watch of` a kind, `usage from` a source, `ledger`, `lease`, and others"),
);
pub(in super::super) const REQUEST_FAILURES: MetricInfo = counter(
    "request_failures",
    "Failed lists, watches, queries and writes, by kind of request",
    &[REQUEST],
);
pub(in super::super) const FAILING: MetricInfo = gauge(
    "request_failing_seconds",
    "Time for which such requests have failed without a success; 0 if they work",
    &[REQUEST],
);
