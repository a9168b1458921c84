//! `pluginConfig`: the arguments of plugins.
//!
//! See <https://kubernetes.io/docs/reference/config-api/kube-scheduler-config.v1/>.

use super::super::scheduler_profile::{
    DefaultConstraint, DefaultSpread, Fit, FitStrategy, PodAffinity, SchedulerProfile,
};
use super::affinity;
use crate::schema::problem::Code;
use crate::schema::read::{Fields, Spot};
use crate::schema::tree::Value;

/// Reads the list into the profile.
pub(super) fn plugin_config(f: &mut Fields<'_, '_>, profile: &mut SchedulerProfile) {
    let mut seen: Vec<String> = Vec::new();
    f.field("pluginConfig").list("arguments of plugins", |item| {
        item.section(|f| {
            let name = f.required("name", "the name of a plugin").name()?;
            if seen.contains(&name) {
                f.complain(Code::Conflict, "name", "this plugin has arguments already");
            }
            let args = f.field("args");
            match name.as_str() {
                "NodeResourcesFit" => profile.fit = arguments(args, fit),
                "NodeResourcesBalancedAllocation" => {
                    profile.balanced = arguments(args, balanced);
                }
                "PodTopologySpread" => profile.spread = arguments(args, spread),
                "InterPodAffinity" => profile.pod_affinity = arguments(args, pod_affinity),
                "NodeAffinity" => {
                    profile.added_affinity =
                        arguments(args, |f| affinity::added(f.field("addedAffinity")));
                }
                // These do not influence where a pod lands, or belong to unknown plugins.
                _ => {}
            }
            seen.push(name);
            Some(())
        })
    });
}

/// Reads a map of arguments, which may have an apiVersion and a kind.
fn arguments<'t, T>(spot: Spot<'_, 't>, read: impl FnOnce(&mut Fields<'_, 't>) -> T) -> T {
    spot.section(|f| {
        f.field("apiVersion");
        f.field("kind");
        read(f)
    })
}

