//! The strategies by name, in native policies and in those of descheduler.

/// A strategy without its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plugin {
    LowNodeUtilization,
    HighNodeUtilization,
    RemoveDuplicates,
    TopologySpread,
    AntiAffinity,
    NodeAffinity,
    NodeTaints,
    TooManyRestarts,
    PodLifeTime,
    FailedPods,
}

impl Plugin {
    /// All strategies, in the order of the documentation.
    pub(super) const ALL: [Plugin; 10] = [
        Plugin::LowNodeUtilization,
        Plugin::HighNodeUtilization,
        Plugin::RemoveDuplicates,
        Plugin::TopologySpread,
        Plugin::AntiAffinity,
        Plugin::NodeAffinity,
        Plugin::NodeTaints,
        Plugin::TooManyRestarts,
        Plugin::PodLifeTime,
        Plugin::FailedPods,
    ];

    /// The name in native policies.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Plugin::LowNodeUtilization => "lowNodeUtilization",
            Plugin::HighNodeUtilization => "highNodeUtilization",
            Plugin::RemoveDuplicates => "removeDuplicates",
            Plugin::TopologySpread => "removePodsViolatingTopologySpreadConstraint",
            Plugin::AntiAffinity => "removePodsViolatingInterPodAntiAffinity",
            Plugin::NodeAffinity => "removePodsViolatingNodeAffinity",
            Plugin::NodeTaints => "removePodsViolatingNodeTaints",
            Plugin::TooManyRestarts => "removePodsHavingTooManyRestarts",
            Plugin::PodLifeTime => "podLifeTime",
            Plugin::FailedPods => "removeFailedPods",
        }
    }

    /// The name in policies of descheduler, in plans, events and logs.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Plugin::LowNodeUtilization => "LowNodeUtilization",
            Plugin::HighNodeUtilization => "HighNodeUtilization",
            Plugin::RemoveDuplicates => "RemoveDuplicates",
            Plugin::TopologySpread => "RemovePodsViolatingTopologySpreadConstraint",
            Plugin::AntiAffinity => "RemovePodsViolatingInterPodAntiAffinity",
            Plugin::NodeAffinity => "RemovePodsViolatingNodeAffinity",
            Plugin::NodeTaints => "RemovePodsViolatingNodeTaints",
            Plugin::TooManyRestarts => "RemovePodsHavingTooManyRestarts",
            Plugin::PodLifeTime => "PodLifeTime",
            Plugin::FailedPods => "RemoveFailedPods",
        }
    }

    /// Whether it compares nodes, instead of judging pods one by one.
    pub(super) const fn balances(self) -> bool {
        matches!(
            self,
            Plugin::LowNodeUtilization
                | Plugin::HighNodeUtilization
                | Plugin::RemoveDuplicates
                | Plugin::TopologySpread
        )
    }
}
