//! Recognition of pods that start and stop together.

use crate::model::api::{ApiMetadata, ApiPodSpec};
use crate::model::snapshot::facts::{Gang, GangKind};

use super::annotation;

/// Labels that name the group of a pod. See
///
/// - <https://github.com/kubernetes-sigs/scheduler-plugins/tree/master/pkg/coscheduling>
/// - <https://kueue.sigs.k8s.io/docs/tasks/run/plain_pods/>
/// - <https://jobset.sigs.k8s.io/docs/reference/>
/// - <https://volcano.sh/en/docs/vcjob/>
const LABELS: [(&str, GangKind); 4] = [
    ("scheduling.x-k8s.io/pod-group", GangKind::PodGroup),
    ("kueue.x-k8s.io/pod-group-name", GangKind::KueuePodGroup),
    ("jobset.sigs.k8s.io/jobset-name", GangKind::JobSet),
    ("volcano.sh/job-name", GangKind::VolcanoJob),
];

/// Annotations that name the PodGroup of a pod: those of Volcano, koordinator and KAI.
const ANNOTATIONS: [&str; 3] = [
    "scheduling.k8s.io/group-name",
    "gang.scheduling.koordinator.sh/name",
    "pod-group-name",
];

/// The name of a LeaderWorkerSet, and the number of one of its groups. See
/// <https://lws.sigs.k8s.io/docs/reference/labels-annotations-and-environment-variables/>.
const LEADER_WORKER_SET: [&str; 2] = [
    "leaderworkerset.sigs.k8s.io/name",
    "leaderworkerset.sigs.k8s.io/group-index",
];

/// Returns the group of a pod. The field of Kubernetes 1.36 comes first; labels and annotations
/// work in every version.
pub(super) fn of_pod(meta: &ApiMetadata, spec: &ApiPodSpec) -> Option<Gang> {
    let name = spec.scheduling_group.pod_group_name.clone();
    named(GangKind::PodGroup, Some(name))
        .or_else(|| by_label(meta))
        .or_else(|| leader_worker_set(meta))
        .or_else(|| by_annotation(meta))
}

fn by_label(meta: &ApiMetadata) -> Option<Gang> {
    let mut gangs = LABELS
        .iter()
        .filter_map(|(key, kind)| named(*kind, label(meta, key)));
    gangs.next()
}

fn by_annotation(meta: &ApiMetadata) -> Option<Gang> {
    let mut gangs = ANNOTATIONS
        .iter()
        .filter_map(|key| named(GangKind::PodGroup, annotation(meta, key).map(str::to_owned)));
    gangs.next()
}

/// Each group of a LeaderWorkerSet restarts on its own.
fn leader_worker_set(meta: &ApiMetadata) -> Option<Gang> {
    let [set, group] = LEADER_WORKER_SET.map(|key| label(meta, key));
    let name = group.map_or_else(
        || set.clone(),
        |group| Some(format!("{}-{group}", set.as_deref()?)),
    );
    named(GangKind::LeaderWorkerSet, name)
}

fn label(meta: &ApiMetadata, key: &str) -> Option<String> {
    meta.labels.get(key).cloned()
}

fn named(kind: GangKind, name: Option<String>) -> Option<Gang> {
    let name = name.filter(|name| !name.is_empty())?;
    Some(Gang { kind, name })
}

#[cfg(test)]
mod tests {
    use crate::model::snapshot::import::tests::facts_of;
    use crate::model::snapshot::objects::Object;

    fn gang(metadata: &str, spec: &str) -> Option<String> {
        let text = format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: p, {metadata}}}, spec: {spec}}}"
        );
        let Object::Pod(pod) = facts_of(&text) else {
            panic!("{text}")
        };
        pod.gang.as_ref().map(ToString::to_string)
    }

    #[test]
    fn every_framework_names_the_group_of_a_pod_in_its_own_way() {
        let labels = |labels: &str| gang(&format!("labels: {{{labels}}}"), "{}").unwrap();
        let annotations = |text: &str| gang(&format!("annotations: {{{text}}}"), "{}").unwrap();
        let field = "{schedulingGroup: {podGroupName: train}}";
        assert_eq!(gang("", field).unwrap(), "PodGroup train");
        assert_eq!(labels("scheduling.x-k8s.io/pod-group: a"), "PodGroup a");
        assert_eq!(
            labels("kueue.x-k8s.io/pod-group-name: a"),
            "Kueue pod group a"
        );
        assert_eq!(labels("jobset.sigs.k8s.io/jobset-name: a"), "JobSet a");
        assert_eq!(labels("volcano.sh/job-name: a"), "Volcano Job a");
        let lws =
            "leaderworkerset.sigs.k8s.io/name: a, leaderworkerset.sigs.k8s.io/group-index: '2'";
        assert_eq!(labels(lws), "LeaderWorkerSet group a-2");
        assert_eq!(annotations("scheduling.k8s.io/group-name: a"), "PodGroup a");
        assert_eq!(
            annotations("gang.scheduling.koordinator.sh/name: a"),
            "PodGroup a"
        );
        assert_eq!(annotations("pod-group-name: a"), "PodGroup a");
    }

    #[test]
    fn other_labels_and_empty_names_make_no_group() {
        assert_eq!(gang("labels: {app: web}", "{}"), None);
        assert_eq!(
            gang("labels: {jobset.sigs.k8s.io/jobset-name: ''}", "{}"),
            None
        );
        assert_eq!(gang("", "{schedulingGroup: {}}"), None);
    }
}
