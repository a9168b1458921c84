//! The state of the nodes at one time, and the bands that it is compared with.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::snapshot::{Node, Snapshot};
use crate::model::usage::Measure;
use crate::policy::{Basis, LowNodeUtilization, Policy, Rule};
use crate::simulate::metrics::Used;
use crate::simulate::trace::TraceBand;
use crate::values::{Amount, Ratio, ResourceId, value_of};

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
    used: &Used,
) -> BTreeMap<&'c str, NodeState<'c>> {
    let weighed: Vec<(&str, ResourceId)> = resources
        .iter()
        .filter_map(|name| Some((name.as_str(), snapshot.resources.find(name)?)))
        .collect();
    let states = snapshot.nodes.iter().zip(&used.nodes).map(|(node, real)| {
        let real = real.as_ref();
        let state = NodeState {
            pods: u32::try_from(node.pods.len()).unwrap_or(u32::MAX),
            actual: real.map_or_else(BTreeMap::new, |real| actual(snapshot, node, real)),
            requests: requests(snapshot, node, &weighed),
        };
        (node.name.as_str(), state)
    });
    states.collect()
}

/// Returns the shares of the measured resources that a node uses.
fn actual<'c>(snapshot: &Snapshot, node: &Node, real: &Measure) -> BTreeMap<&'c str, Ratio> {
    let measured = [("cpu", real.cpu), ("memory", real.memory)];
    let shares = measured.into_iter().filter_map(|(name, used)| {
        let resource = snapshot.resources.find(name)?;
        Some((name, used.share_of(node.allocatable[resource])?))
    });
    shares.collect()
}

/// Returns the shares of these resources that the pods of a node request.
fn requests<'c>(
    snapshot: &Snapshot,
    node: &Node,
    weighed: &[(&'c str, ResourceId)],
) -> BTreeMap<&'c str, Ratio> {
    let shares = weighed.iter().filter_map(|(name, resource)| {
        let pods = node.pods.iter().map(|pod| snapshot.pod(*pod).requests[*resource]);
        let sum = pods.fold(Amount::ZERO, Amount::plus);
        Some((*name, sum.share_of(node.allocatable[*resource])?))
    });
    shares.collect()
}

/// Returns the basis of the strategy that balances or packs, and its thresholds if they are the
/// same for all nodes. Of several, the first one that balances actual usage counts, because the
/// time above its target is counted.
pub(super) fn bands(policy: &Policy) -> (Basis, BTreeMap<String, TraceBand>) {
    let rules = policy.strategies.iter().map(|s| &s.rule);
    let balancing = || rules.clone().filter_map(LowNodeUtilization::of);
    let mut by_usage = balancing().filter(|rule| rule.basis == Basis::Actual);
    if let Some(rule) = by_usage.next().or_else(|| balancing().next()) {
        return (rule.basis, balancing_bands(rule));
    }
    for rule in rules {
        if let Rule::HighNodeUtilization(rule) = rule {
            let bands = rule.thresholds.iter().map(|(name, threshold)| {
                let band = TraceBand { threshold: *threshold, target: Ratio::ONE };
                (name.clone(), band)
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
    let bands = pool.thresholds.iter().filter_map(|(name, threshold)| {
        let band = TraceBand { threshold: *threshold, target: value_of(&pool.targets, name)? };
        Some((name.clone(), band))
    });
    bands.collect()
}

impl TraceBand {
    /// Returns the share of these nodes that are idle or hot.
    pub(super) fn outside(&self, ratios: &[Ratio]) -> Option<Ratio> {
        let outside = ratios.iter().filter(|r| **r <= self.threshold || **r > self.target).count();
        Ratio::of_counts(outside, ratios.len())
    }
}
