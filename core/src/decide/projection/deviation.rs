//! How much the load of a node varies.

use crate::model::snapshot::{NodeId, PodId};
use crate::model::usage::Measure;
use crate::policy::Basis;
use crate::values::{Amount, ResourceId};

use super::Projection;

impl Projection<'_> {
    /// Returns how far the load of a node usually is from its average or its trend.
    /// Without a trend, pods are taken as independent of each other: two that vary by 30m and by
    /// 40m make 50m. Requests do not vary.
    pub fn deviation(&self, node: NodeId, resource: ResourceId, basis: Basis) -> Amount {
        let usage = self.world.usage;
        let part = |of: Measure| match (basis, resource) {
            (Basis::Actual, ResourceId::CPU) => of.cpu,
            (Basis::Actual, ResourceId::MEMORY) => of.memory,
            _ => Amount::ZERO,
        };
        if let Some(error) = usage.error(node) {
            return part(error);
        }
        let of_pod = |pod: PodId| part(usage.deviation(pod)).as_f64();
        let variance: f64 = self.pods_on(node).map(|pod| of_pod(pod).powi(2)).sum();
        Amount::from_f64(variance.sqrt())
    }
}
