//! The small sections: `limits`, `cooldown`, `safety` and `forecast`.

use jiff::SignedDuration;

use super::help;
use crate::schema::compare::{ONE_SECOND, ordered};
use crate::schema::kind::{duration, growing_share, limit, percent, share};
use crate::schema::problem::Code;
use crate::schema::read::Fields;
use crate::schema::section::Section;
use crate::schema::share::Share;
use crate::values::Ratio;

/// Warns of an immediate deletion, which the kubelet does not confirm. See
/// <https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination-forced>.
pub(super) fn check_grace_period(
    f: &mut Fields<'_, '_>,
    field: &'static str,
    grace_period: Option<SignedDuration>,
) {
    if grace_period.is_some_and(|time| time.is_zero()) {
        let sentence = "with 0, the API server forgets a pod at once although its containers \
                        still run, and a StatefulSet may start the same pod beside it";
        f.warn(Code::Ignored, field, sentence);
    }
}

/// How much may be evicted; `None` is no limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Evictions in one cycle, of the pods of the cluster.
    pub per_cycle: Option<Share>,
    /// Evictions from one node in one cycle.
    pub per_node: Option<u32>,
    /// Evictions in one namespace in one cycle.
    pub per_namespace: Option<u32>,
    /// Pods of one workload that are evicted and whose replacements are not Ready yet.
    pub per_workload: Option<Share>,
    /// Evictions in any minute, across cycles and restarts, of the pods of the cluster.
    pub per_minute: Option<Share>,
}

/// How long a workload is left alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Cooldown {
    /// The rest of a replacement, and of a workload after its first useless move.
    pub rest: SignedDuration,
    /// The longest rest that doubling leads to.
    pub cap: SignedDuration,
}

/// When the cluster is too unhealthy for evictions.
#[derive(Clone, Debug, PartialEq)]
pub struct Safety {
    /// No evictions while more than this share of the nodes is not ready.
    pub max_not_ready: Ratio,
    /// No evictions while more than this share of the pods is pending.
    pub max_pending: Ratio,
}

/// How certain it must be that a move helps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForecastPolicy {
    /// The accepted probability that the replacement lands where the move gains nothing; `None` for
    /// the default of each strategy.
    pub tolerance: Option<Ratio>,
}

impl ForecastPolicy {
    /// The probability that LowNodeUtilization accepts by default. It moves pods that land well
    /// with 95 % first, so that few moves come close to this limit.
    const OF_WEIGHED_MOVES: Ratio = Ratio::HALF;

    /// Returns the accepted probability of a useless move. `weighed` is true for a strategy that
    /// weighs what a move gains, and so can compare it with the cost of a bad landing.
    pub fn accepted(&self, weighed: bool) -> Ratio {
        let default = if weighed { Self::OF_WEIGHED_MOVES } else { Ratio::ZERO };
        self.tolerance.unwrap_or(default)
    }
}

/// Declares `limits`.
pub(super) fn limits() -> Section<Limits> {
    Section::new(Limits {
        per_cycle: Ratio::percent(1.0).map(|p| Share::Larger(20, p)),
        per_node: Some(5),
        per_namespace: None,
        per_workload: Ratio::percent(25.0).map(Share::Portion),
        per_minute: Ratio::percent(1.0).map(|p| Share::Larger(30, p)),
    })
    .field("perCycle", growing_share(), |l| &mut l.per_cycle)
    .help(
        "Evictions in one cycle, in the whole cluster. A number, a percentage of its pods, or the larger of both.",
    )
    .field("perNode", limit(), |l| &mut l.per_node)
    .help("Evictions from one node in one cycle.")
    .field("perNamespace", limit(), |l| &mut l.per_namespace)
    .help("Evictions in one namespace in one cycle.")
    .field("perWorkload", share(), |l| &mut l.per_workload)
    .help(
        "Pods of one workload that may be away at the same time. An evicted pod is away until its replacement is ready. A number, or a percentage of the replicas, rounded down but at least one pod.",
    )
    .field("perMinute", growing_share(), |l| &mut l.per_minute)
    .help(
        "Evictions in any minute, across cycles and restarts. A number, a percentage of the pods of the cluster, or the larger of both.",
    )
}

/// Declares `cooldown`.
pub(super) fn cooldown() -> Section<Cooldown> {
    Section::new(Cooldown {
        rest: SignedDuration::from_mins(10),
        cap: SignedDuration::from_hours(6),
    })
    .field("rest", duration(ONE_SECOND), |c| &mut c.rest)
    .help(
        "How long a pod that replaces an evicted pod is left alone; twice as long each time that the same pod is moved again. A workload is left alone for the same time after a bad landing, or if the replacement was not Ready in time; each further one in a row doubles it. The first three bad landings that the forecast named as possible do not.",
    )
    .field("cap", duration(ONE_SECOND), |c| &mut c.cap)
    .help("The longest time that doubling leads to.")
    .check(|f, c| {
        if f.sound() {
            ordered(f, "rest", c.rest, "cap", c.cap);
        }
    })
}

/// Declares `safety`.
pub(super) fn safety() -> Section<Safety> {
    Section::new(Safety {
        max_not_ready: Ratio::percent(40.0).unwrap_or_default(),
        max_pending: Ratio::percent(20.0).unwrap_or_default(),
    })
    .field("maxNotReady", percent(), |s| &mut s.max_not_ready)
    .help("No evictions while more than this share of the nodes is not ready.")
    .field("maxPending", percent(), |s| &mut s.max_pending)
    .help("No evictions while more than this share of the pods is waiting for a node.")
}

/// Declares `forecast`.
pub(super) fn forecast() -> Section<ForecastPolicy> {
    Section::new(ForecastPolicy { tolerance: None })
        .field("tolerance", percent().optional(), |f| &mut f.tolerance)
        .help(help::TOLERANCE)
        .off("30%")
}
