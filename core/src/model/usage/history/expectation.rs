//! The usage that is expected of pods: that of the fullest hour of their node, and the cpu of each
//! hour of the next day.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use jiff::{SignedDuration, Timestamp};

use crate::model::snapshot::{NodeId, PodId, Snapshot, WorkloadId};
use crate::model::usage::rhythm::{self, Rhythm};
use crate::model::usage::{ExpectedDay, Measure, NodeUsage, Outlook, PodUsage};
use crate::values::Amount;

use super::series::PodSeries;

const DAY: SignedDuration = SignedDuration::from_hours(24);

/// Expected usage of the pods and nodes of a snapshot.
pub(super) struct ExpectedUsage {
    /// The usage of each pod in the fullest hour of its node.
    pub(super) pods: Vec<PodUsage>,
    pub(super) outlook: Outlook,
}

impl ExpectedUsage {
    /// Returns the expectation, given the usage that counts without it: what the trend expects, if
    /// trends are followed, or else the present; `None` if nothing has been learned yet.
    pub(super) fn of(
        snapshot: &Snapshot,
        nodes: &[NodeUsage],
        pods: &[PodUsage],
        series: &[Option<&PodSeries>],
        now: Timestamp,
        ahead: SignedDuration,
    ) -> Option<Self> {
        let mut case = Expectation { snapshot, present: pods, series, now, usual: BTreeMap::new() };
        let day = rhythm::hours(now, DAY);
        case.learn_from_siblings(rhythm::hours(now, ahead.max(DAY)));
        Some(ExpectedUsage {
            pods: case.of_fullest_hours(rhythm::hours(now, ahead))?,
            outlook: case.outlook(*day.start(), nodes),
        })
    }
}

/// Present and learned usage, by position in the snapshot.
struct Expectation<'e> {
    snapshot: &'e Snapshot,
    present: &'e [PodUsage],
    series: &'e [Option<&'e PodSeries>],
    now: Timestamp,
    /// The median of what the pods of a workload usually use in an hour, for workloads with a pod
    /// that has no samples.
    usual: BTreeMap<(WorkloadId, i64), Amount>,
}

