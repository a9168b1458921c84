//! Guards: the answers to their queries, and the evictions that they stop.
//!
//! The rules:
//!
//! - A value above the limit for at least `for` stops the evictions of its target. They go on after
//!   the value has been within the limit for at least `recover`.
//! - A guard without an answer within `usage.staleAfter` is missing as a whole. So is one with a
//!   series without the label `namespace`, unless its scope is the cluster.
//! - A guard that has returned a value within its limit, or one that is not a number, measures
//!   something. So a target that loses its series is missing, and one whose value is not a number
//!   too. A guard that only returned values above its limit returns only problems, as ALERTS does,
//!   so a target without a series is quiet.
//! - A series above the limit of a workload that is not known stops its namespace: it may be about
//!   a pod that has just been replaced, or no label may name the workload.
//!
//! `missing: allow` makes everything that is missing quiet, and nothing else.

use std::collections::BTreeMap;
use std::fmt;

use jiff::{SignedDuration, Timestamp};

use crate::model::snapshot::Snapshot;
use crate::model::snapshot::facts::OwnerKey;
use crate::policy::{Guard, GuardScope, Policy};
use crate::values::query_value::QueryValue;
use crate::values::text::duration;

use self::state::GuardState;

pub mod recorded;
mod series;
mod state;

pub use series::TARGET_LABELS;

/// One series of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardSeries {
    /// Its labels, at least those of [`TARGET_LABELS`].
    pub labels: BTreeMap<String, String>,
    /// Its value; `None` if it is not a number.
    pub value: Option<QueryValue>,
}

/// The answer to a query at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardAnswer {
    /// The time.
    pub at: Timestamp,
    /// The series; none if the query is quiet.
    pub series: Vec<GuardSeries>,
}

/// The result of asking the query of a guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardReading {
    /// The name of the guard.
    pub guard: String,
    /// The answers in the order of time, or why there is none.
    pub answers: Result<Vec<GuardAnswer>, String>,
}

/// The evictions that a guard stops.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GuardTarget {
    /// All evictions.
    Cluster,
    /// Those in this namespace.
    Namespace(String),
    /// Those of this workload.
    Workload(OwnerKey),
}

/// The evictions that a guard stops now, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("guard {guard} stops {target}: {cause}")]
pub struct GuardStop {
    /// The name of the guard.
    pub guard: String,
    /// The evictions.
    pub target: GuardTarget,
    /// The reason.
    pub cause: GuardCause,
}

/// Why a guard stops evictions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum GuardCause {
    #[error(
        "its value {}{} is above {limit}",
        apart(*.value, *.limit),
        of_unknown(.unknown.as_ref())
    )]
    Above {
        value: QueryValue,
        limit: QueryValue,
        /// The object that the series names, if it is not known.
        unknown: Option<String>,
    },
    #[error("its value was above {limit} and must stay within it for another {}", duration(*.left))]
    Recovering {
        limit: QueryValue,
        /// How much longer.
        left: SignedDuration,
    },
    #[error("{0}")]
    Missing(String),
}

/// The state of one guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardReport {
    /// Its name.
    pub guard: String,
    /// The evictions that one of its series stops.
    pub scope: GuardScope,
    /// The time of the newest answer.
    pub answered: Option<Timestamp>,
    /// Why it has no usable answer, or an answer that can be used in part; `None` if it has one.
    pub missing: Option<String>,
    /// The number of series in the newest answer.
    pub series: usize,
    /// The highest value of the newest answer.
    pub highest: Option<QueryValue>,
    /// The limit.
    pub limit: QueryValue,
    /// Objects that the series name and that are not known.
    pub unknown: Vec<String>,
    /// The evictions that it stops now.
    pub stops: Vec<GuardStop>,
}

/// The guards of a policy with the state of each.
#[derive(Clone, Debug, Default)]
pub struct GuardStates {
    states: Vec<GuardState>,
    /// The age at which an answer counts no longer.
    stale_after: SignedDuration,
}

impl GuardStates {
    /// Creates the guards of a policy before any answer.
    pub fn new(policy: &Policy) -> Self {
        let mut states = GuardStates::default();
        states.change(policy);
        states
    }

    /// Replaces the guards by those of another policy. An unchanged guard keeps its state.
    pub fn change(&mut self, policy: &Policy) {
        let kept = |rule: &Guard| {
            let known = self.states.iter().find(|state| state.rule == *rule);
            known.cloned().unwrap_or_else(|| GuardState::new(rule))
        };
        self.states = policy.guards.iter().map(kept).collect();
        self.stale_after = policy.usage.stale_after;
    }

