//! The events of a simulated cluster as plain data, for tables, charts and tests.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::{Serialize, Serializer};

use crate::model::plan::{Balance, TargetBand};
use crate::model::relief::CycleRelief;
use crate::policy::Basis;
use crate::values::Ratio;

/// In seconds.
const HOUR: i64 = 3600;

/// One run: a scenario under a policy.
#[derive(Clone, Debug, Serialize)]
pub struct Trace {
    /// The name of the scenario.
    pub scenario: String,
    /// A sentence that describes the scenario.
    pub about: String,
    /// The name of the policy file.
    pub policy: String,
    /// The start of simulated time.
    pub start: Timestamp,
    /// The end of simulated time.
    pub end: Timestamp,
    /// The time between two points of a series. The last one is at the end, if that is earlier.
    #[serde(serialize_with = "seconds")]
    pub step: SignedDuration,
    /// The basis of the policy's balancing strategy: usage or requests.
    pub basis: Basis,
    /// The band of each resource, if the strategy has one: a node is idle below `low` and hot above
    /// `high`.
    pub bands: BTreeMap<String, TraceBand>,
    /// Whether the strategy has no band because its targets differ between nodes or follow their
    /// mean. Then no time above them is counted.
    pub targets_vary: bool,
    /// Whether the policy is a dry run, which evicts nothing.
    pub dry_run: bool,
    /// Sentences about objects that the first decision did not know.
    pub unknown_objects: Vec<String>,
    /// Every node that existed at any time, by name.
    pub nodes: Vec<NodeTrace>,
    /// Every eviction, in order.
    pub evictions: Vec<Eviction>,
    /// The relief by the moves of each cycle, known an hour later, if the run lasted so long.
    pub reliefs: Vec<CycleRelief>,
    /// Other events: nodes that joined, failed, were drained or got the steering taint, and missing
    /// metrics.
    pub events: Vec<Event>,
    /// The balance of the cluster at each step, by resource.
    pub balance: BTreeMap<String, Vec<Option<Balance>>>,
    /// The number of refusals by code, each with one of its sentences. `halted` counts the cycles
    /// in which all evictions were stopped.
    pub refusals: BTreeMap<String, Refused>,
    /// The summary.
    pub summary: Summary,
}

/// The ratios between which a node is neither idle nor hot.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TraceBand {
    /// Idle at or below this ratio.
    #[serde(rename = "low")]
    pub threshold: Ratio,
    /// Hot above this ratio.
    #[serde(rename = "high")]
    pub target: Ratio,
}

impl From<TraceBand> for TargetBand {
    fn from(band: TraceBand) -> Self {
        TargetBand { threshold: Some(band.threshold), target: Some(band.target) }
    }
}

/// A node over time.
#[derive(Clone, Debug, Serialize)]
pub struct NodeTrace {
    /// Its name.
    pub name: String,
    /// Real usage of each resource at each step as a share of allocatable; `None` before the
    /// node joins and while it is down.
    pub actual: BTreeMap<String, Vec<Option<Ratio>>>,
    /// Requests of each resource at each step.
    pub requests: BTreeMap<String, Vec<Option<Ratio>>>,
    /// The number of pods at each step.
    pub pods: Vec<u32>,
}

impl NodeTrace {
    /// Returns the shares of a resource at each step; empty if they are not known.
    pub fn series(&self, basis: Basis, resource: &str) -> &[Option<Ratio>] {
        let series = match basis {
            Basis::Actual => &self.actual,
            Basis::Requests => &self.requests,
        };
        series.get(resource).map(Vec::as_slice).unwrap_or_default()
    }
}

/// An eviction and its outcome.
#[derive(Clone, Debug, Serialize)]
pub struct Eviction {
    /// The time.
    pub at: Timestamp,
    /// The namespace.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// The workload, as `namespace/Kind/name`.
    pub workload: Option<String>,
    /// The node of the evicted pod.
    pub from: String,
    /// The age of the pod.
    #[serde(serialize_with = "seconds")]
    pub age: SignedDuration,
    /// The node where the replacement was expected. If several might win, the one that it would
    /// fill most.
    pub foreseen: Option<String>,
    /// Every node where the replacement might land, by forecast.
    pub may_land: Vec<String>,
    /// The node of the replacement; `None` while it is pending, or without one.
    pub to: Option<String>,
    /// Whether the move helped; `None` if unknown.
    pub helped: Option<bool>,
    /// The strategy.
    pub strategy: String,
    /// The reason, as a sentence.
    pub reason: String,
}

