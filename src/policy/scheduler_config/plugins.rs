//! Which plugins are enabled, and what they weigh.
//!
//! The rules are those of kube-scheduler's merge of a profile with its default plugins, and of its expansion of
//! `multiPoint`: what an extension point says of a plugin goes before what `multiPoint` says; `disabled` takes a plugin
//! out of the defaults, `*` all of them; a weight that is not given is 1, also for a default plugin that is named anew.
//! See <https://kubernetes.io/docs/reference/scheduling/config/#multipoint>.

use std::collections::BTreeMap;

use super::super::problem::{Code, Position};
use super::super::read::{Fields, Spot};
use super::super::scheduler_profile::{FilterPlugin, SchedulerProfile, ScorePlugin, Weights};
use super::ANYWHERE;

/// Extension points other than filter and score.
const OTHERS: [&str; 12] = [
    "preEnqueue",
    "queueSort",
    "preFilter",
    "postFilter",
    "preScore",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    "placementGenerate",
    "placementScore",
];

/// Plugins of kube-scheduler that neither rule nodes out nor score them, or only by what no replacement changes.
const NEUTRAL: [&str; 15] = [
    "SchedulingGates",
    "PrioritySort",
    "NodeVolumeLimits",
    "DefaultPreemption",
    "DefaultBinder",
    "DynamicResources",
    "NodeDeclaredFeatures",
    "GangScheduling",
    "TopologyPlacementGenerator",
    "PodGroupPodsCount",
    "AzureDiskLimits",
    "CinderLimits",
    "EBSLimits",
    "GCEPDLimits",
    "*",
];

/// A plugin as the file names it.
struct Named {
    name: String,
    weight: Option<u32>,
    place: (Position, String),
}

/// What one extension point says.
#[derive(Default)]
struct Set {
    enabled: Vec<Named>,
    disabled: Vec<String>,
}

impl Set {
    fn disables(&self, name: &str) -> bool {
        self.disabled.iter().any(|d| d == name || d == "*")
    }

    fn enables(&self, name: &str) -> Option<&Named> {
        self.enabled.iter().find(|named| named.name == name)
    }
}

/// Reads `plugins` into weights and filters.
pub(super) fn plugins(f: &mut Fields<'_, '_>, profile: &mut SchedulerProfile) {
    for other in OTHERS {
        set(f.field(other));
    }
    let (multi, filter, score) = (
        set(f.field("multiPoint")),
        set(f.field("filter")),
        set(f.field("score")),
    );
    profile.weights = weights(&multi, &score);
    let off = |plugin: &FilterPlugin| !enabled(plugin.name(), &multi, &filter);
    profile.filters_off = FilterPlugin::ALL.into_iter().filter(off).collect();
    let mut unknown: BTreeMap<&str, (&Named, bool)> = BTreeMap::new();
    for named in filter.enabled.iter().filter(|named| !is_known(&named.name)) {
        unknown.insert(&named.name, (named, false));
    }
    for named in multi
        .enabled
        .iter()
        .filter(|named| !is_known(&named.name) && !score.disables(&named.name))
    {
        unknown.insert(&named.name, (named, true));
    }
    for named in score.enabled.iter().filter(|named| !is_known(&named.name)) {
        unknown.insert(&named.name, (named, true));
    }
    for (name, (named, scores)) in unknown {
        profile.unknown_scores |= scores;
        f.warn_at(
            Code::Ignored,
            named.place.clone(),
            sentence(name, scores, multi.enables(name).is_some()),
        );
    }
}

fn sentence(name: &str, scores: bool, multi: bool) -> String {
    match (scores, multi) {
        (false, _) => {
            format!(
                "{name} is no plugin of kube-scheduler: the forecast does not know which nodes it rules out"
            )
        }
        (true, false) => {
            format!("{name} is no plugin of kube-scheduler, and scores nodes: {ANYWHERE}")
        }
        (true, true) => format!(
            "{name} is no plugin of kube-scheduler, and may score nodes: {ANYWHERE}; if it does not score, name it in plugins.score.disabled"
        ),
    }
}

fn is_known(name: &str) -> bool {
    let scores = ScorePlugin::ALL.iter().any(|p| p.name() == name);
    scores || FilterPlugin::ALL.iter().any(|p| p.name() == name) || NEUTRAL.contains(&name)
}

/// Whether a plugin of the default profile is at work at an extension point.
fn enabled(name: &str, multi: &Set, point: &Set) -> bool {
    let by_default = multi.enables(name).is_some() || !multi.disables(name);
    point.enables(name).is_some() || (by_default && !point.disables(name))
}

fn weights(multi: &Set, score: &Set) -> Weights {
    let (usual, mut weights) = (Weights::default(), Weights::NONE);
    for plugin in ScorePlugin::ALL
        .into_iter()
        .filter(|p| enabled(p.name(), multi, score))
    {
        let named = score
            .enables(plugin.name())
            .or_else(|| multi.enables(plugin.name()));
        let given = |named: &Named| i64::from(named.weight.unwrap_or_default().max(1));
        weights[plugin] = named.map_or(usual[plugin], given);
    }
    weights
}

fn set(spot: Spot<'_, '_>) -> Set {
    spot.section(|f| Set {
        enabled: f
            .field("enabled")
            .list("plugins", |item| named(item))
            .unwrap_or_default(),
        disabled: f
            .field("disabled")
            .list("plugins", |item| named(item).map(|named| named.name))
            .unwrap_or_default(),
    })
}

fn named(item: Spot<'_, '_>) -> Option<Named> {
    let place = item.place();
    item.section(|f| {
        let name = f.required("name", "the name of a plugin").name();
        let weight = f.field("weight").whole(0);
        Some(Named {
            name: name?,
            weight,
            place,
        })
    })
}
