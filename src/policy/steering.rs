//! Whether the scheduler is steered by soft taints, and how many nodes at most.

use super::read::Fields;
use super::{HighNodeUtilization, LowNodeUtilization, Policy, Rule, Share};
use crate::policy::problem::Code;
use crate::units::Ratio;

/// Which nodes get a taint `PreferNoSchedule`, so that the scheduler takes them only where it finds no other.
#[derive(Clone, Debug, PartialEq)]
pub struct Steering {
    /// Nodes that are hot, until they have cooled.
    pub hot: bool,
    /// Nodes that are to be emptied, and those that are empty and could be switched off.
    pub emptying: bool,
    /// So many nodes at most, in all; `None` is no limit. Where every node is tainted, none is.
    pub max_nodes: Option<Share>,
}

impl Steering {
    /// Whether anything is asked for.
    pub const fn is_on(&self) -> bool {
        self.hot || self.emptying
    }

    /// The same with nothing asked for.
    #[must_use]
    pub const fn off(&self) -> Self {
        Steering { hot: false, emptying: false, max_nodes: self.max_nodes }
    }
}

/// Reads the section `steering`.
pub(super) fn steering(f: &mut Fields<'_, '_>) -> Steering {
    Steering {
        hot: f.field("taintHot").bool().unwrap_or(false),
        emptying: f.field("taintEmptying").bool().unwrap_or(false),
        max_nodes: f.field("maxNodes").share(Ratio::percent(30.0).map(Share::Portion)),
    }
}

/// Tells of a kind of taint that no strategy of the policy leads to.
pub(super) fn check(f: &mut Fields<'_, '_>, policy: &Policy) {
    let has = |wanted: fn(&Rule) -> bool| policy.strategies.iter().any(|s| wanted(&s.rule));
    let (low, high) = (has(|r| LowNodeUtilization::of(r).is_some()), has(|r| HighNodeUtilization::of(r).is_some()));
    let Steering { hot, emptying, .. } = policy.steering;
    if hot && !low {
        f.warn(Code::Ignored, "steering", "taintHot has no effect without the strategy lowNodeUtilization");
    }
    if emptying && !high {
        f.warn(Code::Ignored, "steering", "taintEmptying has no effect without the strategy highNodeUtilization");
    }
}
