//! The class of each node: hot, cold, or why it is neither source nor destination.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;

use crate::decide::draft::Draft;
use crate::model::plan::Class;
use crate::model::snapshot::NodeId;
use crate::policy::{Basis, LowNodeUtilization};
use crate::values::{Ratio, ResourceId};

use super::eligible::unfit;
use super::pool::{PoolInForce, ResourceRatios, in_force};

/// A resource of a node that is above a target.
#[derive(Clone, Copy, Debug)]
pub struct AboveTarget {
    /// The resource.
    pub resource: ResourceId,
    /// The node's ratio.
    pub ratio: Ratio,
    /// The target.
    pub target: Ratio,
}

impl AboveTarget {
    /// The part of the ratio above the target.
    pub(super) fn distance(&self) -> Ratio {
        self.ratio.minus(self.target)
    }
}

/// The class of every node of the cluster.
pub(super) fn classify(
    draft: &Draft<'_>,
    position: usize,
    rule: &LowNodeUtilization,
    pools: &[PoolInForce],
) -> BTreeMap<NodeId, Class> {
    let mut classes = BTreeMap::new();
    for pool in pools {
        for node in &pool.nodes {
            classes.insert(*node, class(draft, position, rule, *node, pool));
        }
    }
    for node in draft.world.snapshot.node_ids() {
        classes.entry(node).or_insert_with(|| {
            unfit(draft, rule.basis, node).unwrap_or_else(|| outside(draft, rule, node))
        });
    }
    classes
}

fn class(
    draft: &Draft<'_>,
    position: usize,
    rule: &LowNodeUtilization,
    node: NodeId,
    pool: &PoolInForce,
) -> Class {
    let snapshot = draft.world.snapshot;
    let Some(worst) = furthest_above(draft, rule, &pool.targets, node) else {
        let ratio = |r: ResourceId| room_ratio(draft, node, r, rule.basis);
        if !draft.is_within(node, &pool.thresholds, ratio) {
            return Class::Even;
        }
        let facts = snapshot.node(node);
        return match facts.closure() {
            Some(closure) => Class::ColdClosed(closure),
            None if facts.cordoned => Class::ColdCordoned,
            None => Class::Cold,
        };
    };
    let resource = snapshot.resources.name(worst.resource).to_owned();
    let (ratio, target) = (worst.ratio, worst.target);
    match warming(draft, position, rule, node) {
        Some(since) => Class::Warming {
            resource,
            ratio,
            target,
            since,
            sustained_for: rule.sustained_for,
        },
        None => Class::Hot {
            resource,
            ratio,
            target,
            needed: None,
        },
    }
}

/// The time for which the node has been above a target; `None` if that is long enough.
fn warming(
    draft: &Draft<'_>,
    position: usize,
    rule: &LowNodeUtilization,
    node: NodeId,
) -> Option<SignedDuration> {
    // Requests do not fluctuate, so they count at once.
    if rule.basis == Basis::Requests {
        return None;
    }
    let world = draft.world;
    let name = world.snapshot.node(node).name.clone();
    let since = world.hot_since.get(&(position, name));
    let hot_for = since.map_or(SignedDuration::ZERO, |t| world.now.duration_since(*t));
    (hot_for < rule.sustained_for).then_some(hot_for)
}

/// The resource of a node that is furthest above its target.
fn furthest_above(
    draft: &Draft<'_>,
    rule: &LowNodeUtilization,
    targets: &ResourceRatios,
    node: NodeId,
) -> Option<AboveTarget> {
    let above = targets.iter().filter_map(|(resource, target)| {
        let ratio = draft.ratio(node, *resource, rule.basis)?;
        (ratio > *target).then_some(AboveTarget {
            resource: *resource,
            ratio,
            target: *target,
        })
    });
    above.max_by(|a, b| {
        let by_distance = a.distance().order(b.distance());
        by_distance.then(b.resource.cmp(&a.resource))
    })
}

/// The class of a fit node that is in no pool, or has none of its pool's resources.
fn outside(draft: &Draft<'_>, rule: &LowNodeUtilization, node: NodeId) -> Class {
    let pool = rule.pool_of(&draft.world.snapshot.node(node).labels);
    pool.map_or(Class::NotSelected, |pool| {
        Class::Lacks(
            pool.targets
                .iter()
                .map(|(name, _)| name.to_owned())
                .collect(),
        )
    })
}

/// The ratio that decides whether a node has room. By requests, terminating pods count until they
/// have ended, as for kube-scheduler.
pub fn room_ratio(
    draft: &Draft<'_>,
    node: NodeId,
    resource: ResourceId,
    basis: Basis,
) -> Option<Ratio> {
    match basis {
        Basis::Requests => draft.taken(node, resource),
        Basis::Actual => draft.ratio(node, resource, basis),
    }
}

/// The nodes that are above a target of the rule now, even if not for long enough yet.
pub fn above_target(draft: &Draft<'_>, rule: &LowNodeUtilization) -> BTreeSet<NodeId> {
    let mut above = BTreeSet::new();
    for pool in in_force(draft, rule) {
        let nodes = pool.nodes.iter().copied();
        above.extend(nodes.filter(|n| furthest_above(draft, rule, &pool.targets, *n).is_some()));
    }
    above
}

/// The nodes above this share of a target of the rule, each with the resource that is furthest
/// above it. The targets of the result are those shares.
pub fn above_share(
    draft: &Draft<'_>,
    rule: &LowNodeUtilization,
    share: f64,
) -> BTreeMap<NodeId, AboveTarget> {
    let mut above = BTreeMap::new();
    for pool in in_force(draft, rule) {
        let targets = pool.targets.iter();
        let shares: ResourceRatios = targets
            .filter_map(|(r, target)| Some((*r, Ratio::new(target.get() * share)?)))
            .collect();
        for node in pool.nodes {
            let worst = furthest_above(draft, rule, &shares, node);
            above.extend(worst.map(|worst| (node, worst)));
        }
    }
    above
}
