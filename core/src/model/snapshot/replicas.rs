//! The numbers of replicas of a workload.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::values::selector::Labels;

use super::facts::{Owner, Role};
use super::{Pod, PodId, Snapshot, Workload, WorkloadId};

/// The ends of the labels that tell the pods of a custom resource apart, which usually share one
/// image: `ray.io/node-type`, `modelserving.volcano.sh/role` of Kthena, `role-name` of AIBrix,
/// `dask.org/component`, and `cnpg.io/instanceRole` of the primary of a database.
const ROLES: [&str; 4] = ["role", "role-name", "node-type", "component"];

/// The label of the revision of an Argo Rollout, which its services have in their selectors.
pub const ROLLOUT_REVISION: &str = "rollouts-pod-template-hash";

impl Snapshot {
    /// Returns the number of a workload's pods that are neither finished nor terminating.
    pub fn replicas(&self, workload: WorkloadId) -> u32 {
        let staying = self.workload(workload).pods.iter().filter(|p| self.pod(**p).stays()).count();
        u32::try_from(staying).unwrap_or(u32::MAX)
    }

    /// Returns the pods of the same controller, with this one.
    pub fn siblings<'s>(&'s self, pod: &'s Pod) -> impl Iterator<Item = (PodId, &'s Pod)> {
        self.of_same_workload(pod).filter(|(_, other)| is_sibling(pod, other))
    }

    /// Returns the pods of the same workload that do the same work, with this one. The runs of a
    /// CronJob, and the Jobs of a JobSet, do not replace each other, and neither do the different
    /// pods of a custom resource, such as the head and the workers of a RayCluster.
    ///
    /// Pods whose controllers have different kinds do not either: Flink runs its TaskManagers
    /// directly under the Deployment of its JobManager. The active service of an Argo Rollout
    /// selects the pods of one revision only.
    pub fn alike<'s>(&'s self, pod: &'s Pod) -> impl Iterator<Item = (PodId, &'s Pod)> {
        let of_job = pod.controller().is_some_and(|owner| owner.is("batch", "Job"));
        let own = pod.controller().filter(|owner| owner.is_custom()).map(|_| role(pod));
        let by_revision = |selector: &Labels| selector.contains_key(ROLLOUT_REVISION);
        let revision = pod.labels.get(ROLLOUT_REVISION);
        let revision = revision.filter(|_| self.services_of(pod).any(by_revision));
        self.of_same_workload(pod).filter(move |(_, other)| {
            (is_sibling(pod, other) || !of_job && kind(other) == kind(pod))
                && own.as_ref().is_none_or(|own| role(other) == *own)
                && (revision.is_none() || other.labels.get(ROLLOUT_REVISION) == revision)
        })
    }

    /// Returns the selectors of the services that select a pod.
    pub fn services_of<'s>(&'s self, pod: &'s Pod) -> impl Iterator<Item = &'s Labels> {
        let from = self.services.range((pod.namespace.clone(), String::new())..);
        let of_namespace = from.take_while(|(name, _)| name.0 == pod.namespace);
        of_namespace.map(|(_, labels)| labels).filter(|labels| selects(labels, &pod.labels))
    }

    fn of_same_workload(&self, pod: &Pod) -> impl Iterator<Item = (PodId, &Pod)> {
        let workload = pod.workload.map(|workload| self.workload(workload));
        let pods = workload.into_iter().flat_map(|workload| &workload.pods);
        pods.map(|id| (*id, self.pod(*id)))
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

fn is_sibling(pod: &Pod, other: &Pod) -> bool {
    // The pods of one controller usually share their spec in memory.
    Arc::ptr_eq(&other.spec, &pod.spec) || other.controller() == pod.controller()
}

fn kind(pod: &Pod) -> Option<&str> {
    pod.controller().map(|owner| owner.kind.as_str())
}

/// Whether a service with this selector selects a pod with these labels.
fn selects(selector: &Labels, labels: &Labels) -> bool {
    !selector.is_empty() && selector.iter().all(|(k, v)| labels.get(k) == Some(v))
}

/// The work of a pod among those of a custom resource: the keys of its labels, its roles and the
/// images of its containers. Couchbase has a label for each service that a pod offers.
fn role(pod: &Pod) -> (Vec<(&String, Option<&String>)>, Vec<&str>) {
    let main = pod.containers.iter().filter(|container| container.role == Role::Main);
    let images = main.map(|container| container.image.as_str());
    let labels = pod.labels.iter();
    let labels = labels.map(|(key, value)| (key, role_end(key).map(|_| value)));
    (labels.collect(), images.collect())
}

/// Returns the end of a label's key by which it tells pods of a custom resource apart; `None` if it
/// does not.
pub fn role_end(key: &str) -> Option<&'static str> {
    let ends = |end: &str| {
        let start = key.len().checked_sub(end.len());
        start.and_then(|start| key.get(start..)).is_some_and(|tail| tail.eq_ignore_ascii_case(end))
    };
    ROLES.into_iter().find(|end| ends(end))
}
