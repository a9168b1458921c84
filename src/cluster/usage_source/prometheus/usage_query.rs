//! The queries of the policy for usage and its time.

/// Above any real machine. A query that returns more measures something else.
const MOST_CORES: f64 = 1e6;
const MOST_BYTES: f64 = 1e18;
const LATEST_SECOND: f64 = 1e11;

/// The usage queries of the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum UsageQuery {
    NodeCpu,
    NodeMemory,
    NodeTime,
    PodCpu,
    PodMemory,
    PodTime,
}

impl UsageQuery {
    /// Its name in the policy.
    pub(super) const fn name(self) -> &'static str {
        match self {
            UsageQuery::NodeCpu => "nodeCpu",
            UsageQuery::NodeMemory => "nodeMemory",
            UsageQuery::NodeTime => "nodeTime",
            UsageQuery::PodCpu => "podCpu",
            UsageQuery::PodMemory => "podMemory",
            UsageQuery::PodTime => "podTime",
        }
    }

    /// Returns true if it measures pods.
    pub(super) const fn is_of_pods(self) -> bool {
        matches!(self, UsageQuery::PodCpu | UsageQuery::PodMemory | UsageQuery::PodTime)
    }

    /// Returns true if its values are times.
    const fn is_time(self) -> bool {
        matches!(self, UsageQuery::NodeTime | UsageQuery::PodTime)
    }

    /// Why a larger value cannot be right.
    pub(super) const fn why_too_large(self) -> &'static str {
        if self.is_time() { "invalid time" } else { "more than any machine has" }
    }

    /// The largest value that can be right.
    pub(super) const fn largest_value(self) -> f64 {
        match self {
            UsageQuery::NodeCpu | UsageQuery::PodCpu => MOST_CORES,
            UsageQuery::NodeMemory | UsageQuery::PodMemory => MOST_BYTES,
            UsageQuery::NodeTime | UsageQuery::PodTime => LATEST_SECOND,
        }
    }
}
