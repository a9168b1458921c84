//! The strategies by name, and the arguments that are written alike in native policies and in descheduler's.

use super::problem::Code;
use super::read::{Fields, Spot};
use super::{
    AffinityKind, ConditionTest, FailedPods, Names, NodeAffinity, NodeTaints, PodLifeTime,
    RemoveDuplicates, Rule, Scope, TooManyRestarts, TopologySpread,
};
use jiff::SignedDuration;

/// A strategy before its arguments are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plugin {
    LowNodeUtilization,
    HighNodeUtilization,
    RemoveDuplicates,
    TopologySpread,
    AntiAffinity,
    NodeAffinity,
    NodeTaints,
    TooManyRestarts,
    PodLifeTime,
    FailedPods,
}

impl Plugin {
    pub(super) const ALL: [Plugin; 10] = [
        Plugin::LowNodeUtilization,
        Plugin::HighNodeUtilization,
        Plugin::RemoveDuplicates,
        Plugin::TopologySpread,
        Plugin::AntiAffinity,
        Plugin::NodeAffinity,
        Plugin::NodeTaints,
        Plugin::TooManyRestarts,
        Plugin::PodLifeTime,
        Plugin::FailedPods,
    ];

    /// The name in native policies.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Plugin::LowNodeUtilization => "lowNodeUtilization",
            Plugin::HighNodeUtilization => "highNodeUtilization",
            Plugin::RemoveDuplicates => "removeDuplicates",
            Plugin::TopologySpread => "removePodsViolatingTopologySpreadConstraint",
            Plugin::AntiAffinity => "removePodsViolatingInterPodAntiAffinity",
            Plugin::NodeAffinity => "removePodsViolatingNodeAffinity",
            Plugin::NodeTaints => "removePodsViolatingNodeTaints",
            Plugin::TooManyRestarts => "removePodsHavingTooManyRestarts",
            Plugin::PodLifeTime => "podLifeTime",
            Plugin::FailedPods => "removeFailedPods",
        }
    }

    /// The name in policies of descheduler, and everywhere else.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Plugin::LowNodeUtilization => "LowNodeUtilization",
            Plugin::HighNodeUtilization => "HighNodeUtilization",
            Plugin::RemoveDuplicates => "RemoveDuplicates",
            Plugin::TopologySpread => "RemovePodsViolatingTopologySpreadConstraint",
            Plugin::AntiAffinity => "RemovePodsViolatingInterPodAntiAffinity",
            Plugin::NodeAffinity => "RemovePodsViolatingNodeAffinity",
            Plugin::NodeTaints => "RemovePodsViolatingNodeTaints",
            Plugin::TooManyRestarts => "RemovePodsHavingTooManyRestarts",
            Plugin::PodLifeTime => "PodLifeTime",
            Plugin::FailedPods => "RemoveFailedPods",
        }
    }

    /// Whether it looks at nodes against each other, rather than at pods one by one.
    pub(super) const fn balances(self) -> bool {
        matches!(
            self,
            Plugin::LowNodeUtilization
                | Plugin::HighNodeUtilization
                | Plugin::RemoveDuplicates
                | Plugin::TopologySpread
        )
    }
}

/// Reads the arguments of a strategy other than Low- and HighNodeUtilization.
pub(super) fn rule(plugin: Plugin, f: &mut Fields<'_, '_>) -> Rule {
    match plugin {
        Plugin::RemoveDuplicates => {
            let namespaces = namespaces(f);
            duplicates(f, namespaces)
        }
        Plugin::TopologySpread => {
            let scope = scope(f);
            spread(f, scope)
        }
        Plugin::NodeAffinity => {
            let scope = scope(f);
            affinity(f, scope)
        }
        Plugin::NodeTaints => {
            let scope = scope(f);
            taints(f, scope)
        }
        Plugin::TooManyRestarts => {
            let scope = scope(f);
            restarts(f, scope)
        }
        Plugin::PodLifeTime => {
            let scope = scope(f);
            life_time(f, scope)
        }
        Plugin::FailedPods => {
            let scope = scope(f);
            failed(f, scope)
        }
        Plugin::LowNodeUtilization | Plugin::HighNodeUtilization | Plugin::AntiAffinity => {
            Rule::RemovePodsViolatingInterPodAntiAffinity(scope(f))
        }
    }
}