/// A change of the cluster other than an eviction.
#[derive(Clone, Debug, Serialize)]
pub struct Event {
    /// The time.
    pub at: Timestamp,
    /// The event, as a sentence.
    pub what: String,
}

/// The count of one refusal.
#[derive(Clone, Debug, Serialize)]
pub struct Refused {
    /// The number of cycles, summed over pods.
    pub times: u64,
    /// The latest sentence.
    pub last: String,
}

/// The summary of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// Decisions.
    pub cycles: u64,
    /// Decisions without evictions because a pause, a guard or a limit of `safety` stopped all.
    pub stopped: u64,
    /// Evictions.
    pub evictions: u32,
    /// Evictions that helped.
    pub helped: u32,
    /// Evictions of which it is not known whether they helped.
    pub unknown: u32,
    /// The fewest evictions that would bring the hot nodes below their targets, in the first
    /// decision that needed some and in the last one; `None` if none did.
    pub needed: Option<(usize, usize)>,
    /// Evictions whose replacement landed on a forecast node, and evictions with a forecast.
    pub foreseen: (u32, u32),
    /// Pods that were pending at the end.
    pub pending: u32,
    /// The longest time from a cycle with a hot node until no node was hot any more; `None` if one
    /// still was at the end.
    #[serde(serialize_with = "maybe_seconds")]
    pub time_to_balance: Option<SignedDuration>,
    /// The balance when the first pod was evicted, or at the start without evictions, by resource.
    pub before: BTreeMap<String, Balance>,
    /// The balance at the end.
    pub after: BTreeMap<String, Balance>,
    /// The time that nodes spent above their target, by resource. Only targets of actual usage
    /// count.
    pub above_target: BTreeMap<String, TimeAbove>,
    /// The time from the start until at most a tenth of the first excess above the targets was
    /// left, over all nodes and resources; `None` if more remained all the time.
    #[serde(serialize_with = "maybe_seconds")]
    pub relieved_after: Option<SignedDuration>,
    /// Evictions of pods that were created during the run, mostly replacements of evicted ones.
    pub moved_again: u32,
    /// Nodes without workload pods at the end.
    pub empty_nodes: u32,
    /// The nodes whose usage was unknown in every decision, so that none found out whether they
    /// were hot.
    pub unknown_nodes: BTreeSet<String>,
}

/// The time that nodes spent above a target, summed over the nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TimeAbove {
    /// In the whole run.
    #[serde(serialize_with = "seconds")]
    pub total: SignedDuration,
    /// In each hour of the clock, from the one of the start.
    #[serde(serialize_with = "each_in_seconds")]
    pub by_hour: Vec<SignedDuration>,
    /// The number of nodes above the target at the end.
    pub nodes_at_end: u32,
}

/// Returns the position of the hour of the clock in which a time lies, counted from the hour of
/// the start.
pub fn hour_since(start: Timestamp, at: Timestamp) -> usize {
    let hour = |at: Timestamp| at.as_second().div_euclid(HOUR);
    usize::try_from(hour(at) - hour(start)).unwrap_or_default()
}

/// Returns the start of the hour of the clock at a position.
pub fn start_of_hour(start: Timestamp, position: usize) -> Timestamp {
    let first = start.as_second().div_euclid(HOUR);
    let hours = i64::try_from(position).unwrap_or(i64::MAX);
    let second = first.saturating_add(hours).saturating_mul(HOUR);
    Timestamp::from_second(second).unwrap_or(Timestamp::MAX)
}

fn seconds<S: Serializer>(duration: &SignedDuration, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_i64(duration.as_secs())
}

fn each_in_seconds<S: Serializer>(durations: &[SignedDuration], s: S) -> Result<S::Ok, S::Error> {
    s.collect_seq(durations.iter().map(SignedDuration::as_secs))
}

#[expect(clippy::ref_option, reason = "serde asks by reference")]
fn maybe_seconds<S: Serializer>(
    duration: &Option<SignedDuration>,
    s: S,
) -> Result<S::Ok, S::Error> {
    duration.map(|duration| duration.as_secs()).serialize(s)
}
