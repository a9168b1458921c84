//! The strategies by name, in native policies and in those of descheduler.

crate::names! {
    /// A strategy without its arguments.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Plugin {
        LowNodeUtilization = "lowNodeUtilization",
        HighNodeUtilization = "highNodeUtilization",
        RemoveDuplicates = "removeDuplicates",
        TopologySpread = "removePodsViolatingTopologySpreadConstraint",
        AntiAffinity = "removePodsViolatingInterPodAntiAffinity",
        NodeAffinity = "removePodsViolatingNodeAffinity",
        NodeTaints = "removePodsViolatingNodeTaints",
        TooManyRestarts = "removePodsHavingTooManyRestarts",
        PodLifeTime = "podLifeTime",
        FailedPods = "removeFailedPods",
    }
    /// The name in native policies.
    pub(super) fn word;
}

impl Plugin {
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
