//! The strategies of the native format, each with its arguments.

use jiff::SignedDuration;

use super::arguments::{self, Plugin};
use super::native::basis;
use super::problem::{Code, Position};
use super::read::{Fields, Spot};
use super::tree::Value;
use super::wording::either;
use super::{
    Basis, HighNodeUtilization, LowNodeUtilization, Names, Pool, Profile, Rule, Strategy,
    Thresholds,
};
use crate::values::Ratio;
use crate::values::selector::Selector;

type Place = (Position, String);

/// The pool of a strategy's own thresholds.
pub(super) const DEFAULT_POOL: &str = "default";
/// For how long a node must have been hot, unless the file says.
pub(super) const SUSTAINED: SignedDuration = SignedDuration::from_mins(2);

/// Reads one item of the list of strategies. What has no arguments may be a mere name.
pub(super) fn strategy(item: Spot<'_, '_>, basis: Basis, profiles: &[Profile]) -> Option<Strategy> {
    let choices = Plugin::ALL.map(|plugin| (plugin.word(), plugin));
    let bare = item.node().and_then(|node| {
        choices
            .iter()
            .find(|(word, _)| node.value == Value::Text((*word).into()))
    });
    let (plugin, arguments) = match bare {
        Some((_, plugin)) => (*plugin, item.without_value()),
        None => item.choice("strategy", &choices)?,
    };
    arguments.section(|f| {
        let profile = profile(f, profiles);
        let rule = if plugin == Plugin::LowNodeUtilization {
            Rule::LowNodeUtilization(low_node_utilization(f, basis))
        } else if plugin == Plugin::HighNodeUtilization {
            Rule::HighNodeUtilization(high_node_utilization(f, basis)?)
        } else {
            arguments::rule(plugin, f)
        };
        Some(Strategy { profile, rule })
    })
}

/// The position of the profile that a strategy names; the first where it names none.
fn profile(f: &mut Fields<'_, '_>, profiles: &[Profile]) -> usize {
    let Some(name) = f.field("profile").name() else {
        return 0;
    };
    let position = profiles.iter().position(|p| p.name == name);
    if position.is_none() {
        let names: Vec<&str> = profiles.iter().map(|p| p.name.as_str()).collect();
        f.field("profile").refuse::<()>(
            Code::Conflict,
            format!("the name of a profile: {}", either(&names)),
        );
    }
    position.unwrap_or(0)
}

fn low_node_utilization(f: &mut Fields<'_, '_>, default: Basis) -> LowNodeUtilization {
    let basis = basis(f.field("basis")).unwrap_or(default);
    let deviation = f.field("useDeviationThresholds").bool().unwrap_or(false);
    LowNodeUtilization {
        basis,
        pools: pools(f, deviation),
        deviation,
        number_of_nodes: f.field("numberOfNodes").whole(0).unwrap_or(0),
        sustained_for: f
            .field("sustainedFor")
            .duration(SignedDuration::ZERO)
            .unwrap_or(SUSTAINED),
        evictable_namespaces: f
            .field("evictableNamespaces")
            .names_in_or_out()
            .unwrap_or(Names::ALL),
        per_node: f
            .field("evictionLimits")
            .section(|f| f.field("node").limit(None)),
    }
}

fn high_node_utilization(f: &mut Fields<'_, '_>, default: Basis) -> Option<HighNodeUtilization> {
    let basis = basis(f.field("basis")).unwrap_or(default);
    let namespaces = f
        .field("evictableNamespaces")
        .names_in_or_out()
        .unwrap_or(Names::ALL);
    let rule = emptying(f, basis, namespaces);
    let ceilings = levels(f.field("ceilings")).map(plain);
    for (name, _) in ceilings
        .iter()
        .flatten()
        .filter(|(name, _)| name != "cpu" && name != "memory")
    {
        let sentence =
            format!("found {name}, expected cpu and memory, for nobody measures the use of others");
        f.complain(Code::Unsupported, "ceilings", sentence);
    }
    rule.map(|rule| HighNodeUtilization {
        ceilings: ceilings.unwrap_or(rule.ceilings),
        ..rule
    })
}

