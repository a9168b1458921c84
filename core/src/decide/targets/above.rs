//! The load of a node above a target.

use std::cmp::Ordering;

use crate::decide::projection::Projection;
use crate::model::snapshot::NodeId;
use crate::policy::Basis;
use crate::values::{Amount, Ratio, ResourceId};

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
    /// Compares a ratio with a target; `None` if it is at most the target.
    pub fn new(resource: ResourceId, ratio: Ratio, target: Ratio) -> Option<Self> {
        (ratio > target).then_some(AboveTarget { resource, ratio, target })
    }

    /// Returns the part of the ratio above the target.
    pub fn distance(&self) -> Ratio {
        self.ratio.minus(self.target)
    }

    /// Returns the name of the resource.
    pub fn name(&self, projection: &Projection<'_>) -> String {
        let resources = &projection.world.snapshot.resources;
        resources.name(self.resource).to_owned()
    }

    /// Compares two resources of a node: the one that is further above its target comes first.
    pub fn worst_first(&self, other: &Self) -> Ordering {
        let by_distance = other.distance().order(self.distance());
        by_distance.then(self.resource.cmp(&other.resource))
    }
}

/// Returns the known load of a node above a target; `None` if its usage is unknown.
pub fn load_above(
    projection: &Projection<'_>,
    node: NodeId,
    basis: Basis,
    resource: ResourceId,
    target: Ratio,
) -> Option<Amount> {
    let load = projection.known_load(node, resource, basis)?;
    let whole = projection.world.snapshot.node(node).allocatable[resource];
    Some(load.minus(whole.times(target)))
}

/// Returns the resource of a node that is furthest above its target.
pub fn furthest_above(
    projection: &Projection<'_>,
    node: NodeId,
    basis: Basis,
    targets: &[(ResourceId, Ratio)],
) -> Option<AboveTarget> {
    let above = targets.iter().filter_map(|&(resource, target)| {
        AboveTarget::new(resource, projection.known_ratio(node, resource, basis)?, target)
    });
    above.min_by(AboveTarget::worst_first)
}
