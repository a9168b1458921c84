//! How much the load of a node varies.

use crate::model::snapshot::{NodeId, PodId};
use crate::policy::Basis;
use crate::values::{Amount, ResourceId};

use super::Draft;

impl Draft<'_> {
    /// Returns how far the load of a node usually is from its average. Pods are taken as
    /// independent of each other. Requests do not vary.
    pub fn deviation(&self, node: NodeId, resource: ResourceId, basis: Basis) -> Amount {
        let of_pod = |pod: PodId| {
            let deviation = self.world.usage.deviation(pod);
            match (basis, resource) {
                (Basis::Actual, ResourceId::CPU) => deviation.cpu.as_f64(),
                (Basis::Actual, ResourceId::MEMORY) => deviation.memory.as_f64(),
                _ => 0.0,
            }
        };
        let variance: f64 = self.pods_on(node).map(|pod| of_pod(pod).powi(2)).sum();
        Amount::from_f64(variance.sqrt())
    }
}
