//! `descheduler/v1alpha2`: profiles, each with arguments of plugins and lists of plugins to run.

use super::super::arguments;
use super::super::limits;
use super::super::plugin::Plugin;
use super::super::strategies;
use super::super::{Basis, Evictable, Policy, Rule};
use super::utilization::{self, MetricsSource};
use super::{ProfileDraft, assemble, evictor, text, top_level};
use crate::schema::problem::{Code, Position};
use crate::schema::read::{Fields, Place, Report, Spot};
use crate::schema::tree::{Value, YamlNode};
use crate::schema::wording::{either, nearest};

/// The plugin that decides which pods may be evicted; it always runs.
const EVICTOR: &str = "DefaultEvictor";

/// Reads a whole policy.
pub(super) fn policy(root: Spot<'_, '_>) -> Policy {
    root.section(|f| {
        let mut top = top_level(f);
        top.per_cycle = f.field("maxNoOfPodsToEvictTotal").whole(0);
        top.grace_period = f.field("gracePeriodSeconds").seconds();
        limits::check_grace_period(f, "gracePeriodSeconds", top.grace_period);
        if f.field("evictionFailureEventNotification").bool() == Some(true) {
            let sentence =
                "no effect: evenkeel reports failed evictions in its log and metrics, not as events";
            f.warn(Code::Ignored, "evictionFailureEventNotification", sentence);
        }
        // Before the profiles, because a profile can name only a source that the policy provides.
        let sources = utilization::sources(f);
        let drafts = f.field("profiles").list("profiles", |item| {
            item.section(|f| Some(profile(f, &sources)))
        });
        assemble(f, top, "profiles", drafts.unwrap_or_default())
    })
}

fn profile(f: &mut Fields<'_, '_>, sources: &[MetricsSource]) -> ProfileDraft {
    let name = text(f.field("name")).unwrap_or_default();
    let configs = f
        .field("pluginConfig")
        .list("plugin configurations", |item| item.section(|f| config(f, sources)));
    let mut configs = PluginConfigs { list: configs.unwrap_or_default() };
    configs.warn_of_repeats(f);
    let enabled = f.field("plugins").section(plugins);
    let mut rules = Vec::new();
    for (plugin, place) in enabled {
        let Some(config) =
            configs.list.iter_mut().find(|c| c.plugin == KnownPlugin::Strategy(plugin))
        else {
            let sentence = format!(
                "{0} has no entry in pluginConfig; add `- name: {0}`, with args if it needs them",
                plugin.name()
            );
            f.complain_at(Code::MissingField, &place, sentence);
            continue;
        };
        // descheduler also runs it twice, so this is a warning and not an error.
        if std::mem::replace(&mut config.used, true) {
            f.warn_at(Code::Ignored, &place, "this plugin is enabled twice, so it runs twice");
        }
        rules.extend(config.rule.clone().map(|rule| (plugin, rule)));
    }
    configs.warn_of_unused(f);
    let evictor = configs.list.into_iter().find(|c| c.plugin == KnownPlugin::Evictor);
    let evictable = evictor.and_then(|c| c.evictable).unwrap_or_else(evictor::defaults);
    ProfileDraft { name, evictable, rules }
}

/// A plugin that descheduler knows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KnownPlugin {
    Evictor,
    Strategy(Plugin),
}

/// An entry of `pluginConfig`.
struct PluginConfig {
    plugin: KnownPlugin,
    place: Place,
    evictable: Option<Evictable>,
    rule: Option<Rule>,
    used: bool,
}

struct PluginConfigs {
    list: Vec<PluginConfig>,
}

impl PluginConfigs {
    /// If a plugin has several entries, descheduler uses the first.
    fn warn_of_repeats(&self, f: &mut Fields<'_, '_>) {
        for (i, config) in self.list.iter().enumerate() {
            if self.list[..i].iter().any(|c| c.plugin == config.plugin) {
                let sentence =
                    "this plugin is already configured above; only the first entry counts";
                f.warn_at(Code::Ignored, &config.place, sentence);
            }
        }
    }

    fn warn_of_unused(&self, f: &mut Fields<'_, '_>) {
        let used = |plugin| self.list.iter().any(|c| c.used && c.plugin == plugin);
        for config in
            self.list.iter().filter(|c| c.plugin != KnownPlugin::Evictor && !used(c.plugin))
        {
            let sentence = "this plugin is configured but not enabled, so it does not run";
            f.warn_at(Code::Ignored, &config.place, sentence);
        }
    }
}

fn config(f: &mut Fields<'_, '_>, sources: &[MetricsSource]) -> Option<PluginConfig> {
    let spot = f.required("name", "the name of a plugin");
    let place = spot.place();
    let plugin = known(spot);
    let args = f.field("args");
    let (mut evictable, mut rule) = (None, None);
    match plugin? {
        KnownPlugin::Evictor => evictable = Some(args.section(|f| typed(f, evictor::evictable))),
        KnownPlugin::Strategy(plugin) => {
            rule = args.section(|f| typed(f, |f| arguments_of(plugin, f, sources)));
        }
    }
    Some(PluginConfig { plugin: plugin?, place, evictable, rule, used: false })
}

/// Reads arguments that may have an apiVersion and a kind, as Kubernetes objects do. descheduler
/// ignores both.
fn typed<T>(f: &mut Fields<'_, '_>, read: impl FnOnce(&mut Fields<'_, '_>) -> T) -> T {
    let arguments = read(f);
    f.field("apiVersion").name();
    f.field("kind").name();
    f.say_where(plugin_of_argument);
    arguments
}

