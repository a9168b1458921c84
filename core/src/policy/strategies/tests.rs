//! Reading strategies, and the messages for their problems.

use insta::assert_snapshot;

use crate::policy::native::tests::messages;
use crate::policy::{Basis, LowNodeUtilization, Policy, Pool, Rule, Thresholds};
use crate::values::selector::Selector;

/// A whole file; the list of strategies begins in line 4.
fn parse(strategies: &str) -> Result<Policy, String> {
    let text = format!("apiVersion: evenkeel/v1alpha1\nkind: Policy\nstrategies:\n{strategies}\n");
    Policy::parse("policy.yaml", &text).map_err(|error| messages(&error))
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
    let levels =
        |t: &Thresholds| t.iter().map(|(r, s)| format!("{r} {s}")).collect::<Vec<_>>().join(" ");
    let selector = |p: &Pool| p.selector.as_ref().map_or("all".to_owned(), Selector::to_string);
    let pools = rule.pools.iter().map(|p| {
        format!("{} ({}): {} to {}", p.name, selector(p), levels(&p.thresholds), levels(&p.targets))
    });
    pools.collect::<Vec<_>>().join("\n")
}

#[test]
fn own_thresholds_make_a_pool_of_all_nodes() {
    let rule =
        low("thresholds: {pods: 5, cpu: 30%}, targetThresholds: {cpu: 60%, pods: 50}").unwrap();
    assert_snapshot!(show(&rule), @"default (all): cpu 30% pods 5% to cpu 60% pods 50%");
}

#[test]
fn named_pools_come_first_and_inherit_missing_thresholds() {
    let rule = low(
        "thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%}, nodeSelector: '!spot', nodePools: [
        {name: gpu, nodeSelector: gpu, targetThresholds: {cpu: 90%}},
        {name: old, nodeSelector: old, thresholds: {memory: 1%}, targetThresholds: {memory: 2%}}]",
    )
    .unwrap();
    assert_snapshot!(show(&rule), @"
    gpu (gpu): cpu 30% to cpu 90%
    old (old): memory 1% to memory 2%
    default (!spot): cpu 30% to cpu 60%
    ");
}

#[test]
fn with_pools_alone_nodes_in_no_pool_are_left_alone() {
    let rule = low("nodePools: [{name: gpu, nodeSelector: gpu, thresholds: {cpu: 1%}, targetThresholds: {cpu: 2%}}]")
    .unwrap();
    assert_snapshot!(show(&rule), @"gpu (gpu): cpu 1% to cpu 2%");
}

#[test]
fn a_strategy_inherits_the_basis_of_the_policy() {
    let arguments = "thresholds: {cpu: 1%}, targetThresholds: {cpu: 2%}";
    let both = format!(
        "- lowNodeUtilization: {{{arguments}}}\n- lowNodeUtilization: {{basis: actual, {arguments}}}\nbasis: requests"
    );
    let bases: Vec<Basis> = parse(&both)
        .unwrap()
        .strategies
        .iter()
        .map(|s| {
            let Rule::LowNodeUtilization(rule) = &s.rule else { panic!("another rule") };
            rule.basis
        })
        .collect();
    assert_eq!(bases, [Basis::Requests, Basis::Actual]);
}

#[test]
fn a_deviation_below_the_mean_may_exceed_the_one_above() {
    assert!(
        low("useDeviationThresholds: true, thresholds: {cpu: 20%}, targetThresholds: {cpu: 10%}")
            .is_ok()
    );
}

#[test]
fn unknown_strategies_are_refused() {
    assert_snapshot!(
        parse("- LowNodeUtilization: {}").unwrap_err(),
        @"policy.yaml:4:3: strategies[0].LowNodeUtilization: unknown strategy (did you mean `lowNodeUtilization`?); allowed here: lowNodeUtilization, highNodeUtilization, removeDuplicates, removePodsViolatingTopologySpreadConstraint, removePodsViolatingInterPodAntiAffinity, removePodsViolatingNodeAffinity, removePodsViolatingNodeTaints, removePodsHavingTooManyRestarts, podLifeTime, removeFailedPods"
    );
    assert_snapshot!(parse("- lowNodeUtilisation").unwrap_err().lines().next().unwrap(),
        @"policy.yaml:4:3: strategies[0]: found lowNodeUtilisation, expected a map with one strategy: lowNodeUtilization, highNodeUtilization, removeDuplicates, removePodsViolatingTopologySpreadConstraint, removePodsViolatingInterPodAntiAffinity, removePodsViolatingNodeAffinity, removePodsViolatingNodeTaints, removePodsHavingTooManyRestarts, podLifeTime or removeFailedPods");
}

