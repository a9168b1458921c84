//! Every node's ratios, and how even they are.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::policy::Basis;
use crate::units::Ratio;

/// Every node's ratios, and how even they are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Picture {
    /// What the ratios and the balance weigh.
    pub basis: Basis,
    /// By name.
    pub nodes: Vec<NodePicture>,
    /// By resource.
    pub balance: BTreeMap<String, Balance>,
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
    /// Share of the nodes with a known ratio that are hot or cold by the first strategy that balances; `None` where no
    /// strategy does.
    pub outside_band: Option<Ratio>,
}
