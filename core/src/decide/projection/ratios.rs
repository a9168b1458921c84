//! Loads of nodes and pods, and loads as shares of allocatable.

use crate::model::snapshot::{NodeId, PodId};
use crate::model::usage::Measure;
use crate::policy::Basis;
use crate::values::{Amount, Ratio, ResourceId};

use super::Projection;

impl<'w> Projection<'w> {
    /// Returns the load of a node: the usage or requests of the pods that stay and of those
    /// expected to land. Resources other than cpu and memory always count by requests. `None` if
    /// the usage is unknown.
    pub fn load(&self, node: NodeId, resource: ResourceId, basis: Basis) -> Option<Amount> {
        match (basis, resource) {
            (Basis::Actual, ResourceId::CPU) => self.actual[node.0].map(|m| m.cpu),
            (Basis::Actual, ResourceId::MEMORY) => self.actual[node.0].map(|m| m.memory),
            _ => Some(self.requested[node.0][resource]),
        }
    }

    /// Returns the usage of a node that is only assumed of pods that nothing has measured.
    pub fn assumed(&self, node: NodeId) -> Measure {
        self.assumed[node.0]
    }

    /// Returns the load without what is only assumed of pods that nothing has measured. By it a
    /// node is above a target: it must not give pods for usage that may not exist. Where pods land,
    /// the whole load counts.
    pub fn known_load(&self, node: NodeId, resource: ResourceId, basis: Basis) -> Option<Amount> {
        let assumed = match (basis, resource) {
            (Basis::Actual, ResourceId::CPU) => self.assumed(node).cpu,
            (Basis::Actual, ResourceId::MEMORY) => self.assumed(node).memory,
            _ => Amount::ZERO,
        };
        Some(self.load(node, resource, basis)?.minus(assumed))
    }

    /// Returns that load as a share of allocatable.
    pub fn known_ratio(&self, node: NodeId, resource: ResourceId, basis: Basis) -> Option<Ratio> {
        self.share(node, resource, self.known_load(node, resource, basis)?)
    }

    /// Returns the load that a pod takes along. `None` if its usage is unknown.
    pub fn weight(&self, pod: PodId, resource: ResourceId, basis: Basis) -> Option<Amount> {
        match (basis, resource) {
            (Basis::Actual, ResourceId::CPU) => self.world.usage.pod(pod).map(|m| m.cpu),
            (Basis::Actual, ResourceId::MEMORY) => self.world.usage.pod(pod).map(|m| m.memory),
            _ => Some(self.world.snapshot.pod(pod).requests[resource]),
        }
    }

    /// Returns the load that a pod takes along, or took when its usage was last known.
    pub fn last_weight(&self, pod: PodId, resource: ResourceId, basis: Basis) -> Amount {
        let last = || self.world.usage.pod_on_node(pod).of(resource);
        self.weight(pod, resource, basis).or_else(last).unwrap_or_default()
    }

    /// Returns the usage of the pods that the load of a node does not count yet or no longer.
    pub fn uncounted_load(&self, node: NodeId, resource: ResourceId, basis: Basis) -> Amount {
        if basis != Basis::Actual || ![ResourceId::CPU, ResourceId::MEMORY].contains(&resource) {
            return Amount::ZERO;
        }
        self.uncounted(node).iter().filter_map(|pod| self.weight(*pod, resource, basis)).sum()
    }

    /// Returns an amount as a share of a node's allocatable; `None` if the node has none of the
    /// resource.
    pub fn share(&self, node: NodeId, resource: ResourceId, amount: Amount) -> Option<Ratio> {
        amount.share_of(self.world.snapshot.node(node).allocatable[resource])
    }

    /// Returns the load as a share of allocatable; `None` if the load is unknown or the node has
    /// none of the resource.
    pub fn ratio(&self, node: NodeId, resource: ResourceId, basis: Basis) -> Option<Ratio> {
        self.ratio_with(node, resource, basis, Amount::ZERO)
    }

    /// Returns the load plus `more` as a share of allocatable.
    pub fn ratio_with(
        &self,
        node: NodeId,
        resource: ResourceId,
        basis: Basis,
        more: Amount,
    ) -> Option<Ratio> {
        let load = self.load(node, resource, basis)?.plus(more);
        self.share(node, resource, load)
    }

    /// Returns the share of allocatable that kube-scheduler counts as requested: terminating pods
    /// still hold their part. `None` if the node does not have the resource.
    fn taken(&self, node: NodeId, resource: ResourceId) -> Option<Ratio> {
        let taken = self.reserved(node)[resource].minus(self.promised(node, resource));
        if taken == Amount::ZERO {
            return (!self.lacks(node, resource)).then_some(Ratio::ZERO);
        }
        self.share(node, resource, taken)
    }

    /// Returns the ratio that decides whether a node has room. By requests, terminating pods count
    /// until they have ended, as for kube-scheduler.
    pub fn room_ratio(&self, node: NodeId, resource: ResourceId, basis: Basis) -> Option<Ratio> {
        match basis {
            Basis::Requests => self.taken(node, resource),
            Basis::Actual => self.ratio(node, resource, basis),
        }
    }

    /// Returns true if a node has none of a resource, and no pod requests it there. Such a node is
    /// neither empty nor full of it, and is not judged by it.
    pub fn lacks(&self, node: NodeId, resource: ResourceId) -> bool {
        let whole = self.world.snapshot.node(node).allocatable[resource];
        whole == Amount::ZERO && self.requested[node.0][resource] == Amount::ZERO
    }

    /// Returns the limits on resources that a node has.
    pub fn judged_by<'l>(
        &self,
        node: NodeId,
        limits: &'l [(ResourceId, Ratio)],
    ) -> impl Iterator<Item = &'l (ResourceId, Ratio)> + use<'_, 'l, 'w> {
        limits.iter().filter(move |(r, _)| !self.lacks(node, *r))
    }

    /// Returns true if these ratios of a node are at or below every limit that it is judged by;
    /// false if it is judged by none.
    pub fn is_within(
        &self,
        node: NodeId,
        limits: &[(ResourceId, Ratio)],
        ratio: impl Fn(ResourceId) -> Option<Ratio>,
    ) -> bool {
        let mut limits = self.judged_by(node, limits).peekable();
        let within =
            |(r, limit): &(ResourceId, Ratio)| ratio(*r).is_some_and(|ratio| ratio <= *limit);
        limits.peek().is_some() && limits.all(within)
    }
}
