//! The numbers of replicas of a workload.

use std::collections::BTreeSet;

use super::facts::Owner;
use super::{Pod, PodId, Snapshot, Workload, WorkloadId};

impl Snapshot {
    /// Returns the number of a workload's pods that are neither finished nor terminating.
    pub fn replicas(&self, workload: WorkloadId) -> u32 {
        let staying = self.workload(workload).pods.iter().filter(|p| self.pod(**p).stays()).count();
        u32::try_from(staying).unwrap_or(u32::MAX)
    }

    /// Returns the pods of a workload that do the same work as one of them, with that one. The runs
    /// of a CronJob, and the Jobs of a JobSet, do not replace each other.
    pub fn alike<'a>(
        &'a self,
        pod: &'a Pod,
        workload: WorkloadId,
    ) -> impl Iterator<Item = (PodId, &'a Pod)> {
        let job = pod.controller().filter(|owner| owner.kind == "Job");
        let pods = self.workload(workload).pods.iter().map(|id| (*id, self.pod(*id)));
        pods.filter(move |(_, other)| job.is_none() || other.controller() == job)
    }

    /// Returns the number of replicas that the controllers of a workload want, and at least the
    /// number that it has. A controller that is not known wants none.
    pub fn wanted(&self, workload: WorkloadId) -> u32 {
        let Workload { key, pods } = self.workload(workload);
        let controllers = pods.iter().filter_map(|pod| self.pod(*pod).controller());
        let controllers: BTreeSet<&Owner> = controllers.collect();
        let wanted = controllers
            .into_iter()
            .filter_map(|owner| self.controller_facts(&key.namespace, owner)?.wanted);
        wanted.sum::<u32>().max(self.replicas(workload))
    }
}
