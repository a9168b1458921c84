//! The strategies of a policy, each with its arguments as far as they are not as by default.

use jiff::SignedDuration;

use super::super::arguments::Plugin;
use super::super::strategies::{DEFAULT_POOL, SUSTAINED};
use super::super::{
    AffinityKind, Basis, ConditionTest, FailedPods, HighNodeUtilization, LowNodeUtilization, Names,
    NodeTaints, PodLifeTime, Profile, Rule, Scope, Strategy, Thresholds, TopologySpread,
};
use super::yaml::{Fields, Item};
use super::{duration, names, percent, selector};

/// A strategy; one without arguments is a mere name.
pub(super) fn strategy(strategy: &Strategy, profiles: &[Profile]) -> Item {
    let mut fields = Fields::default();
    let profile = profiles
        .get(strategy.profile)
        .filter(|_| strategy.profile > 0);
    fields.option("profile", profile.map(|p| Item::text(&p.name)));
    arguments(&mut fields, &strategy.rule);
    let plugin = Plugin::ALL
        .into_iter()
        .find(|p| p.name() == strategy.rule.name());
    let name = plugin.map_or(strategy.rule.name(), Plugin::word);
    if fields.is_empty() {
        Item::word(name)
    } else {
        Fields::one(name, Item::Map(fields))
    }
}

fn arguments(fields: &mut Fields, rule: &Rule) {
    match rule {
        Rule::LowNodeUtilization(rule) => low(fields, rule),
        Rule::HighNodeUtilization(rule) => high(fields, rule),
        Rule::RemoveDuplicates(rule) => {
            fields.option("namespaces", names(&rule.namespaces));
            list(fields, "excludeOwnerKinds", &rule.exclude_owner_kinds);
        }
        Rule::RemovePodsViolatingTopologySpreadConstraint(rule) => spread(fields, rule),
        Rule::RemovePodsViolatingInterPodAntiAffinity(rule) => scope(fields, rule),
        Rule::RemovePodsViolatingNodeAffinity(rule) => {
            let kinds: Vec<&str> = rule.kinds.iter().map(|kind| affinity(*kind)).collect();
            fields.put("nodeAffinityType", Item::texts(&kinds));
            scope(fields, &rule.scope);
        }
        Rule::RemovePodsViolatingNodeTaints(rule) => taints(fields, rule),
        Rule::RemovePodsHavingTooManyRestarts(rule) => {
            fields.put("podRestartThreshold", Item::number(rule.threshold));
            on(
                fields,
                "includingInitContainers",
                rule.including_init_containers,
            );
            list(fields, "states", &rule.states);
            scope(fields, &rule.scope);
        }
        Rule::PodLifeTime(rule) => life_time(fields, rule),
        Rule::RemoveFailedPods(rule) => failed(fields, rule),
    }
}

fn low(fields: &mut Fields, rule: &LowNodeUtilization) {
    fields.put("basis", basis(rule.basis));
    on(fields, "useDeviationThresholds", rule.deviation);
    let mut named = Vec::new();
    for pool in &rule.pools {
        if pool.name == DEFAULT_POOL {
            fields.put("thresholds", thresholds(&pool.thresholds));
            fields.put("targetThresholds", thresholds(&pool.targets));
            fields.option("nodeSelector", pool.selector.as_ref().map(selector));
            continue;
        }
        let mut own = Fields::default();
        own.put("name", Item::text(&pool.name));
        own.put(
            "nodeSelector",
            pool.selector.as_ref().map_or(Item::text(""), selector),
        );
        own.put("thresholds", thresholds(&pool.thresholds));
        own.put("targetThresholds", thresholds(&pool.targets));
        named.push(Item::Map(own));
    }
    fields.unless(named.is_empty(), "nodePools", Item::list(named));
    fields.unless(
        rule.number_of_nodes == 0,
        "numberOfNodes",
        Item::number(rule.number_of_nodes),
    );
    fields.unless(
        rule.sustained_for == SUSTAINED,
        "sustainedFor",
        duration(rule.sustained_for),
    );
    fields.option("evictableNamespaces", names(&rule.evictable_namespaces));
    fields.option(
        "evictionLimits",
        rule.per_node
            .map(|most| Fields::one("node", Item::number(most))),
    );
}

