//! Policies of kubernetes-sigs/descheduler, `descheduler/v1alpha2` and `descheduler/v1alpha1`, read into the same
//! [`Policy`] as native ones.
//!
//! What descheduler would refuse is refused; so is what it passes over in silence, such as a misspelt limit. What it
//! reads without using it is a warning. Its limits hold as they are written; our own guards, which only refuse, stay
//! on unless the policy is to be carried out exactly.

use jiff::SignedDuration;

use super::plugin::Plugin;
use super::problem::Code;
use super::read::{Fields, Report, Spot};
use super::tree::{Node, Value};
use super::{Evictable, Limits, Policy, Profile, Rule, Strategy};
use crate::values::selector::Selector;

mod evictor;
mod utilization;
mod v1alpha1;
mod v1alpha2;

/// The format of today.
pub(super) const V1ALPHA2: &str = "descheduler/v1alpha2";
/// The format up to v0.30.
pub(super) const V1ALPHA1: &str = "descheduler/v1alpha1";

/// How often descheduler's own manifests have it run.
const INTERVAL: SignedDuration = SignedDuration::from_mins(5);

/// Whether it is one of the formats that are read here.
pub(super) fn knows(version: &str) -> bool {
    [V1ALPHA1, V1ALPHA2].contains(&version)
}

/// Reads a policy of this version.
pub(super) fn read(root: &Node, version: &str, report: &mut Report) -> Policy {
    report.be_lenient();
    let reader = if version == V1ALPHA1 {
        v1alpha1::policy
    } else {
        v1alpha2::policy
    };
    report.read(&root.in_yaml_1_1(), reader)
}

/// What both formats have at the top.
struct Frame {
    node_selector: Option<Selector>,
    grace_period: Option<SignedDuration>,
    per_node: Option<u32>,
    per_namespace: Option<u32>,
    per_cycle: Option<u32>,
}

/// One profile: which pods may go, and what to do, in the order of the file.
struct Part {
    name: String,
    evictable: Evictable,
    rules: Vec<(Plugin, Rule)>,
}

fn frame(f: &mut Fields<'_, '_>) -> Frame {
    if f.has("kind") {
        f.field("kind")
            .word(Code::UnsupportedVersion, &[("DeschedulerPolicy", ())]);
    } else {
        f.field("kind");
    }
    f.field("apiVersion");
    Frame {
        node_selector: f.field("nodeSelector").text_selector(),
        grace_period: None,
        per_node: f.field("maxNoOfPodsToEvictPerNode").whole(0),
        per_namespace: f.field("maxNoOfPodsToEvictPerNamespace").whole(0),
        per_cycle: None,
    }
}

/// The policy: first all that looks at pods one by one, then all that balances, as descheduler does it.
fn assemble(f: &mut Fields<'_, '_>, frame: Frame, parts: Vec<Part>) -> Policy {
    let defaults = Policy::default_native();
    let (mut profiles, mut single, mut balancing): (Vec<Profile>, Vec<Strategy>, Vec<Strategy>) =
        Default::default();
    for (profile, part) in parts.into_iter().enumerate() {
        let name = unique(part.name, &profiles);
        profiles.push(Profile {
            name,
            evictable: part.evictable,
        });
        for (plugin, rule) in part.rules {
            let list = if plugin.balances() {
                &mut balancing
            } else {
                &mut single
            };
            list.push(Strategy { profile, rule });
        }
    }
    single.append(&mut balancing);
    if single.is_empty() && f.sound() {
        f.warn(
            Code::Ignored,
            "",
            "no strategy is enabled, so nothing will be done",
        );
    }
    let limits = Limits {
        per_cycle: frame.per_cycle,
        per_node: frame.per_node,
        per_namespace: frame.per_namespace,
        ..defaults.limits
    };
    let (node_selector, grace_period) = (frame.node_selector, frame.grace_period);
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

/// A name of its own for each profile; descheduler does not ask for one.
fn unique(name: String, others: &[Profile]) -> String {
    let name = if name.is_empty() {
        format!("profile-{}", others.len() + 1)
    } else {
        name
    };
    let taken = |name: &String| others.iter().any(|p| p.name == *name);
    let numbered = (2..).map(|n| format!("{name}-{n}"));
    std::iter::once(name.clone())
        .chain(numbered)
        .find(|n| !taken(n))
        .unwrap_or(name)
}

/// Text that may be empty, which is as good as absent.
fn text(spot: Spot<'_, '_>) -> Option<String> {
    let empty = spot
        .node()
        .is_some_and(|n| n.value == Value::Text(String::new()));
    if empty { None } else { spot.name() }
}

#[cfg(test)]
mod tests;
