//! The API server accepts new pods and evictions in the namespace of the pod.
//!
//! The admission plugin NamespaceLifecycle refuses every new object in a namespace that is being
//! deleted, also an Eviction
//! (`Admit` in k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go).
//! The namespace has a deletionTimestamp then (`Delete` in
//! kubernetes/pkg/registry/core/namespace/storage).

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::Replacement;

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Replacement> {
    let snapshot = draft.world.snapshot;
    let namespace = &snapshot.pod(candidate.pod).namespace;
    if snapshot.deleted_namespaces.contains(namespace) {
        return Err(Replacement::NamespaceDeleted(namespace.clone()));
    }
    Ok(())
}
