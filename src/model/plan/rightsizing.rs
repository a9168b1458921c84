//! Workloads whose requests are far from what their pods use, with requests that would fit.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde::{Serialize, Serializer};

use crate::model::snapshot::facts::OwnerKey;
use crate::values::{Amount, Ratio, quantity};

/// A workload whose requests are far from what its pods use. All amounts are of a pod as a whole, its containers together,
/// for so usage is measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rightsizing {
    /// The workload.
    pub workload: OwnerKey,
    /// Its pods that neither have finished nor are on their way out.
    pub pods: u32,
    /// How many of them the rightsizing rests on: those that are Ready and of which enough samples are known.
    pub measured: u32,
    /// How many samples that are, in all.
    pub samples: u64,
    /// From the oldest of these samples to the newest; zero where each pod was looked at once.
    pub span: SignedDuration,
    /// `cpu`, `memory` or both: those in which the request is far from use.
    pub resources: BTreeMap<&'static str, Suggestion>,
}

impl Rightsizing {
    /// How much of the cluster its worst resource is wrong by.
    pub fn wrong_by(&self) -> Ratio {
        let shares = self.resources.values().map(|s| s.wrong_by);
        shares.max_by(|a, b| a.order(*b)).unwrap_or_default()
    }
}

/// What one pod of a workload had better request of one resource.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suggestion {
    /// Which way the request is wrong.
    pub direction: Direction,
    /// The resource that the amounts are of.
    pub resource: &'static str,
    /// What its newest pod requests, as the scheduler counts it; `None` where it requests nothing.
    pub request: Option<Amount>,
    /// What a pod typically uses: the median over the pods, each smoothed as the policy says.
    pub typical: Amount,
    /// What a pod had better request.
    pub suggested: Amount,
    /// The pod's limit, where it has one. It caps the suggestion, and perhaps what was measured.
    pub limit: Option<Amount>,
    /// By how much the requests of all its pods together would change.
    pub total: Amount,
    /// The same as a share of what the nodes have; zero where they have none.
    pub wrong_by: Ratio,
}

impl Serialize for Suggestion {
    /// Amounts are written as Kubernetes writes them, such as `250m` and `128Mi`, to be put into a manifest as they are.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Written {
            direction: Direction,
            request: Option<String>,
            typical: String,
            suggested: String,
            limit: Option<String>,
            total: String,
            wrong_by: Ratio,
        }
        let text = |amount: Amount| quantity::text(self.resource, amount);
        Written {
            direction: self.direction,
            request: self.request.map(text),
            typical: text(self.typical),
            suggested: text(self.suggested),
            limit: self.limit.map(text),
            total: text(self.total),
            wrong_by: self.wrong_by,
        }
        .serialize(serializer)
    }
}

/// Which way a request is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// More is requested than is used: nodes look fuller to the scheduler than they are.
    TooHigh,
    /// Less is requested than is used, or nothing: nodes look emptier to the scheduler than they are.
    TooLow,
}

impl Direction {
    /// The stable code.
    pub const fn code(self) -> &'static str {
        match self {
            Direction::TooHigh => "too_high",
            Direction::TooLow => "too_low",
        }
    }
}