/// Which pods a strategy looks at.
pub(super) fn scope(f: &mut Fields<'_, '_>) -> Scope {
    Scope {
        namespaces: namespaces(f),
        pods: f.field("labelSelector").selector(),
    }
}

/// In which namespaces a strategy looks.
pub(super) fn namespaces(f: &mut Fields<'_, '_>) -> Names {
    f.field("namespaces")
        .names_in_or_out()
        .unwrap_or(Names::ALL)
}

pub(super) fn duplicates(f: &mut Fields<'_, '_>, namespaces: Names) -> Rule {
    let exclude_owner_kinds = f.field("excludeOwnerKinds").names().unwrap_or_default();
    Rule::RemoveDuplicates(RemoveDuplicates {
        namespaces,
        exclude_owner_kinds,
    })
}

fn spread(f: &mut Fields<'_, '_>, scope: Scope) -> Rule {
    const CONSTRAINTS: [(&str, bool); 2] = [("DoNotSchedule", true), ("ScheduleAnyway", false)];
    let constraints = f
        .field("constraints")
        .list("constraints", |item| item.one_of(&CONSTRAINTS));
    let constraints = constraints
        .filter(|c| !c.is_empty())
        .unwrap_or_else(|| vec![true]);
    Rule::RemovePodsViolatingTopologySpreadConstraint(TopologySpread {
        scope,
        hard: constraints.contains(&true),
        soft: constraints.contains(&false),
        node_fit: f.field("topologyBalanceNodeFit").bool().unwrap_or(true),
    })
}

pub(super) fn affinity(f: &mut Fields<'_, '_>, scope: Scope) -> Rule {
    const KINDS: [(&str, AffinityKind); 2] = [
        (
            "requiredDuringSchedulingIgnoredDuringExecution",
            AffinityKind::Required,
        ),
        (
            "preferredDuringSchedulingIgnoredDuringExecution",
            AffinityKind::Preferred,
        ),
    ];
    const EXPECTED: &str = "a list with at least one kind of affinity, such as \
                            requiredDuringSchedulingIgnoredDuringExecution";
    let spot = f.required("nodeAffinityType", EXPECTED);
    let written = !spot.is_absent();
    let kinds = spot.list("kinds of affinity", |item| item.one_of(&KINDS));
    if written && f.sound() && kinds.as_ref().is_some_and(Vec::is_empty) {
        f.complain(
            Code::OutOfRange,
            "nodeAffinityType",
            format!("found an empty list, expected {EXPECTED}"),
        );
    }
    Rule::RemovePodsViolatingNodeAffinity(NodeAffinity {
        scope,
        kinds: kinds.unwrap_or_default(),
    })
}

pub(super) fn taints(f: &mut Fields<'_, '_>, scope: Scope) -> Rule {
    let include_prefer_no_schedule = f.field("includePreferNoSchedule").bool().unwrap_or(false);
    let excluded = f.field("excludedTaints").names().unwrap_or_default();
    let included = f.field("includedTaints").names();
    if included.as_ref().is_some_and(|i| !i.is_empty()) && !excluded.is_empty() {
        let sentence = "includedTaints and excludedTaints do not go together; keep one of them";
        f.complain(Code::Conflict, "includedTaints", sentence);
    }
    if included.as_ref().is_some_and(Vec::is_empty) {
        let sentence = "an empty list includes no taint, so this strategy does nothing; leave the field out for all taints";
        f.warn(Code::Ignored, "includedTaints", sentence);
    }
    let taints = included.map_or(Names::Except(excluded), Names::Only);
    Rule::RemovePodsViolatingNodeTaints(NodeTaints {
        scope,
        include_prefer_no_schedule,
        taints,
    })
}

pub(super) fn restarts(f: &mut Fields<'_, '_>, scope: Scope) -> Rule {
    let threshold = f
        .required("podRestartThreshold", "so many restarts that are too many")
        .whole(1);
    if threshold.is_some_and(|t| i32::try_from(t).is_err()) {
        f.complain(
            Code::OutOfRange,
            "podRestartThreshold",
            format!("no container restarts more than {} times", i32::MAX),
        );
    }
    Rule::RemovePodsHavingTooManyRestarts(TooManyRestarts {
        scope,
        threshold: threshold.unwrap_or(1),
        including_init_containers: f.field("includingInitContainers").bool().unwrap_or(false),
        states: states(f.field("states"), &["Running", "CrashLoopBackOff"]).unwrap_or_default(),
    })
}

