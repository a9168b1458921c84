//! Every node's ratios, and how even they are.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::policy::Basis;
use crate::values::Ratio;

/// Every node's ratios, and how even they are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BalanceReport {
    /// What the ratios and the balance weigh.
    pub basis: Basis,
    /// By name.
    pub nodes: Vec<NodePicture>,
    /// By resource.
    pub balance: BTreeMap<String, Balance>,
    /// Each pool of each strategy that balances, on the basis of that strategy; `all` on both where none does.
    pub pools: Vec<PoolPicture>,
}

/// One node's ratios, by resource; `None` where unknown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodePicture {
    /// The node.
    pub name: String,
    /// On the basis of the picture.
    pub ratios: BTreeMap<String, Option<Ratio>>,
    /// By what the pods request.
    pub requests: BTreeMap<String, Option<Ratio>>,
    /// By what is really used.
    pub actual: BTreeMap<String, Option<Ratio>>,
    /// The newest reading of cpu and of memory, not smoothed; whatever is decided, it stays what it was.
    pub latest: BTreeMap<String, Option<Ratio>>,
    /// The pool by which it is measured on the basis of the picture; `None` where it is in none, or cannot be weighed.
    pub pool: Option<String>,
    /// What it is measured by there.
    pub band: BTreeMap<String, Band>,
}

/// Nodes that are measured together. A node that cannot be weighed is not among them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoolPicture {
    /// The name that the policy gives it.
    pub name: String,
    /// What is weighed.
    pub basis: Basis,
    /// By resource.
    pub balance: BTreeMap<String, Balance>,
    /// How many nodes are above a high mark, or at or below every low one; `None` where there are no marks.
    pub outside_band: Option<usize>,
    /// By resource.
    pub band: BTreeMap<String, Band>,
    /// How many nodes there are.
    pub nodes: usize,
}

/// The marks in force for one resource; deviation thresholds are already laid around the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Band {
    /// The threshold.
    pub low: Option<Ratio>,
    /// The target, or the ceiling of what is really used.
    pub high: Option<Ratio>,
}

/// How even the nodes are in one resource; the smaller, the better.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Balance {
    /// Mean of the known ratios.
    pub mean: Ratio,
    /// Standard deviation of the known ratios, over the whole population.
    pub deviation: Ratio,
    /// The largest known ratio less the mean.
    pub above_mean: Ratio,
    /// Share of the nodes that are weighed and are outside the band; `None` where there is none.
    pub outside_band: Option<Ratio>,
}
