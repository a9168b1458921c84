//! The load of a node in each hour of the next day, where usage that repeats has been learned.

use crate::model::snapshot::{NodeId, PodId};
use crate::model::usage::ExpectedDay;
use crate::values::{Ratio, ResourceId};

use super::Projection;

impl Projection<'_> {
    /// Returns the cpu ratio of a node in each hour of the next day, after the moves so far, with
    /// some pods more or less. An hour about which nothing is known has `None`.
    pub fn day_ahead(
        &self,
        node: NodeId,
        more: &[PodId],
        less: &[PodId],
    ) -> ExpectedDay<Option<Ratio>> {
        let Some(outlook) = self.world.usage.outlook() else {
            return ExpectedDay::default();
        };
        let mut day = outlook.node(node);
        for pod in self.landed(node).iter().chain(more) {
            let hours = day.iter_mut().zip(outlook.pod(*pod));
            hours.for_each(|(load, cpu)| *load = load.map(|load| load.plus(cpu)));
        }
        for pod in self.going(node).chain(less.iter().copied()) {
            let hours = day.iter_mut().zip(outlook.pod(pod));
            hours.for_each(|(load, cpu)| *load = load.map(|load| load.minus(cpu)));
        }
        day.map(|load| self.share(node, ResourceId::CPU, load?))
    }
}
