//! `descheduler/v1alpha2`: profiles, each with arguments of plugins and lists of plugins to run.

use super::super::plugin::Plugin;
use super::super::problem::{Code, Position};
use super::super::read::{Fields, Spot};
use super::super::strategies;
use super::super::tree::Value;
use super::super::wording::nearest;
use super::super::{Basis, Evictable, Policy, Rule};
use super::utilization::{self, Source};
use super::{Part, assemble, evictor, frame, text};

type Place = (Position, String);

/// The plugin that says which pods may go; it always runs.
const EVICTOR: &str = "DefaultEvictor";

/// Reads a whole policy.
pub(super) fn policy(root: Spot<'_, '_>) -> Policy {
    root.section(|f| {
        let mut frame = frame(f);
        frame.per_cycle = f.field("maxNoOfPodsToEvictTotal").whole(0);
        frame.grace_period = f.field("gracePeriodSeconds").seconds();
        if f.field("evictionFailureEventNotification").bool() == Some(true) {
            let sentence =
                "no event is written when an eviction fails; the log and the metrics tell it";
            f.warn(Code::Ignored, "evictionFailureEventNotification", sentence);
        }
        let sources = utilization::sources(f);
        let parts = f.field("profiles").list("profiles", |item| {
            item.section(|f| Some(profile(f, &sources)))
        });
        assemble(f, frame, parts.unwrap_or_default())
    })
}

fn profile(f: &mut Fields<'_, '_>, sources: &[Source]) -> Part {
    let name = text(f.field("name")).unwrap_or_default();
    let configs = f
        .field("pluginConfig")
        .list("plugin configurations", |item| {
            item.section(|f| config(f, sources))
        });
    let mut configs = Configs {
        list: configs.unwrap_or_default(),
    };
    configs.warn_of_repeats(f);
    let enabled = f.field("plugins").section(plugins);
    let mut rules = Vec::new();
    for (plugin, place) in enabled {
        let Some(config) = configs
            .list
            .iter_mut()
            .find(|c| c.plugin == Known::Strategy(plugin))
        else {
            let sentence = format!(
                "{0} has no entry in pluginConfig; add `- name: {0}`, with its args if any",
                plugin.name()
            );
            f.complain_at(Code::MissingField, place, sentence);
            continue;
        };
        if std::mem::replace(&mut config.used, true) {
            f.warn_at(
                Code::Ignored,
                place,
                "this is enabled a second time, so it runs twice",
            );
        }
        rules.extend(config.rule.clone().map(|rule| (plugin, rule)));
    }
    configs.warn_of_unused(f);
    let evictor = configs
        .list
        .into_iter()
        .find(|c| c.plugin == Known::Evictor);
    let evictable = evictor
        .and_then(|c| c.evictable)
        .unwrap_or_else(evictor::defaults);
    Part {
        name,
        evictable,
        rules,
    }
}

/// A name that a plugin can have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    Evictor,
    Strategy(Plugin),
}

/// An entry of `pluginConfig`.
struct Config {
    plugin: Known,
    place: Place,
    evictable: Option<Evictable>,
    rule: Option<Rule>,
    used: bool,
}

struct Configs {
    list: Vec<Config>,
}

impl Configs {
    /// Of several entries for one plugin, descheduler takes the first.
    fn warn_of_repeats(&self, f: &mut Fields<'_, '_>) {
        for (i, config) in self.list.iter().enumerate() {
            if self.list[..i].iter().any(|c| c.plugin == config.plugin) {
                let sentence =
                    "this plugin is configured above already, and the first entry counts";
                f.warn_at(Code::Ignored, config.place.clone(), sentence);
            }
        }
    }

    fn warn_of_unused(&self, f: &mut Fields<'_, '_>) {
        let used = |plugin| self.list.iter().any(|c| c.used && c.plugin == plugin);
        for config in self
            .list
            .iter()
            .filter(|c| c.plugin != Known::Evictor && !used(c.plugin))
        {
            let sentence = "this plugin is configured, but not enabled, so it does not run";
            f.warn_at(Code::Ignored, config.place.clone(), sentence);
        }
    }
}

fn config(f: &mut Fields<'_, '_>, sources: &[Source]) -> Option<Config> {
    let spot = f.required("name", "the name of a plugin");
    let place = spot.place();
    let plugin = known(spot);
    let args = f.field("args");
    let (mut evictable, mut rule) = (None, None);
    match plugin? {
        Known::Evictor => evictable = Some(args.section(|f| typed(f, evictor::evictable))),
        Known::Strategy(plugin) => {
            rule = args.section(|f| typed(f, |f| arguments_of(plugin, f, sources)))
        }
    }
    Some(Config {
        plugin: plugin?,
        place,
        evictable,
        rule,
        used: false,
    })
}

