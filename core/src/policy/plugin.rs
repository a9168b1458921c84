//! The strategies by name, in native policies and in those of descheduler.

use super::Rule;

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
    /// The name in policies of descheduler, in plans, events and logs: the word with a capital.
    pub(super) fn name(self) -> &'static str {
        let word = self.word();
        Rule::CODES.into_iter().find(|name| name.eq_ignore_ascii_case(word)).unwrap_or(word)
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