fn fit(f: &mut Fields<'_, '_>) -> Fit {
    let usual = Fit::default();
    let ignored = f.field("ignoredResources").names().unwrap_or_default();
    let groups = f.field("ignoredResourceGroups").names().unwrap_or_default();
    if groups.iter().any(|group| group.contains('/')) {
        f.complain(
            Code::OutOfRange,
            "ignoredResourceGroups",
            "a group is the part before the slash, without the slash",
        );
    }
    let scoring = f.field("scoringStrategy");
    let (strategy, resources) = if scoring.is_absent() {
        (usual.strategy, usual.resources)
    } else {
        scoring.section(strategy)
    };
    Fit {
        strategy,
        resources,
        ignored_resources: ignored.into_iter().collect(),
        ignored_resource_groups: groups.into_iter().collect(),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum FitKind {
    Least,
    Most,
    Ratio,
}

fn strategy(f: &mut Fields<'_, '_>) -> (FitStrategy, Vec<(String, i64)>) {
    const KINDS: [(&str, FitKind); 3] = [
        ("LeastAllocated", FitKind::Least),
        ("MostAllocated", FitKind::Most),
        ("RequestedToCapacityRatio", FitKind::Ratio),
    ];
    let expected = "LeastAllocated, MostAllocated or RequestedToCapacityRatio";
    let kind = f.required("type", expected).one_of(&KINDS);
    let resources = resources(f.field("resources"), 100);
    let by_ratio = f.has("requestedToCapacityRatio");
    let shape = f.field("requestedToCapacityRatio").section(|f| shape(f, by_ratio));
    match (kind, by_ratio) {
        (Some(FitKind::Ratio), false) => {
            f.complain(
                Code::MissingField,
                "type",
                "RequestedToCapacityRatio needs requestedToCapacityRatio with a shape",
            );
        }
        (Some(FitKind::Least | FitKind::Most), true) => {
            f.complain(
                Code::Conflict,
                "requestedToCapacityRatio",
                "this needs type RequestedToCapacityRatio",
            );
        }
        _ => {}
    }
    let strategy = match kind {
        None | Some(FitKind::Least) => FitStrategy::LeastAllocated,
        Some(FitKind::Most) => FitStrategy::MostAllocated,
        Some(FitKind::Ratio) => FitStrategy::RequestedToCapacityRatio(shape),
    };
    let resources = resources.filter(|r| !r.is_empty());
    (strategy, resources.unwrap_or_else(|| Fit::default().resources))
}

/// Utilizations from 0 to 100 in rising order, each with its score from 0 to 10.
fn shape(f: &mut Fields<'_, '_>, wanted: bool) -> Vec<(i64, i64)> {
    let points = f.field("shape").list("points", |item| {
        item.section(|f| {
            let share = f.field("utilization").between(0, 100).unwrap_or_default();
            let worth = f.field("score").between(0, 10).unwrap_or_default();
            Some((i64::from(share), i64::from(worth)))
        })
    });
    let points = points.unwrap_or_default();
    if wanted && points.is_empty() {
        f.complain(
            Code::MissingField,
            "shape",
            "at least one point is needed, such as {utilization: 0, score: 0}",
        );
    }
    if !points.is_sorted_by(|a, b| a.0 < b.0) {
        f.complain(
            Code::Conflict,
            "shape",
            "the utilization of each point must be above that of the point before",
        );
    }
    points
}

/// Names and weights up to `most`; a weight that is 0 or missing is 1.
fn resources(spot: Spot<'_, '_>, most: u32) -> Option<Vec<(String, i64)>> {
    spot.list("resources", |item| {
        item.section(|f| {
            let name = f.required("name", "the name of a resource").name();
            let weight = f.field("weight").between(0, most).unwrap_or_default().max(1);
            Some((name?, i64::from(weight)))
        })
    })
}

fn balanced(f: &mut Fields<'_, '_>) -> Vec<String> {
    let given = resources(f.field("resources"), 1).filter(|r| !r.is_empty());
    let given: Option<Vec<String>> =
        given.map(|all| all.into_iter().map(|(name, _)| name).collect());
    let names = given.unwrap_or_else(|| SchedulerProfile::default().balanced);
    if names.iter().enumerate().any(|(i, name)| names[..i].contains(name)) {
        f.complain(Code::Conflict, "resources", "a resource is repeated");
    }
    names
}

fn pod_affinity(f: &mut Fields<'_, '_>) -> PodAffinity {
    let usual = SchedulerProfile::default().pod_affinity;
    let weight = f.field("hardPodAffinityWeight").between(0, 100);
    let ignore = f.field("ignorePreferredTermsOfExistingPods").bool();
    PodAffinity {
        hard_weight: weight.map_or(usual.hard_weight, i64::from),
        ignore_preferences_of_others: ignore.unwrap_or(usual.ignore_preferences_of_others),
    }
}

fn spread(f: &mut Fields<'_, '_>) -> DefaultSpread {
    let system =
        f.field("defaultingType").one_of(&[("System", true), ("List", false)]).unwrap_or(true);
    let list = f
        .field("defaultConstraints")
        .list("constraints", |item| item.section(constraint))
        .unwrap_or_default();
    if system && !list.is_empty() {
        f.complain(
            Code::Conflict,
            "defaultConstraints",
            "custom constraints need defaultingType: List",
        );
    }
    if system { DefaultSpread::System } else { DefaultSpread::List(list) }
}

fn constraint(f: &mut Fields<'_, '_>) -> Option<DefaultConstraint> {
    let max_skew = f.required("maxSkew", "a whole number from 1 on").whole(1);
    let topology_key = f.required("topologyKey", "the name of a label").name();
    let hard = f.required("whenUnsatisfiable", "DoNotSchedule or ScheduleAnyway");
    let hard = hard.one_of(&[("DoNotSchedule", true), ("ScheduleAnyway", false)]);
    let min_domains = f.field("minDomains").whole(1);
    let honours = [("Honor", true), ("Ignore", false)];
    let honours_affinity = f.field("nodeAffinityPolicy").one_of(&honours).unwrap_or(true);
    let honours_taints = f.field("nodeTaintsPolicy").one_of(&honours).unwrap_or(false);
    for of_the_pod in ["labelSelector", "matchLabelKeys"] {
        if !f.field(of_the_pod).is_absent() {
            f.complain(
                Code::Conflict,
                of_the_pod,
                "a default constraint has no selector of its own; kube-scheduler deduces one for each pod",
            );
        }
    }
    Some(DefaultConstraint {
        max_skew: max_skew?,
        topology_key: topology_key?,
        hard: hard?,
        min_domains,
        honours_affinity,
        honours_taints,
    })
}

impl Spot<'_, '_> {
    /// A whole number within these bounds.
    pub(super) fn between(self, least: u32, most: u32) -> Option<u32> {
        self.scalar(&format!("a whole number from {least} to {most}"), |node| {
            let Value::Int(number) = node.value else {
                return Err(Code::WrongType);
            };
            u32::try_from(number)
                .ok()
                .filter(|n| (least..=most).contains(n))
                .ok_or(Code::OutOfRange)
        })
    }
}
