//! The objects that the labels of a series name.

use crate::model::ledger::key_of;
use crate::model::snapshot::Snapshot;
use crate::model::snapshot::facts::OwnerKey;
use crate::policy::GuardScope;

use super::{GuardSeries, GuardTarget};

const NAMESPACE: &str = "namespace";
const POD: &str = "pod";
/// The name of a workload of any kind, as in the recording rules of kube-prometheus.
const WORKLOAD: &str = "workload";
/// Labels with the name of a workload. They come before `pod`, because an exporter such as
/// kube-state-metrics may add its own pod.
const KINDS: [(&str, &str); 3] =
    [("deployment", "Deployment"), ("statefulset", "StatefulSet"), ("daemonset", "DaemonSet")];

/// The labels that name the target of a series.
pub const TARGET_LABELS: [&str; 6] = [NAMESPACE, KINDS[0].0, KINDS[1].0, KINDS[2].0, WORKLOAD, POD];

/// The objects that a series is about.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// They exist.
    Known(Vec<GuardTarget>),
    /// No such object exists in this namespace, or no label names one.
    Unknown {
        /// Its kind and name.
        name: String,
        namespace: String,
    },
}

impl GuardSeries {
    fn label(&self, name: &str) -> Option<&String> {
        // As in Prometheus, an empty label is an absent one.
        self.labels.get(name).filter(|value| !value.is_empty())
    }

    /// Returns what the labels name; `workload_of` returns the workload of a pod. The error is the
    /// reason why they name nothing.
    pub(super) fn named(
        &self,
        scope: GuardScope,
        snapshot: &Snapshot,
        workload_of: impl FnOnce(&str, &str) -> Option<OwnerKey>,
    ) -> Result<Named, String> {
        if scope == GuardScope::Cluster {
            return Ok(Named::Known(vec![GuardTarget::Cluster]));
        }
        let lacks = || format!("its series need the label `{NAMESPACE}`, and one lacks it");
        let namespace = self.label(NAMESPACE).ok_or_else(lacks)?.clone();
        if scope == GuardScope::Namespace {
            let target = GuardTarget::Namespace(namespace.clone());
            return Ok(if exists(&target, snapshot) {
                Named::Known(vec![target])
            } else {
                let name = format!("namespace {namespace}");
                Named::Unknown { name, namespace }
            });
        }
        let mut kinds = KINDS.iter();
        if let Some((kind, name)) = kinds.find_map(|(label, kind)| Some((kind, self.label(label)?)))
        {
            let key = OwnerKey {
                namespace: namespace.clone(),
                kind: (*kind).to_owned(),
                name: name.clone(),
            };
            let name = key.to_string();
            let target = GuardTarget::Workload(key);
            let known = exists(&target, snapshot).then_some(target);
            return Ok(Named::known(known.into_iter().collect(), name, namespace));
        }
        if let Some(name) = self.label(WORKLOAD) {
            let all = workloads(&namespace, name, snapshot);
            return Ok(Named::known(all, format!("workload {namespace}/{name}"), namespace));
        }
        let Some(name) = self.label(POD) else {
            let name = format!("a workload of namespace {namespace}");
            return Ok(Named::Unknown { name, namespace });
        };
        let known = workload_of(&namespace, name).map(GuardTarget::Workload);
        let name = format!("pod {namespace}/{name}");
        Ok(Named::known(known.into_iter().collect(), name, namespace))
    }
}

impl Named {
    fn known(targets: Vec<GuardTarget>, name: String, namespace: String) -> Self {
        if targets.is_empty() { Named::Unknown { name, namespace } } else { Named::Known(targets) }
    }
}

/// Returns the workloads of this name, which are of different kinds.
fn workloads(namespace: &str, name: &str, snapshot: &Snapshot) -> Vec<GuardTarget> {
    let all = &snapshot.workloads;
    let first = all.partition_point(|w| w.key.namespace.as_str() < namespace);
    let own = all[first..].iter().take_while(|w| w.key.namespace == namespace);
    let named = own.filter(|w| w.key.name == name);
    named.map(|w| GuardTarget::Workload(w.key.clone())).collect()
}

/// Returns the workload of a pod; the pod itself if it has none.
pub(super) fn workload_of(namespace: &str, pod: &str, snapshot: &Snapshot) -> Option<OwnerKey> {
    let id = snapshot.find_pod(namespace, pod)?;
    Some(key_of(snapshot, snapshot.pod(id)))
}

/// Returns true if the target has pods, or is the cluster or a namespace.
pub(super) fn exists(target: &GuardTarget, snapshot: &Snapshot) -> bool {
    match target {
        GuardTarget::Cluster => true,
        // Namespaces may be unknown where the account may not list them.
        GuardTarget::Namespace(name) => {
            let first = snapshot.pods.partition_point(|pod| pod.namespace < *name);
            let next = snapshot.pods.get(first);
            snapshot.namespaces.contains_key(name) || next.is_some_and(|p| p.namespace == *name)
        }
        GuardTarget::Workload(key) => {
            snapshot.find_workload(key).is_some()
                || key.kind == "Pod" && snapshot.find_pod(&key.namespace, &key.name).is_some()
        }
    }
}