impl Expectation<'_> {
    /// The usage of each pod in the fullest of these hours on its node; `None` if nothing has been
    /// learned yet.
    fn of_fullest_hours(&self, hours: RangeInclusive<i64>) -> Option<Vec<PodUsage>> {
        let mut expected = self.present.to_vec();
        let mut learned = false;
        for node in &self.snapshot.nodes {
            let load = |hour: i64| -> Amount {
                let pods = node.pods.iter();
                let cpu = |pod: PodId| match self.of(pod, hour) {
                    Some(usage) => usage.on_node().cpu,
                    None => self.present[pod.0].on_node().cpu,
                };
                pods.map(|pod| cpu(*pod)).sum()
            };
            let Some(hour) = hours.clone().max_by_key(|hour| load(*hour)) else {
                continue;
            };
            for pod in &node.pods {
                if let Some(usage) = self.of(*pod, hour) {
                    expected[pod.0] = usage;
                    learned = true;
                }
            }
        }
        learned.then_some(expected)
    }

    /// The cpu of each hour of a day from this hour on, given the present usage of the nodes.
    fn outlook(&self, first: i64, nodes: &[NodeUsage]) -> Outlook {
        let mut outlook = Outlook::new(self.snapshot.pods.len());
        for (pod, facts) in self.snapshot.pods.iter().enumerate() {
            if facts.node.is_none() {
                self.add_pod(PodId(pod), first, &mut outlook);
            }
        }
        for (node, usage) in self.snapshot.node_ids().zip(nodes) {
            let day = self.add_pods(node, usage, first, &mut outlook);
            outlook.add_node(&day);
        }
        outlook
    }

    /// Adds the pods of a node with this usage to the outlook, and returns the cpu of the node.
    /// About an hour that no pod of the node has been observed in, nothing is known.
    fn add_pods(
        &self,
        node: NodeId,
        usage: &NodeUsage,
        first: i64,
        outlook: &mut Outlook,
    ) -> ExpectedDay<Option<Amount>> {
        let (mut now, mut day) = (Amount::ZERO, [Amount::ZERO; Outlook::HOURS]);
        let mut known = [false; Outlook::HOURS];
        for pod in &self.snapshot.node(node).pods {
            let learned = self.add_pod(*pod, first, outlook);
            if !self.snapshot.pod(*pod).stays() {
                continue;
            }
            now = now.plus(self.present[pod.0].on_node().cpu);
            for (hour, cpu) in outlook.pod(*pod).into_iter().enumerate() {
                day[hour] = day[hour].plus(cpu);
                known[hour] |= learned[hour].is_some();
            }
        }
        let NodeUsage::Known(used) = usage else {
            return ExpectedDay::default();
        };
        let remainder = used.cpu.minus(now);
        std::array::from_fn(|hour| known[hour].then_some(day[hour].plus(remainder)))
    }

    /// Adds a pod to the outlook, with its present usage in the hours about which nothing is known.
    /// Returns the usage if it is known.
    fn add_pod(
        &self,
        pod: PodId,
        first: i64,
        outlook: &mut Outlook,
    ) -> ExpectedDay<Option<Amount>> {
        let learned = self.day(pod, first);
        let present = self.present[pod.0].on_node().cpu;
        outlook.set_pod(pod, learned.map(|cpu| cpu.unwrap_or(present)));
        learned
    }

    /// The cpu of a pod in each hour of a day from this hour on; `None` for an hour about which
    /// nothing is known.
    fn day(&self, pod: PodId, first: i64) -> ExpectedDay<Option<Amount>> {
        let mut hours = first..;
        std::array::from_fn(|_| Some(self.of(pod, hours.next()?)?.on_node().cpu))
    }

    /// The usage of a pod that is expected in an hour; `None` if nothing is known about the hour.
    fn of(&self, pod: PodId, hour: i64) -> Option<PodUsage> {
        match &self.present[pod.0] {
            PodUsage::Known(used) => {
                let cpu = self.rhythm(pod)?.expected(self.now, hour, used.cpu)?;
                Some(PodUsage::Known(Measure { cpu, ..*used }))
            }
            PodUsage::Estimated(used) | PodUsage::Assumed(used) => {
                let own = self.rhythm(pod).and_then(|rhythm| rhythm.usual(hour));
                let cpu = own.or_else(|| self.usual_of_siblings(pod, hour))?;
                Some(PodUsage::Estimated(Measure { cpu, ..*used }))
            }
            PodUsage::Unknown(..) => None,
        }
    }

    /// Computes the median of what the pods of each workload usually use in these hours. A pod that
    /// was just moved has no samples yet, but will soon have its share of the load.
    fn learn_from_siblings(&mut self, hours: RangeInclusive<i64>) {
        for (position, workload) in self.snapshot.workloads.iter().enumerate() {
            let mut pods = workload.pods.iter();
            if !pods.any(|pod| {
                matches!(self.present[pod.0], PodUsage::Estimated(_) | PodUsage::Assumed(_))
            }) {
                continue;
            }
            for hour in hours.clone() {
                let pods = workload.pods.iter();
                let usual = pods.filter_map(|pod| self.rhythm(*pod)?.usual(hour));
                let mut usual: Vec<Amount> = usual.collect();
                usual.sort_unstable();
                if let Some(median) = usual.get(usual.len() / 2) {
                    self.usual.insert((WorkloadId(position), hour), *median);
                }
            }
        }
    }

    fn usual_of_siblings(&self, pod: PodId, hour: i64) -> Option<Amount> {
        let workload = self.snapshot.pod(pod).workload?;
        self.usual.get(&(workload, hour)).copied()
    }

    fn rhythm(&self, pod: PodId) -> Option<&Rhythm> {
        self.series[pod.0]?.rhythm.as_deref()
    }
}