/// HighNodeUtilization, but for what descheduler says otherwise.
pub(super) fn emptying(
    f: &mut Fields<'_, '_>,
    basis: Basis,
    evictable_namespaces: Names,
) -> Option<HighNodeUtilization> {
    const MODES: [(&str, ()); 1] = [("OnlyThresholdingResources", ())];
    let modes = f
        .field("evictionModes")
        .list("eviction modes", |item| item.one_of(&MODES))
        .unwrap_or_default();
    let number_of_nodes = f.field("numberOfNodes").whole(0).unwrap_or(0);
    let levels = levels(f.required("thresholds", THRESHOLDS))?;
    Some(HighNodeUtilization {
        basis,
        thresholds: plain(levels),
        ceilings: HighNodeUtilization::default_ceilings(),
        number_of_nodes,
        only_thresholding_resources: !modes.is_empty(),
        evictable_namespaces,
    })
}

const THRESHOLDS: &str = "a percentage for each resource, such as {cpu: 30%, memory: 40%}";

/// Both bounds of a pool, as far as the file gives them.
pub(super) struct Bounds {
    low: Option<Vec<Level>>,
    high: Option<Vec<Level>>,
}

/// The pool of all nodes, by the thresholds of the strategy itself.
pub(super) fn only_pool(f: &mut Fields<'_, '_>, deviation: bool) -> Vec<Pool> {
    let bounds = bounds(f, true, None);
    compare(f, &bounds, deviation, &(Position::START, String::new()));
    pool(DEFAULT_POOL.to_owned(), None, bounds)
        .into_iter()
        .collect()
}

/// The bound of one resource, and where it stands.
#[derive(Clone)]
struct Level {
    resource: String,
    share: Ratio,
    place: Place,
}

/// The named pools, and last the one of the strategy's own thresholds.
fn pools(f: &mut Fields<'_, '_>, deviation: bool) -> Vec<Pool> {
    let own = f.has("thresholds") || f.has("targetThresholds");
    let bounds = bounds(f, own || !f.has("nodePools"), None);
    compare(f, &bounds, deviation, &(Position::START, String::new()));
    let selector = f.field("nodeSelector").selector();
    let (mut names, inherited) = (Vec::new(), own.then_some(&bounds));
    let pools = f.field("nodePools").list("node pools", |item| {
        named_pool(item, inherited, deviation, &mut names)
    });
    let mut pools = pools.unwrap_or_default();
    if !own && f.has("nodePools") {
        if selector.is_some() {
            let sentence =
                "this selects the nodes of the thresholds beside it, of which there are none";
            f.complain(Code::Conflict, "nodeSelector", sentence);
        }
        if pools.is_empty() && f.sound() {
            f.complain(
                Code::OutOfRange,
                "nodePools",
                "there is no pool here, and there are no thresholds beside it",
            );
        }
    }
    pools.extend(pool(DEFAULT_POOL.to_owned(), selector, bounds));
    pools
}

fn named_pool(
    item: Spot<'_, '_>,
    inherited: Option<&Bounds>,
    deviation: bool,
    names: &mut Vec<String>,
) -> Option<Pool> {
    let here = item.place();
    item.section(|f| {
        let name = f.required("name", "a name, to be shown in plans").name();
        if name
            .as_ref()
            .is_some_and(|n| n == DEFAULT_POOL || names.contains(n))
        {
            let sentence =
                "another pool has this name; `default` is that of the strategy's own thresholds";
            f.complain(Code::Conflict, "name", sentence);
        }
        names.extend(name.clone());
        let selector = f
            .required("nodeSelector", "a label selector, such as pool=gpu")
            .selector();
        let bounds = bounds(f, inherited.is_none(), inherited);
        if f.has("thresholds") || f.has("targetThresholds") {
            compare(f, &bounds, deviation, &here);
        }
        pool(name?, selector, bounds)
    })
}

fn pool(name: String, selector: Option<Selector>, bounds: Bounds) -> Option<Pool> {
    Some(Pool {
        name,
        selector,
        thresholds: plain(bounds.low?),
        targets: plain(bounds.high?),
    })
}

fn plain(levels: Vec<Level>) -> Thresholds {
    levels.into_iter().map(|l| (l.resource, l.share)).collect()
}

fn bounds(f: &mut Fields<'_, '_>, required: bool, inherited: Option<&Bounds>) -> Bounds {
    let mut read = |name| {
        levels(if required {
            f.required(name, THRESHOLDS)
        } else {
            f.field(name)
        })
    };
    let (low, high) = (read("thresholds"), read("targetThresholds"));
    // What is there but broken is not replaced, or it would be compared.
    let inherit = |name| inherited.filter(|_| !f.has(name));
    Bounds {
        low: low.or_else(|| inherit("thresholds").and_then(|b| b.low.clone())),
        high: high.or_else(|| inherit("targetThresholds").and_then(|b| b.high.clone())),
    }
}

