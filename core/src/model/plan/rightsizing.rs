//! Workloads whose requests differ widely from their usage, with recommended requests.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde::Serialize;

use crate::model::snapshot::facts::OwnerKey;
use crate::values::{Amount, Ratio, quantity};

/// A workload whose requests differ widely from its usage.
///
/// All amounts are per pod, summed over its containers, because usage is measured per pod.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rightsizing {
    /// The workload.
    pub workload: OwnerKey,
    /// Pods that are neither finished nor terminating.
    pub pods: u32,
    /// Pods that the recommendation is based on: Ready, with enough samples.
    pub measured: u32,
    /// Samples of these pods in total.
    pub samples: u64,
    /// Time from the oldest of these samples to the newest; zero with one sample per pod.
    pub span: SignedDuration,
    /// The resources whose request differs widely from usage: `cpu`, `memory` or both.
    pub resources: BTreeMap<&'static str, Suggestion>,
}

impl Rightsizing {
    /// Returns the largest error over its resources, as a share of the cluster.
    pub fn wrong_by(&self) -> Ratio {
        let shares = self.resources.values().map(|s| s.wrong_by);
        shares.max_by(|a, b| a.order(*b)).unwrap_or_default()
    }
}

/// The recommended request of one resource for each pod of a workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suggestion {
    /// Whether the request is too high or too low.
    pub direction: Direction,
    /// The resource.
    pub resource: &'static str,
    /// The request of the newest pod, as the scheduler counts it; `None` without a request.
    pub request: Option<Amount>,
    /// Typical usage of a pod: the median over the pods, each smoothed as the policy says.
    pub typical: Amount,
    /// The recommended request.
    pub suggested: Amount,
    /// The limit of the pod, if it has one. It caps the recommendation and may have capped the
    /// measured usage.
    pub limit: Option<Amount>,
    /// The change in the requests of all its pods together.
    pub total: Amount,
    /// The same as a share of the nodes' allocatable resources; zero if they have none.
    pub wrong_by: Ratio,
}

impl Suggestion {
    /// Writes an amount as a Kubernetes quantity, such as `250m` or `128Mi`, ready for a manifest.
    fn quantity(&self, amount: Amount) -> String {
        quantity::text(self.resource, amount)
    }
}

crate::object!(Suggestion, |s| {
    "direction": s.direction,
    "request": s.request.map(|request| s.quantity(request)),
    "typical": s.quantity(s.typical),
    "suggested": s.quantity(s.suggested),
    "limit": s.limit.map(|limit| s.quantity(limit)),
    "total": s.quantity(s.total),
    "wrong_by": s.wrong_by,
});

/// The direction in which a request is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The request exceeds usage: nodes look fuller to the scheduler than they are.
    TooHigh,
    /// Usage exceeds the request, or there is none: nodes look emptier to the scheduler than they
    /// are.
    TooLow,
}

crate::codes! {
    Direction::code {
        TooHigh = "too_high",
        TooLow = "too_low",
    }
}
