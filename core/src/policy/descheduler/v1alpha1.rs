//! `descheduler/v1alpha1`, which descheduler read up to v0.30: a map of strategies, each with
//! parameters.
//!
//! Each enabled strategy becomes a profile, in the order of the file. Parameters are also read from
//! the places where older versions kept them.

use super::super::arguments;
use super::super::plugin::Plugin;
use super::super::pod_states;
use super::super::{
    Basis, Evictable, FailedPods, Names, NodeAffinity, NodeTaints, PodLifeTime, Policy,
    RemoveDuplicates, Rule, Scope, TooManyRestarts, TopologySpread,
};
use super::evictor::{self, DeprecatedFlags};
use super::utilization;
use super::{ProfileDraft, assemble, top_level};
use crate::schema::problem::Code;
use crate::schema::read::{Fields, Spot};
use crate::schema::wording::nearest;

/// Parameters that not all strategies take.
const PARTICULAR: [&str; 12] = [
    "nodeResourceUtilizationThresholds",
    "nodeAffinityType",
    "podsHavingTooManyRestarts",
    "podLifeTime",
    "maxPodLifeTimeSeconds",
    "podStatusPhases",
    "removeDuplicates",
    "failedPods",
    "includeSoftConstraints",
    "includePreferNoSchedule",
    "excludedTaints",
    "includedTaints",
];

/// Reads a whole policy.
pub(super) fn policy(root: Spot<'_, '_>) -> Policy {
    root.section(|f| {
        let top = top_level(f);
        let general =
            Evictable { protected: DeprecatedFlags::read(f).protections(), ..evictor::defaults() };
        let strategies = f.field("strategies").each("strategies by name", |entry, spot| {
            let plugin = Plugin::ALL.into_iter().find(|p| p.name() == entry.key);
            match plugin {
                Some(plugin) => spot.section(|f| strategy(f, plugin, &general)),
                None => unknown(&entry.key, spot),
            }
        });
        assemble(f, top, "strategies", strategies.unwrap_or_default())
    })
}

fn unknown(written: &str, spot: Spot<'_, '_>) -> Option<ProfileDraft> {
    let names = Plugin::ALL.map(Plugin::name);
    let hint =
        nearest(written, &names).map_or(String::new(), |name| format!(" (did you mean `{name}`?)"));
    let sentence = format!("unknown strategy{hint}; these are {}", names.join(", "));
    spot.at_key().complain(Code::UnknownField, sentence)
}

/// One strategy, if it is enabled.
fn strategy(f: &mut Fields<'_, '_>, plugin: Plugin, general: &Evictable) -> Option<ProfileDraft> {
    let written = f.has("enabled");
    let enabled = f.field("enabled").bool().unwrap_or(false);
    if f.field("weight").whole(0).is_some_and(|w| w > 0) {
        f.warn(
            Code::Ignored,
            "weight",
            "no effect, as in descheduler: strategies run in the order of the file",
        );
    }
    // Asked for before the return, so that the parameters of a disabled strategy are not unknown
    // fields.
    let params = f.field("params");
    if !enabled {
        // `enabled: false` is a decision. Without the field, most expect the strategy to run.
        let unused = !written && !params.is_absent();
        if unused {
            let sentence = "this strategy has params and is not enabled, so it does not run; \
                `enabled: true` enables it";
            f.warn(Code::Ignored, "params", sentence);
        }
        return None;
    }
    let (evictable, rule) = params.section(|f| {
        let evictable = evictable(f, plugin, general);
        let rule = rule(f, plugin);
        for name in PARTICULAR.into_iter().filter(|name| !takes(plugin, name)) {
            if !f.field(name).is_absent() {
                f.warn(
                    Code::Ignored,
                    name,
                    format!("no effect: {} does not take this", plugin.name()),
                );
            }
        }
        (evictable, rule)
    });
    // One profile per strategy, because each has its own priority threshold and nodeFit.
    Some(ProfileDraft {
        name: format!("strategy-{}-profile", plugin.name()),
        evictable,
        rules: vec![(plugin, rule?)],
    })
}

/// Whether a strategy takes a parameter that not all take.
fn takes(plugin: Plugin, name: &str) -> bool {
    match plugin {
        Plugin::LowNodeUtilization | Plugin::HighNodeUtilization => {
            name == "nodeResourceUtilizationThresholds"
        }
        Plugin::RemoveDuplicates => name == "removeDuplicates",
        Plugin::TopologySpread => name == "includeSoftConstraints",
        Plugin::AntiAffinity => false,
        Plugin::NodeAffinity => name == "nodeAffinityType",
        Plugin::NodeTaints => {
            ["includePreferNoSchedule", "excludedTaints", "includedTaints"].contains(&name)
        }
        Plugin::TooManyRestarts => name == "podsHavingTooManyRestarts",
        Plugin::PodLifeTime => {
            ["podLifeTime", "maxPodLifeTimeSeconds", "podStatusPhases"].contains(&name)
        }
        Plugin::FailedPods => name == "failedPods",
    }
}

