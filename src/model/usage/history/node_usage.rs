//! The usage of nodes: the sum over their pods, and what belongs to no pod.

use jiff::Timestamp;

use crate::model::snapshot::{NodeId, Snapshot};
use crate::model::usage::{NodeUsage, PodUsage, Sample, Unmeasured};

use super::History;
use super::samples::smallest;
use super::series::{NodeSeries, Remainder};
use super::totals::{NodeTotals, by_pods};

impl History {
    /// Returns the usage of the nodes, given that of the pods, and what these use now.
    pub(super) fn usage_of_nodes(
        &self,
        snapshot: &Snapshot,
        (pods, now_used): (&[PodUsage], &[PodUsage]),
        now: Timestamp,
    ) -> Vec<NodeUsage> {
        let nodes = snapshot.node_ids();
        nodes
            .map(|id| match self.totals(snapshot, id, now) {
                Ok(totals) => {
                    let excess = totals.excess(snapshot, id, now_used);
                    let used = by_pods(snapshot, id, pods).plus(totals.rest);
                    NodeUsage::Known(used.minus(excess))
                }
                Err(why) => NodeUsage::Unknown(why),
            })
            .collect()
    }

    fn totals(
        &self,
        snapshot: &Snapshot,
        id: NodeId,
        now: Timestamp,
    ) -> Result<NodeTotals, Unmeasured> {
        let series = self.nodes.get(&snapshot.node(id).name);
        self.smooth_node(series.ok_or(Unmeasured::Missing)?, now)
    }

    /// Returns the usage of a node that belongs to no pod, smoothed over the clean samples.
    ///
    /// If a whole window has too few clean samples, as on a node where pods come and go all the
    /// time, it returns the smallest sample, because each of the mixed samples is too large.
    fn smooth_node(&self, series: &NodeSeries, now: Timestamp) -> Result<NodeTotals, Unmeasured> {
        let all = || series.remainders.iter();
        let times = || all().map(|r| r.sample);
        self.fresh(times(), series.flaw.as_ref(), now)?;
        let smooth = |samples: &mut dyn Iterator<Item = Sample>| self.smooth(samples, now);
        match self.enough(series.clean().map(|r| r.sample)) {
            Ok(()) => {
                let rest = smooth(&mut series.clean().map(Remainder::rest));
                Ok(NodeTotals::new(series.clean(), rest, smooth))
            }
            Err(_) if self.steady || self.is_covered(times().next(), now) => {
                let rest = smallest(all().map(Remainder::rest));
                Ok(NodeTotals::new(all(), rest, smooth))
            }
            Err(few) => Err(few),
        }
    }

    /// Returns true if the samples cover the whole window, given the oldest one.
    fn is_covered(&self, oldest: Option<Sample>, now: Timestamp) -> bool {
        oldest.is_some_and(|oldest| {
            // One poll less than the window is enough, because the next sample would push the
            // oldest one out.
            let reach = now
                .duration_since(oldest.at)
                .saturating_add(self.rules.poll);
            reach >= self.rules.window
        })
    }
}
