//! Pools of nodes, with the thresholds and targets in force.

use std::rc::Rc;

use crate::decide::projection::{Projection, TargetByMean};
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::{Basis, LowNodeUtilization, Pool, Thresholds};
use crate::values::{Ratio, ResourceId};

use super::above::{AboveTarget, furthest_above};
use super::eligible::{fit, judged};
use super::excess::ResourceExcess;

/// A limit for each resource.
pub type ResourceRatios = Rc<[(ResourceId, Ratio)]>;

/// The nodes of one pool, with the thresholds and targets in force.
#[derive(Debug)]
pub struct PoolInForce {
    /// The name of the pool.
    pub pool: String,
    /// Whether thresholds and targets apply to usage or requests.
    pub basis: Basis,
    /// Its nodes, except those that can be neither source nor destination.
    pub nodes: Vec<NodeId>,
    /// The thresholds. Deviation thresholds are relative to the mean of the nodes.
    pub thresholds: ResourceRatios,
    /// The targets.
    pub targets: ResourceRatios,
}

/// The pools of a rule, with the thresholds and targets in force. A node belongs to the first pool
/// that selects it.
pub fn in_force(projection: &Projection<'_>, rule: &LowNodeUtilization) -> Vec<PoolInForce> {
    let mut pools: Vec<(&Pool, Vec<NodeId>)> = rule.pools.iter().map(|p| (p, Vec::new())).collect();
    for node in fit(projection, rule.basis) {
        let selecting = rule.pool_of(&projection.world.snapshot.node(node).labels);
        let found = pools.iter_mut().find(|(pool, _)| Some(*pool) == selecting);
        if let Some((pool, nodes)) = found
            && judged(projection, node, &pool.targets)
        {
            nodes.push(node);
        }
    }
    let pools = pools.into_iter();
    pools
        .map(|(pool, nodes)| PoolInForce {
            pool: pool.name.clone(),
            basis: rule.basis,
            thresholds: limits(projection, rule, &nodes, &pool.thresholds, Ratio::minus),
            targets: limits(projection, rule, &nodes, &pool.targets, Ratio::plus),
            nodes,
        })
        .collect()
}

/// The thresholds of resources that the cluster has. Deviation thresholds become shares of
/// allocatable: `from_mean` applies the deviation to the mean.
fn limits(
    projection: &Projection<'_>,
    rule: &LowNodeUtilization,
    nodes: &[NodeId],
    thresholds: &Thresholds,
    from_mean: fn(Ratio, Ratio) -> Ratio,
) -> ResourceRatios {
    let resources = &projection.world.snapshot.resources;
    resources
        .known(thresholds)
        .map(|(resource, ratio)| {
            if rule.deviation {
                let mean = mean(projection, rule.basis, nodes, resource);
                (resource, from_mean(mean, ratio).at_most(Ratio::ONE))
            } else {
                (resource, ratio)
            }
        })
        .collect()
}

fn mean(
    projection: &Projection<'_>,
    basis: Basis,
    nodes: &[NodeId],
    resource: ResourceId,
) -> Ratio {
    let known: Vec<f64> = nodes
        .iter()
        .filter_map(|n| projection.ratio(*n, resource, basis))
        .map(Ratio::get)
        .collect();
    let count = u32::try_from(known.len().max(1)).unwrap_or(u32::MAX);
    Ratio::new(known.iter().sum::<f64>() / f64::from(count)).unwrap_or_default()
}

/// The targets of the policy for a node on a basis: the least of each resource, if several rules
/// have the node in a pool. Targets relative to the mean count only with `by_mean`.
pub fn least_targets(
    projection: &Projection<'_>,
    node: NodeId,
    basis: Basis,
    by_mean: bool,
) -> Vec<(ResourceId, Ratio)> {
    let snapshot = projection.world.snapshot;
    let rules = projection.world.policy.low_node_utilization();
    let fixed = rules.filter(|r| r.basis == basis && !r.deviation);
    let fixed = fixed.filter_map(|r| r.pool_of(&snapshot.node(node).labels));
    let fixed = fixed.flat_map(|pool| snapshot.resources.known(&pool.targets));
    let relative =
        by_mean.then(|| projection.targets_by_mean(node, || targets_by_mean(projection)));
    let relative = relative.into_iter().flatten().filter(|(on, ..)| *on == basis);
    let relative = relative.map(|(_, resource, target)| (*resource, *target));
    let mut least: Vec<(ResourceId, Ratio)> = Vec::new();
    for (resource, target) in fixed.chain(relative) {
        match least.iter_mut().find(|(known, _)| *known == resource) {
            Some((_, known)) if target < *known => *known = target,
            Some(_) => {}
            None => least.push((resource, target)),
        }
    }
    least
}

/// The targets of each node that are relative to the mean, without moves.
fn targets_by_mean(projection: &Projection<'_>) -> Vec<Vec<TargetByMean>> {
    let world = projection.world;
    let mut of_nodes = vec![Vec::new(); world.snapshot.nodes.len()];
    let rules = world.policy.low_node_utilization().filter(|rule| rule.deviation);
    for pool in rules.flat_map(|rule| in_force(&Projection::new(world), rule)) {
        for node in &pool.nodes {
            let targets = pool.targets.iter().map(|(r, target)| (pool.basis, *r, *target));
            of_nodes[node.0].extend(targets);
        }
    }
    of_nodes
}

impl PoolInForce {
    /// The resource of a node that is furthest above its target.
    pub fn furthest_above(&self, projection: &Projection<'_>, node: NodeId) -> Option<AboveTarget> {
        furthest_above(projection, node, self.basis, &self.targets)
    }

    /// This share of each target.
    pub fn share_of_targets(&self, share: f64) -> Vec<(ResourceId, Ratio)> {
        let targets = self.targets.iter();
        targets.filter_map(|(r, target)| Some((*r, Ratio::new(target.get() * share)?))).collect()
    }

    /// The resources in which a node exceeds its targets without these pods, the worst first.
    pub fn excess(
        &self,
        projection: &Projection<'_>,
        node: NodeId,
        without: &[PodId],
    ) -> Vec<ResourceExcess> {
        let targets = self.targets.iter();
        let mut excess: Vec<ResourceExcess> = targets
            .filter_map(|(resource, target)| {
                let weights = without.iter();
                let gone = weights.filter_map(|p| projection.weight(*p, *resource, self.basis));
                let gone = gone.sum();
                ResourceExcess::new(projection, self.basis, node, *resource, *target, gone)
            })
            .collect();
        excess.sort_by(|a, b| a.above.worst_first(&b.above));
        excess
    }
}
