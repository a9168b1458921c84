//! What happened in a simulated cluster, as plain data: for tables, for pictures, and for tests.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::model::plan::Balance;
use crate::policy::Basis;
use crate::values::Ratio;

/// One run: a scenario under a policy.
#[derive(Clone, Debug, Serialize)]
pub struct Trace {
    /// The name of the scenario.
    pub scenario: String,
    /// What it is about, in a sentence.
    pub about: String,
    /// The policy, as its file is named.
    pub policy: String,
    /// When the simulated time began.
    pub start: Timestamp,
    /// When it ended.
    pub end: Timestamp,
    /// The time between two entries of a series.
    #[serde(with = "seconds")]
    pub step: SignedDuration,
    /// What the policy's balancing strategy weighs.
    pub basis: Basis,
    /// Its band per resource, where it has one: below `low` a node is idle, above `high` it is hot.
    pub bands: BTreeMap<String, Band>,
    /// Every node that was there at any time, by name.
    pub nodes: Vec<NodeTrace>,
    /// Every eviction, in order.
    pub evictions: Vec<Eviction>,
    /// What else happened: nodes that joined, failed or drained, metrics that were missing.
    pub events: Vec<Event>,
    /// How even the cluster was at each step, by resource.
    pub balance: BTreeMap<String, Vec<Option<Balance>>>,
    /// How often each refusal was given, by its code, with one of its sentences.
    pub refusals: BTreeMap<String, Refused>,
    /// What it comes to.
    pub summary: Summary,
}

/// Between these a node is neither idle nor hot.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Band {
    /// At or below this, idle.
    pub low: Ratio,
    /// Above this, hot.
    pub high: Ratio,
}

/// A node over time.
#[derive(Clone, Debug, Serialize)]
pub struct NodeTrace {
    /// Its name.
    pub name: String,
    /// What it really used of each resource at each step, as a share of allocatable; `None` while it was not there.
    pub actual: BTreeMap<String, Vec<Option<Ratio>>>,
    /// What its pods requested of each resource at each step.
    pub requests: BTreeMap<String, Vec<Option<Ratio>>>,
    /// How many pods were on it at each step.
    pub pods: Vec<u32>,
}

/// A pod that was evicted, and what came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Eviction {
    /// When.
    pub at: Timestamp,
    /// The namespace.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// What it belongs to, as `namespace/Kind/name`.
    pub workload: Option<String>,
    /// The node that it left.
    pub from: String,
    /// How long the pod had been there.
    #[serde(with = "seconds")]
    pub age: SignedDuration,
    /// The node that was foreseen for its replacement; of several that might win, the one that it would fill most.
    pub foreseen: Option<String>,
    /// Every node that might win it, as far as was foreseen.
    pub may_land: Vec<String>,
    /// The node that its replacement landed on; `None` while it waits, or where there was none.
    pub to: Option<String>,
    /// Whether the move helped, as far as is known.
    pub helped: Option<bool>,
    /// The strategy.
    pub strategy: String,
    /// Why, in words.
    pub reason: String,
}

/// Something that happened by itself.
#[derive(Clone, Debug, Serialize)]
pub struct Event {
    /// When.
    pub at: Timestamp,
    /// What, in words.
    pub what: String,
}

/// How often a refusal was given.
#[derive(Clone, Debug, Serialize)]
pub struct Refused {
    /// In how many cycles, summed over pods.
    pub times: u64,
    /// The last one, in words.
    pub last: String,
}

/// What a run comes to.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// Evictions.
    pub evictions: u32,
    /// Evictions that helped.
    pub helped: u32,
    /// Evictions whose replacement landed on a node that was foreseen, of those of which a landing was foreseen.
    pub foreseen: (u32, u32),
    /// Pods that waited for a node at the end.
    pub pending: u32,
    /// From the first cycle with a hot node until no node was hot any more, for good; `None` where some node still was.
    #[serde(with = "maybe_seconds")]
    pub time_to_balance: Option<SignedDuration>,
    /// How even the cluster was when the first pod was evicted, or at the start where none was, by resource.
    pub before: BTreeMap<String, Balance>,
    /// How even it was at the end.
    pub after: BTreeMap<String, Balance>,
    /// Nodes without a pod of a workload at the end.
    pub empty_nodes: u32,
}

mod seconds {
    use jiff::SignedDuration;
    use serde::Serializer;

    pub(super) fn serialize<S: Serializer>(
        duration: &SignedDuration,
        s: S,
    ) -> Result<S::Ok, S::Error> {
        s.serialize_i64(duration.as_secs())
    }
}

mod maybe_seconds {
    use jiff::SignedDuration;
    use serde::Serializer;

    #[expect(clippy::ref_option, reason = "serde asks by reference")]
    pub(super) fn serialize<S: Serializer>(
        duration: &Option<SignedDuration>,
        s: S,
    ) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => s.serialize_some(&duration.as_secs()),
            None => s.serialize_none(),
        }
    }
}
