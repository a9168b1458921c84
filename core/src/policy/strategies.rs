//! The strategies of the native format, each with the declaration of its arguments.

use std::rc::Rc;

use super::arguments::{affinity, anti_affinity, duplicates, namespaced, scoped, spread, taints};
use super::help;
use super::node_utilization::{LowArguments, high, low};
use super::plugin::Plugin;
use super::pod_states::{criterion, failed, life_time, restarts};
use super::{Basis, HighNodeUtilization, LowNodeUtilization, PodLifeTime, Profile, Rule, Strategy};
use crate::schema::item::Item;
use crate::schema::outline::{ChoiceOutline, FieldOutline, FieldSample, Form, ValueForm};
use crate::schema::problem::Code;
use crate::schema::read::{Fields, Spot};
use crate::schema::section::Section;
use crate::schema::tree::Value;
use crate::schema::wording::either;

/// Returns the arguments of a rule as fields.
type WriteRule = Box<dyn Fn(&Rule) -> Option<Vec<(String, Item)>>>;

/// The declaration of one strategy, without the type of its arguments.
pub(super) struct StrategyDeclaration {
    plugin: Plugin,
    help: &'static str,
    fields: Vec<FieldOutline>,
    read: Box<dyn Fn(&mut Fields<'_, '_>) -> Rule>,
    /// The arguments of a rule; `None` for the rule of another strategy.
    write: WriteRule,
}

impl StrategyDeclaration {
    fn new<T: Clone + 'static>(
        plugin: Plugin,
        help: &'static str,
        section: Section<T>,
        rule: fn(T) -> Rule,
        arguments: fn(&Rule) -> Option<T>,
    ) -> Self {
        let section = Rc::new(section);
        let reader = Rc::clone(&section);
        StrategyDeclaration {
            plugin,
            help,
            fields: section.outline(),
            read: Box::new(move |f| rule(reader.read(f))),
            write: Box::new(move |rule| Some(section.write(&arguments(rule)?))),
        }
    }
}

/// A function that returns the arguments of a rule; `None` for the rule of another strategy.
macro_rules! arguments {
    ($rule:ident) => {
        |rule| {
            let Rule::$rule(arguments) = rule else {
                return None;
            };
            Some(arguments.clone())
        }
    };
}

/// All strategies, in the order of [`Plugin::ALL`]. `basis` is what a strategy compares by default.
fn declarations(basis: Basis) -> Vec<StrategyDeclaration> {
    let mut all = of_nodes(basis);
    all.extend(of_placement());
    all.extend(of_pod_states());
    all
}

/// The strategies that compare the utilization of nodes.
fn of_nodes(basis: Basis) -> Vec<StrategyDeclaration> {
    vec![
        StrategyDeclaration::new(
            Plugin::LowNodeUtilization,
            "Balances nodes: moves pods from nodes above a target to nodes below all thresholds.",
            low(basis),
            |arguments| Rule::LowNodeUtilization(arguments.into()),
            |rule| LowNodeUtilization::of(rule).map(LowArguments::from),
        ),
        StrategyDeclaration::new(
            Plugin::HighNodeUtilization,
            help::HIGH_NODE_UTILIZATION,
            high(basis),
            Rule::HighNodeUtilization,
            |rule| HighNodeUtilization::of(rule).cloned(),
        ),
    ]
}

/// The strategies that correct where a pod is placed.
fn of_placement() -> Vec<StrategyDeclaration> {
    vec![
        StrategyDeclaration::new(
            Plugin::RemoveDuplicates,
            "Spreads replicas of one owner that share a node, as far as other nodes can take them. \
                A strategy without arguments may be written as its name alone: `- removeDuplicates`.",
            namespaced(duplicates(), |r| &mut r.namespaces),
            Rule::RemoveDuplicates,
            arguments!(RemoveDuplicates),
        ),
        StrategyDeclaration::new(
            Plugin::TopologySpread,
            "Moves pods so that topology spread constraints that have come to be violated hold again.",
            scoped(spread(), |r| &mut r.scope),
            Rule::RemovePodsViolatingTopologySpreadConstraint,
            arguments!(RemovePodsViolatingTopologySpreadConstraint),
        ),
        StrategyDeclaration::new(
            Plugin::AntiAffinity,
            "Separates pods that required anti-affinity keeps apart: evicts the pod that has the rule. On request, it also improves preferred anti-affinity.",
            scoped(anti_affinity(), |r| &mut r.scope),
            Rule::RemovePodsViolatingInterPodAntiAffinity,
            arguments!(RemovePodsViolatingInterPodAntiAffinity),
        ),
        StrategyDeclaration::new(
            Plugin::NodeAffinity,
            "Moves pods whose node affinity no longer matches their node, or prefers another node.",
            scoped(affinity(), |r| &mut r.scope),
            Rule::RemovePodsViolatingNodeAffinity,
            arguments!(RemovePodsViolatingNodeAffinity),
        ),
        StrategyDeclaration::new(
            Plugin::NodeTaints,
            "Moves pods away from nodes with a NoSchedule taint that they do not tolerate. A cordon is such a taint, and so are node pressure and an agent that restarts (such as `node.cilium.io/agent-not-ready`): exclude those that should only keep new pods away.",
            scoped(taints(), |r| &mut r.scope),
            Rule::RemovePodsViolatingNodeTaints,
            arguments!(RemovePodsViolatingNodeTaints),
        ),
    ]
}