fn evictable(f: &mut Fields<'_, '_>, plugin: Plugin, general: &Evictable) -> Evictable {
    let priority_below = evictor::threshold(f, "thresholdPriority", "thresholdPriorityClassName");
    let mut node_fit = f.field("nodeFit").bool().unwrap_or(false);
    if node_fit && plugin == Plugin::PodLifeTime {
        f.warn(
            Code::Ignored,
            "nodeFit",
            "no effect, as in descheduler: PodLifeTime does not need a node that fits",
        );
        node_fit = false;
    }
    Evictable { priority_below, node_fit, ..general.clone() }
}

fn rule(f: &mut Fields<'_, '_>, plugin: Plugin) -> Option<Rule> {
    let unlabelled =
        [Plugin::RemoveDuplicates, Plugin::LowNodeUtilization, Plugin::HighNodeUtilization];
    if f.has("labelSelector") && unlabelled.contains(&plugin) {
        f.warn(
            Code::Ignored,
            "labelSelector",
            format!("no effect: {} does not take this", plugin.name()),
        );
    }
    let balanced = [Plugin::LowNodeUtilization, Plugin::HighNodeUtilization].contains(&plugin);
    let namespaces = if balanced {
        utilization::evictable_namespaces(f, "namespaces")
    } else {
        f.field("namespaces").names_in_or_out().unwrap_or(Names::ALL)
    };
    let scope = Scope { namespaces, pods: f.field("labelSelector").selector() };
    match plugin {
        Plugin::LowNodeUtilization | Plugin::HighNodeUtilization => {
            utilization(f, plugin, scope.namespaces)
        }
        Plugin::RemoveDuplicates => {
            let rule = f.field("removeDuplicates").section(|f| arguments::duplicates().read(f));
            Some(Rule::RemoveDuplicates(RemoveDuplicates { namespaces: scope.namespaces, ..rule }))
        }
        Plugin::TopologySpread => {
            let soft = f.field("includeSoftConstraints").bool().unwrap_or(false);
            let spread = TopologySpread { scope, hard: true, soft, node_fit: true };
            Some(Rule::RemovePodsViolatingTopologySpreadConstraint(spread))
        }
        Plugin::AntiAffinity => Some(Rule::RemovePodsViolatingInterPodAntiAffinity(scope.into())),
        Plugin::NodeAffinity => {
            let rule = arguments::affinity().read(f);
            Some(Rule::RemovePodsViolatingNodeAffinity(NodeAffinity { scope, ..rule }))
        }
        Plugin::NodeTaints => {
            let rule = arguments::taints().read(f);
            Some(Rule::RemovePodsViolatingNodeTaints(NodeTaints { scope, ..rule }))
        }
        Plugin::TooManyRestarts => {
            let spot = f.required("podsHavingTooManyRestarts", "a map with podRestartThreshold");
            let rule = spot.section(|f| pod_states::restarts().read(f));
            Some(Rule::RemovePodsHavingTooManyRestarts(TooManyRestarts { scope, ..rule }))
        }
        Plugin::PodLifeTime => Some(life_time(f, scope)),
        Plugin::FailedPods => {
            let rule = f.field("failedPods").section(|f| pod_states::failed().read(f));
            Some(Rule::RemoveFailedPods(FailedPods { scope, ..rule }))
        }
    }
}

fn utilization(f: &mut Fields<'_, '_>, plugin: Plugin, namespaces: Names) -> Option<Rule> {
    let spot = f.required("nodeResourceUtilizationThresholds", "a map with thresholds");
    if spot.is_absent() {
        return None;
    }
    spot.section(|f| {
        if plugin == Plugin::LowNodeUtilization {
            return Some(Rule::LowNodeUtilization(utilization::low(
                f,
                Basis::Requests,
                namespaces,
            )));
        }
        for name in ["targetThresholds", "useDeviationThresholds"] {
            if f.has(name) {
                f.field(name);
                f.warn(Code::Ignored, name, "no effect: HighNodeUtilization does not take this");
            }
        }
        Some(utilization::high(f, namespaces))
    })
}

/// Older versions kept the age one level higher, and called the states phases.
fn life_time(f: &mut Fields<'_, '_>, scope: Scope) -> Rule {
    let outer_age = f.field("maxPodLifeTimeSeconds").seconds();
    let outer_phases = pod_states::life_states(f.field("podStatusPhases")).unwrap_or_default();
    let mut rule = f.field("podLifeTime").section(|f| {
        let mut phases = pod_states::life_states(f.field("podStatusPhases")).unwrap_or_default();
        let mut rule = PodLifeTime { scope, ..pod_states::life_time().read(f) };
        phases.append(&mut rule.states);
        rule.states = phases;
        rule
    });
    // The inner value is the newer form, so it wins.
    rule.max_age = rule.max_age.or(outer_age);
    if rule.states.is_empty() {
        rule.states = outer_phases;
    }
    pod_states::criterion(f, &rule);
    Rule::PodLifeTime(rule)
}