/// A percentage for each resource, by name; nothing unless every one of them can be read.
fn levels(spot: Spot<'_, '_>) -> Option<Vec<Level>> {
    if spot
        .node()
        .is_some_and(|n| n.value == Value::Map(Vec::new()))
    {
        return spot.refuse(
            Code::OutOfRange,
            "at least one resource, such as {cpu: 30%}",
        );
    }
    let mut written = 0;
    let mut levels = spot.each("resources and percentages, such as {cpu: 30%}", |entry, spot| {
        written += 1;
        if !is_resource(&entry.key) {
            let sentence = "not the name of a resource; these are cpu, memory, pods, ephemeral-storage, hugepages-… \
                            and names with a slash, such as nvidia.com/gpu";
            return spot.at_key().complain(Code::UnknownField, sentence);
        }
        let place = spot.place();
        Some(Level { resource: entry.key.clone(), share: spot.percent()?, place })
    })?;
    levels.sort_by(|a, b| a.resource.cmp(&b.resource));
    (levels.len() == written).then_some(levels)
}

fn is_resource(name: &str) -> bool {
    let extended = name
        .split_once('/')
        .is_some_and(|(domain, rest)| !domain.is_empty() && !rest.is_empty());
    ["cpu", "memory", "pods", "ephemeral-storage"].contains(&name)
        || name.starts_with("hugepages-")
        || extended
}