    /// Records answers, older ones first. The snapshot tells what their labels name.
    pub fn record(&mut self, snapshot: &Snapshot, readings: &[GuardReading]) {
        for reading in readings {
            let named = |state: &&mut GuardState| state.rule.name == reading.guard;
            let Some(state) = self.states.iter_mut().find(named) else {
                continue;
            };
            match &reading.answers {
                Ok(answers) => {
                    // The newest answer is of now, so the clock has been set back if it is older.
                    answers.last().inspect(|newest| state.set_back(newest.at));
                    for answer in answers {
                        state.observe(snapshot, answer);
                    }
                }
                Err(why) => state.error = Some(why.clone()),
            }
        }
    }

    /// Returns why no eviction is allowed now; `None` if some may be.
    pub fn stop_of_cluster(&self, now: Timestamp) -> Option<GuardStop> {
        let mut states = self.states.iter();
        states.find_map(|state| state.stop_of(&GuardTarget::Cluster, self.stale_after, now))
    }

    /// Returns why the pods of a workload may not be evicted now, apart from stops of the whole
    /// cluster.
    ///
    /// The key of the workload is made only if a guard needs it.
    pub fn stop_of(
        &self,
        workload: impl FnOnce() -> OwnerKey,
        now: Timestamp,
    ) -> Option<GuardStop> {
        if self.states.iter().all(GuardState::is_quiet) {
            return None;
        }
        let workload = workload();
        let targets =
            [GuardTarget::Namespace(workload.namespace.clone()), GuardTarget::Workload(workload)];
        let mut pairs =
            self.states.iter().flat_map(|state| targets.iter().map(move |target| (state, target)));
        pairs.find_map(|(state, target)| state.stop_of(target, self.stale_after, now))
    }

    /// Returns everything that stops the pods of a workload now, also stops of the whole cluster.
    pub fn stops_for(&self, workload: &OwnerKey, now: Timestamp) -> Vec<GuardStop> {
        let targets = GuardTarget::Workload(workload.clone()).wider();
        let mut stops = self.stops(now);
        stops.retain(|stop| targets.contains(&stop.target));
        stops
    }

    /// Returns everything that is stopped now.
    pub fn stops(&self, now: Timestamp) -> Vec<GuardStop> {
        let states = self.states.iter();
        states.flat_map(|state| state.stops(self.stale_after, now)).collect()
    }

    /// Returns the state of each guard.
    pub fn reports(&self, now: Timestamp) -> Vec<GuardReport> {
        let states = self.states.iter();
        states.map(|state| state.report(self.stale_after, now)).collect()
    }
}

impl GuardReport {
    /// Returns why its newest answer has no value.
    pub const fn no_value(&self) -> &'static str {
        if self.series == 0 {
            "its query answers without a series"
        } else {
            "its values are not numbers"
        }
    }
}

impl GuardStop {
    /// Returns how the evictions could go on.
    pub fn remedy(&self) -> String {
        match &self.cause {
            GuardCause::Above { limit, .. } => format!(
                "wait until its value is at most {limit} for the time `recover`, or change `guards`"
            ),
            GuardCause::Recovering { left, .. } => {
                format!("wait {}, or lower its `recover`", duration(*left))
            }
            GuardCause::Missing(_) => {
                "make its query answer (`evenkeel doctor` asks it), or set its `missing: allow`"
                    .to_owned()
            }
        }
    }
}

crate::codes! {
    GuardCause::code {
        Above = "above",
        Recovering = "recovering",
        Missing = "missing",
    }
}

impl GuardTarget {
    /// Returns the targets that have all of these evictions: this one, its namespace, the cluster.
    pub fn wider(&self) -> Vec<GuardTarget> {
        let namespace = match self {
            GuardTarget::Workload(key) => Some(GuardTarget::Namespace(key.namespace.clone())),
            GuardTarget::Namespace(_) | GuardTarget::Cluster => None,
        };
        let targets = [Some(self.clone()), namespace, Some(GuardTarget::Cluster)];
        targets.into_iter().flatten().collect()
    }
}

impl fmt::Display for GuardTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GuardTarget::Cluster => f.write_str("all evictions"),
            GuardTarget::Namespace(name) => write!(f, "evictions in namespace {name}"),
            GuardTarget::Workload(key) => write!(f, "evictions of {key}"),
        }
    }
}

crate::object!(GuardStop, |stop| {
    "guard": stop.guard,
    "stops": stop.target.to_string(),
    "code": stop.cause.code(),
    "message": stop.to_string(),
});

/// A value with as many digits as tell it from the limit.
fn apart(value: QueryValue, limit: QueryValue) -> String {
    let rounded = value.to_string();
    if rounded == limit.to_string() { value.get().to_string() } else { rounded }
}

fn of_unknown(unknown: Option<&String>) -> String {
    let text = |name| format!(" of an unknown object, {name},");
    unknown.map(text).unwrap_or_default()
}
