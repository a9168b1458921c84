//! A pool of nodes while the strategy runs: its destinations, and why it is idle.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::decide::draft::DestinationLimits;
use crate::decide::targets::PoolInForce;
use crate::model::plan::{Class, Idle, NoGain};
use crate::model::snapshot::NodeId;

/// A pool while the strategy runs.
#[derive(Debug)]
pub(super) struct BalancedPool {
    pub(super) in_force: PoolInForce,
    /// Why nothing is done in the pool; `None` if something is.
    pub(super) idle: Option<Idle>,
    /// The destinations for pods of the hot nodes: every other node. The scheduler chooses among
    /// them, and may not choose a cold one.
    pub(super) destinations: DestinationLimits,
}

impl BalancedPool {
    pub(super) fn new(
        in_force: PoolInForce,
        classes: &BTreeMap<NodeId, Class>,
        number_of_nodes: Option<u32>,
    ) -> Self {
        let is_hot = |node: &NodeId| classes.get(node).is_some_and(Class::is_hot);
        let others = in_force.nodes.iter().copied().filter(|node| !is_hot(node));
        BalancedPool {
            idle: idle(&in_force.nodes, classes, number_of_nodes),
            destinations: DestinationLimits {
                nodes: others.collect(),
                targets: Rc::clone(&in_force.targets),
                basis: in_force.basis,
                usage_targets: Rc::default(),
                others: NoGain::Hot,
            },
            in_force,
        }
    }
}

/// Why nothing is done with these nodes; `None` if something is. The order of the checks is that of
/// descheduler.
fn idle(
    nodes: &[NodeId],
    classes: &BTreeMap<NodeId, Class>,
    number_of_nodes: Option<u32>,
) -> Option<Idle> {
    let count = |counts: fn(&Class) -> bool| {
        let classes = nodes.iter().filter_map(|node| classes.get(node));
        classes.filter(|class| counts(class)).count()
    };
    let (hot, cold) = (count(Class::is_hot), count(|class| *class == Class::Cold));
    let warming = count(|class| matches!(class, Class::Warming { .. }));
    match (hot, warming, cold) {
        _ if nodes.is_empty() => None,
        (0, 1.., _) => Some(Idle::NotForLong(warming)),
        (0, _, _) if cold == nodes.len() => Some(Idle::AllCold),
        (0, _, _) => Some(Idle::NothingHot),
        // Without `numberOfNodes` no node has to be cold, because the forecast knows which node
        // takes a pod.
        (_, _, 0) => number_of_nodes.map(|_| Idle::NothingCold(hot)),
        _ => Idle::few_cold(cold, number_of_nodes?),
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::model::snapshot::facts::NodeClosure;
    use crate::values::Ratio;

    fn hot() -> Class {
        Class::Hot {
            resource: "cpu".to_owned(),
            ratio: Ratio::ONE,
            target: Ratio::HALF,
            expected: None,
            needed: None,
        }
    }

    fn warming() -> Class {
        Class::Warming {
            resource: "cpu".to_owned(),
            ratio: Ratio::ONE,
            target: Ratio::HALF,
            since: SignedDuration::ZERO,
            sustained_for: SignedDuration::from_mins(2),
        }
    }

    /// Why nothing is done with nodes of these classes.
    fn idle_with(number_of_nodes: Option<u32>, classes: Vec<Class>) -> Option<Idle> {
        let classes: BTreeMap<NodeId, Class> = (0..).map(NodeId).zip(classes).collect();
        let nodes: Vec<NodeId> = classes.keys().copied().collect();
        idle(&nodes, &classes, number_of_nodes)
    }

    #[test]
    fn without_a_hot_node_the_other_classes_say_why_nothing_is_done() {
        let idle = |classes| idle_with(None, classes);
        assert_eq!(idle(vec![]), None);
        assert_eq!(idle(vec![Class::Even, Class::Cold]), Some(Idle::NothingHot));
        assert_eq!(idle(vec![Class::Cold, Class::Cold]), Some(Idle::AllCold));
        assert_eq!(idle(vec![warming(), Class::Cold]), Some(Idle::NotForLong(1)));
    }

    #[test]
    fn cold_nodes_are_counted_only_with_a_number_of_nodes() {
        let closed = Class::ColdClosed(NodeClosure::Leaving);
        let none_cold = vec![hot(), closed];
        assert_eq!(idle_with(None, none_cold.clone()), None);
        assert_eq!(idle_with(Some(0), none_cold), Some(Idle::NothingCold(1)));
        let one_cold = vec![hot(), Class::Cold];
        assert_eq!(idle_with(Some(0), one_cold.clone()), None);
        let few = Idle::FewCold { cold: 1, more_than: 1 };
        assert_eq!(idle_with(Some(1), one_cold), Some(few));
    }
}
