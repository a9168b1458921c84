//! The ratios of every node, and how balanced they are.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::policy::Basis;
use crate::values::Ratio;

/// The ratios of every node, and how balanced they are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BalanceReport {
    /// Whether ratios and balance are based on usage or requests.
    pub basis: Basis,
    /// The nodes, by name.
    pub nodes: Vec<NodePicture>,
    /// The balance of each resource.
    pub balance: BTreeMap<String, Balance>,
    /// The pools of every balancing strategy, on the basis of that strategy. Without such a
    /// strategy, one pool `all` on each basis.
    pub pools: Vec<PoolPicture>,
}

/// The ratios of one node by resource; `None` means unknown. A resource that the node does not have
/// is missing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodePicture {
    /// The node.
    pub name: String,
    /// Ratios on the basis of the report.
    pub ratios: BTreeMap<String, Option<Ratio>>,
    /// Ratios by requests.
    pub requests: BTreeMap<String, Option<Ratio>>,
    /// Ratios by usage.
    pub actual: BTreeMap<String, Option<Ratio>>,
    /// The latest reading of cpu and memory, not smoothed. It does not change with the planned
    /// moves.
    pub latest: BTreeMap<String, Option<Ratio>>,
    /// The pool of the node on the basis of the report; `None` if it is in no pool or its usage is
    /// unknown.
    pub pool: Option<String>,
    /// The thresholds and targets of the node in that pool, by resource.
    pub band: BTreeMap<String, TargetBand>,
}

impl NodePicture {
    /// Returns the ratios on a basis.
    pub const fn by(&self, basis: Basis) -> &BTreeMap<String, Option<Ratio>> {
        match basis {
            Basis::Actual => &self.actual,
            Basis::Requests => &self.requests,
        }
    }

    /// Returns true if a ratio is known and at most a limit, or the node does not have the
    /// resource.
    pub fn is_at_most(&self, resource: &str, limit: Ratio) -> bool {
        let ratio = self.ratios.get(resource);
        ratio.is_none_or(|ratio| ratio.is_some_and(|ratio| ratio <= limit))
    }

    /// Returns true if a ratio on the basis of the report is known.
    pub fn is_measured(&self) -> bool {
        self.ratios.values().any(Option::is_some)
    }

    /// Returns true if a known ratio is above its target.
    pub fn is_above_target(&self) -> bool {
        self.band.iter().any(|(resource, band)| {
            let ratio = self.ratios.get(resource).copied().flatten();
            ratio.zip(band.target).is_some_and(|(ratio, target)| ratio > target)
        })
    }

    /// Returns true if every ratio with a target is known and at or below its target.
    pub fn is_at_target(&self) -> bool {
        self.band.iter().all(|(resource, band)| {
            let within = |target| self.is_at_most(resource, target);
            band.target.is_none_or(within)
        })
    }
}

/// Nodes that are balanced together, without those of unknown usage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoolPicture {
    /// The name of the pool in the policy.
    pub name: String,
    /// Usage or requests.
    pub basis: Basis,
    /// The balance of each resource.
    pub balance: BTreeMap<String, Balance>,
    /// Nodes above a target, or at or below every threshold; `None` if there are neither.
    pub outside_band: Option<usize>,
    /// The threshold and target of each resource.
    pub band: BTreeMap<String, TargetBand>,
    /// The number of nodes.
    pub nodes: usize,
}

/// The threshold and target in force for one resource. Deviation thresholds are already added to
/// the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetBand {
    /// The threshold.
    #[serde(rename = "low")]
    pub threshold: Option<Ratio>,
    /// The target, or the upper limit of usage.
    #[serde(rename = "high")]
    pub target: Option<Ratio>,
}

/// The balance of the nodes in one resource. Smaller values are better.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Balance {
    /// The mean of the known ratios.
    pub mean: Ratio,
    /// The population standard deviation of the known ratios.
    pub deviation: Ratio,
    /// The largest known ratio minus the mean.
    pub above_mean: Ratio,
    /// The share of the measured nodes that are outside the band; `None` without a band.
    pub outside_band: Option<Ratio>,
}
