//! A pool of nodes while the strategy runs: its hot nodes, its destinations, and why it is idle.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::decide::draft::DestinationLimits;
use crate::decide::targets::PoolInForce;
use crate::model::plan::{Class, Idle, NoGain};
use crate::model::snapshot::NodeId;
use crate::policy::LowNodeUtilization;

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
    pub(super) fn destinations(&self) -> DestinationLimits {
        DestinationLimits {
            nodes: Rc::clone(&self.destinations),
            targets: Rc::clone(&self.in_force.targets),
            basis: self.in_force.basis,
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
