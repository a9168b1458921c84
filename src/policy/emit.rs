//! Writes a policy in the native format, so that reading it gives the same policy again. What is as by default is left
//! out.

use jiff::SignedDuration;

use super::native::{DEFAULT_PROFILE, SYSTEM_CRITICAL, VERSION};
use super::{
    Cooldown, Evictable, Forecast, Limits, Names, Policy, PriorityThreshold, Profile, Protections,
    RightsizingPolicy, Safety, Share, Smoothing, Steering, StorageClasses, UsagePolicy,
};
use crate::values::Ratio;
use crate::values::selector::Selector;

mod prometheus;
mod strategies;
mod yaml;

use yaml::{Fields, Item};

/// The text of a native policy.
pub(super) fn policy(policy: &Policy) -> String {
    let default = Policy::default_native();
    let mut fields = Fields::default();
    fields.put("apiVersion", Item::word(VERSION));
    fields.put("kind", Item::word("Policy"));
    fields.put("interval", duration(policy.interval));
    fields.unless(!policy.dry_run, "dryRun", Item::flag(policy.dry_run));
    fields.option("nodeSelector", policy.node_selector.as_ref().map(selector));
    fields.section("usage", usage(&policy.usage, &default.usage));
    profiles(&mut fields, policy);
    fields.option("gracePeriod", policy.grace_period.map(duration));
    fields.section("limits", limits(&policy.limits, &default.limits));
    fields.section("cooldown", cooldown(&policy.cooldown, &default.cooldown));
    fields.section("safety", safety(&policy.safety, &default.safety));
    fields.section("forecast", forecast(policy.forecast, default.forecast));
    fields.section("steering", steering(&policy.steering, &default.steering));
    fields.section(
        "rightsizing",
        rightsizing(policy.rightsizing, default.rightsizing),
    );
    fields.put(
        "strategies",
        Item::list(
            policy
                .strategies
                .iter()
                .map(|s| strategies::strategy(s, &policy.profiles)),
        ),
    );
    yaml::document(&fields)
}

fn usage(usage: &UsagePolicy, default: &UsagePolicy) -> Fields {
    let mut fields = Fields::default();
    fields.unless(
        usage.source == default.source,
        "source",
        Item::word(usage.source.label()),
    );
    fields.option("fallback", usage.fallback.map(|f| Item::word(f.label())));
    fields.option(
        "prometheus",
        usage.prometheus.as_ref().map(prometheus::prometheus),
    );
    fields.unless(usage.poll == default.poll, "poll", duration(usage.poll));
    fields.unless(
        usage.window == default.window,
        "window",
        duration(usage.window),
    );
    let smoothing = match usage.smoothing {
        Smoothing::Mean => Item::word("mean"),
        Smoothing::Max => Item::word("max"),
        Smoothing::HalfLife(half) => Fields::one("halfLife", duration(half)),
        Smoothing::Percentile(percentile) => Fields::one("percentile", percent(percentile)),
    };
    fields.unless(usage.smoothing == default.smoothing, "smoothing", smoothing);
    fields.unless(
        usage.stale_after == default.stale_after,
        "staleAfter",
        duration(usage.stale_after),
    );
    fields.unless(
        usage.min_samples == default.min_samples,
        "minSamples",
        Item::number(usage.min_samples),
    );
    fields
}

fn limits(limits: &Limits, default: &Limits) -> Fields {
    let mut fields = Fields::default();
    fields.unless(
        limits.per_cycle == default.per_cycle,
        "perCycle",
        limit(limits.per_cycle),
    );
    fields.unless(
        limits.per_node == default.per_node,
        "perNode",
        limit(limits.per_node),
    );
    fields.unless(
        limits.per_namespace == default.per_namespace,
        "perNamespace",
        limit(limits.per_namespace),
    );
    fields.unless(
        limits.per_workload == default.per_workload,
        "perWorkload",
        share(limits.per_workload),
    );
    fields.unless(
        limits.per_minute == default.per_minute,
        "perMinute",
        limit(limits.per_minute),
    );
    fields
}

fn cooldown(cooldown: &Cooldown, default: &Cooldown) -> Fields {
    let mut fields = Fields::default();
    fields.unless(
        cooldown.rest == default.rest,
        "rest",
        duration(cooldown.rest),
    );
    fields.unless(cooldown.cap == default.cap, "cap", duration(cooldown.cap));
    fields
}

fn forecast(forecast: Forecast, default: Forecast) -> Fields {
    let mut fields = Fields::default();
    fields.unless(
        forecast == default,
        "tolerance",
        percent(forecast.tolerance),
    );
    fields
}

fn safety(safety: &Safety, default: &Safety) -> Fields {
    let mut fields = Fields::default();
    fields.unless(
        safety.max_not_ready == default.max_not_ready,
        "maxNotReady",
        percent(safety.max_not_ready),
    );
    fields.unless(
        safety.max_pending == default.max_pending,
        "maxPending",
        percent(safety.max_pending),
    );
    fields
}

fn steering(steering: &Steering, default: &Steering) -> Fields {
    let mut fields = Fields::default();
    fields.unless(
        steering.hot == default.hot,
        "taintHot",
        Item::flag(steering.hot),
    );
    fields.unless(
        steering.emptying == default.emptying,
        "taintEmptying",
        Item::flag(steering.emptying),
    );
    fields.unless(
        steering.max_nodes == default.max_nodes,
        "maxNodes",
        share(steering.max_nodes),
    );
    fields
}

