//! The section `steering`: taints that keep kube-scheduler away from hot and emptying nodes.

use super::{HighNodeUtilization, LowNodeUtilization, Policy, Rule, Share};
use crate::schema::kind::{boolean, share};
use crate::schema::problem::Code;
use crate::schema::read::Fields;
use crate::schema::section::Section;
use crate::values::Ratio;

/// Which nodes get a `PreferNoSchedule` taint, so that the scheduler chooses them last.
#[derive(Clone, Debug, PartialEq)]
pub struct Steering {
    /// Hot nodes, until they have cooled down.
    pub hot: bool,
    /// Nodes that are being emptied, and empty nodes that could be switched off.
    pub emptying: bool,
    /// The most tainted nodes in total; `None` is no limit.
    pub max_nodes: Option<Share>,
}

impl Steering {
    /// Whether any nodes are tainted.
    pub const fn is_on(&self) -> bool {
        self.hot || self.emptying
    }

    /// The same section with both kinds of taints turned off.
    #[must_use]
    pub const fn off(&self) -> Self {
        Steering { hot: false, emptying: false, max_nodes: self.max_nodes }
    }
}

/// Declares `steering`.
pub(super) fn steering() -> Section<Steering> {
    Section::new(Steering {
        hot: false,
        emptying: false,
        max_nodes: Ratio::percent(80.0).map(Share::Portion),
    })
    .field("taintHot", boolean(), |s| &mut s.hot)
    .help(
        "Taint nodes that have been above a target of lowNodeUtilization for `sustainedFor`, until they are at or below 65% of their targets. While a node is hot, also taint the nodes of its pool above 75% of a target, so that replacements land on the coolest nodes.",
    )
    .field("taintEmptying", boolean(), |s| &mut s.emptying)
    .help(
        "Taint nodes that highNodeUtilization finds underused and can empty, as long as they are underused. Meanwhile also taint the nodes that are full by usage but not by requests, which a scheduler that packs would prefer. To empty more nodes than `maxNodes` allows, set that to `none`.",
    )
    .field("maxNodes", share(), |s| &mut s.max_nodes)
    .help(
        "The most nodes that are tainted: a number, or a percentage of the nodes, rounded down but at least one. It also limits hot and warm nodes in each pool, of which the coolest stay open. Empty nodes come before nodes to be emptied: a scheduler that spreads prefers an empty node without the taint, so that no other is emptied. `none` means no limit.",
    )
    .check(|f, s| check_limit(f, s))
}

/// Warns of a limit that limits nothing, or everything.
fn check_limit(f: &mut Fields<'_, '_>, own: &Steering) {
    if own.is_on() && own.max_nodes == Some(Share::Count(0)) {
        let sentence = "no node is tainted, so that taintHot and taintEmptying have no effect";
        f.warn(Code::Ignored, "maxNodes", sentence);
    } else if !own.is_on() && own.max_nodes != steering().defaults().max_nodes {
        let sentence = "has no effect without taintHot or taintEmptying";
        f.warn(Code::Ignored, "maxNodes", sentence);
    }
}

/// Warns of taints that no strategy of the policy leads to.
pub(super) fn check(f: &mut Fields<'_, '_>, policy: &Policy) {
    let has = |wanted: fn(&Rule) -> bool| policy.strategies.iter().any(|s| wanted(&s.rule));
    if policy.steering.hot && !has(|r| LowNodeUtilization::of(r).is_some()) {
        let sentence = "taintHot has no effect without the strategy lowNodeUtilization";
        f.warn(Code::Ignored, "steering", sentence);
    }
    if policy.steering.emptying && !has(|r| HighNodeUtilization::of(r).is_some()) {
        let sentence = "taintEmptying has no effect without the strategy highNodeUtilization";
        f.warn(Code::Ignored, "steering", sentence);
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use crate::policy::native::tests::parse;

    #[test]
    fn eight_of_ten_nodes_may_be_tainted_by_default() {
        assert_eq!(parse("").unwrap().steering.max_nodes.map(|share| share.of(10)), Some(8));
    }

    #[test]
    fn a_limit_without_taints_or_of_no_taint_has_no_effect() {
        let warnings = |steering: &str| {
            let policy = parse(&format!("steering: {steering}")).unwrap();
            let lines = policy.warnings.iter().map(ToString::to_string);
            lines.collect::<Vec<_>>().join("\n")
        };
        assert_snapshot!(warnings("{maxNodes: 3}"),
            @"steering.maxNodes: has no effect without taintHot or taintEmptying");
        let none = warnings("{taintHot: true, maxNodes: 0}");
        assert!(none.contains("maxNodes: no node is tainted"), "{none}");
        assert!(!warnings("{taintHot: true, maxNodes: 3}").contains("maxNodes"));
    }

    #[test]
    fn problems_name_their_fields() {
        assert_snapshot!(parse("steering: {taintHot: hot, maxNode: 1}").unwrap_err(), @"
        policy.yaml:3:22: steering.taintHot: found hot, expected true or false
        policy.yaml:3:27: steering.maxNode: unknown field (did you mean `maxNodes`?); allowed here: taintHot, taintEmptying, maxNodes
        ");
    }
}
