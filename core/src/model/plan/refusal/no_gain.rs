//! Why a landing on a node gains nothing.

use std::fmt;

/// Why a strategy does not want a replacement on a node. The text follows the name
/// of the node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum NoGain {
    /// The policy's `nodeSelector` does not select the node.
    #[error("is not selected by the policy")]
    NotSelected,
    #[error("is in no pool")]
    NoPool,
    #[error("is in another pool, {0}")]
    OtherPool(String),
    #[error("has none of the resources that the strategy weighs")]
    Lacks,
    #[error("is hot itself")]
    Hot,
    #[error("is a node where the move may open no room")]
    NotOpening,
    #[error("is to be emptied or to stay empty itself")]
    Leaving,
    #[error("is no better by its preferred node affinity")]
    NodeAffinity,
    #[error("is no better by preferred anti-affinity")]
    AntiAffinity,
    #[error("has no fewer PreferNoSchedule taints that the pod does not tolerate")]
    Taint,
    #[error("has its share of the replicas already")]
    FullShare,
    #[error("is in no {0} that should get one of these pods")]
    Spread(String),
}

impl NoGain {
    /// Returns the part of a sentence that follows the name of the node.
    pub(super) fn at(&self, node: &str) -> String {
        if matches!(self, NoGain::NotSelected) {
            "which the policy does not select".to_owned()
        } else {
            format!("where the move would improve nothing: {node} {self}")
        }
    }
}

/// A preference of a pod that another node violates more than its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BrokenPreference {
    /// A topology spread constraint with `whenUnsatisfiable: ScheduleAnyway` on this topology key.
    Spread(String),
    /// Its preferred node affinity.
    NodeAffinity,
    /// Its preferred anti-affinity, or that of other pods against it.
    AntiAffinity,
    /// A taint with the effect PreferNoSchedule that it does not tolerate.
    Taint,
}

impl fmt::Display for BrokenPreference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BrokenPreference::Spread(key) => {
                write!(f, "its soft topology spread constraint on {key}")
            }
            BrokenPreference::NodeAffinity => f.write_str("its preferred node affinity"),
            BrokenPreference::AntiAffinity => f.write_str("preferred anti-affinity"),
            BrokenPreference::Taint => f.write_str("PreferNoSchedule taints"),
        }
    }
}
