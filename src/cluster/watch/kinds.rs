//! The kinds that are watched, and their paths.

use crate::model::snapshot::objects::ObjectKind;

/// A kind that is watched.
#[derive(Clone, Copy, Debug)]
pub(in crate::cluster) struct WatchedKind {
    pub(in crate::cluster) kind: ObjectKind,
    pub(in crate::cluster) path: &'static str,
}

/// The kinds that are watched.
pub(in crate::cluster) const WATCHED_KINDS: [WatchedKind; 15] = [
    watched(ObjectKind::Node, "/api/v1/nodes"),
    watched(ObjectKind::Pod, "/api/v1/pods"),
    watched(ObjectKind::Budget, "/apis/policy/v1/poddisruptionbudgets"),
    watched(ObjectKind::Namespace, "/api/v1/namespaces"),
    watched(ObjectKind::Class, "/apis/scheduling.k8s.io/v1/priorityclasses"),
    watched(ObjectKind::Claim, "/api/v1/persistentvolumeclaims"),
    watched(ObjectKind::Volume, "/api/v1/persistentvolumes"),
    watched(ObjectKind::StorageClass, "/apis/storage.k8s.io/v1/storageclasses"),
    watched(ObjectKind::CsiNode, "/apis/storage.k8s.io/v1/csinodes"),
    watched(ObjectKind::Attachment, "/apis/storage.k8s.io/v1/volumeattachments"),
    watched(ObjectKind::Service, "/api/v1/services"),
    watched(ObjectKind::ReplicaSet, "/apis/apps/v1/replicasets"),
    watched(ObjectKind::ReplicationController, "/api/v1/replicationcontrollers"),
    watched(ObjectKind::StatefulSet, "/apis/apps/v1/statefulsets"),
    watched(ObjectKind::Job, "/apis/batch/v1/jobs"),
];

const fn watched(kind: ObjectKind, path: &'static str) -> WatchedKind {
    WatchedKind { kind, path }
}
