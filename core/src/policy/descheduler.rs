//! Policies of kubernetes-sigs/descheduler, `descheduler/v1alpha2` and `descheduler/v1alpha1`, read
//! into the same [`Policy`] as native ones.
//!
//! The readers refuse everything that descheduler would refuse. They also refuse what descheduler
//! silently ignores, such as a misspelt limit. Fields that descheduler reads but does not use lead
//! to warnings. Limits apply as they are written. evenkeel's own guards only refuse evictions, so
//! they stay on unless the policy is executed exactly.

use jiff::SignedDuration;

use super::plugin::Plugin;
use super::{Evictable, Limits, Policy, Profile, Rule, Strategy, node_utilization};
use crate::schema::problem::Code;
use crate::schema::read::{Fields, Report, Spot};
use crate::schema::share::Share;
use crate::schema::tree::{Value, YamlNode};
use crate::values::selector::Selector;

mod evictor;
mod utilization;
mod v1alpha1;
mod v1alpha2;

/// The current format.
pub(super) const V1ALPHA2: &str = "descheduler/v1alpha2";
/// The format up to v0.30.
pub(super) const V1ALPHA1: &str = "descheduler/v1alpha1";

/// The interval in the manifests of descheduler.
const INTERVAL: SignedDuration = SignedDuration::from_mins(5);

/// Whether this is one of the formats that are read here.
pub(super) fn knows(version: &str) -> bool {
    [V1ALPHA1, V1ALPHA2].contains(&version)
}

pub(super) fn read(root: &YamlNode, version: &str, report: &mut Report) -> Policy {
    report.be_lenient();
    let reader = if version == V1ALPHA1 { v1alpha1::policy } else { v1alpha2::policy };
    report.read(&root.in_yaml_1_1(), reader)
}

/// The top-level fields of both formats.
struct TopLevel {
    node_selector: Option<Selector>,
    grace_period: Option<SignedDuration>,
    per_node: Option<u32>,
    per_namespace: Option<u32>,
    per_cycle: Option<u32>,
}

/// One profile: which pods may be evicted, and the strategies in the order of the file.
struct ProfileDraft {
    name: String,
    evictable: Evictable,
    rules: Vec<(Plugin, Rule)>,
}

fn top_level(f: &mut Fields<'_, '_>) -> TopLevel {
    if f.has("kind") {
        f.field("kind").word(Code::UnsupportedVersion, &[("DeschedulerPolicy", ())]);
    } else {
        f.field("kind");
    }
    f.field("apiVersion");
    TopLevel {
        node_selector: f.field("nodeSelector").text_selector(),
        grace_period: None,
        per_node: f.field("maxNoOfPodsToEvictPerNode").whole(0),
        per_namespace: f.field("maxNoOfPodsToEvictPerNamespace").whole(0),
        per_cycle: None,
    }
}

/// The consequence of a policy without strategies, which may be written or left out.
fn nothing_enabled(written: bool) -> String {
    let nothing = "no strategy is enabled, so this policy does nothing";
    if written {
        return nothing.to_owned();
    }
    // Helm merges values into the defaults of a chart, field by field.
    format!(
        "{nothing}; in `deschedulerPolicy` of descheduler's chart, fields that are left out have the chart's values, so that descheduler still evicts: hand over what `helm template` prints"
    )
}

/// Builds the policy. Like descheduler, it runs the strategies that judge pods one by one first,
/// then those that balance.
fn assemble(
    f: &mut Fields<'_, '_>,
    top: TopLevel,
    list: &'static str,
    drafts: Vec<ProfileDraft>,
) -> Policy {
    let defaults = Policy::default_native();
    let (mut profiles, mut single, mut balancing): (Vec<Profile>, Vec<Strategy>, Vec<Strategy>) =
        Default::default();
    for (profile, draft) in drafts.into_iter().enumerate() {
        let name = unique(draft.name, &profiles);
        profiles.push(Profile { name, evictable: draft.evictable });
        for (plugin, rule) in draft.rules {
            let list = if plugin.balances() { &mut balancing } else { &mut single };
            list.push(Strategy { profile, rule });
        }
    }
    single.append(&mut balancing);
    node_utilization::check(f, list, &single);
    if single.is_empty() && f.sound() {
        f.warn(Code::Ignored, list, nothing_enabled(f.has(list)));
    }
    let limits = Limits {
        per_cycle: top.per_cycle.map(Share::Count),
        per_node: top.per_node,
        per_namespace: top.per_namespace,
        ..defaults.limits
    };
    let (node_selector, grace_period) = (top.node_selector, top.grace_period);
    Policy {
        interval: INTERVAL,
        node_selector,
        grace_period,
        limits,
        profiles,
        strategies: single,
        ..defaults
    }
}

/// A unique name for each profile, because descheduler does not require one.
fn unique(name: String, others: &[Profile]) -> String {
    let name = if name.is_empty() { format!("profile-{}", others.len() + 1) } else { name };
    let taken = |name: &String| others.iter().any(|p| p.name == *name);
    let numbered = (2..).map(|n| format!("{name}-{n}"));
    std::iter::once(name.clone()).chain(numbered).find(|n| !taken(n)).unwrap_or(name)
}

/// Text; empty text counts as absent.
fn text(spot: Spot<'_, '_>) -> Option<String> {
    unless_empty(spot).name()
}

/// The same place, as if empty text were absent.
fn unless_empty<'r, 't>(spot: Spot<'r, 't>) -> Spot<'r, 't> {
    let empty = spot.node().is_some_and(|n| n.value == Value::Text(String::new()));
    if empty { spot.without_value() } else { spot }
}

#[cfg(test)]
mod tests;