/// States in which a pod can be asked for by its life time: phases, and reasons of pods and containers.
const STATES: [&str; 24] = [
    "Running",
    "Pending",
    "Succeeded",
    "Failed",
    "Unknown",
    "NodeAffinity",
    "NodeLost",
    "Shutdown",
    "UnexpectedAdmissionError",
    "PodInitializing",
    "ContainerCreating",
    "ImagePullBackOff",
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "ErrImagePull",
    "CreateContainerError",
    "InvalidImageName",
    "OOMKilled",
    "Error",
    "Completed",
    "DeadlineExceeded",
    "Evicted",
    "ContainerCannotRun",
    "StartError",
];

/// Some of these states.
fn states(spot: Spot<'_, '_>, allowed: &'static [&'static str]) -> Option<Vec<String>> {
    let words: Vec<(&str, &str)> = allowed.iter().map(|word| (*word, *word)).collect();
    spot.list("states", |item| item.one_of(&words).map(str::to_owned))
}

/// Some of the states of a pod that lives too long.
pub(super) fn life_states(spot: Spot<'_, '_>) -> Option<Vec<String>> {
    states(spot, &STATES)
}

fn life_time(f: &mut Fields<'_, '_>, scope: Scope) -> Rule {
    let rule = life(f, scope);
    criterion(f, &rule);
    Rule::PodLifeTime(rule)
}

/// The arguments of PodLifeTime, which may ask for nothing at all.
#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method is of one lifetime, the closure of all"
)]
pub(super) fn life(f: &mut Fields<'_, '_>, scope: Scope) -> PodLifeTime {
    let conditions = f
        .field("conditions")
        .list("conditions", |item| Some(item.section(condition)));
    PodLifeTime {
        scope,
        max_age: f.field("maxPodLifeTimeSeconds").seconds(),
        states: life_states(f.field("states")).unwrap_or_default(),
        conditions: conditions.unwrap_or_default(),
        exit_codes: f
            .field("exitCodes")
            .list("exit codes", |item| item.exit_code())
            .unwrap_or_default(),
        owner_kinds: f
            .field("ownerKinds")
            .names_in_or_out()
            .unwrap_or(Names::ALL),
        including_init_containers: f.field("includingInitContainers").bool().unwrap_or(false),
        including_ephemeral_containers: f
            .field("includingEphemeralContainers")
            .bool()
            .unwrap_or(false),
    }
}

/// It must ask for something, or every pod would have lived too long.
pub(super) fn criterion(f: &mut Fields<'_, '_>, rule: &PodLifeTime) {
    let open = rule.states.is_empty() && rule.conditions.is_empty() && rule.exit_codes.is_empty();
    if open && rule.max_age.is_none() && f.sound() {
        let sentence =
            "missing, expected a number of seconds here, or states, conditions or exitCodes";
        f.complain(Code::MissingField, "maxPodLifeTimeSeconds", sentence);
    }
}

fn condition(f: &mut Fields<'_, '_>) -> ConditionTest {
    let test = ConditionTest {
        kind: f.field("type").name(),
        status: f.field("status").name(),
        reason: f.field("reason").name(),
        for_at_least: f.field("minTimeSinceLastTransitionSeconds").seconds(),
    };
    let empty = [&test.kind, &test.status, &test.reason]
        .iter()
        .all(|field| field.is_none());
    if empty && test.for_at_least.is_none() && f.sound() {
        let sentence =
            "missing, expected this or status, reason or minTimeSinceLastTransitionSeconds";
        f.complain(Code::MissingField, "type", sentence);
    }
    test
}

#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method is of one lifetime, the closure of all"
)]
pub(super) fn failed(f: &mut Fields<'_, '_>, scope: Scope) -> Rule {
    Rule::RemoveFailedPods(FailedPods {
        scope,
        min_age: f
            .field("minPodLifetimeSeconds")
            .seconds()
            .unwrap_or(SignedDuration::from_hours(1)),
        reasons: f.field("reasons").names().unwrap_or_default(),
        exit_codes: f
            .field("exitCodes")
            .list("exit codes", |item| item.exit_code())
            .unwrap_or_default(),
        exclude_owner_kinds: f.field("excludeOwnerKinds").names().unwrap_or_default(),
        including_init_containers: f.field("includingInitContainers").bool().unwrap_or(false),
    })
}
