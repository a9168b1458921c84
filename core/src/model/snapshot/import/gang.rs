//! Recognition of pods that start and stop together.

use crate::model::api::{ApiMetadata, ApiPodSpec};
use crate::model::snapshot::facts::Gang;

use super::annotation;

/// Labels that name the group of a pod. See
///
/// - <https://github.com/kubernetes-sigs/scheduler-plugins/tree/master/pkg/coscheduling>
/// - <https://kueue.sigs.k8s.io/docs/tasks/run/plain_pods/>
/// - <https://jobset.sigs.k8s.io/docs/reference/>
/// - <https://volcano.sh/en/docs/vcjob/>
/// - <https://github.com/ai-dynamo/grove>
///
/// The second and third are those of coscheduling before; koordinator still reads them.
const LABELS: [(&str, &str); 7] = [
    ("scheduling.x-k8s.io/pod-group", "PodGroup"),
    ("pod-group.scheduling.sigs.k8s.io", "PodGroup"),
    ("pod-group.scheduling.sigs.k8s.io/name", "PodGroup"),
    ("grove.io/podgang", "PodGang"),
    ("kueue.x-k8s.io/pod-group-name", "Kueue pod group"),
    ("jobset.sigs.k8s.io/jobset-name", "JobSet"),
    ("volcano.sh/job-name", "Volcano Job"),
];

/// Annotations that name the group of a pod: those of Volcano, koordinator, KAI and YuniKorn
/// (<https://yunikorn.apache.org/docs/user_guide/gang_scheduling/>).
const ANNOTATIONS: [(&str, &str); 5] = [
    ("scheduling.k8s.io/group-name", "PodGroup"),
    ("scheduling.volcano.sh/group-name", "PodGroup"),
    ("gang.scheduling.koordinator.sh/name", "PodGroup"),
    ("pod-group-name", "PodGroup"),
    ("yunikorn.apache.org/task-group-name", "YuniKorn task group"),
];

/// The name of a LeaderWorkerSet, and the number of one of its groups. See
/// <https://lws.sigs.k8s.io/docs/reference/labels-annotations-and-environment-variables/>.
const LEADER_WORKER_SET: [&str; 2] =
    ["leaderworkerset.sigs.k8s.io/name", "leaderworkerset.sigs.k8s.io/group-index"];

/// Returns the group of a pod. The fields of Kubernetes 1.36 and 1.35 come first; labels and
/// annotations work in every version.
pub(super) fn of_pod(meta: &ApiMetadata, spec: &ApiPodSpec) -> Option<Gang> {
    let name = spec.scheduling_group.pod_group_name.clone();
    named("PodGroup", Some(name))
        .or_else(|| by_workload(spec))
        .or_else(|| first(&LABELS, |key| label(meta, key)))
        .or_else(|| leader_worker_set(meta))
        .or_else(|| first(&ANNOTATIONS, |key| annotation(meta, key).map(str::to_owned)))
}

/// The PodGroup of a Workload, of which each replica key is a group of its own.
fn by_workload(spec: &ApiPodSpec) -> Option<Gang> {
    let found = &spec.workload_ref;
    let parts = [&found.name, &found.pod_group, &found.pod_group_replica_key];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    let parts: Vec<&str> = parts.map(String::as_str).collect();
    named("PodGroup", Some(parts.join("/")))
}

fn first(keys: &[(&str, &'static str)], value: impl Fn(&str) -> Option<String>) -> Option<Gang> {
    keys.iter().find_map(|(key, kind)| named(kind, value(key)))
}

/// Each group of a LeaderWorkerSet restarts on its own.
fn leader_worker_set(meta: &ApiMetadata) -> Option<Gang> {
    let [set, group] = LEADER_WORKER_SET.map(|key| label(meta, key));
    let name =
        group.map_or_else(|| set.clone(), |group| Some(format!("{}-{group}", set.as_deref()?)));
    named("LeaderWorkerSet group", name)
}

fn label(meta: &ApiMetadata, key: &str) -> Option<String> {
    meta.labels.get(key).cloned()
}

fn named(kind: &'static str, name: Option<String>) -> Option<Gang> {
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
        let Object::Pod(pod) = facts_of(&text) else { panic!("{text}") };
        pod.gang.as_ref().map(ToString::to_string)
    }

    #[test]
    fn every_framework_names_the_group_of_a_pod_in_its_own_way() {
        let labels = |labels: &str| gang(&format!("labels: {{{labels}}}"), "{}").unwrap();
        let annotations = |text: &str| gang(&format!("annotations: {{{text}}}"), "{}").unwrap();
        let field = "{schedulingGroup: {podGroupName: train}}";
        assert_eq!(gang("", field).unwrap(), "PodGroup train");
        assert_eq!(labels("scheduling.x-k8s.io/pod-group: a"), "PodGroup a");
        assert_eq!(labels("kueue.x-k8s.io/pod-group-name: a"), "Kueue pod group a");
        assert_eq!(labels("jobset.sigs.k8s.io/jobset-name: a"), "JobSet a");
        assert_eq!(labels("volcano.sh/job-name: a"), "Volcano Job a");
        let lws =
            "leaderworkerset.sigs.k8s.io/name: a, leaderworkerset.sigs.k8s.io/group-index: '2'";
        assert_eq!(labels(lws), "LeaderWorkerSet group a-2");
        assert_eq!(annotations("scheduling.k8s.io/group-name: a"), "PodGroup a");
        assert_eq!(annotations("gang.scheduling.koordinator.sh/name: a"), "PodGroup a");
        assert_eq!(annotations("pod-group-name: a"), "PodGroup a");
        let volcano = "scheduling.volcano.sh/group-name: a";
        assert_eq!(annotations(volcano), "PodGroup a");
        let yunikorn = "yunikorn.apache.org/task-group-name: a";
        assert_eq!(annotations(yunikorn), "YuniKorn task group a");
        assert_eq!(labels("grove.io/podgang: a"), "PodGang a");
        for older in ["", "/name"] {
            let label = format!("pod-group.scheduling.sigs.k8s.io{older}: a");
            assert_eq!(labels(&label), "PodGroup a");
        }
        let field = "{workloadRef: {name: train, podGroup: workers, podGroupReplicaKey: '2'}}";
        assert_eq!(gang("", field).unwrap(), "PodGroup train/workers/2");
    }

    #[test]
    fn other_labels_and_empty_names_make_no_group() {
        assert_eq!(gang("labels: {app: web}", "{}"), None);
        assert_eq!(gang("labels: {jobset.sigs.k8s.io/jobset-name: ''}", "{}"), None);
        assert_eq!(gang("", "{schedulingGroup: {}}"), None);
    }
}
