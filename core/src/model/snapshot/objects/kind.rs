//! The kinds of objects.

crate::names! {
    /// The object kinds that are kept.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum ObjectKind {
        /// Node.
        Node = "Node",
        /// Pod.
        Pod = "Pod",
        /// PodDisruptionBudget.
        Budget = "PodDisruptionBudget",
        /// Namespace.
        Namespace = "Namespace",
        /// PriorityClass.
        Class = "PriorityClass",
        /// PersistentVolumeClaim.
        Claim = "PersistentVolumeClaim",
        /// PersistentVolume.
        Volume = "PersistentVolume",
        /// StorageClass.
        StorageClass = "StorageClass",
        /// CSINode; only the drivers and their limits are kept.
        CsiNode = "CSINode",
        /// VolumeAttachment.
        Attachment = "VolumeAttachment",
        /// Service; only the selector is kept.
        Service = "Service",
        /// ReplicaSet.
        ReplicaSet = "ReplicaSet",
        /// ReplicationController.
        ReplicationController = "ReplicationController",
        /// StatefulSet.
        StatefulSet = "StatefulSet",
        /// Job.
        Job = "Job",
    }
    /// Returns the name in the API.
    pub fn name;
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