/// The args of the plugins that take an argument of this name.
fn plugin_of_argument(name: &str) -> Option<String> {
    let strategies = Plugin::ALL.map(KnownPlugin::Strategy);
    let plugins = std::iter::once(KnownPlugin::Evictor).chain(strategies);
    let takers = plugins.filter(|plugin| takes(*plugin, name));
    let takers: Vec<&str> = takers.map(KnownPlugin::name).collect();
    (!takers.is_empty()).then(|| format!("the args of {}", either(&takers)))
}

/// Whether a plugin takes an argument: its reader asks for a field of this name.
fn takes(plugin: KnownPlugin, name: &str) -> bool {
    let mut scratch = Report::default();
    scratch.be_lenient();
    let nothing = YamlNode::null(Position { line: 1, column: 1 });
    scratch.read(&nothing, |root| {
        root.section(|f| match plugin {
            KnownPlugin::Evictor => drop(evictor::evictable(f)),
            KnownPlugin::Strategy(plugin) => drop(arguments_of(plugin, f, &[])),
        });
    });
    scratch.asked.contains(name)
}

impl KnownPlugin {
    fn name(self) -> &'static str {
        match self {
            KnownPlugin::Evictor => EVICTOR,
            KnownPlugin::Strategy(plugin) => plugin.name(),
        }
    }
}

fn arguments_of(plugin: Plugin, f: &mut Fields<'_, '_>, sources: &[MetricsSource]) -> Option<Rule> {
    if plugin == Plugin::LowNodeUtilization {
        return Some(utilization::low_v1alpha2(f, sources));
    }
    if plugin == Plugin::HighNodeUtilization {
        let namespaces = utilization::evictable_namespaces(f, "evictableNamespaces");
        return Some(utilization::high(f, namespaces));
    }
    if plugin == Plugin::AntiAffinity {
        // Descheduler knows only required anti-affinity.
        let scope = arguments::scope().read(f);
        return Some(Rule::RemovePodsViolatingInterPodAntiAffinity(scope.into()));
    }
    strategies::rule(plugin, Basis::Requests, f)
}

fn known(spot: Spot<'_, '_>) -> Option<KnownPlugin> {
    let names: Vec<&'static str> =
        std::iter::once(EVICTOR).chain(Plugin::ALL.map(Plugin::name)).collect();
    let Value::Text(written) = &spot.node()?.value else {
        return spot.refuse(Code::WrongType, "the name of a plugin");
    };
    if written == EVICTOR {
        return Some(KnownPlugin::Evictor);
    }
    if let Some(plugin) = Plugin::ALL.iter().find(|p| p.name() == written) {
        return Some(KnownPlugin::Strategy(*plugin));
    }
    let hint =
        nearest(written, &names).map_or(String::new(), |name| format!(" (did you mean `{name}`?)"));
    spot.refuse(
        Code::UnknownField,
        format!("the name of a plugin{hint}; these are {}", names.join(", ")),
    )
}

/// The enabled strategies in order, each with its place.
fn plugins(f: &mut Fields<'_, '_>) -> Vec<(Plugin, Place)> {
    let mut enabled = Vec::new();
    for (name, balances) in [("deschedule", false), ("balance", true)] {
        for (known, place) in set(f, name) {
            match known {
                KnownPlugin::Strategy(plugin) if plugin.balances() == balances => {
                    enabled.push((plugin, place));
                }
                KnownPlugin::Strategy(plugin) => {
                    let right = if balances { "deschedule" } else { "balance" };
                    f.complain_at(
                        Code::Conflict,
                        &place,
                        format!("{} belongs in `{right}`", plugin.name()),
                    );
                }
                KnownPlugin::Evictor => {
                    f.complain_at(
                        Code::Conflict,
                        &place,
                        "DefaultEvictor belongs in `filter`, and it is always enabled",
                    );
                }
            }
        }
    }
    let both = f.has("preevictionfilter") && f.has("preEvictionFilter");
    if both {
        f.complain(
            Code::RepeatedField,
            "preEvictionFilter",
            "preEvictionFilter and preevictionfilter are the same; keep one of them",
        );
    }
    for name in ["filter", "preevictionfilter", "preEvictionFilter"] {
        for (known, place) in set(f, name) {
            if let KnownPlugin::Strategy(plugin) = known {
                f.complain_at(
                    Code::Conflict,
                    &place,
                    format!("{} is not a filter; only DefaultEvictor is", plugin.name()),
                );
            }
        }
    }
    for name in ["sort", "presort"] {
        set(f, name);
        if f.has(name) {
            f.warn(Code::Ignored, name, "no effect, as in descheduler");
        }
    }
    enabled
}

/// As in kube-scheduler's configuration, `*` means all plugins.
fn means_all(spot: &Spot<'_, '_>) -> bool {
    let node = spot.node();
    node.is_some_and(|node| node.value == Value::Text("*".to_owned()))
}

/// One extension point: the plugins enabled at it.
fn set(f: &mut Fields<'_, '_>, name: &'static str) -> Vec<(KnownPlugin, Place)> {
    f.field(name).section(|f| {
        let disabled = f
            .field("disabled")
            .list("names of plugins", |item| {
                if means_all(&item) { Some(()) } else { known(item).map(|_| ()) }
            })
            .unwrap_or_default();
        if !disabled.is_empty() {
            let sentence = "no effect, as in descheduler: plugins that are not enabled do not run";
            f.warn(Code::Ignored, "disabled", sentence);
        }
        let enabled = f.field("enabled").list("names of plugins", |item| {
            let place = item.place();
            Some((known(item)?, place))
        });
        enabled.unwrap_or_default()
    })
}
