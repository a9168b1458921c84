//! The class of each node: hot, cold, or why it is neither source nor destination.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use crate::decide::projection::Projection;
use crate::model::plan::Class;
use crate::model::snapshot::NodeId;
use crate::policy::{Basis, LowNodeUtilization};
use crate::values::ResourceId;

use super::eligible::unfit;
use super::pool::PoolInForce;

/// The class of every node of the cluster.
pub fn classify(
    projection: &Projection<'_>,
    position: usize,
    rule: &LowNodeUtilization,
    pools: &[PoolInForce],
) -> BTreeMap<NodeId, Class> {
    let mut classes = BTreeMap::new();
    for pool in pools {
        for node in &pool.nodes {
            classes.insert(*node, class(projection, position, rule, *node, pool));
        }
    }
    for node in projection.world.snapshot.node_ids() {
        classes.entry(node).or_insert_with(|| {
            unfit(projection, rule.basis, node).unwrap_or_else(|| outside(projection, rule, node))
        });
    }
    classes
}

fn class(
    projection: &Projection<'_>,
    position: usize,
    rule: &LowNodeUtilization,
    node: NodeId,
    pool: &PoolInForce,
) -> Class {
    let Some(worst) = pool.furthest_above(projection, node) else {
        let ratio = |r: ResourceId| projection.room_ratio(node, r, rule.basis);
        if !projection.is_within(node, &pool.thresholds, ratio) {
            return Class::Even;
        }
        return match projection.closure(node) {
            Some(closure) => Class::ColdClosed(closure),
            None => Class::Cold,
        };
    };
    let (resource, ratio, target) = (worst.name(projection), worst.ratio, worst.target);
    match warming(projection, position, rule, node) {
        Some(since) => {
            Class::Warming { resource, ratio, target, since, sustained_for: rule.sustained_for }
        }
        None => Class::Hot { resource, ratio, target, expected: None, needed: None },
    }
}

/// The time for which the node has been above a target; `None` if that is long enough.
fn warming(
    projection: &Projection<'_>,
    position: usize,
    rule: &LowNodeUtilization,
    node: NodeId,
) -> Option<SignedDuration> {
    // Requests do not fluctuate, so they count at once.
    if rule.basis == Basis::Requests {
        return None;
    }
    let world = projection.world;
    let name = world.snapshot.node(node).name.clone();
    let since = world.hot_since.get(&(position, name));
    let hot_for = since.map_or(SignedDuration::ZERO, |t| world.now.duration_since(*t));
    (hot_for < rule.sustained_for).then_some(hot_for)
}

/// The class of a fit node that is in no pool, or has none of its pool's resources.
fn outside(projection: &Projection<'_>, rule: &LowNodeUtilization, node: NodeId) -> Class {
    let pool = rule.pool_of(&projection.world.snapshot.node(node).labels);
    pool.map_or(Class::NotSelected, |pool| {
        Class::Lacks(pool.targets.iter().map(|(name, _)| name.to_owned()).collect())
    })
}