/// Arguments may say of which kind they are, as objects of Kubernetes do; descheduler does not look at it.
fn typed<T>(f: &mut Fields<'_, '_>, read: impl FnOnce(&mut Fields<'_, '_>) -> T) -> T {
    let arguments = read(f);
    f.field("apiVersion").name();
    f.field("kind").name();
    arguments
}

fn arguments_of(plugin: Plugin, f: &mut Fields<'_, '_>, sources: &[Source]) -> Option<Rule> {
    if plugin == Plugin::LowNodeUtilization {
        return Some(utilization::low_v1alpha2(f, sources));
    }
    if plugin == Plugin::HighNodeUtilization {
        let namespaces = utilization::evictable_namespaces(f, "evictableNamespaces");
        return Some(utilization::high(f, namespaces));
    }
    strategies::rule(plugin, Basis::Requests, f)
}

/// The plugin of this name.
fn known(spot: Spot<'_, '_>) -> Option<Known> {
    let names: Vec<&'static str> = std::iter::once(EVICTOR)
        .chain(Plugin::ALL.map(Plugin::name))
        .collect();
    let Value::Text(written) = &spot.node()?.value else {
        return spot.refuse(Code::WrongType, "the name of a plugin");
    };
    if written == EVICTOR {
        return Some(Known::Evictor);
    }
    if let Some(plugin) = Plugin::ALL.iter().find(|p| p.name() == written) {
        return Some(Known::Strategy(*plugin));
    }
    let hint =
        nearest(written, &names).map_or(String::new(), |name| format!(" (did you mean `{name}`?)"));
    spot.refuse(
        Code::UnknownField,
        format!("the name of a plugin{hint}; these are {}", names.join(", ")),
    )
}

/// The strategies that are enabled, in order, and where.
fn plugins(f: &mut Fields<'_, '_>) -> Vec<(Plugin, Place)> {
    let mut enabled = Vec::new();
    for (name, balances) in [("deschedule", false), ("balance", true)] {
        for (known, place) in set(f, name) {
            match known {
                Known::Strategy(plugin) if plugin.balances() == balances => {
                    enabled.push((plugin, place))
                }
                Known::Strategy(plugin) => {
                    let right = if balances { "deschedule" } else { "balance" };
                    f.complain_at(
                        Code::Conflict,
                        place,
                        format!("{} belongs in `{right}`", plugin.name()),
                    );
                }
                Known::Evictor => {
                    f.complain_at(
                        Code::Conflict,
                        place,
                        "DefaultEvictor belongs in `filter`, and is there anyway",
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
            "this is the same as `preevictionfilter`; keep one of them",
        );
    }
    for name in ["filter", "preevictionfilter", "preEvictionFilter"] {
        for (known, place) in set(f, name) {
            if let Known::Strategy(plugin) = known {
                f.complain_at(
                    Code::Conflict,
                    place,
                    format!("{} is no filter; DefaultEvictor is", plugin.name()),
                );
            }
        }
    }
    for name in ["sort", "presort"] {
        set(f, name);
        if f.has(name) {
            f.warn(Code::Ignored, name, "this has no effect, as in descheduler");
        }
    }
    enabled
}

/// One extension point: the plugins enabled at it.
fn set(f: &mut Fields<'_, '_>, name: &'static str) -> Vec<(Known, Place)> {
    f.field(name).section(|f| {
        // As in kube-scheduler's file, `*` means all.
        let all = |spot: &Spot<'_, '_>| {
            spot.node()
                .is_some_and(|n| n.value == Value::Text("*".to_owned()))
        };
        let name = |item: Spot<'_, '_>| {
            if all(&item) {
                Some(())
            } else {
                known(item).map(|_| ())
            }
        };
        let disabled = f
            .field("disabled")
            .list("names of plugins", name)
            .unwrap_or_default();
        if !disabled.is_empty() {
            let sentence =
                "this has no effect, as in descheduler: what is not enabled does not run";
            f.warn(Code::Ignored, "disabled", sentence);
        }
        let enabled = f.field("enabled").list("names of plugins", |item| {
            let place = item.place();
            Some((known(item)?, place))
        });
        enabled.unwrap_or_default()
    })
}