fn high(fields: &mut Fields, rule: &HighNodeUtilization) {
    fields.put("basis", basis(rule.basis));
    fields.put("thresholds", thresholds(&rule.thresholds));
    let usual = rule.ceilings == HighNodeUtilization::default_ceilings();
    fields.unless(usual, "ceilings", thresholds(&rule.ceilings));
    fields.unless(
        rule.number_of_nodes == 0,
        "numberOfNodes",
        Item::number(rule.number_of_nodes),
    );
    fields.unless(
        !rule.only_thresholding_resources,
        "evictionModes",
        Item::texts(&["OnlyThresholdingResources"]),
    );
    fields.option("evictableNamespaces", names(&rule.evictable_namespaces));
}

fn spread(fields: &mut Fields, rule: &TopologySpread) {
    let kinds = [("DoNotSchedule", rule.hard), ("ScheduleAnyway", rule.soft)];
    let kinds: Vec<&str> = kinds
        .iter()
        .filter(|(_, on)| *on)
        .map(|(name, _)| *name)
        .collect();
    fields.unless(rule.hard && !rule.soft, "constraints", Item::texts(&kinds));
    fields.unless(
        rule.node_fit,
        "topologyBalanceNodeFit",
        Item::flag(rule.node_fit),
    );
    scope(fields, &rule.scope);
}

fn taints(fields: &mut Fields, rule: &NodeTaints) {
    on(
        fields,
        "includePreferNoSchedule",
        rule.include_prefer_no_schedule,
    );
    match &rule.taints {
        Names::Except(taints) => list(fields, "excludedTaints", taints),
        Names::Only(taints) => fields.put("includedTaints", Item::texts(taints)),
    }
    scope(fields, &rule.scope);
}

fn life_time(fields: &mut Fields, rule: &PodLifeTime) {
    fields.option("maxPodLifeTimeSeconds", rule.max_age.map(seconds));
    list(fields, "states", &rule.states);
    let conditions = rule.conditions.iter().map(condition);
    fields.unless(
        rule.conditions.is_empty(),
        "conditions",
        Item::list(conditions),
    );
    fields.unless(
        rule.exit_codes.is_empty(),
        "exitCodes",
        Item::numbers(&rule.exit_codes),
    );
    fields.option("ownerKinds", names(&rule.owner_kinds));
    on(
        fields,
        "includingInitContainers",
        rule.including_init_containers,
    );
    on(
        fields,
        "includingEphemeralContainers",
        rule.including_ephemeral_containers,
    );
    scope(fields, &rule.scope);
}

fn condition(test: &ConditionTest) -> Item {
    let mut fields = Fields::default();
    fields.option("type", test.kind.as_deref().map(Item::text));
    fields.option("status", test.status.as_deref().map(Item::text));
    fields.option("reason", test.reason.as_deref().map(Item::text));
    fields.option(
        "minTimeSinceLastTransitionSeconds",
        test.for_at_least.map(seconds),
    );
    Item::Map(fields)
}

fn failed(fields: &mut Fields, rule: &FailedPods) {
    let usual = rule.min_age == SignedDuration::from_hours(1);
    fields.unless(usual, "minPodLifetimeSeconds", seconds(rule.min_age));
    list(fields, "reasons", &rule.reasons);
    fields.unless(
        rule.exit_codes.is_empty(),
        "exitCodes",
        Item::numbers(&rule.exit_codes),
    );
    list(fields, "excludeOwnerKinds", &rule.exclude_owner_kinds);
    on(
        fields,
        "includingInitContainers",
        rule.including_init_containers,
    );
    scope(fields, &rule.scope);
}

fn basis(basis: Basis) -> Item {
    Item::word(match basis {
        Basis::Requests => "requests",
        Basis::Actual => "actual",
    })
}

fn scope(fields: &mut Fields, scope: &Scope) {
    fields.option("namespaces", names(&scope.namespaces));
    fields.option("labelSelector", scope.pods.as_ref().map(selector));
}

fn list(fields: &mut Fields, name: &str, names: &[String]) {
    fields.unless(names.is_empty(), name, Item::texts(names));
}

fn on(fields: &mut Fields, name: &str, flag: bool) {
    fields.unless(!flag, name, Item::flag(flag));
}

fn thresholds(thresholds: &Thresholds) -> Item {
    let mut fields = Fields::default();
    for (resource, ratio) in thresholds {
        fields.put(resource, percent(*ratio));
    }
    Item::Map(fields)
}

fn seconds(duration: SignedDuration) -> Item {
    Item::number(duration.as_secs())
}

const fn affinity(kind: AffinityKind) -> &'static str {
    match kind {
        AffinityKind::Required => "requiredDuringSchedulingIgnoredDuringExecution",
        AffinityKind::Preferred => "preferredDuringSchedulingIgnoredDuringExecution",
    }
}
