//! The kinds of objects.

/// The object kinds that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObjectKind {
    /// Node.
    Node,
    /// Pod.
    Pod,
    /// PodDisruptionBudget.
    Budget,
    /// Namespace.
    Namespace,
    /// PriorityClass.
    Class,
    /// PersistentVolumeClaim.
    Claim,
    /// PersistentVolume.
    Volume,
    /// StorageClass.
    StorageClass,
    /// CSINode; only the drivers and their limits are kept.
    CsiNode,
    /// VolumeAttachment.
    Attachment,
    /// Service; only the selector is kept.
    Service,
    /// ReplicaSet.
    ReplicaSet,
    /// ReplicationController.
    ReplicationController,
    /// StatefulSet.
    StatefulSet,
    /// Job.
    Job,
}

crate::names! {
    /// Returns the name in the API.
    pub ObjectKind::name {
        Node = "Node",
        Pod = "Pod",
        Budget = "PodDisruptionBudget",
        Namespace = "Namespace",
        Class = "PriorityClass",
        Claim = "PersistentVolumeClaim",
        Volume = "PersistentVolume",
        StorageClass = "StorageClass",
        CsiNode = "CSINode",
        Attachment = "VolumeAttachment",
        Service = "Service",
        ReplicaSet = "ReplicaSet",
        ReplicationController = "ReplicationController",
        StatefulSet = "StatefulSet",
        Job = "Job",
    }
}

impl ObjectKind {
    /// Returns the plural of the name.
    pub fn plural(self) -> String {
        let name = self.name();
        match name.strip_suffix("Class") {
            Some(stem) => format!("{stem}Classes"),
            None => format!("{name}s"),
        }
    }

    /// Returns the name of the resource in paths and roles.
    pub fn resource(self) -> String {
        self.plural().to_lowercase()
    }

    /// Returns true if a cluster, or the account that reads it, may do without objects of the kind:
    /// decisions that depend on them are then unknown. Without the others nothing is decided.
    pub const fn is_optional(self) -> bool {
        !matches!(self, ObjectKind::Node | ObjectKind::Pod | ObjectKind::Budget)
    }
}
