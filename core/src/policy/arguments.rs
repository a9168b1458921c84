//! Arguments that native policies and those of descheduler write alike: scopes, and what a pod asks
//! of its node.

use super::{
    AffinityKind, AntiAffinity, Names, NodeAffinity, NodeTaints, RemoveDuplicates, Scope,
    TopologySpread,
};
use crate::schema::item::Item;
use crate::schema::kind::{Choice, Kind, boolean, choices, names_in_or_out, selector, texts};
use crate::schema::problem::Code;
use crate::schema::read::Fields;
use crate::schema::section::Section;

/// Adds the fields that choose the pods of a strategy.
pub(super) fn scoped<T: Clone + 'static>(
    section: Section<T>,
    scope: fn(&mut T) -> &mut Scope,
) -> Section<T> {
    namespaced(section, move |t| &mut scope(t).namespaces)
        .field("labelSelector", selector(), move |t| &mut scope(t).pods)
        .help("Labels of the pods to look at.")
        .off("app=web")
}

/// Adds the field that chooses the namespaces of a strategy.
pub(super) fn namespaced<T: Clone + 'static>(
    section: Section<T>,
    namespaces: impl Fn(&mut T) -> &mut Names + Copy + 'static,
) -> Section<T> {
    section
        .field("namespaces", names_in_or_out(), namespaces)
        .help("Namespaces to look at: all except those in `exclude`, or only those in `include`.")
        .off("{exclude: [kube-system]}")
}

/// Declares the scope of a strategy that has no other arguments.
pub(super) fn scope() -> Section<Scope> {
    scoped(Section::new(Scope::ALL), |scope| scope)
}

/// Declares the arguments of removeDuplicates, without its namespaces.
pub(super) fn duplicates() -> Section<RemoveDuplicates> {
    Section::new(RemoveDuplicates { namespaces: Names::ALL, exclude_owner_kinds: Vec::new() })
        .field("excludeOwnerKinds", texts(), |r| &mut r.exclude_owner_kinds)
        .help("Pods with an owner of one of these kinds are left alone.")
        .off("[ReplicaSet]")
        .check(|f, rule| check_owner_kinds(f, "excludeOwnerKinds", &rule.exclude_owner_kinds))
}

/// Kinds above the owners of pods, each with the kind of its pods' owners.
const ABOVE_OWNERS: [(&str, &str); 2] = [("Deployment", "ReplicaSet"), ("CronJob", "Job")];

/// Warns of kinds that match no pod, because only the owners of the pods themselves count.
pub(super) fn check_owner_kinds(f: &mut Fields<'_, '_>, field: &'static str, kinds: &[String]) {
    let names = |kind: &str| kinds.iter().any(|one| one == kind);
    for (above, kind) in ABOVE_OWNERS.into_iter().filter(|(above, _)| names(above)) {
        if !names(kind) {
            let sentence = format!("the owner of a {above}'s pods is a {kind}; name that");
            f.warn(Code::Ignored, field, sentence);
        }
    }
}

const CONSTRAINTS: [Choice<bool>; 2] = [("DoNotSchedule", true, ""), ("ScheduleAnyway", false, "")];

/// Declares the arguments of removePodsViolatingTopologySpreadConstraint, without its scope.
pub(super) fn spread() -> Section<TopologySpread> {
    Section::new(TopologySpread {
        scope: Scope::ALL,
        hard: true,
        soft: false,
        node_fit: true,
    })
    .computed(
        "constraints",
        choices("constraints", &CONSTRAINTS),
        |r| {
            [true, false]
                .into_iter()
                .filter(|hard| if *hard { r.hard } else { r.soft })
                .collect()
        },
        |r, constraints| {
            if !constraints.is_empty() {
                r.hard = constraints.contains(&true);
                r.soft = constraints.contains(&false);
            }
        },
    )
    .help("The constraints that count: DoNotSchedule, ScheduleAnyway or both.")
    .field("topologyBalanceNodeFit", boolean(), |r| &mut r.node_fit)
    .help(
        "Move only pods that fit a node of a topology domain with too few pods. False has an effect only in the exact mode.",
    )
    .check(|f, r| {
        if !r.node_fit {
            let sentence = "false has an effect only in the exact mode: otherwise a pod moves only if it fits such a node";
            f.warn(Code::Ignored, "topologyBalanceNodeFit", sentence);
        }
    })
}

