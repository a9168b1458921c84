//! Groups of pods that start and stop together.

use std::fmt;

/// A group of pods that start and stop together. Without one of them, the others wait or restart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gang {
    /// The kind of the group.
    pub kind: GangKind,
    /// The name of the group, in the namespace of its pods.
    pub name: String,
}

/// The kind of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GangKind {
    /// A PodGroup of Kubernetes, coscheduling, Volcano, koordinator or KAI.
    PodGroup,
    /// A group of plain pods that Kueue admits together.
    KueuePodGroup,
    /// A JobSet.
    JobSet,
    /// One group of a LeaderWorkerSet: a leader and its workers.
    LeaderWorkerSet,
    /// A Job of Volcano.
    VolcanoJob,
    /// A PodGang of Grove.
    PodGang,
    /// A task group of an application of YuniKorn.
    TaskGroup,
}

impl fmt::Display for Gang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            GangKind::PodGroup => "PodGroup",
            GangKind::KueuePodGroup => "Kueue pod group",
            GangKind::JobSet => "JobSet",
            GangKind::LeaderWorkerSet => "LeaderWorkerSet group",
            GangKind::VolcanoJob => "Volcano Job",
            GangKind::PodGang => "PodGang",
            GangKind::TaskGroup => "YuniKorn task group",
        };
        write!(f, "{kind} {}", self.name)
    }
}
