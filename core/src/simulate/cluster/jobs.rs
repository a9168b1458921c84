//! The count of failed pods of a Job, by which its controller ends it.

use crate::model::snapshot::facts::WhenEvicted;
use crate::model::snapshot::objects::{Name, Object, ObjectKind};

use super::SimulatedCluster;

impl SimulatedCluster {
    /// Counts a pod that its Job loses, when it is deleted or only when it has ended.
    pub(super) fn count_failed(&mut self, pod: &Name, ended: bool) {
        let life = self.pods.get(pod).filter(|life| !life.facts.finished());
        let owner = life.and_then(|life| life.facts.controller());
        let Some(owner) = owner.filter(|owner| owner.is("batch", "Job")) else {
            return;
        };
        let mut found = self.objects.owner(&pod.0, owner).cloned();
        let job = found.as_mut().and_then(|facts| facts.job.as_deref_mut());
        let counted =
            job.filter(|job| job.counts_late == ended && job.when_evicted != WhenEvicted::Ignored);
        let Some(job) = counted else { return };
        job.failed = job.failed.saturating_add(1);
        let name = (pod.0.clone(), owner.name.clone());
        if let Some(facts) = found {
            self.apply(Object::Owner(ObjectKind::Job, name, facts));
        }
    }
}
