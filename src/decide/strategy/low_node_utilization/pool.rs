//! Pools of nodes, with the thresholds and targets in force.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::decide::draft::{DestinationLimits, Draft};
use crate::model::plan::{Class, Idle, NoGain};
use crate::model::snapshot::NodeId;
use crate::policy::{Basis, LowNodeUtilization, Pool, Thresholds};
use crate::values::{Ratio, ResourceId};

use super::eligible::fit;

/// A limit for each resource.
pub(super) type ResourceRatios = Rc<[(ResourceId, Ratio)]>;

/// The nodes of one pool, with the thresholds and targets in force.
#[derive(Debug)]
pub struct PoolInForce {
    /// The name of the pool.
    pub pool: String,
    /// Its nodes, except those that can be neither source nor destination.
    pub nodes: Vec<NodeId>,
    /// The thresholds. Deviation thresholds are relative to the mean of the nodes.
    pub thresholds: ResourceRatios,
    /// The targets.
    pub targets: ResourceRatios,
}

/// A pool while the strategy runs.
#[derive(Debug)]
pub(super) struct BalancedPool {
    pub(super) in_force: PoolInForce,
    pub(super) hot: Vec<NodeId>,
    /// Why nothing is done in the pool; `None` if something is.
    pub(super) idle: Option<Idle>,
    /// Every node that is not hot. The scheduler chooses among them, and may not choose a cold one.
    destinations: Rc<[NodeId]>,
}

/// The pools of a rule, with the thresholds and targets in force. A node belongs to the first pool
/// that selects it.
pub fn in_force(draft: &Draft<'_>, rule: &LowNodeUtilization) -> Vec<PoolInForce> {
    let mut pools: Vec<(&Pool, Vec<NodeId>)> = rule.pools.iter().map(|p| (p, Vec::new())).collect();
    for node in fit(draft, rule.basis) {
        let selecting = rule.pool_of(&draft.world.snapshot.node(node).labels);
        let found = pools.iter_mut().find(|(pool, _)| Some(*pool) == selecting);
        if let Some((pool, nodes)) = found
            && judged(draft, node, &pool.targets)
        {
            nodes.push(node);
        }
    }
    let pools = pools.into_iter();
    pools
        .map(|(pool, nodes)| PoolInForce {
            pool: pool.name.clone(),
            thresholds: limits(draft, rule, &nodes, &pool.thresholds, Ratio::minus),
            targets: limits(draft, rule, &nodes, &pool.targets, Ratio::plus),
            nodes,
        })
        .collect()
}

/// Whether a node has any of the resources that a strategy weighs, or need not have one.
pub fn judged(draft: &Draft<'_>, node: NodeId, weighed: &Thresholds) -> bool {
    let resources = &draft.world.snapshot.resources;
    let mut known = resources.known(weighed);
    draft.world.policy.takes_any_node() || known.any(|(resource, _)| !draft.lacks(node, resource))
}

/// The thresholds of resources that the cluster has. Deviation thresholds become shares of
/// allocatable: `from_mean` applies the deviation to the mean.
fn limits(
    draft: &Draft<'_>,
    rule: &LowNodeUtilization,
    nodes: &[NodeId],
    thresholds: &Thresholds,
    from_mean: fn(Ratio, Ratio) -> Ratio,
) -> ResourceRatios {
    let resources = &draft.world.snapshot.resources;
    resources
        .known(thresholds)
        .map(|(resource, ratio)| {
            if rule.deviation {
                let mean = mean(draft, rule.basis, nodes, resource);
                (resource, from_mean(mean, ratio).at_most(Ratio::ONE))
            } else {
                (resource, ratio)
            }
        })
        .collect()
}

fn mean(draft: &Draft<'_>, basis: Basis, nodes: &[NodeId], resource: ResourceId) -> Ratio {
    let known: Vec<f64> = nodes
        .iter()
        .filter_map(|n| draft.ratio(*n, resource, basis))
        .map(Ratio::get)
        .collect();
    let count = u32::try_from(known.len().max(1)).unwrap_or(u32::MAX);
    Ratio::new(known.iter().sum::<f64>() / f64::from(count)).unwrap_or_default()
}

impl BalancedPool {
    pub(super) fn new(
        in_force: PoolInForce,
        classes: &BTreeMap<NodeId, Class>,
        rule: &LowNodeUtilization,
    ) -> Self {
        let is_hot = |n: &NodeId| matches!(classes.get(n), Some(Class::Hot { .. }));
        let nodes = in_force.nodes.iter().copied();
        let (hot, others): (Vec<NodeId>, Vec<NodeId>) = nodes.partition(is_hot);
        let idle = idle(&in_force.nodes, classes, rule);
        BalancedPool {
            in_force,
            hot,
            idle,
            destinations: others.into(),
        }
    }

    /// The destinations for pods of the hot nodes.
    pub(super) fn destinations(&self, basis: Basis) -> DestinationLimits {
        DestinationLimits {
            nodes: Rc::clone(&self.destinations),
            targets: Rc::clone(&self.in_force.targets),
            basis,
            usage_targets: Rc::default(),
            others: NoGain::Hot,
        }
    }
}

/// Why nothing is done with these nodes; `None` if something is. The order of the checks is that of
/// descheduler.
fn idle(
    nodes: &[NodeId],
    classes: &BTreeMap<NodeId, Class>,
    rule: &LowNodeUtilization,
) -> Option<Idle> {
    let count = |counts: fn(&Class) -> bool| {
        let classes = nodes.iter().filter_map(|n| classes.get(n));
        classes.filter(|class| counts(class)).count()
    };
    let hot = count(|c| matches!(c, Class::Hot { .. }));
    let warming = count(|c| matches!(c, Class::Warming { .. }));
    let cold = count(|c| matches!(c, Class::Cold));
    match (hot, warming, cold) {
        _ if nodes.is_empty() => None,
        (0, 1.., _) => Some(Idle::NotForLong(warming)),
        (0, _, _) if cold == nodes.len() => Some(Idle::AllCold),
        (0, _, _) => Some(Idle::NothingHot),
        _ => too_few_cold(hot, cold, rule.number_of_nodes?),
    }
}

/// Without `numberOfNodes` no node has to be cold, because the forecast knows which node takes a
/// pod.
fn too_few_cold(hot: usize, cold: usize, more_than: u32) -> Option<Idle> {
    if cold == 0 {
        return Some(Idle::NothingCold(hot));
    }
    let few = u32::try_from(cold).is_ok_and(|cold| cold <= more_than);
    few.then_some(Idle::FewCold { cold, more_than })
}
