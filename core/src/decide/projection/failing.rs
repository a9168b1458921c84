//! Workloads and namespaces whose new pods the API server refuses.
//!
//! A ReplicaSet or ReplicationController has the condition `ReplicaFailure` until a pod is created.
//! A quota or a webhook that refuses the pods of one ReplicaSet mostly refuses those of the other
//! ones of its Deployment, which has the condition too (`syncRolloutStatus` in
//! kubernetes/pkg/controller/deployment/progress.go). If two workloads of a namespace fail, or one
//! at a quota, the cause is not their own.

use std::collections::BTreeSet;

use crate::model::snapshot::Snapshot;
use crate::model::snapshot::facts::{CreationFailure, OwnerKey};

/// The workloads and namespaces that get no new pods now. Nearly always there are none.
#[derive(Debug)]
pub struct FailingCreation {
    workloads: BTreeSet<OwnerKey>,
    namespaces: BTreeSet<String>,
}

impl FailingCreation {
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let mut failing =
            FailingCreation { workloads: BTreeSet::new(), namespaces: BTreeSet::new() };
        let mut with_one: BTreeSet<&str> = BTreeSet::new();
        for (key, facts) in snapshot.failing() {
            let above = facts.above.as_ref();
            let workload = above.map_or_else(|| key.clone(), |above| above.key(&key.namespace));
            let is_second = failing.workloads.insert(workload) && !with_one.insert(&key.namespace);
            if is_second || facts.fails == Some(CreationFailure::Quota) {
                failing.namespaces.insert(key.namespace.clone());
            }
        }
        failing
    }

    /// Returns whether a controller of the workload, such as any ReplicaSet of a Deployment, cannot
    /// create pods.
    pub fn has_workload(&self, workload: &OwnerKey) -> bool {
        self.workloads.contains(workload)
    }

    /// Returns whether other workloads show that a namespace takes no new pods.
    pub fn has_namespace(&self, namespace: &str) -> bool {
        self.namespaces.contains(namespace)
    }
}
