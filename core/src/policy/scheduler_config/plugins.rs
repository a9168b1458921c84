//! The enabled plugins and their weights.
//!
//! The rules are those of kube-scheduler's merge of a profile with its default plugins, and of its
//! expansion of `multiPoint`: the settings of an extension point override those of `multiPoint`.
//! `disabled` removes a plugin from the defaults, `*` all of them. A missing weight is 1, also for
//! a default plugin that is enabled again. See
//! <https://kubernetes.io/docs/reference/scheduling/config/#multipoint>.

use std::collections::BTreeMap;

use super::super::scheduler_profile::{FilterPlugin, SchedulerProfile, ScorePlugin, Weights};
use super::ANYWHERE;
use crate::schema::problem::Code;
use crate::schema::read::{Fields, Place, Spot};

/// Extension points other than filter, postFilter and score.
const OTHERS: [&str; 11] = [
    "preEnqueue",
    "queueSort",
    "preFilter",
    "preScore",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    "placementGenerate",
    "placementScore",
];

/// Plugins of kube-scheduler that neither filter nor score nodes, or only by facts that are the
/// same for a replacement. NodeDeclaredFeatures is left out: nodes declare different features only
/// while their kubelets are upgraded.
const NEUTRAL: [&str; 14] = [
    "SchedulingGates",
    "PrioritySort",
    PREEMPTION,
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

/// The plugin of kube-scheduler that removes pods of lower priority.
const PREEMPTION: &str = "DefaultPreemption";

/// Plugins of the default profile whose scores the forecast leaves out: without further settings
/// they are zero, or those of pods with resource claims, which stay.
const OTHER_SCORES: [&str; 2] = ["VolumeBinding", "DynamicResources"];

/// A plugin in the file.
struct PluginEntry {
    name: String,
    weight: Option<u32>,
    place: Place,
}

/// The settings of one extension point.
#[derive(Default)]
struct ExtensionPoint {
    enabled: Vec<PluginEntry>,
    disabled: Vec<String>,
}

impl ExtensionPoint {
    fn disables(&self, name: &str) -> bool {
        self.disabled.iter().any(|d| d == name || d == "*")
    }

    fn enables(&self, name: &str) -> Option<&PluginEntry> {
        self.enabled.iter().find(|named| named.name == name)
    }
}

/// Reads `plugins` into weights, filters and preemption.
pub(super) fn plugins(f: &mut Fields<'_, '_>, profile: &mut SchedulerProfile) {
    for other in OTHERS {
        set(f.field(other));
    }
    let (multi, filter, score) =
        (set(f.field("multiPoint")), set(f.field("filter")), set(f.field("score")));
    profile.preempts = enabled(PREEMPTION, &multi, &set(f.field("postFilter")));
    profile.weights = weights(&multi, &score);
    let others_score = OTHER_SCORES.iter().any(|name| enabled(name, &multi, &score));
    profile.takes_first = profile.weights == Weights::NONE && !others_score;
    let off = |plugin: &FilterPlugin| !enabled(plugin.name(), &multi, &filter);
    profile.filters_off = FilterPlugin::ALL.into_iter().filter(off).collect();
    let mut unknown: BTreeMap<&str, (&PluginEntry, bool)> = BTreeMap::new();
    for named in filter.enabled.iter().filter(|named| !is_known(&named.name)) {
        unknown.insert(&named.name, (named, false));
    }
    for named in
        multi.enabled.iter().filter(|named| !is_known(&named.name) && !score.disables(&named.name))
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
            &named.place,
            sentence(name, scores, multi.enables(name).is_some()),
        );
    }
}

fn sentence(name: &str, scores: bool, multi: bool) -> String {
    match (scores, multi) {
        (false, _) => {
            format!(
                "{name} is not a plugin of kube-scheduler; the forecast does not know which nodes it excludes"
            )
        }
        (true, false) => {
            format!("{name} is not a plugin of kube-scheduler and scores nodes; {ANYWHERE}")
        }
        (true, true) => format!(
            "{name} is not a plugin of kube-scheduler and may score nodes; {ANYWHERE}; if it does not score, list it in plugins.score.disabled"
        ),
    }
}

fn is_known(name: &str) -> bool {
    let scores = ScorePlugin::ALL.iter().any(|p| p.name() == name);
    scores || FilterPlugin::ALL.iter().any(|p| p.name() == name) || NEUTRAL.contains(&name)
}

/// Whether a plugin of the default profile is enabled at an extension point.
fn enabled(name: &str, multi: &ExtensionPoint, point: &ExtensionPoint) -> bool {
    let by_default = multi.enables(name).is_some() || !multi.disables(name);
    point.enables(name).is_some() || (by_default && !point.disables(name))
}

fn weights(multi: &ExtensionPoint, score: &ExtensionPoint) -> Weights {
    let (usual, mut weights) = (Weights::default(), Weights::NONE);
    for plugin in ScorePlugin::ALL.into_iter().filter(|p| enabled(p.name(), multi, score)) {
        let named = score.enables(plugin.name()).or_else(|| multi.enables(plugin.name()));
        let given = |named: &PluginEntry| i64::from(named.weight.unwrap_or_default().max(1));
        weights[plugin] = named.map_or(usual[plugin], given);
    }
    weights
}

fn set(spot: Spot<'_, '_>) -> ExtensionPoint {
    spot.section(|f| ExtensionPoint {
        enabled: f.field("enabled").list("plugins", |item| named(item)).unwrap_or_default(),
        disabled: f
            .field("disabled")
            .list("plugins", |item| named(item).map(|named| named.name))
            .unwrap_or_default(),
    })
}

fn named(item: Spot<'_, '_>) -> Option<PluginEntry> {
    let place = item.place();
    item.section(|f| {
        let name = f.required("name", "the name of a plugin").name();
        let weight = f.field("weight").whole(0);
        Some(PluginEntry { name: name?, weight, place })
    })
}