fn rightsizing(rightsizing: RightsizingPolicy, default: RightsizingPolicy) -> Fields {
    let mut fields = Fields::default();
    fields.unless(
        rightsizing.percentile == default.percentile,
        "percentile",
        percent(rightsizing.percentile),
    );
    fields.unless(
        rightsizing.headroom == default.headroom,
        "headroom",
        percent(rightsizing.headroom),
    );
    fields.unless(
        rightsizing.tolerance == default.tolerance,
        "tolerance",
        percent(rightsizing.tolerance),
    );
    fields.unless(
        rightsizing.top == default.top,
        "top",
        Item::number(rightsizing.top),
    );
    fields
}

fn share(share: Option<Share>) -> Item {
    match share {
        None => Item::word("none"),
        Some(Share::Count(count)) => Item::number(count),
        Some(Share::Portion(ratio)) => percent(ratio),
    }
}

/// A single profile of the usual name is the section `evictable`.
fn profiles(fields: &mut Fields, policy: &Policy) {
    match policy.profiles.as_slice() {
        [] => {}
        [one] if one.name == DEFAULT_PROFILE => {
            fields.section("evictable", evictable(&one.evictable))
        }
        named => fields.put("profiles", Item::list(named.iter().map(profile))),
    }
}

fn profile(profile: &Profile) -> Item {
    let mut fields = Fields::default();
    fields.put("name", Item::text(&profile.name));
    fields.section("evictable", evictable(&profile.evictable));
    Item::Map(fields)
}

fn evictable(rules: &Evictable) -> Fields {
    let mut fields = Fields::default();
    fields.option("namespaces", names(&rules.namespaces));
    fields.option(
        "namespaceSelector",
        rules.namespace_selector.as_ref().map(selector),
    );
    fields.option("podSelector", rules.pod_selector.as_ref().map(selector));
    let priority = match &rules.priority_below {
        PriorityThreshold::Value(value) => Item::number(*value),
        PriorityThreshold::Class(name) => Item::text(name),
    };
    let usual = rules.priority_below == PriorityThreshold::Value(SYSTEM_CRITICAL);
    fields.unless(usual, "priorityBelow", priority);
    fields.put("minReplicas", Item::number(rules.min_replicas));
    fields.put("minPodAge", duration(rules.min_pod_age));
    protections(&mut fields, &rules.protected);
    fields.option("destinations", rules.destinations.as_ref().map(selector));
    fields.unless(rules.node_fit, "nodeFit", Item::flag(rules.node_fit));
    fields
}

fn protections(fields: &mut Fields, protected: &Protections) {
    let lifted = [
        ("localStorage", protected.local_storage),
        ("daemonSets", protected.daemon_sets),
        ("systemCritical", protected.system_critical),
        ("failedBare", protected.failed_bare),
        ("preferNoEviction", protected.prefer_no_eviction),
    ];
    let added = [
        ("persistentVolumes", protected.persistent_volumes.is_some()),
        ("withoutBudget", protected.without_budget),
        ("resourceClaims", protected.resource_claims),
    ];
    let lifted: Vec<&str> = lifted
        .iter()
        .filter(|(_, kept)| !kept)
        .map(|(name, _)| *name)
        .collect();
    let added: Vec<&str> = added
        .iter()
        .filter(|(_, kept)| *kept)
        .map(|(name, _)| *name)
        .collect();
    fields.unless(lifted.is_empty(), "allow", Item::texts(&lifted));
    fields.unless(added.is_empty(), "protect", Item::texts(&added));
    if let Some(StorageClasses::Named(classes)) = &protected.persistent_volumes {
        fields.put("protectedStorageClasses", Item::texts(classes));
    }
}

/// Names to take in or leave out; nothing where all are taken in.
fn names(names: &Names) -> Option<Item> {
    match names {
        Names::Except(names) if names.is_empty() => None,
        Names::Except(names) => Some(Fields::one("exclude", Item::texts(names))),
        Names::Only(names) => Some(Fields::one("include", Item::texts(names))),
    }
}

fn selector(selector: &Selector) -> Item {
    Item::text(&selector.to_string())
}

fn duration(duration: SignedDuration) -> Item {
    // One word, such as 1m30s: with spaces between the units it would not be read again.
    Item::word(format!("{duration:#}").replace(' ', ""))
}

fn limit(limit: Option<u32>) -> Item {
    limit.map_or(Item::word("none"), Item::number)
}

/// The shortest percentage that reads as just this ratio.
fn percent(ratio: Ratio) -> Item {
    let percents = ratio.get() * 100.0;
    let exact = (0..=17).map(|digits| format!("{percents:.digits$}"));
    let mut exact = exact.filter(|text| text.parse().ok().and_then(Ratio::percent) == Some(ratio));
    Item::word(format!(
        "{}%",
        exact.next().unwrap_or_else(|| percents.to_string())
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_several_units_are_read_again() {
        for (text, seconds) in [("90s", 90), ("5m", 300), ("1h30m", 5400), ("1h1m1s", 3661)] {
            let file = format!(
                "{{apiVersion: evenkeel/v1alpha1, kind: Policy, interval: {text}, strategies: [removeDuplicates]}}"
            );
            let emitted = Policy::parse("f", &file).unwrap().to_native();
            assert_eq!(
                Policy::parse("native", &emitted).unwrap().interval,
                SignedDuration::from_secs(seconds),
                "{emitted}"
            );
        }
    }
}