#[test]
fn a_strategy_without_arguments_may_be_its_name_alone() {
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
fn a_strategy_uses_the_profile_that_it_names() {
    let profiles = "profiles: [{name: a}, {name: b, evictable: {minReplicas: 5}}]";
    let policy = parse(&format!(
        "- removeDuplicates: {{profile: b}}\n- podLifeTime: {{states: [Failed]}}\n{profiles}"
    ));
    let positions: Vec<usize> = policy.unwrap().strategies.iter().map(|s| s.profile).collect();
    assert_eq!(positions, [1, 0]);
    assert_snapshot!(
        parse(&format!("- removeDuplicates: {{profile: c}}\n{profiles}")).unwrap_err(),
        @"policy.yaml:4:31: strategies[0].removeDuplicates.profile: found c, expected the name of a profile: a or b"
    );
}

#[test]
fn arguments_must_be_indented() {
    assert_snapshot!(
        parse("- lowNodeUtilization:\n  thresholds: {cpu: 30%}\n  targetThresholds: {cpu: 60%}").unwrap_err(),
        @"policy.yaml:5:3: strategies[0].thresholds: `thresholds` must be indented further than `lowNodeUtilization` to belong to it"
    );
}

#[test]
fn an_item_holds_one_strategy() {
    assert_snapshot!(
        parse("- lowNodeUtilization: {}\n  highNodeUtilization: {}").unwrap_err(),
        @"policy.yaml:5:3: strategies[0].highNodeUtilization: a list item holds one strategy; put a dash before `highNodeUtilization`"
    );
}

#[test]
fn thresholds_and_targets_are_required() {
    assert_snapshot!(parse("- lowNodeUtilization:\n    thresholds: {cpu: 30%}\n    targetTreshold: {cpu: 60%}").unwrap_err(), @"
    policy.yaml:4:3: strategies[0].lowNodeUtilization.targetThresholds: missing, expected a percentage for each resource, such as {cpu: 30, memory: 40}
    policy.yaml:6:5: strategies[0].lowNodeUtilization.targetTreshold: unknown field (did you mean `targetThresholds`?); allowed here: basis, thresholds, targetThresholds, useDeviationThresholds, numberOfNodes, sustainedFor, nodeSelector, nodePools, evictableNamespaces, evictionLimits, profile
    ");
}

#[test]
fn thresholds_are_percentages_of_known_resources() {
    assert_snapshot!(refused("thresholds: {cpu: 130%, memroy: 1%}, targetThresholds: {}"), @"
    policy.yaml:4:42: strategies[0].lowNodeUtilization.thresholds.cpu: found 130%, expected a percentage from 0% to 100%
    policy.yaml:4:48: strategies[0].lowNodeUtilization.thresholds.memroy: not the name of a resource; these are cpu, memory, pods, ephemeral-storage, hugepages-… and names with a slash, such as nvidia.com/gpu
    policy.yaml:4:79: strategies[0].lowNodeUtilization.targetThresholds: found an empty map, expected at least one resource, such as {cpu: 30}
    ");
}

#[test]
fn thresholds_and_targets_have_the_same_resources() {
    let unequal = "thresholds: {cpu: 7, memory: 3}, targetThresholds: {cpu: 5, pods: 5}";
    assert_snapshot!(refused(unequal), @"
    policy.yaml:4:53: strategies[0].lowNodeUtilization.thresholds.memory: memory is not in targetThresholds; both need the same resources
    policy.yaml:4:81: strategies[0].lowNodeUtilization.targetThresholds.cpu: a threshold of 7% is above its target of 5%
    policy.yaml:4:90: strategies[0].lowNodeUtilization.targetThresholds.pods: pods is not in thresholds; both need the same resources
    ");
}

#[test]
fn a_pool_needs_a_unique_name_and_a_selector() {
    assert_snapshot!(refused("thresholds: {cpu: 1%}, targetThresholds: {cpu: 2%}, nodePools: [{name: default, nodeSelector: a}, {}]"), @"
    policy.yaml:4:89: strategies[0].lowNodeUtilization.nodePools[0].name: another pool has this name; `default` is the pool of the strategy's own thresholds
    policy.yaml:4:122: strategies[0].lowNodeUtilization.nodePools[1].name: missing, expected a name, to be shown in plans
    policy.yaml:4:122: strategies[0].lowNodeUtilization.nodePools[1].nodeSelector: missing, expected a label selector, such as pool=gpu
    ");
}

#[test]
fn a_pool_cannot_inherit_missing_thresholds() {
    assert_snapshot!(refused("nodeSelector: a, nodePools: [{name: gpu, nodeSelector: gpu}]"), @"
    policy.yaml:4:24: strategies[0].lowNodeUtilization.nodeSelector: this selects the nodes of the strategy's own thresholds, which are missing
    policy.yaml:4:53: strategies[0].lowNodeUtilization.nodePools[0].thresholds: missing, expected a percentage for each resource, such as {cpu: 30, memory: 40}
    policy.yaml:4:53: strategies[0].lowNodeUtilization.nodePools[0].targetThresholds: missing, expected a percentage for each resource, such as {cpu: 30, memory: 40}
    ");
    assert_snapshot!(
        refused("nodePools: []"),
        @"policy.yaml:4:24: strategies[0].lowNodeUtilization.nodePools: there is no pool here, and the strategy has no thresholds of its own"
    );
}

#[test]
fn own_thresholds_of_a_pool_fit_the_inherited_ones() {
    assert_snapshot!(refused("thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%}, nodePools: \
        [{name: a, nodeSelector: a, targetThresholds: {cpu: 20%}}, {name: b, nodeSelector: b, thresholds: {memory: 1%}}]"), @"
    policy.yaml:4:141: strategies[0].lowNodeUtilization.nodePools[0].targetThresholds.cpu: a threshold of 30% is above its target of 20%
    policy.yaml:4:148: strategies[0].lowNodeUtilization.nodePools[1]: cpu is not in thresholds; \
        both need the same resources
    policy.yaml:4:196: strategies[0].lowNodeUtilization.nodePools[1].thresholds.memory: memory is not in targetThresholds; both need the same resources
    ");
}

#[test]
fn a_balance_of_domains_without_node_fit_is_for_the_exact_mode() {
    let warnings = |node_fit: bool| {
        let strategy = "removePodsViolatingTopologySpreadConstraint";
        let policy = parse(&format!("- {strategy}: {{topologyBalanceNodeFit: {node_fit}}}"));
        let warnings = policy.unwrap().warnings.into_iter();
        warnings.map(|w| w.to_string()).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(warnings(true), "");
    assert_snapshot!(
        warnings(false),
        @"strategies[0].removePodsViolatingTopologySpreadConstraint.topologyBalanceNodeFit: false has an effect only in the exact mode: otherwise a pod moves only if it fits such a node"
    );
}

#[test]
fn a_kind_that_owns_no_pods_is_a_warning() {
    let of_deployments = "the owner of a Deployment's pods is a ReplicaSet; name that";
    for (strategy, warning) in [
        ("removeDuplicates: {excludeOwnerKinds: [Deployment]}", of_deployments),
        (
            "podLifeTime: {maxPodLifeTimeSeconds: 60, ownerKinds: {exclude: [Deployment]}}",
            of_deployments,
        ),
        (
            "removeFailedPods: {excludeOwnerKinds: [CronJob]}",
            "the owner of a CronJob's pods is a Job; name that",
        ),
    ] {
        let warnings = parse(&format!("- {strategy}")).unwrap().warnings;
        assert!(warnings.len() == 1 && warnings[0].to_string().ends_with(warning), "{warnings:?}");
    }
    let both = parse("- removeDuplicates: {excludeOwnerKinds: [Deployment, ReplicaSet]}");
    assert_eq!(both.unwrap().warnings, []);
}