/// Both bounds must be of the same resources, and the lower one not above the upper one. What is inherited from before
/// `here` is not to blame.
fn compare(f: &mut Fields<'_, '_>, bounds: &Bounds, deviation: bool, here: &Place) {
    let (Some(low), Some(high)) = (&bounds.low, &bounds.high) else {
        return;
    };
    let blamed = |place: &Place| {
        if place.0 < here.0 {
            here.clone()
        } else {
            place.clone()
        }
    };
    for (one, other, name) in [(low, high, "targetThresholds"), (high, low, "thresholds")] {
        for level in one
            .iter()
            .filter(|l| other.iter().all(|o| o.resource != l.resource))
        {
            let sentence = format!(
                "{} is not in {name}; both need the same resources",
                level.resource
            );
            f.complain_at(Code::Conflict, blamed(&level.place), sentence);
        }
    }
    // Distances from the mean go to both sides of it, so either may be the larger.
    for level in low.iter().filter(|_| !deviation) {
        if let Some(target) = high
            .iter()
            .find(|h| h.resource == level.resource && h.share < level.share)
        {
            let (threshold, target) = ((&level.place, level.share), (&target.place, target.share));
            let sentence = format!(
                "a threshold of {} is above its target of {}",
                threshold.1, target.1
            );
            f.complain_at(Code::Conflict, blamed(threshold.0.max(target.0)), sentence);
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::super::Policy;
    use super::*;

    /// A whole file around a list of strategies, which begins in line 4.
    fn parse(strategies: &str) -> Result<Policy, String> {
        let text =
            format!("apiVersion: evenkeel/v1alpha1\nkind: Policy\nstrategies:\n{strategies}\n");
        Policy::parse("policy.yaml", &text).map_err(|e| e.to_string())
    }

    fn low(arguments: &str) -> Result<LowNodeUtilization, String> {
        let mut policy = parse(&format!("- lowNodeUtilization: {{{arguments}}}"))?;
        let Rule::LowNodeUtilization(rule) = policy.strategies.remove(0).rule else {
            panic!("another rule")
        };
        Ok(rule)
    }

    fn refused(arguments: &str) -> String {
        low(arguments).unwrap_err()
    }

    fn show(rule: &LowNodeUtilization) -> String {
        let levels = |t: &Thresholds| {
            t.iter()
                .map(|(r, s)| format!("{r} {s}"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        let selector = |p: &Pool| {
            p.selector
                .as_ref()
                .map_or("all".to_owned(), Selector::to_string)
        };
        let pools = rule.pools.iter().map(|p| {
            format!(
                "{} ({}): {} to {}",
                p.name,
                selector(p),
                levels(&p.thresholds),
                levels(&p.targets)
            )
        });
        pools.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn thresholds_of_the_strategy_make_a_pool_of_all_nodes() {
        let rule =
            low("thresholds: {pods: 5, cpu: 30%}, targetThresholds: {cpu: 60%, pods: 50}").unwrap();
        assert_snapshot!(show(&rule), @"default (all): cpu 30% pods 5% to cpu 60% pods 50%");
    }

    #[test]
    fn named_pools_come_first_and_inherit_what_they_do_not_say() {
        let rule = low("thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%}, nodeSelector: '!spot', nodePools: [
            {name: gpu, nodeSelector: gpu, targetThresholds: {cpu: 90%}},
            {name: old, nodeSelector: old, thresholds: {memory: 1%}, targetThresholds: {memory: 2%}}]")
        .unwrap();
        assert_snapshot!(show(&rule), @"
        gpu (gpu): cpu 30% to cpu 90%
        old (old): memory 1% to memory 2%
        default (!spot): cpu 30% to cpu 60%
        ");
    }

    #[test]
    fn with_pools_alone_nodes_in_no_pool_are_left_alone() {
        let rule =
            low("nodePools: [{name: gpu, nodeSelector: gpu, thresholds: {cpu: 1%}, targetThresholds: {cpu: 2%}}]")
                .unwrap();
        assert_snapshot!(show(&rule), @"gpu (gpu): cpu 1% to cpu 2%");
    }

    #[test]
    fn what_a_strategy_weighs_is_that_of_the_policy_unless_it_says_otherwise() {
        let arguments = "thresholds: {cpu: 1%}, targetThresholds: {cpu: 2%}";
        let both = format!(
            "- lowNodeUtilization: {{{arguments}}}\n- lowNodeUtilization: {{basis: actual, {arguments}}}\nbasis: requests"
        );
        let bases: Vec<Basis> = parse(&both)
            .unwrap()
            .strategies
            .iter()
            .map(|s| {
                let Rule::LowNodeUtilization(rule) = &s.rule else {
                    panic!("another rule")
                };
                rule.basis
            })
            .collect();
        assert_eq!(bases, [Basis::Requests, Basis::Actual]);
    }

    #[test]
    fn distances_from_the_mean_may_be_larger_below_than_above() {
        assert!(
            low(
                "useDeviationThresholds: true, thresholds: {cpu: 20%}, targetThresholds: {cpu: 10%}"
            )
            .is_ok()
        );
    }

    #[test]
    fn a_strategy_is_called_by_its_name() {
        assert_snapshot!(parse("- LowNodeUtilization: {}").unwrap_err(), @"
        policy.yaml:4:3: strategies[0].LowNodeUtilization: unknown strategy (did you mean `lowNodeUtilization`?); allowed here: lowNodeUtilization, highNodeUtilization, removeDuplicates, removePodsViolatingTopologySpreadConstraint, removePodsViolatingInterPodAntiAffinity, removePodsViolatingNodeAffinity, removePodsViolatingNodeTaints, removePodsHavingTooManyRestarts, podLifeTime, removeFailedPods
          | - LowNodeUtilization: {}
          |   ^
        ");
        assert_snapshot!(parse("- lowNodeUtilisation").unwrap_err().lines().next().unwrap(), @"policy.yaml:4:3: strategies[0]: found lowNodeUtilisation, expected a map with one strategy: lowNodeUtilization, highNodeUtilization, removeDuplicates, removePodsViolatingTopologySpreadConstraint, removePodsViolatingInterPodAntiAffinity, removePodsViolatingNodeAffinity, removePodsViolatingNodeTaints, removePodsHavingTooManyRestarts, podLifeTime or removeFailedPods");
    }

    #[test]
    fn a_strategy_without_arguments_may_be_a_mere_name() {
        let bare = parse("- removeDuplicates\n- removePodsViolatingNodeTaints").unwrap();
        let with = parse("- removeDuplicates: {}\n- removePodsViolatingNodeTaints:").unwrap();
        assert_eq!(bare, with);
        assert!(
            parse("- removePodsHavingTooManyRestarts")
                .unwrap_err()
                .contains("podRestartThreshold: missing")
        );
    }

    #[test]
    fn a_strategy_goes_by_the_profile_that_it_names() {
        let profiles = "profiles: [{name: a}, {name: b, evictable: {minReplicas: 5}}]";
        let policy = parse(&format!(
            "- removeDuplicates: {{profile: b}}\n- podLifeTime: {{states: [Failed]}}\n{profiles}"
        ));
        let positions: Vec<usize> = policy
            .unwrap()
            .strategies
            .iter()
            .map(|s| s.profile)
            .collect();
        assert_eq!(positions, [1, 0]);
        assert_snapshot!(parse(&format!("- removeDuplicates: {{profile: c}}\n{profiles}")).unwrap_err(), @"
        policy.yaml:4:31: strategies[0].removeDuplicates.profile: found c, expected the name of a profile: a or b
          | - removeDuplicates: {profile: c}
          |                               ^
        ");
    }

    #[test]
    fn arguments_that_are_not_indented_are_told_so() {
        assert_snapshot!(parse("- lowNodeUtilization:\n  thresholds: {cpu: 30%}\n  targetThresholds: {cpu: 60%}").unwrap_err(), @"
        policy.yaml:5:3: strategies[0].thresholds: `thresholds` must be indented further than `lowNodeUtilization` to belong to it
          |   thresholds: {cpu: 30%}
          |   ^
        ");
    }

    #[test]
    fn an_item_is_one_strategy() {
        assert_snapshot!(parse("- lowNodeUtilization: {}\n  highNodeUtilization: {}").unwrap_err(), @"
        policy.yaml:5:3: strategies[0].highNodeUtilization: a list item holds one strategy; begin `highNodeUtilization` with a dash of its own
          |   highNodeUtilization: {}
          |   ^
        ");
    }

    #[test]
    fn thresholds_are_needed_on_both_sides() {
        assert_snapshot!(parse("- lowNodeUtilization:\n    thresholds: {cpu: 30%}\n    targetTreshold: {cpu: 60%}").unwrap_err(), @"
        policy.yaml:4:3: strategies[0].lowNodeUtilization.targetThresholds: missing, expected a percentage for each resource, such as {cpu: 30%, memory: 40%}
          | - lowNodeUtilization:
          |   ^
        policy.yaml:6:5: strategies[0].lowNodeUtilization.targetTreshold: unknown field (did you mean `targetThresholds`?); allowed here: profile, basis, useDeviationThresholds, thresholds, targetThresholds, nodeSelector, nodePools, numberOfNodes, sustainedFor, evictableNamespaces, evictionLimits
          |     targetTreshold: {cpu: 60%}
          |     ^
        ");
    }

    #[test]
    fn thresholds_are_percentages_of_resources_that_exist() {
        assert_snapshot!(refused("thresholds: {cpu: 130%, memroy: 1%}, targetThresholds: {}"), @"
        policy.yaml:4:42: strategies[0].lowNodeUtilization.thresholds.cpu: found 130%, expected a percentage from 0% to 100%
          | - lowNodeUtilization: {thresholds: {cpu: 130%, memroy: 1%}, targetThresholds: {}}
          |                                          ^
        policy.yaml:4:48: strategies[0].lowNodeUtilization.thresholds.memroy: not the name of a resource; these are cpu, memory, pods, ephemeral-storage, hugepages-… and names with a slash, such as nvidia.com/gpu
          | - lowNodeUtilization: {thresholds: {cpu: 130%, memroy: 1%}, targetThresholds: {}}
          |                                                ^
        policy.yaml:4:79: strategies[0].lowNodeUtilization.targetThresholds: found an empty map, expected at least one resource, such as {cpu: 30%}
          | - lowNodeUtilization: {thresholds: {cpu: 130%, memroy: 1%}, targetThresholds: {}}
          |                                                                               ^
        ");
    }

    #[test]
    fn both_sides_name_the_same_resources_the_lower_one_first() {
        assert_snapshot!(refused("thresholds: {cpu: 70%, memory: 3%}, targetThresholds: {cpu: 50%, pods: 5}"), @"
        policy.yaml:4:55: strategies[0].lowNodeUtilization.thresholds.memory: memory is not in targetThresholds; both need the same resources
          | - lowNodeUtilization: {thresholds: {cpu: 70%, memory: 3%}, targetThresholds: {cpu: 50%, pods: 5}}
          |                                                       ^
        policy.yaml:4:84: strategies[0].lowNodeUtilization.targetThresholds.cpu: a threshold of 70% is above its target of 50%
          | - lowNodeUtilization: {thresholds: {cpu: 70%, memory: 3%}, targetThresholds: {cpu: 50%, pods: 5}}
          |                                                                                    ^
        policy.yaml:4:95: strategies[0].lowNodeUtilization.targetThresholds.pods: pods is not in thresholds; both need the same resources
          | - lowNodeUtilization: {thresholds: {cpu: 70%, memory: 3%}, targetThresholds: {cpu: 50%, pods: 5}}
          |                                                                                               ^
        ");
    }

    #[test]
    fn a_pool_has_a_name_of_its_own_and_says_its_nodes() {
        assert_snapshot!(refused("thresholds: {cpu: 1%}, targetThresholds: {cpu: 2%}, nodePools: [{name: default, nodeSelector: a}, {}]"), @"
        policy.yaml:4:89: strategies[0].lowNodeUtilization.nodePools[0].name: another pool has this name; `default` is that of the strategy's own thresholds
          | Utilization: {thresholds: {cpu: 1%}, targetThresholds: {cpu: 2%}, nodePools: [{name: default, nodeSelector: a}, {}]}
          |                                                                                ^
        policy.yaml:4:122: strategies[0].lowNodeUtilization.nodePools[1].name: missing, expected a name, to be shown in plans
          | %}, targetThresholds: {cpu: 2%}, nodePools: [{name: default, nodeSelector: a}, {}]}
          |                                                                                ^
        policy.yaml:4:122: strategies[0].lowNodeUtilization.nodePools[1].nodeSelector: missing, expected a label selector, such as pool=gpu
          | %}, targetThresholds: {cpu: 2%}, nodePools: [{name: default, nodeSelector: a}, {}]}
          |                                                                                ^
        ");
    }

    #[test]
    fn a_pool_without_thresholds_has_none_to_inherit() {
        assert_snapshot!(refused("nodeSelector: a, nodePools: [{name: gpu, nodeSelector: gpu}]"), @"
        policy.yaml:4:24: strategies[0].lowNodeUtilization.nodeSelector: this selects the nodes of the thresholds beside it, of which there are none
          | - lowNodeUtilization: {nodeSelector: a, nodePools: [{name: gpu, nodeSelector: gpu}]}
          |                        ^
        policy.yaml:4:53: strategies[0].lowNodeUtilization.nodePools[0].thresholds: missing, expected a percentage for each resource, such as {cpu: 30%, memory: 40%}
          | - lowNodeUtilization: {nodeSelector: a, nodePools: [{name: gpu, nodeSelector: gpu}]}
          |                                                     ^
        policy.yaml:4:53: strategies[0].lowNodeUtilization.nodePools[0].targetThresholds: missing, expected a percentage for each resource, such as {cpu: 30%, memory: 40%}
          | - lowNodeUtilization: {nodeSelector: a, nodePools: [{name: gpu, nodeSelector: gpu}]}
          |                                                     ^
        ");
        assert_snapshot!(refused("nodePools: []"), @"
        policy.yaml:4:24: strategies[0].lowNodeUtilization.nodePools: there is no pool here, and there are no thresholds beside it
          | - lowNodeUtilization: {nodePools: []}
          |                        ^
        ");
    }

    #[test]
    fn what_a_pool_says_must_fit_what_it_inherits() {
        assert_snapshot!(refused("thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%}, nodePools: [{name: a, nodeSelector: a, targetThresholds: {cpu: 20%}}, {name: b, nodeSelector: b, thresholds: {memory: 1%}}]"), @"
        policy.yaml:4:141: strategies[0].lowNodeUtilization.nodePools[0].targetThresholds.cpu: a threshold of 30% is above its target of 20%
          | ds: {cpu: 60%}, nodePools: [{name: a, nodeSelector: a, targetThresholds: {cpu: 20%}}, {name: b, nodeSelector: b, thresho
          |                                                                                ^
        policy.yaml:4:148: strategies[0].lowNodeUtilization.nodePools[1]: cpu is not in thresholds; both need the same resources
          | u: 60%}, nodePools: [{name: a, nodeSelector: a, targetThresholds: {cpu: 20%}}, {name: b, nodeSelector: b, thresholds: {m
          |                                                                                ^
        policy.yaml:4:196: strategies[0].lowNodeUtilization.nodePools[1].thresholds.memory: memory is not in targetThresholds; both need the same resources
          | targetThresholds: {cpu: 20%}}, {name: b, nodeSelector: b, thresholds: {memory: 1%}}]}
          |                                                                                ^
        ");
    }
}
