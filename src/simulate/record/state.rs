//! The state of the nodes at one time, and the bands that it is compared with.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::snapshot::{Node, Snapshot};
use crate::model::usage::Measure;
use crate::policy::{Basis, LowNodeUtilization, Policy, Rule};
use crate::simulate::metrics::Used;
use crate::simulate::trace::TraceBand;
use crate::values::{Amount, Ratio, ResourceId};

/// A node at one time.
pub(super) struct NodeState<'r> {
    pub(super) pods: u32,
    pub(super) actual: BTreeMap<&'r str, Ratio>,
    pub(super) requests: BTreeMap<&'r str, Ratio>,
}

/// Computes the current state of each node.
pub(super) fn states<'c>(
    resources: &'c BTreeSet<String>,
    snapshot: &'c Snapshot,
    used: &Used<'_>,
) -> BTreeMap<&'c str, NodeState<'c>> {
    let find = |name: &'c str| Some((name, snapshot.resources.find(name)?));
    let weighed: Vec<(&str, ResourceId)> = resources.iter().filter_map(|name| find(name)).collect();
    let measured = [
        find("cpu").map(|r| (r, cpu as MeasuredAmount)),
        find("memory").map(|r| (r, memory as MeasuredAmount)),
    ];
    let state = |node: &'c Node| {
        let pods = || node.pods.iter().map(|pod| &snapshot.pod(*pod).requests);
        let sum = |r: ResourceId| pods().fold(Amount::ZERO, |sum, requests| sum.plus(requests[r]));
        let real = used.nodes.get(node.name.as_str());
        let actual = measured.iter().flatten().filter_map(|((name, r), part)| {
            Some((*name, part(real?).share_of(node.allocatable[*r])?))
        });
        let requests = weighed
            .iter()
            .filter_map(|(name, r)| Some((*name, sum(*r).share_of(node.allocatable[*r])?)));
        let count = u32::try_from(node.pods.len()).unwrap_or(u32::MAX);
        (
            node.name.as_str(),
            NodeState {
                pods: count,
                actual: actual.collect(),
                requests: requests.collect(),
            },
        )
    };
    snapshot.nodes.iter().map(state).collect()
}

/// Returns the usage of one resource.
type MeasuredAmount = fn(&Measure) -> Amount;

const fn cpu(of: &Measure) -> Amount {
    of.cpu
}

const fn memory(of: &Measure) -> Amount {
    of.memory
}

/// Returns the basis of the first strategy that balances or packs, and its thresholds if they are
/// the same for all nodes.
pub(super) fn bands(policy: &Policy) -> (Basis, BTreeMap<String, TraceBand>) {
    let rules = policy.strategies.iter().map(|s| &s.rule);
    if let Some(rule) = rules.clone().find_map(LowNodeUtilization::of) {
        return (rule.basis, balancing_bands(rule));
    }
    for rule in rules {
        if let Rule::HighNodeUtilization(rule) = rule {
            let bands = rule.thresholds.iter().map(|(name, low)| {
                let high = Ratio::ONE;
                (name.clone(), TraceBand { low: *low, high })
            });
            return (rule.basis, bands.collect());
        }
    }
    (Basis::Actual, BTreeMap::new())
}

fn balancing_bands(rule: &LowNodeUtilization) -> BTreeMap<String, TraceBand> {
    let [pool] = rule.pools.as_slice() else {
        return BTreeMap::new();
    };
    if rule.deviation {
        return BTreeMap::new();
    }
    let bands = pool.thresholds.iter().filter_map(|(name, low)| {
        let (_, high) = pool.targets.iter().find(|(n, _)| n == name)?;
        let (low, high) = (*low, *high);
        Some((name.clone(), TraceBand { low, high }))
    });
    bands.collect()
}

impl TraceBand {
    /// Returns the share of these nodes that are idle or hot.
    pub(super) fn outside(&self, ratios: &[Ratio]) -> Option<Ratio> {
        let outside = ratios
            .iter()
            .filter(|r| **r <= self.low || **r > self.high)
            .count();
        let count = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
        Ratio::new(count(outside) / count(ratios.len()))
    }
}
