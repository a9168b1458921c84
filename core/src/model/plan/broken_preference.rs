//! A preference of a pod that a move would break.

use std::fmt;

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