const AFFINITY_KINDS: [Choice<AffinityKind>; 2] = [
    ("requiredDuringSchedulingIgnoredDuringExecution", AffinityKind::Required, ""),
    ("preferredDuringSchedulingIgnoredDuringExecution", AffinityKind::Preferred, ""),
];
const SOME_AFFINITY_KIND: &str = "a list with at least one kind of affinity, such as requiredDuringSchedulingIgnoredDuringExecution";

/// Declares the arguments of removePodsViolatingNodeAffinity, without its scope.
pub(super) fn affinity() -> Section<NodeAffinity> {
    Section::new(NodeAffinity { scope: Scope::ALL, kinds: Vec::new() })
        .field("nodeAffinityType", choices("kinds of affinity", &AFFINITY_KINDS), |r| &mut r.kinds)
        .help(
            "requiredDuringSchedulingIgnoredDuringExecution, preferredDuringSchedulingIgnoredDuringExecution, or both.",
        )
        .required(SOME_AFFINITY_KIND)
        .shown_as("[requiredDuringSchedulingIgnoredDuringExecution]")
        .check(|f, _| {
            if f.is_empty_list("nodeAffinityType") {
                let sentence = format!("found an empty list, expected {SOME_AFFINITY_KIND}");
                f.complain(Code::OutOfRange, "nodeAffinityType", sentence);
            }
        })
}

/// Declares the arguments of removePodsViolatingInterPodAntiAffinity, without its scope.
pub(super) fn anti_affinity() -> Section<AntiAffinity> {
    Section::new(AntiAffinity::from(Scope::ALL))
        .computed(
            "podAntiAffinityType",
            choices("kinds of anti-affinity", &AFFINITY_KINDS),
            |r| {
                let kinds =
                    [(r.required, AffinityKind::Required), (r.preferred, AffinityKind::Preferred)];
                kinds.into_iter().filter(|k| k.0).map(|k| k.1).collect()
            },
            |r, kinds| {
                if !kinds.is_empty() {
                    r.required = kinds.contains(&AffinityKind::Required);
                    r.preferred = kinds.contains(&AffinityKind::Preferred);
                }
            },
        )
        .help(
            "requiredDuringSchedulingIgnoredDuringExecution, preferredDuringSchedulingIgnoredDuringExecution, or both. With the preferred kind, a pod moves if the forecast places it where fewer preferred anti-affinity terms are violated: its own, and those of other pods against it.",
        )
}

/// Declares the arguments of removePodsViolatingNodeTaints, without its scope.
pub(super) fn taints() -> Section<NodeTaints> {
    Section::new(NodeTaints {
        scope: Scope::ALL,
        include_prefer_no_schedule: false,
        taints: Names::ALL,
    })
    .field("includePreferNoSchedule", boolean(), |r| &mut r.include_prefer_no_schedule)
    .help(
        "Taints with the effect PreferNoSchedule count as well. A pod leaves them only for a node with fewer of them.",
    )
    .computed(
        "excludedTaints",
        texts(),
        |r| match &r.taints {
            Names::Except(taints) => taints.clone(),
            Names::Only(_) => Vec::new(),
        },
        |r, taints| r.taints = Names::Except(taints),
    )
    .help(
        "Taints that do not count, or the only ones that count, as `key` or `key=value`. Not both.",
    )
    .off("[maintenance]")
    .computed(
        "includedTaints",
        included_taints(),
        |r| match &r.taints {
            Names::Except(_) => None,
            Names::Only(taints) => Some(taints.clone()),
        },
        |r, taints| r.taints = taints.map_or(Names::ALL, Names::Only),
    )
    .off("[dedicated=gpu]")
    .check(|f, _| check_taints(f))
}

/// A list of taints that is written even if it is empty: an empty list includes no taint.
fn included_taints() -> Kind<Option<Vec<String>>> {
    let write = |taints: &Option<Vec<String>>| taints.as_ref().map(Item::texts);
    Kind { write: Box::new(write), ..texts().optional() }
}

fn check_taints(f: &mut Fields<'_, '_>) {
    if f.has_items("includedTaints") && f.has_items("excludedTaints") {
        let sentence = "includedTaints and excludedTaints exclude each other; keep one of them";
        f.complain(Code::Conflict, "includedTaints", sentence);
    }
    if f.is_empty_list("includedTaints") {
        let sentence = "an empty list includes no taint, so this strategy does nothing; remove the field to include all taints";
        f.warn(Code::Ignored, "includedTaints", sentence);
    }
}
