//! Whether the scheduler is steered by soft taints, and how many nodes at most.

use super::read::Fields;
use super::{HighNodeUtilization, LowNodeUtilization, Policy, Rule, Share};
use crate::policy::problem::Code;
use crate::values::Ratio;

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
        Steering {
            hot: false,
            emptying: false,
            max_nodes: self.max_nodes,
        }
    }
}

/// Reads the section `steering`.
pub(super) fn steering(f: &mut Fields<'_, '_>) -> Steering {
    Steering {
        hot: f.field("taintHot").bool().unwrap_or(false),
        emptying: f.field("taintEmptying").bool().unwrap_or(false),
        max_nodes: f
            .field("maxNodes")
            .share(Ratio::percent(30.0).map(Share::Portion)),
    }
}

/// Tells of a kind of taint that no strategy of the policy leads to.
pub(super) fn check(f: &mut Fields<'_, '_>, policy: &Policy) {
    let has = |wanted: fn(&Rule) -> bool| policy.strategies.iter().any(|s| wanted(&s.rule));
    let (low, high) = (
        has(|r| LowNodeUtilization::of(r).is_some()),
        has(|r| HighNodeUtilization::of(r).is_some()),
    );
    let Steering { hot, emptying, .. } = policy.steering;
    if hot && !low {
        f.warn(
            Code::Ignored,
            "steering",
            "taintHot has no effect without the strategy lowNodeUtilization",
        );
    }
    if emptying && !high {
        f.warn(
            Code::Ignored,
            "steering",
            "taintEmptying has no effect without the strategy highNodeUtilization",
        );
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    const LOW: &str = "lowNodeUtilization: {thresholds: {cpu: 1%}, targetThresholds: {cpu: 2%}}";
    const HIGH: &str = "highNodeUtilization: {thresholds: {cpu: 1%}}";

    fn parse(steering: &str) -> Result<Policy, String> {
        let text = format!(
            "apiVersion: evenkeel/v1alpha1\nkind: Policy\nsteering: {steering}\nstrategies: [{{{LOW}}}, {{{HIGH}}}]\n"
        );
        Policy::parse("policy.yaml", &text).map_err(|e| e.to_string())
    }

    #[test]
    fn it_is_off_unless_it_is_asked_for() {
        let default = parse("{}").unwrap().steering;
        assert!(!default.is_on() && default == Policy::default_native().steering);
        assert_eq!(default.max_nodes.map(|share| share.of(10)), Some(3));
    }

    #[test]
    fn what_is_written_is_what_is_read_again() {
        for text in [
            "{}",
            "{taintHot: true, maxNodes: none}",
            "{taintEmptying: true, maxNodes: 2}",
            "{maxNodes: 12.5%}",
        ] {
            let policy = parse(text).unwrap();
            let again = Policy::parse("native", &policy.to_native()).unwrap();
            assert_eq!(
                (&again.steering, again.warnings.len()),
                (&policy.steering, 0),
                "{}",
                policy.to_native()
            );
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert_snapshot!(parse("{taintHot: hot, maxNode: 1}").unwrap_err(), @"
        policy.yaml:3:22: steering.taintHot: found hot, expected true or false
          | steering: {taintHot: hot, maxNode: 1}
          |                      ^
        policy.yaml:3:27: steering.maxNode: unknown field (did you mean `maxNodes`?); allowed here: taintHot, taintEmptying, maxNodes
          | steering: {taintHot: hot, maxNode: 1}
          |                           ^
        ");
    }
}