/// The strategies that look at the state of a pod.
fn of_pod_states() -> Vec<StrategyDeclaration> {
    let life_time = life_time().check(|f, rule| criterion(f, rule));
    vec![
        StrategyDeclaration::new(
            Plugin::TooManyRestarts,
            "Renews pods that keep restarting, on another node or on their own.",
            scoped(restarts(), |r| &mut r.scope),
            Rule::RemovePodsHavingTooManyRestarts,
            arguments!(RemovePodsHavingTooManyRestarts),
        ),
        StrategyDeclaration::new(
            Plugin::PodLifeTime,
            "Evicts pods that are old, or in a state that they do not leave. At least one of the first four fields is needed, and all that are given must match.",
            scoped(life_time, |r: &mut PodLifeTime| &mut r.scope),
            Rule::PodLifeTime,
            arguments!(PodLifeTime),
        ),
        StrategyDeclaration::new(
            Plugin::FailedPods,
            "Removes failed pods. All fields that are given must match.",
            scoped(failed(), |r| &mut r.scope),
            Rule::RemoveFailedPods,
            arguments!(RemoveFailedPods),
        ),
    ]
}

/// Reads the arguments of a strategy.
pub(super) fn rule(plugin: Plugin, basis: Basis, f: &mut Fields<'_, '_>) -> Option<Rule> {
    let declaration = declarations(basis).into_iter().find(|d| d.plugin == plugin)?;
    Some((declaration.read)(f))
}

/// Reads one item of the list of strategies. A strategy without arguments may be written as its
/// name alone.
pub(super) fn read(item: Spot<'_, '_>, basis: Basis, profiles: &[Profile]) -> Option<Strategy> {
    let choices = Plugin::ALL.map(|plugin| (plugin.word(), plugin));
    let bare = item.node().and_then(|node| {
        choices.iter().find(|(word, _)| node.value == Value::Text((*word).into()))
    });
    let (plugin, arguments) = match bare {
        Some((_, plugin)) => (*plugin, item.without_value()),
        None => item.choice("strategy", &choices)?,
    };
    arguments.section(|f| {
        let rule = rule(plugin, basis, f)?;
        let profile = profile(f, profiles);
        Some(Strategy { profile, rule })
    })
}

/// The position of the profile that a strategy names; the first if it names none.
fn profile(f: &mut Fields<'_, '_>, profiles: &[Profile]) -> usize {
    let Some(name) = f.field("profile").name() else {
        return 0;
    };
    let position = profiles.iter().position(|p| p.name == name);
    if position.is_none() {
        let names: Vec<&str> = profiles.iter().map(|p| p.name.as_str()).collect();
        let expected = format!("the name of a profile: {}", either(&names));
        f.field("profile").refuse::<()>(Code::Conflict, expected);
    }
    position.unwrap_or(0)
}

/// A strategy as it is written; one without arguments is its name alone.
pub(super) fn write(strategy: &Strategy, profiles: &[Profile]) -> Option<Item> {
    // The basis of a strategy is always written, so the default does not matter here.
    let mut matching = declarations(Basis::Actual)
        .into_iter()
        .filter_map(|d| Some((d.plugin, (d.write)(&strategy.rule)?)));
    let (plugin, mut fields) = matching.next()?;
    let profile = profiles.get(strategy.profile).filter(|_| strategy.profile > 0);
    fields.extend(profile.map(|p| ("profile".to_owned(), Item::text(&p.name))));
    Some(if fields.is_empty() {
        Item::text(plugin.word())
    } else {
        Item::one(plugin.word(), Item::Map(fields))
    })
}

/// The declared strategies, for documentation. The example shows only the first one in force.
pub(super) fn outline() -> Form {
    let choices = declarations(Basis::Actual).into_iter().map(|declaration| ChoiceOutline {
        name: declaration.plugin.word(),
        help: declaration.help,
        fields: declaration.fields.into_iter().chain([profile_outline()]).collect(),
        off: declaration.plugin != Plugin::LowNodeUtilization,
    });
    Form::Choices(choices.collect())
}

fn profile_outline() -> FieldOutline {
    FieldOutline {
        name: "profile",
        help: "With `profiles`: the name of the one that says which pods may be evicted.",
        required: false,
        default: None,
        sample: FieldSample::Off("batch"),
        form: Form::Value(ValueForm {
            words: "text".to_owned(),
            schema: serde_json::json!({"type": "string", "minLength": 1}),
            choices: Vec::new(),
            blank: None,
        }),
    }
}

#[cfg(test)]
mod tests;
